"""What stands beside a row: nothing, a class, or a number. Decided once, from the schema and what the caller asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Task = Literal["clustering", "classification", "regression"]


@dataclass(frozen=True)
class Target:
    """The target of a table: its column and how many classes it has, none for a number or where there is no target."""

    name: str | None = None
    classes: int = 0

    @property
    def is_none(self) -> bool:
        return self.name is None

    @property
    def is_class(self) -> bool:
        return self.classes > 0

    @property
    def is_number(self) -> bool:
        return self.name is not None and self.classes == 0

    @property
    def blocks(self) -> int:
        """How many sums a query by class has."""
        return max(self.classes, 1)

    @property
    def width(self) -> int:
        """The coordinates that a target takes beside a row: a one-hot of its classes, or the number itself."""
        return 1 if self.is_number else self.classes

    @property
    def task(self) -> Task:
        """The name of the problem that the target poses."""
        if self.is_none:
            return "clustering"
        return "classification" if self.is_class else "regression"


NO_TARGET = Target()
