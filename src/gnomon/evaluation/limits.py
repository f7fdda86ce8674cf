"""How many rows an evaluation looks at: declared, and written into its result, so that no subsample is silent."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from gnomon.errors import ParameterError


@dataclass(frozen=True)
class Limits:
    """Rows that are drawn at random where a table has more of them."""

    train: int = 5_000  # rows to train on, released and real
    test: int = 5_000  # real rows to test on
    kernel: int = 2_000  # rows of the methods whose time grows with the square or cube: SVM, kernel ridge
    silhouette: int = 2_000  # rows of a silhouette, and of the distances to the closest record
    pairs: int = 10_000  # pairs of rows whose distances are compared
    two_way: int = 200  # pairs of columns whose joint marginals are compared
    script: int = 100_000  # rows given to the user's own script

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 10:
                raise ParameterError(
                    f"The '{name}' parameter of Limits must be an integer of at least 10. Got {value!r} instead."
                )

    def to_dict(self) -> dict[str, int]:
        return asdict(self)
