"""What the compared methods share: they are there to be compared with, so gnomon never plans or recommends them."""

from __future__ import annotations

from typing import Any, Never

from gnomon.errors import ParameterError


class Compared:
    """A method of the literature that gnomon's own methods are measured against."""

    @classmethod
    def plan(cls, encoder: Any, n: int, guarantee: Any) -> Never:
        """Refuses, so that `plan` and `auto` pass over it."""
        raise ParameterError(
            f"{cls.__name__} is a method to compare with; plans are made for gnomon's own methods only."
        )
