"""What a release is worth beside the real rows: `gnomon.evaluate(...)`, and what it is made of.

Everything here compares with the real data: its results are the custodian's and never part of a release.
"""

from __future__ import annotations

from gnomon.evaluation.limits import Limits
from gnomon.evaluation.result import Evaluation
from gnomon.evaluation.run import evaluate

__all__ = ["Evaluation", "Limits", "evaluate"]
