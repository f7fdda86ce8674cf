"""Releases, plans, certificates and evaluations show themselves in a notebook, without a script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import gnomon as gn

SCHEMA = gn.Schema.of_arrays(2, (0.0, 1.0), names=["<age>", "dose"])


def test_everything_that_is_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"<age>": rng.random(300), "dose": rng.random(300)})
    done = gn.publish(
        table,
        tmp_path / "out",
        schema=SCHEMA,
        epsilon=2,
        ledger=tmp_path / "l.sqlite",
        even_if_useless=True,
    )
    opened = gn.open_release(tmp_path / "out", replay=False)
    assert gn.Ledger(tmp_path / "l.sqlite").show(done.balance.account) == done.balance
    assert done.balance.charges == 1
    evaluated = gn.evaluate(done.method, table, trials=1, task="clustering")
    assert repr(evaluated).startswith("Clusters found in the release separate real rows")
    assert len(repr(evaluated)) < 1000
    shown = {
        "published": done._repr_html_(),
        "opened": opened._repr_html_(),
        "certificate": opened.certificate._repr_html_(),
        "plan": gn.plan(SCHEMA, 300, epsilon=2)._repr_html_(),
        "evaluation": evaluated._repr_html_(),
    }
    for name, html in shown.items():
        assert "<script" not in html, name
        assert "<age>" not in html, name  # names come from tables, and are escaped
    assert shown["published"] == shown["opened"]
    assert shown["opened"].startswith("<iframe")
    assert "epsilon" in shown["certificate"]
    assert "&lt;age&gt;" in shown["plan"]
    assert "not for release" in shown["evaluation"]
