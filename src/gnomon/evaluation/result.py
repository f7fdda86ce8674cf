"""The result of an evaluation: numbers for programs, a page for people; stamped, because it has seen the real rows."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.evaluation.closest import WARNING
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.measure import Measure
from gnomon.evaluation.membership import Membership
from gnomon.evaluation.sides import Published
from gnomon.evaluation.worst import CLEARLY, SHOWN, ColumnLikeness
from gnomon.notebook import framed
from gnomon.release.folder import whole_or_absent

STAMP = "compares with the real data, not for release"
SIDES = {
    "release": "the released rows",
    "mapped": "real rows seen through the release's public map: what the map alone costs",
    "real": "real rows as they are: the ceiling",
    "floor": "what needs no rows at all",
}
By = dict[str, Measure]


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a release is worth, beside the real rows; sides are "release", "mapped", "real" and "floor".

    Parameters
    ----------
    published : what anybody can read of the release: certificate, schema, map and rows.
    task : classification, regression or clustering.
    counts : how many released, real and test rows there were.
    limits : how many of them were used.
    releases, trials : how many releases, and how often rows were drawn again for each.
    tested_on_training : whether there were no test rows of their own.
    shared : a warning, where training and test rows overlap.
    redrawn : whether trials drew released rows again from the model.
    rarest : the share of the rarest class of the test rows.
    columns : the columns, farthest from the real ones first.
    membership : the result of the attack with shadow models, if it was asked for.
    utility : `utility[model][metric][side]`: scores of models, as a mean with an interval.
    fidelity : `fidelity[metric][side]`: how far the released columns are from the real ones.
    closest : distances to the closest record; no evidence of privacy.
    script : `script[metric][side]`: what your own analysis gave.
    """

    published: Published
    task: str
    counts: dict[str, int]
    limits: Limits
    releases: int
    trials: int
    tested_on_training: bool
    shared: str | None  # a warning, where train and test share rows
    redrawn: bool  # whether trials drew released rows anew from the model
    rarest: float | None  # the share of the rarest class of the test rows
    columns: tuple[ColumnLikeness, ...]  # the worst first
    utility: dict[str, dict[str, By]]
    fidelity: dict[str, By]
    closest: By
    script: dict[str, By]
    membership: Membership | None

    @property
    def worst(self) -> tuple[ColumnLikeness, ...]:
        """The columns that are farthest from the real ones, a few at most."""
        return tuple(column for column in self.columns[:SHOWN] if column.distance >= CLEARLY)

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the numbers: shared rows, subsamples, redraws, intervals."""
        found = [] if self.shared is None else [f"Warning: {self.shared}"]
        for name, rows, limit in (
            ("released", self.counts["released"], self.limits.train),
            ("real", self.counts["real"], self.limits.train),
            ("test", self.counts["test"], self.limits.test),
        ):
            if rows > limit:
                found.append(f"Of {rows:,} {name} rows, {limit:,} drawn at random were looked at.")
        if min(self.limits.train, self.counts["real"]) > self.limits.kernel:
            found.append(f"SVM and kernel ridge were trained on {self.limits.kernel:,} of them.")
        if self.tested_on_training:
            found.append(
                "No test rows were given: models were tested on the rows that the release was made from, which flatters "
                "those trained on real rows."
            )
        if self.releases > 1:
            found.append(
                f"Intervals are 95% confidence intervals of the mean over {self.releases} independent releases, their "
                + (
                    "noise included."
                    if self.trials == 1
                    else f"noise included; each was resampled {self.trials} times."
                )
            )
        elif self.trials > 1:
            what = "redraws of the rows from the model" if self.redrawn else "resamples of the rows"
            found.append(
                f"Intervals hold 95% of {self.trials} {what} of one release; they say nothing about what another draw of "
                "its noise would have given."
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        certificate = self.published.certificate
        privacy = certificate.privacy
        return {
            "stamp": STAMP,
            "release": {
                "method": certificate.method,
                "calibration": certificate.calibration,
                "epsilon": None if math.isinf(privacy.epsilon) else privacy.epsilon,
                "delta": privacy.delta,
                "holds": certificate.holds,
                "components": self.published.map.frame.n_components,
            },
            "task": self.task,
            "rows": self.counts,
            "releases": self.releases,
            "trials": self.trials,
            "limits": self.limits.to_dict(),
            "notes": self.notes,
            "sides": SIDES,
            "utility": _plain(self.utility),
            "fidelity": _plain(self.fidelity),
            "rarest_class": self.rarest,
            "columns": [column.to_dict() for column in self.columns],
            "script": _plain(self.script),
            "closest_record": {"warning": WARNING, **_plain(self.closest)},
            "membership": None if self.membership is None else self.membership.to_dict(),
        }

    def to_html(self) -> str:
        """The stamped page, as HTML without scripts."""
        from gnomon.evaluation.page import evaluation_page

        return evaluation_page(self, STAMP, SIDES)

    def __repr__(self) -> str:
        from gnomon.evaluation.page import summary, worst_sentence

        return "\n".join(filter(None, (summary(self), worst_sentence(self), STAMP)))

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def save(self, out: str | Path) -> None:
        """Write metrics.json and evaluation.html to a new folder.

        Parameters
        ----------
        out : a folder that does not exist yet.
        """
        with whole_or_absent(Path(out)) as folder:
            text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
            (folder / "metrics.json").write_text(text + "\n", encoding="utf-8")
            (folder / "evaluation.html").write_text(self.to_html(), encoding="utf-8")


def _plain(nested: Any) -> Any:
    if isinstance(nested, Measure):
        return nested.to_dict()
    return {key: _plain(value) for key, value in nested.items()}
