"""What an analyst asks in the page is what the library answers; a mistake is a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from gnomon.release.verify import open_release


@pytest.fixture
def released(page: Any, complete: dict[str, Any]) -> dict[str, Any]:
    """A model release, opened."""
    return _opened(page, complete, "out", epsilon=20.0, delta=1e-6)


@pytest.fixture
def records(page: Any, complete: dict[str, Any]) -> dict[str, Any]:
    """A release with a row for each record, opened."""
    return _opened(page, complete, "rows", epsilon=500.0, method="jl-laplace", even_if_useless=True)


def _opened(page: Any, project: dict[str, Any], name: str, **how: Any) -> dict[str, Any]:
    out = page.work.places.roots[0] / name
    made = page.done(page("release", id=project["id"], out=str(out), **how))
    assert made["state"] == "done", made
    found: dict[str, Any] = page("open_folder", path=str(out))
    return found


def test_a_marginal_is_the_library_s(page: Any, released: dict[str, Any]) -> None:
    told = page("marginal", id=released["id"], columns=["sex"])
    found = open_release(released["path"], replay=False).marginal("sex").counts
    assert told["heads"] == ["sex"]
    assert [line["labels"] for line in told["lines"]] == [["f"], ["m"]]
    assert [line["value"] for line in told["lines"]] == pytest.approx(found.value)
    assert [line["low"] for line in told["lines"]] == pytest.approx(found.interval(0.95)[0])
    assert told["about"] == found.about
    pairs = page("marginal", id=released["id"], columns=["smoker", "sex"])
    assert [line["labels"] for line in pairs["lines"]] == [[a, b] for a in ("false", "true") for b in "fm"]
    assert {line["error"] for line in pairs["lines"]} == {None}  # not known, and not a number that JSON lacks


def test_a_sum_and_several_together(page: Any, released: dict[str, Any]) -> None:
    each = page("query", id=released["id"], terms=["age", "2*weight"])["lines"]
    both = page("query", id=released["id"], terms=["age", "2*weight"], together=True)["lines"]
    assert [line["labels"] for line in each] == [["age"], ["2*weight"]]
    assert both[0]["value"] == pytest.approx(each[0]["value"] + each[1]["value"])


def test_distances_and_neighbours_of_records(page: Any, records: dict[str, Any]) -> None:
    assert records["records"]
    opened = open_release(records["path"], replay=False)
    told = page("distances", id=records["id"], row=0, others=[5, 9])["lines"]
    assert [line["labels"] for line in told] == [["0", "5"], ["0", "9"]]
    assert [line["value"] for line in told] == pytest.approx(opened.distances([0, 0], [5, 9]).value)
    near = page("neighbours", id=records["id"], row=3, count=4)["lines"]
    assert [int(line["labels"][0]) for line in near] == opened.neighbours(3, 4).places.tolist()
    assert near[0]["high"] == "∞" or np.isfinite(near[0]["high"])


def test_rows_with_given_cells_on_the_page_and_in_a_file(page: Any, released: dict[str, Any]) -> None:
    shown = page("draw_rows", id=released["id"], rows=4, given=["sex=f", "age=30..60"])
    assert len(shown["rows"]) == 4
    place = {name: i for i, name in enumerate(shown["names"])}
    assert {row[place["sex"]] for row in shown["rows"]} == {"f"}
    out = page.work.places.roots[0] / "drawn.csv"
    done = page.done(page("draw_file", id=released["id"], rows=50, out=str(out), given=["sex=m"]))
    assert done["result"] == {"out": str(out), "rows": 50}
    assert pyarrow.csv.read_csv(out)["sex"].unique().to_pylist() == ["m"]
    again = page.done(page("draw_file", id=released["id"], rows=5, out=str(out)))
    assert "exists" in again["error"]


@pytest.mark.parametrize(
    ("action", "given", "words"),
    [
        ("marginal", {"columns": []}, "of one column or of two"),
        ("marginal", {"columns": ["nobody"]}, "has no column 'nobody'"),
        ("query", {"terms": []}, "Ask for a column"),
        ("query", {"terms": ["sex=x"]}, "target"),
        ("distances", {"row": 0, "others": [1]}, "no row for each record"),
        ("neighbours", {"row": 0}, "no row for each record"),
        ("draw_rows", {"rows": 0}, "from 1 to 20 rows"),
        ("draw_rows", {"rows": 2, "given": ["nobody=1"]}, "with a column of the release"),
        ("draw_file", {"rows": 5, "out": "drawn.txt"}, "must end in .parquet or .csv"),
        ("draw_file", {"rows": 0, "out": "drawn.csv"}, "at least 1"),
        ("draw_file", {"rows": 5, "out": "/etc/drawn.csv"}, "outside the folders"),
    ],
)
def test_a_mistake_is_a_sentence(
    page: Any, released: dict[str, Any], action: str, given: dict[str, Any], words: str
) -> None:
    assert words in page.refused(action, id=released["id"], **given)


def test_places_of_records_that_are_none(page: Any, records: dict[str, Any]) -> None:
    assert "from 0 to 299" in page.refused("distances", id=records["id"], row=300, others=[0])
    assert "Say to which rows" in page.refused("distances", id=records["id"], row=0, others=[])
    assert "from 1 to 299" in page.refused("neighbours", id=records["id"], row=0, count=300)


def test_a_changed_folder_answers_nothing(page: Any, released: dict[str, Any]) -> None:
    data = Path(released["path"]) / "data.parquet"
    data.write_bytes(data.read_bytes()[:-1] + b"X")
    assert "was changed" in page.refused("marginal", id=released["id"], columns=["sex"])
    assert "was changed" in page.refused("draw_rows", id=released["id"], rows=2)


def test_of_many_opened_releases_the_oldest_is_forgotten(page: Any, released: dict[str, Any]) -> None:
    from gnomon.app.workspace import OPENED

    for i in range(OPENED):
        page.work.keep(f"other-{i}", page.work.release(released["id"]) if i == 0 else None)
    assert "not open any more" in page.refused("marginal", id=released["id"], columns=["sex"])


def test_a_folder_with_links_answers_nothing(page: Any, released: dict[str, Any], tmp_path: Path) -> None:
    data = Path(released["path"]) / "data.parquet"
    data.rename(tmp_path / "elsewhere.parquet")
    data.symlink_to(tmp_path / "elsewhere.parquet")
    assert "holds links" in page.refused("marginal", id=released["id"], columns=["sex"])
