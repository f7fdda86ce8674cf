"""Drafts: patterns, hints and the form of a file are written for the custodian to confirm; a bound or category never."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from gnomon.cli import main
from gnomon.errors import SchemaError
from gnomon.table.draft import draft
from gnomon.table.gaps import find_gaps
from gnomon.table.hints import is_key, is_remark, number_hint
from gnomon.table.schema import Schema
from gnomon.table.sniff import look, sniff
from gnomon.table.stems import by_pattern

GERMAN = (
    "patient;Alter;größe;geboren;raucher;plz;befund;bemerkung\n"
    + '17;41;1.234,5;17.05.1961;ja;01067;"gut";"kam zu Fuß und ging ohne Hilfe"\n'
    + '18;?;2,5;31.12.1999;nein;50667;"?";"hat seit drei Tagen starke Schmerzen"\n'
)


def test_the_form_of_a_file_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    text = draft(path)
    document = Schema.parse(text)
    assert document["table"]["csv"] == {
        "delimiter": ";",
        "encoding": "cp1252",
        "decimal": ",",
        "thousands": ".",
        "missing_values": ["?"],
    }
    columns = document["columns"]
    assert {name: body["kind"] for name, body in columns.items()} == {
        "patient": "identifier",
        "Alter": "number",
        "größe": "number",
        "geboren": "date",
        "raucher": "boolean",
        "plz": "category",  # zeros at its front are those of a code
        "befund": "category",
        "bemerkung": "ignored",
    }
    assert columns["Alter"]["integer"]
    assert columns["geboren"]["date_format"] == "%d.%m.%Y"
    for value in ("41", "1.234", "1961", "01067", "gut", "Fuß"):
        assert value not in text
    assert any('delimiter = ";"' in remark for remark in text.remarks)
    assert any("free text" in remark and "bemerkung" in remark for remark in text.remarks)


def test_a_draft_does_not_follow_from_what_cells_say(tmp_path: Path) -> None:
    texts = []
    for age, ward in (("1", "north"), ("99", "elsewhere")):
        (tmp_path / "t.csv").write_text(f"age,ward\n{age},{ward}\n{age},{ward}x\n")
        texts.append(draft(tmp_path / "t.csv"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("cells", "kind", "formats"),
    [
        (["1", "-2", "+3"], "integer", ()),
        (["1", "2.5", "1e3"], "number", ()),
        (["007", "011"], "category", ()),
        (["yes", "NO"], "boolean", ()),
        (["0", "1"], "integer", ()),
        (["2020-01-31", "2020-02-01T10:00:00"], "date", ()),
        (["31.01.2020"], "date", ("%d.%m.%Y",)),
        (["01/31/2020"], "date", ("%m/%d/%Y",)),
        (["01/02/2020"], "date", ("%m/%d/%Y", "%d/%m/%Y")),
        (["31.01.2020 10:30"], "date", ("%d.%m.%Y %H:%M",)),
        (["a", "b c"], "category", ()),
        (["came by foot and left", "was in great pain here"], "free text", ()),
        ([], "empty", ()),
    ],
)
def test_the_form_of_cells(cells: list[str], kind: str, formats: tuple[str, ...]) -> None:
    assert look(cells) == (kind, formats, ())


def test_dates_that_fit_two_forms_are_left_open() -> None:
    text = draft(pa.table({"seen": ["01/02/2020", "03/04/2021"]}))
    assert '# date_format = "%m/%d/%Y"  # or "%d/%m/%Y": the first cells fit both' in text


def test_marks_for_missing_cells_of_a_frame_are_those_of_a_column() -> None:
    columns = Schema.parse(draft(pa.table({"n": ["1", "?", "-"], "ward": ["?", "a", "-"]})))["columns"]
    assert columns["n"] == {"kind": "number", "integer": True, "missing_values": ["?", "-"]}
    assert columns["ward"] == {"kind": "category", "missing_values": ["?"]}  # where "-" may say something


@pytest.mark.parametrize(
    ("content", "delimiter", "encoding"),
    [
        (b"a,b\n1,2\n", ",", "utf-8"),
        (b"a;b\n1,5;2,5\n", ";", "utf-8"),
        (b"a|b\n1|2\n", "|", "utf-8"),
        (b"a\tb, c\n1\t2\n", "\t", "utf-8"),
        (b'a;b\n"1;1";2\n', ";", "utf-8"),
        ("ä,b\n".encode("cp1252"), ",", "cp1252"),
        (b"\x81,b\n", ",", "latin-1"),
        ("a,ä\n1,2\n".encode("utf-16"), ",", "utf-16"),
        (b"only\n1\n", ",", "utf-8"),
    ],
)
def test_the_form_of_a_text_file(tmp_path: Path, content: bytes, delimiter: str, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    form = sniff(tmp_path / "t.csv")
    assert form is not None
    assert (form.delimiter, form.encoding) == (delimiter, encoding)


def test_columns_that_share_a_stem_and_a_type_share_a_pattern() -> None:
    names = [f"lab_{i}" for i in "abcd"] + [f"x{i}" for i in range(9)] + ["xylose", "age"]
    table = pa.table({**{name: [1.5] for name in names}, "lab_code": ["a"], "lab_day": [1]})
    text = draft(table)
    columns = Schema.parse(text)["columns"]
    assert list(columns) == ["lab_*", "x*", "xylose", "age", "lab_code", "lab_day"]
    assert Schema.parse(text)["table"]["columns"] == table.column_names
    schema = text.fill(
        {"lab_*": (0, 1), "x*": (0, 2), "xylose": (0, 3), "age": (0, 9), "lab_code": ["a"], "lab_day": (0, 4)}
    )
    assert [schema[name].high for name in ("lab_b", "x7", "xylose", "lab_day")] == [1, 2, 3, 4]
    assert [column.name for column in schema.columns] == table.column_names
    assert schema["lab_code"].values == ("a",)


def test_patterns_that_would_catch_others_are_not_drafted() -> None:
    said = {
        **{f"{i}x_a": 1 for i in range(3)},
        **{f"q{i}x_b": 2 for i in range(3)},
        "a_x": 1,
        "a_y": 2,
        "a_z": 2,
    }
    served = by_pattern(said)
    assert sorted(name for members in served.values() for name in members) == sorted(said)
    for members in served.values():
        assert len({said[name] for name in members}) == 1


def test_stars_in_names_stay_names() -> None:
    text = draft(pa.table({"a*": [True], "ab": [True], "ac": [True]}))
    assert [column.name for column in text.fill({}).columns] == ["a*", "ab", "ac"]


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("age", ("0", "120")),
        ("AgeAtVisit", ("0", "120")),
        ("Oxygen Saturation (%)", ("0", "100")),
        ("hours-per-week", ("0", "168")),
        ("Num of pregnancies", ("0", "")),
        ("capital-gain", ("0", "")),
        ("birth_year", ("1900", "2100")),
        ("packs/year", None),
        ("packs per year", None),
        ("voltage", None),
        ("magnesium", None),
    ],
)
def test_names_suggest_bounds(name: str, bounds: tuple[str, str] | None) -> None:
    hint = number_hint(name)
    assert (None if hint is None else (hint.low, hint.high)) == bounds


def test_names_of_keys_and_remarks() -> None:
    assert all(is_key(name) for name in ("id", "patient_id", "PatientID", "patient", "e-mail", "name"))
    assert not any(is_key(name) for name in ("idle", "grid", "country name", "education-num"))
    assert is_remark("Remarks (nurse)")
    assert not is_remark("noted")


def test_every_gap_is_listed_and_the_rest_is_a_schema() -> None:
    text = """
[columns.a]
kind = "number"
[columns.b]
kind = "category"
[columns.c]
low = 3
[columns.d]
kind = "boolean"
[columns."e_*"]
kind = "date"
"""
    gaps = find_gaps(text)
    assert [sentence.split(";")[0] for sentence in gaps.sentences] == [
        "The column 'a' has no low and high",
        "The column 'b' has no values",
        "The column 'c' of the schema has no kind",
        "The column 'e_*' has no low and high",
    ]
    assert gaps.schema is not None
    assert [column.name for column in gaps.schema.columns] == ["d"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[columns", "does not parse as TOML"),
        ("", "declares no column"),
        ("[columns.a]\nkind = 'ignored'", "releases no column"),
        ("columns = 3", "must have tables"),
        ("[defaults]\nlow = 3\n[columns.a]\nkind = 'boolean'", "only a policy"),
    ],
)
def test_what_is_wrong_with_the_whole_is_a_gap_too(text: str, sentence: str) -> None:
    gaps = find_gaps(text)
    assert gaps.schema is None
    assert sentence in gaps.sentences[0]


def test_that_nothing_is_released_yet_is_no_gap_of_its_own() -> None:
    gaps = find_gaps("[columns.id]\nkind = 'identifier'\n[columns.age]\nkind = 'number'\n")
    assert [sentence.split(";")[0] for sentence in gaps.sentences] == ["The column 'age' has no low and high"]


def test_check_lists_gaps_and_cells_in_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a;b;c;d\n1,5;x;01.02.2020;secret\n2,5;y;31.12.2020;secret\n")
    Path("s.toml").write_text("""
[table.csv]
delimiter = ";"
[columns.a]
kind = "number"
low = 0
high = 9
[columns.b]
kind = "category"
[columns.c]
kind = "date"
low = 2020-01-01
high = 2021-01-01
""")
    assert main(["check", "t.csv", "--schema", "s.toml"]) == 2
    said = capsys.readouterr()
    assert "1 declaration of the schema to be completed" in said.out
    assert "- The column 'b' has no values" in said.out
    assert "Not in the schema, and never read: d." in said.out
    assert (
        "'a' has cells that look like numbers of another form; write decimal = \",\" under [table.csv]"
        in said.out
    )
    assert "'c' has cells that look like dates of another form; write date_format = \"%d.%m.%Y\"" in said.out
    assert "(the first of 3 problems, listed above)" in said.err
    assert "secret" not in said.out + said.err
    assert main(["check", "t.csv", "--schema", "s.toml", "--target", "a"]) == 2
    assert main(["check", "t.csv", "--schema", "s.toml", "--target", "b"]) == 2


def test_plan_needs_the_names_behind_a_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text("[columns.'lab_*']\nkind = 'number'\nlow = 0\nhigh = 9\n")
    assert main(["plan", "--schema", str(path), "--rows", "100", "--epsilon", "1"]) == 2
    assert "pattern 'lab_*' and no table to name the columns; list them" in capsys.readouterr().err


def test_init_says_what_it_chose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ward.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    (tmp_path / "book.csv").write_text(
        "name,kind,low,high,values\nAlter,integer,0,120,\nbefund,,,,gut|schlecht\n"
    )
    out = tmp_path / "s.toml"
    assert main(["init", str(path), "--out", str(out), "--codebook", str(tmp_path / "book.csv")]) == 0
    said = capsys.readouterr().out
    assert "8 columns" in said
    assert "Left out as keys, by their names: patient." in said
    assert "describes 2 of 8 columns; it lacks patient, größe, geboren, raucher, plz and more." in said
    assert "3 declarations are to be completed" in said
    with pytest.raises(SchemaError, match="'größe' has no low and high"):
        Schema.load(out)
    out.unlink()
    public = tmp_path / "public.csv"
    public.write_bytes((GERMAN + '19;99;0;01.01.1920;ja;99999;"schlecht";""\n').encode("cp1252"))
    assert main(["init", str(path), "--out", str(out), "--from-public", str(public)]) == 0
    assert Schema.load(out)["befund"].values == ("gut", "schlecht")
    assert Schema.load(out)["patient"].kind == "identifier"
    assert "Nothing is left open" in capsys.readouterr().out
    assert (
        main(["check", str(path), "--schema", str(out)]) == 2
    )  # that cells may be missing is still to be said
    out.write_text(out.read_text().replace("# missing =", "missing ="))
    assert main(["check", str(path), "--schema", str(out)]) == 0


def test_the_private_table_is_not_taken_for_a_public_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "ward.csv"
    table.write_text("age,ward\n30,north\n40,south\n")
    copy = tmp_path / "copy.csv"
    copy.write_text(table.read_text())
    for public in (table, copy):
        code = main(["init", str(table), "--from-public", str(public), "--out", str(tmp_path / "s.toml")])
        assert code == 2
        assert "is the one to be released" in capsys.readouterr().err
        assert not (tmp_path / "s.toml").exists()
    copy.write_text("age,ward\n0,north\n120,east\n")
    assert main(["init", str(table), "--from-public", str(copy), "--out", str(tmp_path / "s.toml")]) == 0
    assert "will be published: go on only if anybody may see them" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "high"),
    [("height_m", "2.5"), ("heightM", "2.5"), ("height_cm", "250"), ("height", "250")],
)
def test_a_unit_beside_a_name_decides_the_hint(name: str, high: str) -> None:
    hint = number_hint(name)
    assert hint is not None
    assert hint.high == high


def test_check_says_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ward.csv").write_text("age\n30\n200\n")
    (tmp_path / "s.toml").write_text('format = 2\n[columns.age]\nkind = "number"\nlow = 0\nhigh = 120\n')
    assert main(["check", str(tmp_path / "ward.csv"), "--schema", str(tmp_path / "s.toml")]) == 0
    said = capsys.readouterr().out
    assert "would be clipped to them: age." in said
    assert "--rows 2 --epsilon 1" in said


@pytest.mark.parametrize(
    ("declared", "cell", "remedy"),
    [
        ("%Y/%m/%d", "31.12.2020", 'write date_format = "%d.%m.%Y" for the column'),
        ("%d.%m.%Y", "2020-12-31", "they are ISO dates, so leave out date_format"),
    ],
)
def test_a_wrong_date_format_is_named(
    declared: str,
    cell: str,
    remedy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("seen\n" + f"{cell}\n" * 5)
    Path("s.toml").write_text(
        f'[columns.seen]\nkind = "date"\ndate_format = "{declared}"\nlow = 2020-01-01\nhigh = 2021-01-01\n'
    )
    assert main(["check", "t.csv", "--schema", "s.toml"]) == 2
    assert f"look like dates of another form; {remedy}." in capsys.readouterr().out
