"""Every number that a paper's algorithm takes as an input can be set, in Python and by --set, and does what it says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.cli import main
from gnomon.commands.settings import value_of
from gnomon.errors import ParameterError
from gnomon.methods.charging import unaccounted
from gnomon.release.folder import open_release
from gnomon.release.measurements import read_measurements

pytestmark = pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 6))
Y = (X[:, 0] > 0).astype(int)


def fitted(kind: Any, y: Any = None, **parameters: Any) -> Any:
    known = {"bounds": (-1.0, 1.0), "random_state": 0, **({"classes": [0, 1]} if y is not None else {})}
    return kind(**{**known, **parameters}).fit(X, y, charge=unaccounted)


def epsilons(method: Any) -> list[float]:
    return [event.loss.epsilon for event in method.events_]


# --- RON-Gauss ---


@pytest.mark.parametrize("calibration", ["sound", "paper"])
def test_epsilon_mu_and_epsilon_sigma(calibration: str) -> None:
    for given in ({"epsilon_mu": 0.5}, {"epsilon_sigma": 1.5}, {"epsilon_mu": 0.5, "epsilon_sigma": 1.5}):
        method = fitted(gn.RonGauss, epsilon=2.0, calibration=calibration, n_components=2, **given)
        assert epsilons(method) == pytest.approx([0.5, 1.5])
    default = fitted(gn.RonGauss, epsilon=2.0, calibration=calibration, n_components=2)
    assert epsilons(default) == pytest.approx([0.6, 1.4] if calibration == "paper" else [0.2, 1.8])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon_mu": 2.0}, "parts of epsilon = 2"),
        ({"epsilon_sigma": -1.0}, "parts of epsilon = 2"),
        ({"epsilon_mu": 1.0, "epsilon_sigma": 0.5}, "add up to epsilon = 2"),
    ],
)
def test_parts_that_are_none_are_refused(given: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        fitted(gn.RonGauss, epsilon=2.0, **given)


# --- PCA-Gauss ---


@pytest.mark.parametrize("calibration", ["sound", "paper"])
def test_alpha_and_the_shares_of_mean_and_covariance(calibration: str) -> None:
    method = fitted(
        gn.PcaGauss,
        Y,
        epsilon=2.0,
        calibration=calibration,
        pca="laplace",
        n_components=2,
        pca_share=0.2,
        mean_share=0.3,
    )
    finite = [epsilon for epsilon in epsilons(method) if math.isfinite(epsilon)]
    assert finite == pytest.approx([0.4, 0.3 * 1.6, 0.7 * 1.6])
    with pytest.raises(ParameterError, match="'mean_share' parameter of PcaGauss must be from"):
        fitted(gn.PcaGauss, Y, epsilon=2.0, mean_share=1.5)


def test_the_printed_scale_of_ag_pca() -> None:
    """Analyze-Gauss at (alpha epsilon, delta): sqrt(2 ln(1.25/delta)) / (alpha epsilon), 22.5 at alpha 0.2 and 1/20,000."""
    from gnomon.methods.pca_gauss_paper import analyze_gauss_sigma

    assert analyze_gauss_sigma(0.2, 1 / 20_000) == pytest.approx(22.5, abs=0.05)
    method = fitted(
        gn.PcaGauss,
        Y,
        epsilon=1.0,
        delta=5e-5,
        calibration="paper",
        pca="analyze-gauss",
        n_components=2,
        pca_share=0.2,
    )
    noise = next(m.noise for m in method.measurements_ if "principal components" in m.event.statistic)
    assert noise.diagonal / 2**32 == pytest.approx(22.5, rel=0.01)


def test_algorithm_1_as_printed_adds_noise_to_the_whole_matrix() -> None:
    method = fitted(gn.PcaGauss, epsilon=1.0, calibration="paper", n_components=3)
    answer = method.measurements_[-1].answer
    assert answer.shape == (3, 3)
    assert np.count_nonzero(answer) == 9
    assert answer[0, 1] != answer[1, 0]


# --- JL + Laplace ---


def test_c_and_t() -> None:
    row = {"epsilon": 2.0, "calibration": "paper", "n_components": 3}
    widest = 2 * math.sqrt(6)
    by_c = fitted(gn.JlLaplace, c=5.0, **row)
    assert by_c.noise_std_ == pytest.approx(math.sqrt(2) * 5.0 * widest / 2.0, rel=1e-3)
    by_t = fitted(gn.JlLaplace, t=1.5, **row)
    assert by_t.noise_std_ == pytest.approx(math.sqrt(2) * 4.5 * widest / 2.0, rel=1e-3)
    cell = fitted(gn.JlLaplace, c=4.0, unit="attribute", **row)
    assert cell.noise_std_ == pytest.approx(math.sqrt(2) * 4.0 * 2 / 2.0, rel=1e-3)
    assert any("c = 4 was given" in line for line in cell.certificate_.caveats)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"c": 1.0}, "is for calibration='paper'"),
        ({"c": 0.0, "calibration": "paper"}, "a positive number"),
        ({"t": 1.0, "unit": "attribute", "calibration": "paper"}, "leave out t, or c"),
        ({"t": 1.0, "c": 1.0, "calibration": "paper"}, "leave out t, or c"),
    ],
)
def test_c_and_t_are_refused_where_they_mean_nothing(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        fitted(gn.JlLaplace, epsilon=2.0, n_components=3, **given)


# --- DPRP ---


def test_the_budget_shares_and_z_of_dprp() -> None:
    from gnomon.methods.dprp_paper import printed_covariance_sigma, printed_row_sigma

    given = {"b1": 0.6, "b2": 0.3, "b3": 0.1, "z": 2.0, "k1": 8}
    method = fitted(gn.Dprp, Y, epsilon=4.0, delta=1e-4, calibration="paper", **given)
    sigma1 = printed_row_sigma(8, 0.6 * 4.0, 0.6e-4, 2.0)
    assert method.noise_.diagonal / 2**16 == pytest.approx(sigma1, rel=1e-3)
    covariance = next(m.noise for m in method.measurements_ if "covariance" in m.event.statistic)
    assert covariance.diagonal / 2**32 == pytest.approx(printed_covariance_sigma(1.2, 0.3e-4, 2.0), rel=1e-3)
    short = fitted(gn.Dprp, Y, epsilon=4.0, delta=1e-4, calibration="paper", k1=8)
    assert method.certificate_.delivered < short.certificate_.delivered
    assert any("Z = 1" in line for line in short.certificate_.caveats)
    assert not any("takes Z" in line for line in method.certificate_.caveats)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"b1": 0.9, "calibration": "paper"}, "add up to at most 1"),
        ({"b2": 0.0, "calibration": "paper"}, "'b2' parameter of Dprp must be from"),
        ({"z": 0.0, "calibration": "paper"}, "'z' parameter of Dprp must be from"),
        ({"z": 2.0}, "for calibration='paper'"),
        ({"b1": 0.5}, "for calibration='paper'"),
    ],
)
def test_shares_that_are_none_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        fitted(gn.Dprp, Y, epsilon=4.0, delta=1e-4, **given)


# --- by the command line ---


def test_set_reaches_the_method_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(6)}), tmp_path / "t.parquet")
    gn.Schema.of_arrays(6, (-1, 1)).save(tmp_path / "s.toml")
    words = ["release", str(tmp_path / "t.parquet"), "--schema", str(tmp_path / "s.toml"), "--epsilon", "2"]
    more = [
        "--method",
        "ron-gauss",
        "--set",
        "epsilon_mu=0.5",
        "--set",
        "rows=clip",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*words, *more]) == 0
    recorded = read_measurements(tmp_path / "out").parameters
    assert (recorded["epsilon_mu"], recorded["rows"]) == (0.5, "clip")
    losses = [event.spent.epsilon for event in open_release(tmp_path / "out").certificate.events]
    assert losses == pytest.approx([0.5, 1.5])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("epsilon_nu=1", "has no input 'epsilon_nu'; --set knows epsilon_mu"),
        ("k2=3", "What the paper calls k2 is given by --components"),
        ("epsilon=1", "use --epsilon"),
        ("rows", "needs NAME=VALUE"),
        ("rows=any", "must be 'normalise' or 'clip'"),
    ],
)
def test_set_refuses_in_a_sentence(
    setting: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(6)}), tmp_path / "t.parquet")
    gn.Schema.of_arrays(6, (-1, 1)).save(tmp_path / "s.toml")
    place = ["--schema", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]
    assert (
        main(["release", str(tmp_path / "t.parquet"), *place, "-e", "1", "-m", "ron-gauss", "--set", setting])
        == 2
    )
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_values_of_settings() -> None:
    assert [value_of(text) for text in ("1", "0.5", "true", "null", "clip", "[1, 2]")] == [
        1,
        0.5,
        True,
        None,
        "clip",
        [1, 2],
    ]
