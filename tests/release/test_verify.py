"""Verification: one changed byte anywhere is noticed, a whole folder is made again without its table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

import gnomon as gn
from gnomon.cli import main
from gnomon.errors import DataError, ParameterError, VerificationError
from gnomon.methods import METHODS
from gnomon.privacy import certificate as certificates
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.release import folder as folders
from gnomon.release import verify as verification
from gnomon.release.folder import certificate_text, sha256, write_release
from gnomon.release.map import load_arrays, save_arrays
from gnomon.release.registry import entry
from gnomon.release.sign import private_key, public_key
from gnomon.release.verify import verify

SCHEMA = """[table]
name = "ward"
[columns.age]
kind = "number"
low = 0
high = 120
integer = true
[columns.ward]
kind = "category"
values = ["north", "south", "west"]
[columns.dose]
kind = "number"
low = 0
high = 9
missing = "indicator"
[columns.seen]
kind = "date"
low = 2020-01-01
high = 2026-12-31
[columns.home]
kind = "boolean"
"""


def table(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(0, 100, n),
            "ward": rng.choice(["north", "south", "west"], n),
            "dose": pa.array(rng.uniform(0, 9, n), mask=rng.random(n) < 0.1),
            "seen": pa.array(rng.integers(18300, 20800, n), pa.int32()).cast(pa.date32()),
            "home": rng.random(n) < 0.5,
        }
    )


def made(name: str, target: str | None = "home", **more: Any) -> Any:
    extra = {"exponential": {"candidates": 40, "database_rows": 20}, "blocki": {"sketch_rows": 60}}
    schema = gn.Schema.loads(SCHEMA).with_target(target)
    return METHODS[name](epsilon=2.0, delta=1e-5, schema=schema, **extra.get(name, {}), **more)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """key.pem and public.pem as openssl writes them, and others that are of no use."""
    place = tmp_path_factory.mktemp("keys")
    plain = NoEncryption()
    for name in ("key", "other"):
        key = Ed25519PrivateKey.generate()
        (place / f"{name}.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, plain))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (place / f"{name}-public.pem").write_bytes(public)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (place / "locked.pem").write_bytes(locked)
    rsa = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, plain)
    (place / "rsa.pem").write_bytes(rsa)
    (place / "rubbish.pem").write_bytes(b"rubbish")
    return place


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Path:
    out = tmp_path_factory.mktemp("signed") / "out"
    write_release(made("ron-gauss").fit(table()), out, rows=150, sign=private_key(keys / "key.pem"))
    return out


@pytest.fixture
def copy(signed: Path, tmp_path: Path) -> Path:
    shutil.copytree(signed, tmp_path / "copy")
    return tmp_path / "copy"


# --- whole folders ---


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("target", [None, "home"])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_verifies(name: str, target: str | None, tmp_path: Path) -> None:
    try:
        method = made(name, target).fit(table())
    except ParameterError:
        pytest.skip("the method needs a target, or none")
    write_release(method, tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.replayed
    assert found.notes == ()
    assert found.signature is None
    assert found.release.data.num_rows == 200


@pytest.mark.parametrize("name", ["ron-gauss", "dprp"])
def test_a_csv_verifies(name: str, tmp_path: Path) -> None:
    write_release(made(name).fit(table()), tmp_path / "out", format="csv")
    assert verify(tmp_path / "out").replayed
    assert gn.open_release(tmp_path / "out").data.num_rows == 200


def test_an_opened_release_has_what_an_analyst_needs(signed: Path, keys: Path) -> None:
    opened = gn.open_release(signed, key=keys / "key-public.pem")
    assert opened.certificate.holds
    assert opened.data.num_rows == 150
    assert opened.data.column_names == [column.name for column in opened.schema.released]
    assert opened.report.is_file()
    assert opened.synthetic


def test_printed_noise_verifies_and_says_that_it_does_not_hold(tmp_path: Path, capsys: Any) -> None:
    method = METHODS["pca-gauss"](
        2.0, schema=gn.Schema.loads(SCHEMA).with_target("home"), calibration="paper"
    )
    write_release(method.fit(table()), tmp_path / "out")
    assert main(["verify", str(tmp_path / "out")]) == 0
    assert "NOT PRIVATE as declared" in capsys.readouterr().out
    found = entry(method.certificate_, method.schema_, synthetic=True)
    assert found["deployment"]["administrative"]["tier"] == found["nist_sp_800_226"]["tier"] == 1


# --- changes ---


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_one_changed_byte_anywhere_is_noticed(signed: Path, copy: Path) -> None:
    """In every file, at its start, its end and places between; before anything is replayed."""
    assert files(signed) == [
        "certificate.sig",
        "certificate.yaml",
        "croissant.json",
        "data.parquet",
        "map.npz",
        "measurements.npz",
        "report.html",
        "schema.toml",
    ]
    pick = np.random.default_rng(1)
    for name in files(signed):
        content = (signed / name).read_bytes()
        for place in {0, len(content) - 1, *pick.integers(0, len(content), 25).tolist()}:
            changed = bytearray(content)
            changed[place] ^= 1 << int(pick.integers(0, 8))
            (copy / name).write_bytes(changed)
            with pytest.raises(VerificationError) as caught:
                verify(copy, replay=False)
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 500
        (copy / name).write_bytes(content)
    assert verify(copy).replayed


@pytest.mark.parametrize("name", ["certificate.yaml", "data.parquet", "report.html", "certificate.sig"])
def test_the_command_says_one_sentence_and_exits_with_1(name: str, copy: Path, capfd: Any) -> None:
    assert main(["verify", str(copy)]) == 0
    assert "every byte is the same" in capfd.readouterr().out
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    assert main(["verify", str(copy)]) == 1
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert name in said[0]


@pytest.mark.parametrize("name", ["certificate.yaml", "data.parquet", "report.html", "measurements.npz"])
def test_a_missing_file_is_noticed(name: str, copy: Path) -> None:
    (copy / name).unlink()
    with pytest.raises(VerificationError):
        verify(copy)


def test_a_folder_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        verify(tmp_path / "nowhere")
    assert main(["verify", str(tmp_path / "nowhere")]) == 2


def test_a_folder_that_is_no_release_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match=r"is no release: it has no certificate\.yaml\."):
        verify(tmp_path)


def test_a_stranger_in_the_folder_is_told(copy: Path) -> None:
    (copy / "notes.txt").write_text("mine")
    assert verify(copy).notes == ("The file notes.txt is not part of the release.",)


# --- a forger who makes the hashes agree ---


def forge(folder: Path, **changes: Any) -> None:
    """Write the folder's certificate anew, with the hashes of the files as they are, unsigned."""
    found = Certificate.from_yaml((folder / "certificate.yaml").read_text())
    hashes = {name: sha256(folder / name) for name in found.files}
    forged = found.model_copy(update={"files": hashes, **changes})
    (folder / "certificate.yaml").write_text(certificate_text(forged))
    (folder / "certificate.sig").unlink(missing_ok=True)


def test_forged_rows_do_not_follow_from_the_measurements(copy: Path) -> None:
    rows = pq.read_table(copy / "data.parquet")
    pq.write_table(rows.set_column(0, "age", pa.array(rows["age"].to_pylist()[::-1])), copy / "data.parquet")
    forge(copy)
    with pytest.raises(VerificationError, match=r"data.parquet does not follow from the measurements"):
        verify(copy)


@pytest.mark.parametrize(
    ("column", "cell"), [("age", 121), ("ward", "east"), ("seen", None), ("dose", -0.5), ("age", None)]
)
def test_cells_that_the_schema_does_not_allow_are_noticed(copy: Path, column: str, cell: Any) -> None:
    rows = pq.read_table(copy / "data.parquet")
    cells = [cell, *rows[column].to_pylist()[1:]]
    place = rows.column_names.index(column)
    pq.write_table(rows.set_column(place, column, pa.array(cells, rows[column].type)), copy / "data.parquet")
    forge(copy)
    with pytest.raises(VerificationError, match=f"'{column}' has cells that the schema does not allow"):
        verify(copy, replay=False)


def test_other_columns_or_rows_are_noticed(copy: Path) -> None:
    rows = pq.read_table(copy / "data.parquet")
    pq.write_table(rows.drop_columns(["dose"]), copy / "data.parquet")
    forge(copy)
    with pytest.raises(VerificationError, match=r"columns of data.parquet"):
        verify(copy, replay=False)
    pq.write_table(rows.slice(1), copy / "data.parquet")
    forge(copy)
    with pytest.raises(VerificationError, match="another number of rows"):
        verify(copy, replay=False)


def test_components_that_are_no_numbers_are_noticed(tmp_path: Path) -> None:
    write_release(made("dppro").fit(table()), tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "data.parquet")
    broken = pa.array([np.nan, *rows["c0"].to_pylist()[1:]])
    pq.write_table(rows.set_column(0, "c0", broken), tmp_path / "out" / "data.parquet")
    forge(tmp_path / "out")
    with pytest.raises(VerificationError, match="'c0' has cells that the schema does not allow"):
        verify(tmp_path / "out", replay=False)


def test_a_better_promise_than_the_events_keep_is_refused(copy: Path) -> None:
    """A certificate that declares half of what its events cost cannot be read as one that holds."""
    found = Certificate.from_yaml((copy / "certificate.yaml").read_text())
    forge(copy, privacy=found.privacy.model_copy(update={"epsilon": 1.0}))
    with pytest.raises(VerificationError, match="events cost more than it declares"):
        verify(copy)


def test_events_that_were_made_cheaper_do_not_replay(copy: Path) -> None:
    found = Certificate.from_yaml((copy / "certificate.yaml").read_text())
    first, *others = found.events
    forge(copy, events=(first.model_copy(update={"scale": first.scale * 2}), *others))
    with pytest.raises(VerificationError, match=r"certificate.yaml does not follow"):
        verify(copy)


@pytest.mark.parametrize(
    ("what", "value"), [("method", "no such method"), ("parameters", '{"epsilon": "a lot"}'), ("seed", -1)]
)
def test_measurements_of_a_forger_get_one_sentence(copy: Path, what: str, value: Any) -> None:
    arrays = load_arrays(copy / "measurements.npz")
    save_arrays(copy / "measurements.npz", {**arrays, what: np.array(value)})
    forge(copy)
    with pytest.raises(VerificationError) as caught:
        verify(copy)
    assert "\n" not in str(caught.value)


def test_noise_that_was_fixed_is_not_replayed(tmp_path: Path) -> None:
    with fixed_noise(3):
        write_release(made("ron-gauss").fit(table()), tmp_path / "out")
    found = verify(tmp_path / "out")
    assert not found.release.certificate.holds
    assert "fixed for a test" in found.notes[0]


def test_names_that_leave_the_folder_are_refused(copy: Path) -> None:
    (copy.parent / "secret").write_text("x")
    found = Certificate.from_yaml((copy / "certificate.yaml").read_text())
    text = certificate_text(found.model_copy(update={"files": {**found.files, "../secret": "0" * 64}}))
    (copy / "certificate.yaml").write_text(text)
    with pytest.raises(VerificationError, match="is not there"):
        verify(copy)


# --- other versions ---


def test_other_versions_are_said_and_no_fault(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that was made with another numpy may differ in its last digits."""
    there = {**certificates.versions_here(), "numpy": "1.0.0"}
    forge(copy, versions=there)
    found = verify(copy)
    assert not found.replayed
    assert "Versions differ (numpy" in found.notes[0]
    monkeypatch.setattr(verification, "versions_here", lambda: there)
    with pytest.raises(VerificationError, match="does not follow"):
        verify(copy)


def test_a_withheld_projection_is_said(tmp_path: Path) -> None:
    write_release(made("jl-laplace", publish_projection=False).fit(table()), tmp_path / "out")
    found = verify(tmp_path / "out")
    assert not found.replayed
    assert "withholds its projection" in found.notes[0]
    cheaper(tmp_path / "out")
    with pytest.raises(
        VerificationError, match=r"promises something else than measurements.npz was made for"
    ):
        verify(tmp_path / "out")


def cheaper(folder: Path, **changes: Any) -> None:
    """Declare a tenth of the epsilon, and events that compose to it."""
    found = Certificate.from_yaml((folder / "certificate.yaml").read_text())
    privacy = found.privacy.model_copy(update={"epsilon": found.privacy.epsilon / 10})
    events = [
        event.model_copy(update={"loss": {kind: amount / 100 for kind, amount in event.loss.items()}})
        for event in found.events
    ]
    forge(folder, privacy=privacy, events=tuple(events), **changes)


def test_other_versions_excuse_no_other_promise(copy: Path) -> None:
    """What the parameters of the measurements promise is no matter of last digits."""
    cheaper(copy, versions={**certificates.versions_here(), "numpy": "1.0.0"})
    with pytest.raises(
        VerificationError, match=r"promises something else than measurements.npz was made for"
    ):
        verify(copy)


# --- signatures ---


def test_a_signature_says_who_promises(signed: Path, keys: Path, capsys: Any) -> None:
    assert verify(signed, key=keys / "key-public.pem").signature is not None
    with pytest.raises(VerificationError, match="another key"):
        verify(signed, key=keys / "other-public.pem")
    assert main(["verify", str(signed), "--key", str(keys / "other-public.pem")]) == 1
    assert main(["verify", str(signed), "--key", str(keys / "key-public.pem")]) == 0
    assert "the key that was given" in capsys.readouterr().out


def test_an_unsigned_release_fails_where_a_key_is_given(tmp_path: Path, keys: Path) -> None:
    write_release(made("ron-gauss").fit(table()), tmp_path / "out")
    with pytest.raises(VerificationError, match="not signed"):
        verify(tmp_path / "out", key=keys / "key-public.pem")


def test_a_forger_cannot_sign(copy: Path, keys: Path) -> None:
    """A consistent forgery signed by another key passes for somebody's release, never for this signer's."""
    found = Certificate.from_yaml((copy / "certificate.yaml").read_text())
    signature = (copy / "certificate.sig").read_bytes()
    forge(copy, table="another", versions={**found.versions, "numpy": "1.0.0"})
    (copy / "certificate.sig").write_bytes(signature)
    with pytest.raises(VerificationError, match="no signature of this certificate"):
        verify(copy, replay=False)


@pytest.mark.parametrize("name", ["locked.pem", "rsa.pem", "rubbish.pem", "key-public.pem", "none.pem"])
def test_keys_of_no_use_are_refused_before_the_charge(name: str, keys: Path, tmp_path: Path) -> None:
    from gnomon.privacy.ledger import Ledger
    from gnomon.publish import publish

    with pytest.raises(ParameterError, match="key"):
        publish(
            table(),
            made("ron-gauss"),
            tmp_path / "out",
            ledger=Ledger(tmp_path / "l.sqlite"),
            sign=keys / name,
        )
    assert not (tmp_path / "l.sqlite").exists()


def test_a_private_key_is_no_public_one(keys: Path) -> None:
    with pytest.raises(ParameterError, match="no Ed25519 public key"):
        public_key(keys / "key.pem")


def test_the_release_command_signs(tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    pq.write_table(table(), tmp_path / "ward.parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    place = ["--schema", str(tmp_path / "schema.toml"), "--epsilon", "1", "--out", str(tmp_path / "out")]
    sign = ["--sign", str(keys / "key.pem")]
    assert main(["release", str(tmp_path / "ward.parquet"), *place, *sign]) == 0
    assert main(["verify", str(tmp_path / "out"), "--key", str(keys / "key-public.pem")]) == 0


# --- the registry ---


@pytest.mark.parametrize(("name", "product"), [("ron-gauss", "Synthetic data"), ("dppro", "Dataset")])
def test_an_entry_for_a_registry_has_the_facts(name: str, product: str, tmp_path: Path, capsys: Any) -> None:
    write_release(made(name).fit(table()), tmp_path / "out")
    assert main(["export", str(tmp_path / "out"), "--registry", str(tmp_path / "entry.yaml")]) == 0
    text = (tmp_path / "entry.yaml").read_text()
    assert "opendp/deployments-registry-data" in text
    assert "NIST SP 800-226" in text
    found = yaml.safe_load(text)["deployment"]
    assert found["basic"]["data_product_type"] == product
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-5}
    assert found["privacy_loss"]["privacy_unit"] == "one row of the table, its label included"
    assert "replace-one" in found["privacy_loss"]["privacy_unit_details"]
    assert "the number of rows, 200" in found["dp_variant"]["unprotected_quantities"]
    assert found["administrative"]["tier"] == 3
    for part in ("composition", "justification", "mechanisms"):
        assert found["implementation"][part]
    assert found["basic"]["data_curators"][0]["data_curator_name"] == ""
    assert "data_curators" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "out"), "--registry", str(tmp_path / "entry.yaml")]) == 2


def test_a_changed_folder_is_not_exported(copy: Path, tmp_path: Path) -> None:
    (copy / "schema.toml").write_text((copy / "schema.toml").read_text() + "\n")
    assert main(["export", str(copy), "--registry", str(tmp_path / "entry.yaml")]) == 1


def test_the_folder_module_reads_without_verifying(copy: Path) -> None:
    assert folders.open_release(copy).certificate.holds
