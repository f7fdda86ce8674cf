"""Several draws of a model release and the rules that combine them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import DataError, ParameterError
from gnomon.methods.charging import unaccounted
from gnomon.release.analyst.draws import Draws, combined
from gnomon.release.folder import open_release, write_release

SCHEMA = gn.Schema(
    name="t",
    columns=tuple(gn.Column(name=name, kind="number", low=-4, high=4) for name in ("x", "y")),
)


def pairs(n: int, rng: np.random.Generator) -> pa.Table:
    x = rng.standard_normal(n)
    return pa.table({"x": x, "y": 0.5 * x + 0.5 + 0.8 * rng.standard_normal(n)})


def test_the_rule_of_raghunathan_reiter_and_rubin() -> None:
    """T = (1 + 1/d) b - u, as printed; where it is not positive, the draws' own variance."""
    q = np.array([[1.0], [3.0], [5.0]])
    found = combined(q, np.full((3, 1), 0.5))
    assert found.value == pytest.approx([3.0])
    assert found.standard_error**2 == pytest.approx([4 / 3 * 4 - 0.5])
    assert found.degrees == pytest.approx(2 * (1 - 0.5 / (16 / 3)) ** 2)
    assert combined(q, np.full((3, 1), 9.0), share=0.5).standard_error ** 2 == pytest.approx([4.5])
    for bad in (q[:1], q[:2]):
        with pytest.raises(ParameterError, match="at least 2 draws"):
            combined(bad, np.ones((1, 1)))


def test_the_rule_holds_for_posterior_draws() -> None:
    """Normal data, the textbook's case: 95% intervals hold at least 93 of 100, and are no wider than they must be."""
    rng, n, d, held, variances = np.random.default_rng(0), 200, 20, [], []
    for _ in range(1500):
        x = rng.standard_normal(n) + 2
        means = x.mean() + x.std() / np.sqrt(n) * rng.standard_normal(d)
        synthetic = means[:, None] + x.std() * rng.standard_normal((d, n))
        one = combined(synthetic.mean(axis=1)[:, None], synthetic.var(axis=1, ddof=1)[:, None] / n)
        low, high = one.interval()
        held.append(low[0] <= 2 <= high[0])
        variances.append(one.standard_error[0] ** 2)
    assert np.mean(held) >= 0.93
    assert np.mean(variances) == pytest.approx((1 + 2 / d) / n, rel=0.1)


def test_draws_of_a_release_tell_means_and_regressions(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    method = gn.baseline.Modips(8.0, 1e-6, schema=SCHEMA, task="clustering").fit(
        pairs(2000, rng), charge=unaccounted
    )
    write_release(method, tmp_path / "out")
    opened = open_release(tmp_path / "out")
    draws = opened.draws(6, rows=1000)
    assert isinstance(draws, Draws)
    assert [table.num_rows for table in draws.tables] == [1000] * 6
    assert draws.share == pytest.approx(0.5)
    means, slopes = draws.means(["x", "y"]), draws.regression("y", ["x"])
    assert means.value == pytest.approx([0.0, 0.5], abs=0.2)
    assert slopes.value == pytest.approx([0.5, 0.5], abs=0.2)
    assert np.all((means.standard_error > 0) & (means.standard_error < 0.3))
    again = opened.draws(6, rows=1000)
    assert any(
        not a.equals(b) for a, b in zip(draws.tables, again.tables, strict=True)
    )  # noise is never seeded
    with pytest.raises(ParameterError, match="at least 2"):
        opened.draws(1)
    with pytest.raises(ParameterError, match="no column 'z'"):
        draws.means(["z"])


def test_draws_refuse_persons_and_words(tmp_path: Path) -> None:
    words = Draws((pa.table({"w": ["a", "b"]}),) * 2, 1.0)
    with pytest.raises(ParameterError, match="neither a number nor a boolean"):
        words.means(["w"])
    schema = gn.Schema(
        name="t",
        columns=(*SCHEMA.columns, gn.Column(name="who", kind="identifier")),
        person="who",
        rows_per_person=2,
        rows=500,
    )
    table = pairs(500, np.random.default_rng(2)).append_column("who", pa.array(np.arange(500)))
    method = gn.baseline.Modips(8.0, 1e-6, schema=schema, task="clustering").fit(table, charge=unaccounted)
    write_release(method, tmp_path / "out")
    with pytest.raises(DataError, match="protects persons"):
        open_release(tmp_path / "out").draws(3)
