"""V2: a table is a multiset of rows, and its budget account is named by the custodian."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import gnomon as gn


def reordered(table: pa.Table, seed: int | None = None) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


class Query:
    """A lazy query without ORDER BY: the same rows in another order at every read."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return reordered(self._table).__arrow_c_stream__(requested_schema)


def in_another_order(custodian: Any, table: pa.Table) -> Any:
    return reordered(table, seed=2)


def in_a_file(custodian: Any, table: pa.Table) -> Path:
    return custodian.write(table, "other.parquet")


def in_small_row_groups(custodian: Any, table: pa.Table) -> Path:
    return custodian.write(table, "groups.parquet", row_group_size=50)


def in_text(custodian: Any, table: pa.Table) -> Path:
    pyarrow.csv.write_csv(table, custodian.folder / "ward.csv")
    return custodian.folder / "ward.csv"


def in_narrower_integers(custodian: Any, table: pa.Table) -> pa.Table:
    return table.set_column(0, "age", table["age"].cast(pa.int16()))


def in_other_batches(custodian: Any, table: pa.Table) -> pa.Table:
    return pa.Table.from_batches(table.to_batches(max_chunksize=17))


def in_a_dictionary(custodian: Any, table: pa.Table) -> pa.Table:
    return table.set_column(2, "station", table["station"].dictionary_encode())


@pytest.mark.parametrize(
    "other",
    [
        in_another_order,
        in_a_file,
        in_small_row_groups,
        in_text,
        in_narrower_integers,
        in_other_batches,
        in_a_dictionary,
    ],
)
def test_the_same_rows_are_the_same_content(
    custodian: Any, ward: pa.Table, other: Callable[[Any, pa.Table], Any]
) -> None:
    """The content print is a function of the multiset of typed rows: not of order, batches, format or encoding."""
    assert custodian.content_print(other(custodian, ward)) == custodian.content_print(ward)


def test_other_rows_are_other_content(custodian: Any, ward: pa.Table) -> None:
    """One changed cell, or one row twice in place of another, is another content."""
    changed = ward.set_column(0, "age", pa.array([1, *ward["age"].to_pylist()[1:]]))
    doubled = pa.concat_tables([ward.slice(1), ward.slice(1, 1)])
    prints = {custodian.content_print(table) for table in (ward, changed, doubled)}
    assert len(prints) == 3


def test_a_cap_binds_for_a_query_without_a_fixed_order(
    custodian: Any, ward: pa.Table, refusal: type[Exception]
) -> None:
    """A cap on epsilon bounds the sum over all releases of a table, in whatever order its rows arrive."""
    query = Query(ward)
    custodian.cap("ward", query, epsilon=1.0)

    def release() -> None:
        custodian.publish(query, gn.RonGauss(1.0, 0.0, schema=custodian.schema))

    release()
    with pytest.raises(refusal, match=r"[Bb]udget"):
        release()


def test_the_custodian_names_the_account(custodian: Any, ward: pa.Table) -> None:
    """`--account` names what a release draws on; a new export of the table does not open a new budget."""
    assert custodian.run("budget", "cap", "ward-2026", "--epsilon", 1.5).code == 0
    assert custodian.release(custodian.write(ward), "--account", "ward-2026").code == 0
    exported = custodian.write(reordered(ward), "again.parquet")
    assert custodian.release(exported, "--account", "ward-2026").code == 3
    assert custodian.release(exported, "--account", "ward-2026", epsilon=0.5).code == 0


@pytest.mark.parametrize("moved", [False, True], ids=["one ledger", "an account from another machine"])
@pytest.mark.parametrize("same", [True, False], ids=["the same table", "another table"])
def test_one_table_on_two_accounts_is_noticed(
    custodian: Any, ward: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool, same: bool
) -> None:
    """Also where the first account came from another machine, with another key for its prints."""
    data = custodian.write(ward)
    assert custodian.release(data, "--account", "first").code == 0
    if moved:
        assert custodian.run("budget", "export", "first", "--out", tmp_path / "first.json").code == 0
        monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "there.sqlite"))
        assert custodian.run("budget", "import", "first", "--from", tmp_path / "first.json").code == 0
    if not same:
        data = custodian.write(ward.slice(1), "other.parquet")
    outcome = custodian.release(data, "--account", "second")
    assert outcome.code == 0, outcome.err
    assert ("was released from the account 'first' before" in outcome.err) == same
