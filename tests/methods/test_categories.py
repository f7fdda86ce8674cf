"""Categories of features that nobody declared: found by a paid selection, rare ones in one more category."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import ParameterError, SchemaError, UselessError
from gnomon.methods.bounds import share_of
from gnomon.methods.charging import unaccounted
from gnomon.methods.classes import FrequentLabels, selection_losses
from gnomon.verdict.levels import Level
from gnomon.verdict.predict import predict

N = 20_000


def codes(n: int = N) -> pa.Table:
    """A thousand codes of falling frequency, a city, and one record's own code."""
    rng = np.random.default_rng(3)
    p = 1 / np.arange(1, 1001)
    icd = np.array([f"C{c}" for c in rng.choice(1000, n, p=p / p.sum())], dtype=object)
    icd[0] = "only here"
    return pa.table({"age": rng.uniform(0, 100, n), "icd": icd, "city": rng.choice(["A", "B"], n)})


def schema(**more: Any) -> gn.Schema:
    age = gn.Column(name="age", kind="number", low=0, high=100)
    icd = gn.Column(name="icd", kind="category", estimate=True, **more)
    return gn.Schema(name="ward", columns=(age, icd, gn.Column(name="city", kind="category", estimate=True)))


def fitted(epsilon: float = 4.0, n: int = N, **more: Any) -> Any:
    return gn.Synthesizer(epsilon, schema=schema(**more), random_state=0).fit(codes(n), charge=unaccounted)


def test_frequent_categories_are_found_and_rare_ones_are_other() -> None:
    method, table = fitted(), codes()
    values = method.schema_["icd"].values
    assert {"C0", "C1"} <= set(values)
    assert "only here" not in values
    assert method.schema_["icd"].other == "other" == values[-1]
    assert set(method.schema_["city"].values) == {"A", "B", "other"}
    first = method.certificate_.events[0]
    assert first.statistic == "set of labels of 'icd', 'city'"
    assert first.loss == {"epsilon": pytest.approx(0.8), "delta": method.guarantee_.delta / 2}
    released = method.sample(N)["icd"].to_pylist()
    shown = np.mean([cell == "C0" for cell in table["icd"].to_pylist()])
    assert np.mean([cell == "C0" for cell in released]) == pytest.approx(shown, abs=0.02)
    rare = np.mean([cell not in values for cell in table["icd"].to_pylist()])
    assert np.mean([cell == "other" for cell in released]) == pytest.approx(rare, abs=0.03)
    again = gn.Synthesizer(**method.get_params()).replay(
        method.declared_schema_, method.n_public_, method.answers_, method.seed_, made=method.made_
    )
    assert again.certificate_ == method.certificate_


def test_a_declared_other_takes_the_rare_ones() -> None:
    assert fitted(other="rest").schema_["icd"].values[-1] == "rest"


def test_a_column_of_which_nothing_is_frequent_is_left_out_with_a_sentence() -> None:
    method = fitted(0.5, 1000)
    assert method.schema_["icd"].kind == "ignored"
    assert (
        "The columns 'icd', 'city' are left out: their categories were to be found, and the noise of this budget hides "
        "them. Declare their values, or spend more." in method.certificate_.caveats
    )


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_one_record_with_labels_of_its_own_in_all_columns_costs_its_delta(adjacency: str) -> None:
    """The exact chance that any of its labels is shown, against what the proof allows; and nearly all of it is used."""
    loss = gn.ApproxDP(0.7, 1e-3, gn.Unit.ROW, gn.Adjacency(adjacency))
    for c in (1, 2, 5):
        query = FrequentLabels(tuple(f"x{j}" for j in range(c)))
        q = exp(-1 / query.noise(loss).scale)
        shown = q ** query.threshold(loss) / (1 + q)  # P(1 + Z > t) = P(Z >= t)
        assert 1 - (1 - shown) ** c <= loss.delta / (1 + exp(loss.epsilon))
        assert c * shown * 8 > loss.delta / (1 + exp(loss.epsilon))


def test_one_record_moves_two_counts_of_every_column() -> None:
    loss = gn.ApproxDP(1.0, 1e-6)
    table, other = codes(50), codes(50).to_pylist()
    other[0] = {"age": 1.0, "icd": "C1", "city": "elsewhere"}
    changed = pa.Table.from_pylist(other, schema=table.schema)
    names = ("icd", "city")
    labels = tuple(sorted({(n, f'"{v}"') for t in (table, changed) for n in names for v in t[n].to_pylist()}))
    query = FrequentLabels(names, labels)
    one, another = (query.of_batch(t.combine_chunks().to_batches()[0]) for t in (table, changed))
    assert np.abs(one - another).sum() == 4 == query.noise(loss).scale * loss.epsilon


def test_what_it_costs_is_planned() -> None:
    guarantee = gn.ApproxDP(1.0, 1e-6)
    assert share_of(schema(), N, guarantee) == pytest.approx(0.2)
    paying, left = selection_losses(guarantee, 2)
    assert paying.epsilon + left.epsilon == pytest.approx(1)
    assert paying.delta + left.delta == 1e-6
    hidden = {one.name: one.level for one in predict(schema(), 300, guarantee, remedies=False).columns}
    assert hidden["icd"] is hidden["city"] is Level.LOST


def test_plan_says_which_categories_would_be_other() -> None:
    note = gn.plan(schema(), N, epsilon=1.0).notes[0]
    assert note.startswith(
        "20% of the budget goes to what is estimated of: icd, city. A category that about "
    )
    assert note.endswith(" rows or fewer have would not be found: it is in 'other'.")
    assert FrequentLabels(("icd", "city")).threshold(selection_losses(gn.ApproxDP(1.0, 1e-6), 2)[0]) == int(
        note.split("about ")[1].split(" ")[0]
    )


def test_a_target_that_noise_would_hide_is_refused_before_the_charge(tmp_path: Path) -> None:
    hidden = gn.Schema(
        columns=tuple(c.with_(role="target") if c.name == "city" else c for c in schema().columns)
    )
    ledger = gn.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(UselessError, match="would hide the classes of the target 'city'"):
        gn.publish(codes(1000), tmp_path / "out", schema=hidden, epsilon=0.01, ledger=ledger)
    assert ledger.accounts() == []


def test_it_needs_a_delta() -> None:
    with pytest.raises(
        ParameterError, match="categories of 'icd' are to be found privately, which needs delta above 0"
    ):
        gn.Synthesizer(1.0, 0.0, schema=schema()).fit(codes(), charge=unaccounted)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"ordered": True}, "takes no values and no order"),
        ({"values": ("a",)}, "takes no values and no order"),
        ({"role": "target", "other": "x"}, "has both estimate = true and other"),
    ],
)
def test_contradictions_are_a_sentence(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        gn.Column(name="icd", kind="category", estimate=True, **keys)


def test_persons_need_declared_categories() -> None:
    person = gn.Column(name="who", kind="identifier")
    icd = gn.Column(name="icd", kind="category", estimate=True)
    with pytest.raises(SchemaError, match="The categories of 'icd' cannot be estimated beside person"):
        gn.Schema(name="t", person="who", rows_per_person=1, rows=100, columns=(person, icd))


def test_a_text_file_is_enough(tmp_path: Path) -> None:
    """From the command line's parts: a file, a schema in TOML, a folder."""
    import pyarrow.csv

    pyarrow.csv.write_csv(codes(5000), tmp_path / "ward.csv")
    text = '[table]\nname = "ward"\n[columns.age]\nkind = "number"\nlow = 0\nhigh = 100\n'
    text += '[columns."i*"]\nkind = "category"\nestimate = true\n[columns.city]\nkind = "ignored"\n'
    (tmp_path / "schema.toml").write_text("format = 2\n" + text)
    done = gn.publish(
        tmp_path / "ward.csv",
        tmp_path / "out",
        schema=tmp_path / "schema.toml",
        epsilon=4,
        ledger=gn.Ledger(tmp_path / "ledger.sqlite"),
    )
    assert done is not None
    opened = gn.open_release(tmp_path / "out")
    assert opened.schema["icd"].values[0] == "C0"
