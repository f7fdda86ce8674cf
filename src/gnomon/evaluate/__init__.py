"""What a release is worth beside the real rows. `gnomon.evaluate(...)` is the function; this package is where it lives.

Everything here compares with the real data: its results are the custodian's and never part of a release.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from gnomon.evaluate.evaluation import Evaluation
from gnomon.evaluate.limits import Limits
from gnomon.evaluate.run import evaluate

__all__ = ["Evaluation", "Limits", "evaluate"]


class _CallablePackage(ModuleType):
    """`gn.evaluate(release, real, test)` reads well, and the package of that name must not stand in its way."""

    def __call__(self, *arguments: Any, **named: Any) -> Evaluation:
        return evaluate(*arguments, **named)


sys.modules[__name__].__class__ = _CallablePackage
