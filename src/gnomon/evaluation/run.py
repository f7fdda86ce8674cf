"""Train on the release, test on real rows, compare the distributions: everything of one evaluation."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.engine.base import Progress, quiet
from gnomon.errors import ParameterError
from gnomon.evaluation import classify, cluster, fidelity, regress
from gnomon.evaluation.closest import closest_records
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.measure import gathered
from gnomon.evaluation.membership import attack_release
from gnomon.evaluation.result import Evaluation
from gnomon.evaluation.script import Analysis, analysed, load_script
from gnomon.evaluation.sides import Side, Sides, load, published, sample
from gnomon.evaluation.worst import ColumnLikeness, columns_compared
from gnomon.privacy.certificate import Certificate
from gnomon.release.holdout import holdout_of
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

Scores = dict[str, dict[str, float]]  # by metric and side


def evaluate(
    release: Any,
    real: Any = None,
    test: Any = None,
    *,
    task: str | None = None,
    trials: int = 5,
    limits: Limits | None = None,
    script: Any = None,
    membership: bool = False,
    random_state: Any = None,
    progress: Progress = quiet,
) -> Evaluation:
    """What a release is worth, beside the real rows; for the custodian's eyes only.

    Parameters
    ----------
    release : a release folder, a fitted method, or a list of them: independent releases of the same table are trials
        that show the effect of the noise.
    real, test : the table that was released, and real rows to test on: a path, a frame, or arrays (X, y). Without
        `test`, models are tested on the rows of `real`, which flatters the ceiling. Without both, they are what
        `release --holdout` kept back beside the folder.
    task : "clustering" leaves the target out; by default what the schema declares.
    trials : how often rows are drawn again for each release: released ones from its model, real ones with replacement.
    limits : how many rows are looked at.
    script : a Python file (or a function) with analyse(table) -> dict[str, float], run on real and released rows.
    membership : also attack the release's method with shadow models (classification only; fits the method 11 times).
    random_state : seeds subsamples and models; no noise is drawn here, save that of `membership`.
    progress : called as the evaluation goes on.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (400, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> method = gn.RonGauss(4.0, bounds=(0, 1), classes=[0, 1]).fit(X[:300], y[:300])
    >>> found = gn.evaluate(method, (X[:300], y[:300]), (X[300:], y[300:]), trials=1)
    >>> 0 <= found.utility["logistic"]["accuracy"]["release"].mean <= 1
    True
    """
    releases = list(release) if isinstance(release, list | tuple) else [release]
    _check(len(releases), task, trials)
    limits = limits or Limits()
    analysis = None if script is None else load_script(script)
    rng = np.random.default_rng(random_state)
    utility, likeness, closeness, scripted, certificates = [], [], [], [], []
    columns: tuple[ColumnLikeness, ...] = ()
    for number, one in enumerate(releases):
        train, tested = _tables(one, real, test)
        sides = load(one, train, tested, limits, rng)
        certificates.append(sides.published.certificate)
        _same_kind(certificates)
        sides = sides.without_target() if task == "clustering" else sides
        runs = []
        for trial in range(trials):
            progress("training and testing", number * trials + trial, len(releases) * trials)
            drawn = _resampled(sides, rng, anew=trial > 0) if trials > 1 else sides
            runs.append(_utility(drawn, limits, rng))
        utility.append(runs)
        likeness.append(_likenesses(sides, limits, rng, trials, tested=tested is not None))
        columns = columns or _columns(sides)
        closeness.append([closest_records(sides.released, sides.mapped, sides.mapped_test, limits, rng)])
        if analysis is not None:
            scripted.append([_scripted(sides, train, analysis, limits, rng)])
    progress("training and testing", len(releases) * trials, len(releases) * trials)
    return Evaluation(
        published=sides.published,
        task=sides.task,
        counts=sides.counts,
        limits=limits,
        releases=len(releases),
        trials=trials,
        tested_on_training=tested is None,
        shared=sides.shared,
        redrawn=sides.published.redraw is not None,
        rarest=_rarest(sides),
        columns=columns,
        utility=gathered(utility),
        fidelity=gathered(likeness),
        closest=gathered(closeness),
        script=gathered(scripted) if scripted else {},
        membership=attack_release(sides, rng) if membership else None,
    )


def _check(releases: int, task: str | None, trials: int) -> None:
    if releases == 0:
        raise ParameterError(
            "The 'release' parameter of evaluate must name at least one release. Got none instead."
        )
    if task not in (None, "clustering"):
        raise ParameterError(
            f"The 'task' parameter of evaluate must be 'clustering' or None. Got {task!r} instead."
        )
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= 1000:
        raise ParameterError(
            f"The 'trials' parameter of evaluate must be an integer from 1 to 1000. Got {trials!r} instead."
        )


def _same_kind(certificates: list[Certificate]) -> None:
    """Releases are trials of one another only if method and guarantee agree."""
    first, last = certificates[0], certificates[-1]
    if (first.method, first.calibration, first.privacy) != (last.method, last.calibration, last.privacy):
        raise ParameterError(
            "Several releases are evaluated together as trials of one method at one guarantee. Got "
            f"{first.method!r} and {last.method!r}, or two guarantees, instead: evaluate them one by one."
        )


def _tables(release: Any, real: Any, test: Any) -> tuple[Any, Any]:
    """The real rows, or those that `release --holdout` kept beside the folder."""
    if real is not None:
        return real, test
    kept = holdout_of(Path(release)) if isinstance(release, str | PathLike) else None
    if kept is None:
        raise ParameterError(
            "Evaluating needs the table that was released and rows to test on: --real and --test (real=..., test=...); "
            "without them, a release made with --holdout."
        )
    schema = published(release).schema
    return kept.source(schema), kept.source(schema, held=True) if test is None else test


def _rarest(sides: Sides) -> float | None:
    """The share of the rarest class that the test rows have."""
    if sides.task != "classification" or sides.real_test.y is None:
        return None
    return float(np.unique(sides.real_test.y, return_counts=True)[1].min() / len(sides.real_test))


def _columns(sides: Sides) -> tuple[ColumnLikeness, ...]:
    if sides.published.map.components_only:
        return ()
    return columns_compared(sides.released.table, sides.real.table, sides.published.data_schema)


def _resampled(sides: Sides, rng: np.random.Generator, *, anew: bool) -> Sides:
    """Released rows as they are or drawn anew, real rows with replacement; these and their images stay together."""

    def again(side: Side) -> npt.NDArray[np.int64]:
        return rng.integers(0, len(side), len(side))

    train, test = again(sides.real), again(sides.real_test)
    return replace(
        sides,
        released=sides.redrawn(rng) if anew else sides.released,
        mapped=sides.mapped.take(train),
        real=sides.real.take(train),
        mapped_test=sides.mapped_test.take(test),
        real_test=sides.real_test.take(test),
    )


def _utility(sides: Sides, limits: Limits, rng: np.random.Generator) -> dict[str, Scores]:
    """By model, metric and side: release, real rows through the release's map, real rows as they are, trivial floor."""
    if sides.task == "clustering":
        return {"K-means": _clustering(sides, limits, rng)}
    kind = classify if sides.task == "classification" else regress
    lowest = kind.floor(sides.real, sides.real_test)
    found = {}
    for model in kind.MODELS:
        by_side = {
            "release": kind.score(model, sides.released, sides.mapped_test, limits, rng),
            "mapped": kind.score(model, sides.mapped, sides.mapped_test, limits, rng),
            "real": kind.score(model, sides.real, sides.real_test, limits, rng),
            "floor": lowest,
        }
        found[model] = _by_metric(by_side)
    return found


def _clustering(sides: Sides, limits: Limits, rng: np.random.Generator) -> Scores:
    """The real clusters are those of the real rows in the space that is looked at: the map's, or their own."""
    mapped, _ = cluster.best_clusters(sides.mapped.X, limits, rng)
    real, _ = cluster.best_clusters(sides.real.X, limits, rng)
    return _by_metric(
        {
            "release": cluster.score(sides.released, sides.mapped_test, mapped, limits, rng),
            "mapped": cluster.score(sides.mapped, sides.mapped_test, mapped, limits, rng),
            "real": cluster.score(sides.real, sides.real_test, real, limits, rng),
            "floor": cluster.floor(sides.mapped_test, mapped, limits, rng),
        }
    )


def _by_metric(by_side: Scores) -> Scores:
    metrics = next(iter(by_side.values()))
    return {metric: {side: scores[metric] for side, scores in by_side.items()} for metric in metrics}


def _likenesses(
    sides: Sides, limits: Limits, rng: np.random.Generator, trials: int, *, tested: bool
) -> list[Scores]:
    """Fidelity of the rows that were published, with its ceiling and floor, and of rows that are drawn anew."""
    first = _likeness(sides, limits, rng, tested=tested)
    if sides.published.redraw is None or sides.published.map.components_only:
        return [first]
    schema = sides.published.data_schema
    more = (fidelity.compare(sides.redrawn(rng), sides.real, schema, limits, rng) for _ in range(trials - 1))
    return [first, *(_by_metric({"release": scores}) for scores in more)]


def _likeness(sides: Sides, limits: Limits, rng: np.random.Generator, *, tested: bool) -> Scores:
    """Fidelity of the release, of the map alone, of other real rows (what sampling alone costs), of uniform rows."""
    schema = sides.published.data_schema
    components = sides.published.map.components_only
    real, other = (sides.mapped, sides.mapped_test) if components else (sides.real, sides.real_test)
    if components:
        schema = _bounded_by(real, schema)
    if not tested:
        order = rng.permutation(len(real))
        real, other = _rows(real, order[::2]), _rows(real, order[1::2])
    by_side = {"release": fidelity.compare(sides.released, real, schema, limits, rng)}
    if not components:
        by_side["mapped"] = fidelity.compare(sides.mapped, real, schema, limits, rng)
        by_side["floor"] = fidelity.compare(_uniform(real, schema, rng), real, schema, limits, rng)
    by_side["real"] = fidelity.compare(other, real, schema, limits, rng)
    found = _by_metric(by_side)
    if not components:
        lost = {"mapped": fidelity.reconstruction_error(sides.mapped.X, sides.real.X)}
        if sides.aligned is not None:
            lost["release"] = fidelity.reconstruction_error(sides.aligned.X, sides.real.X)
        found["reconstruction error"] = lost
    if components and sides.aligned is not None and sides.published.noise_std is not None:
        error = fidelity.record_distances(sides.aligned, sides.real, sides.published.noise_std, limits, rng)
        found["squared distances of records"] = {"release": error}
    return found


def _rows(side: Side, places: npt.NDArray[np.int64]) -> Side:
    return Side(side.table.take(places), side.X[places], None if side.y is None else side.y[places])


def _bounded_by(real: Side, schema: Schema) -> Schema:
    """Components have no declared bounds; here, where nothing is published, those of the real rows will do."""
    low, high = real.X.min(axis=0), real.X.max(axis=0)
    names = [column.name for column in schema.features]
    columns: list[Column] = [
        Column(name=name, kind="number", low=float(a) - 1e-9, high=float(b) + 1e-9)
        for name, a, b in zip(names, low, high, strict=True)
    ]
    return Schema(name=schema.name, columns=(*columns, *([schema.target] if schema.target else [])))


def _uniform(real: Side, schema: Schema, rng: np.random.Generator) -> Side:
    """Rows that know the schema and nothing else."""
    encoder = Encoder(schema)
    n = len(real)
    y: Any = None
    if encoder.target.is_class:
        y = rng.integers(0, len(encoder.classes or ()), n)
    elif encoder.target.is_number:
        y = rng.uniform(-1, 1, n)
    table = encoder.decode(rng.uniform(-1, 1, (n, encoder.width)), y)
    return Side(table, np.asarray(encoder.matrix(table.combine_chunks())), y)


def _scripted(
    sides: Sides, real: Any, analysis: Analysis, limits: Limits, rng: np.random.Generator
) -> Scores:
    """The user's numbers on released rows and on the real rows that they stand for."""
    seen = sides.published
    names = [column.name for column in seen.data_schema.released]
    released, _ = sample(seen.rows(), names, limits.script, rng)
    if seen.map.components_only:
        truth = sides.mapped.table
    else:
        truth, _ = sample(open_source(real, schema=seen.schema), names, limits.script, rng)
    by_side = {
        "release": analysed(analysis, released, "released"),
        "real": analysed(analysis, truth, "real"),
    }
    if by_side["release"].keys() != by_side["real"].keys():
        raise ParameterError("The script's analyse(table) must return the same names for all tables.")
    return _by_metric(by_side)
