"""The experiments of DPPro on Adult (Xu et al., Figures 4 and 5): marginals by linear queries, and a linear SVM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from gnomon.evaluation.fidelity import binned
from gnomon.methods.charging import unaccounted
from gnomon.methods.dppro import DpPro
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Adjacency, ApproxDP, Unit
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.rounding import root_up
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.release.analyst.columns import Columns
from gnomon.release.analyst.linear import possible_sums
from gnomon.reproduce import dppro_compared as compared
from gnomon.reproduce import plot
from gnomon.reproduce.data import read
from gnomon.reproduce.dppro import ATTRIBUTE, CALIBRATIONS, CAPTIONS, CURVES, DECLARED, DELTA, PAPER, level
from gnomon.reproduce.experiment import Calibration, Cell, Experiment, Numbers
from gnomon.reproduce.results import Results
from gnomon.statistics.grid import Matrix
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

EPSILONS = (0.2, 0.4, 0.6, 0.8, 1.0)
COMPONENTS = (20, 100)  # of Figure 4; the paper does not say
K = 20  # of Figure 5
LINEAR, CONSTRAINED = "linear answers", "constrained least squares"
BINS = 16  # of a number between its declared bounds
TEST = 0.2
SCHEMA = Path(__file__).parent / "schemas" / "adult.toml"
DEGREES = ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")


@dataclass(frozen=True)
class Question:
    """What an SVM predicts: whether a column has one of these values; `without` says the same in another column."""

    column: str
    values: tuple[Any, ...]
    without: tuple[str, ...] = ()


QUESTIONS = {
    "adult": {
        "gender": Question("sex", ("Female",)),
        "education": Question("education", DEGREES, ("education-num",)),
        "salary": Question("income", (">50K",)),
        "marital": Question("marital-status", ("Never-married",)),
    },
    "nltcs": {name: Question(name, (1,)) for name in ("outside", "money", "bathing", "traveling")},
}
NAMES = {"adult": "Adult", "br2000": "BR2000", "nltcs": "NLTCS"}
SYNTHETIC = ("PrivBayes", "JTree", "Synthesizer")  # whose rows teach an SVM in Figure 5
VALUES = 64  # of a column that is a category, where no schema says it


def complete(home: Path) -> pa.Table:
    """The rows without missing cells: of Adult 45,222 of 48,842."""
    table = read(home.parent, home.name)
    return table.filter(table["complete"]) if "complete" in table.column_names else table


@lru_cache(maxsize=4)
def declared(home: Path) -> Schema:
    """Adult's schema; of another table the one beside it, or its own values: these are public benchmarks."""
    if home.name == "adult":
        return Schema.load(SCHEMA)
    if (home / "schema.toml").is_file():
        return Schema.load(home / "schema.toml")
    columns = []
    for name, cells in zip(complete(home).column_names, complete(home).columns, strict=True):
        values = sorted(pc.unique(cells.drop_null()).to_pylist())
        if len(values) <= VALUES:
            columns.append(Column(name=name, kind="category", values=tuple(values)))
        else:
            columns.append(Column(name=name, kind="number", low=values[0], high=values[-1]))
    return Schema(name=home.name, columns=tuple(columns))


def tables(data: Path, *names: str) -> list[Path]:
    """The folders of those of these tables that the data folder holds."""
    return [data / name for name in names if (data / name / "data.parquet").is_file()]


def release(
    table: pa.Table,
    schema: Schema,
    epsilon: float,
    k: int,
    calibration: str,
    trial: int,
    sigma: float | None = None,
) -> DpPro:
    method = DpPro(
        epsilon,
        DELTA,
        schema=schema,
        n_components=k,
        unit="attribute",
        calibration="paper" if calibration == "paper" else "sound",
        sigma=sigma,
        order="kept",  # records are compared with their rows
        random_state=trial,
        not_private=math.isinf(epsilon),
    )
    method.fit(table, charge=unaccounted)
    return method


# --- Figure 4: total variation of the marginals ---


@lru_cache(maxsize=2)
def categories(home: Path) -> tuple[pa.Table, Schema]:
    """Every column as codes: categories as declared, numbers in bins of equal width."""
    table, cells, columns = complete(home), {}, []
    for column in declared(home).released:
        size = len(column.values) if column.kind == "category" else BINS
        cells[column.name] = binned(table, column, BINS)
        columns.append(Column(name=column.name, kind="category", values=tuple(range(size))))
    return pa.table(cells), Schema(name=home.name, columns=tuple(columns))


@lru_cache(maxsize=2)
def shares(home: Path) -> tuple[list[slice], npt.NDArray[np.float64]]:
    """The true share of every value of every column, and where the values of a column are."""
    table, schema = categories(home)
    encoder = Encoder(schema)
    return [group.place for group in encoder.groups], encoder.encode(table).X.mean(axis=0)


def total_variation(home: Path, estimated: npt.NDArray[np.float64]) -> float:
    """The mean over columns; negative shares are cut off and the rest made to sum to 1."""
    places, true = shares(home)
    found = []
    for place in places:
        kept = np.clip(estimated[place], 0.0, None)
        total = kept.sum()
        kept = kept / total if total > 0 else np.full(len(kept), 1 / len(kept))
        found.append(np.abs(kept - true[place]).sum() / 2)
    return float(np.mean(found))


def marginals(
    home: Path, epsilon: float, k: int, calibration: str, trial: int, sigma: float | None = None
) -> Numbers:
    """One linear query for every value of every column, answered from the released rows: without bias, or within bounds."""
    table, schema = categories(home)
    method = release(table, schema, epsilon, k, calibration, trial, sigma)
    n, totals = table.num_rows, method._totals()
    linear = method.linear(np.eye(method.frame_.n_features)).value
    possible = possible_sums(totals, Columns(schema).domain)
    return {LINEAR: total_variation(home, linear / n), CONSTRAINED: total_variation(home, possible / n)}


def uniform(home: Path, trial: int) -> float:
    places, _ = shares(home)
    return total_variation(home, np.concatenate([np.full(p.stop - p.start, 1.0) for p in places]))


def counts(home: Path, epsilon: float, trial: int) -> float:
    """The counts themselves at the same guarantee: one attribute moves one row from one count to another."""
    table, _ = categories(home)
    loss = spendable(ApproxDP(epsilon, DELTA, Unit.ATTRIBUTE, Adjacency.REPLACE_ONE))
    moved = Sensitivity(Norm.L2, root_up(2), adjacency=Adjacency.REPLACE_ONE, unit=Unit.ATTRIBUTE)
    true = np.rint(shares(home)[1] * table.num_rows).astype(np.int64)
    noisy = release_vector(true, moved, loss, statistic="counts of every value")
    return total_variation(home, noisy.value / table.num_rows)


def released_shares(home: Path, name: str, epsilon: float, trial: int) -> float:
    table, schema = categories(home)
    return total_variation(home, compared.one_way_shares(name, table, schema, epsilon, trial))


def figure4(data: Path) -> list[Cell]:
    return [cell for home in tables(data, "adult", "br2000") for cell in _figure4(home, NAMES[home.name])]


def _figure4(home: Path, table: str) -> list[Cell]:
    found: list[Cell] = []
    for k in COMPONENTS:
        row = f"{table}, k={k}"
        for e in EPSILONS:
            for c in CALIBRATIONS:
                run = partial(marginals, home, e, k, c)
                found.append(Cell(row, f"epsilon {e:g}", c, None, "original", run))
        for sigma in CAPTIONS:
            run = partial(marginals, home, DECLARED, k, "paper", sigma=sigma)
            found.append(Cell(f"{row}, sigma {sigma:g} as captioned", "", "paper", None, "original", run))
        alone = partial(marginals, home, math.inf, k, "none")
        found.append(Cell(f"{row}, the projection without noise", "", "none", None, "original", alone))
    for e in EPSILONS:
        for name in compared.ROWS:
            of_rows = partial(released_shares, home, name, e)
            found.append(Cell(f"{table}, {name}", f"epsilon {e:g}", "sound", None, "original", of_rows))
        plain = partial(counts, home, e)
        row = f"{table}, noisy counts, no projection"
        found.append(Cell(row, f"epsilon {e:g}", "sound", None, "original", plain))
    same = partial(uniform, home)
    found.append(Cell(f"{table}, all values equally frequent", "", "none", None, "original", same))
    return found


def draw4(results: Results, folder: Path) -> None:
    drawn, axes = plot.figure(width=6.0, height=4.4)
    lines = [
        plot.Curve(
            f"k={k}, {'Theorem 2' if c == 'paper' else 'sound'}",
            [(e, results.measure(f"Adult, k={k}", f"epsilon {e:g}", c, CONSTRAINED)) for e in EPSILONS],
            "o-" if c == "paper" else "s--",
        )
        for k in COMPONENTS
        for c in CALIBRATIONS
    ]
    plain = [
        (e, results.measure("Adult, noisy counts, no projection", f"epsilon {e:g}", "sound"))
        for e in EPSILONS
    ]
    lines.append(plot.Curve("noisy counts, no projection", plain, "^-"))
    lines += [
        plot.Curve(
            name, [(e, results.measure(f"Adult, {name}", f"epsilon {e:g}", "sound")) for e in EPSILONS], "v-"
        )
        for name in compared.ROWS
    ]
    title = "Adult: mean total variation of one-way marginals"
    plot.curves(axes[0], lines, title=title, x="epsilon", y="total variation distance")
    constant = {
        "all values equally frequent": ("Adult, all values equally frequent", None, "tab:gray"),
        "k=20 without noise": (
            f"Adult, k={COMPONENTS[0]}, the projection without noise",
            CONSTRAINED,
            "black",
        ),
    }
    for label, (row, part, colour) in constant.items():
        measured = results.measure(row, "", "none", part)
        if measured is not None:
            level(axes[0], measured.mean, label, colour)
    axes[0].set_yscale("log")
    plot.save(drawn, folder)


# --- Figure 5: misclassification of a linear SVM ---


@lru_cache(maxsize=4)
def asked(home: Path, name: str) -> tuple[pa.Table, Schema]:
    """The table with the question's column replaced by its yes or no."""
    question = QUESTIONS[home.name][name]
    table = complete(home)
    answer = pc.is_in(
        table[question.column], value_set=pa.array(question.values, table[question.column].type)
    )
    kept = [c for c in declared(home).columns if c.name not in (question.column, *question.without)]
    schema = Schema(name=home.name, columns=(*kept, Column(name="answer", kind="boolean", role="target")))
    return table.select([c.name for c in kept]).append_column("answer", answer), schema


def split(home: Path, name: str, trial: int) -> tuple[pa.Table, pa.Table, Schema]:
    table, schema = asked(home, name)
    order = np.random.default_rng([5, trial]).permutation(table.num_rows)
    cut = round(TEST * table.num_rows)
    return table.take(pa.array(order[cut:])), table.take(pa.array(order[:cut])), schema


def wrong(X: Matrix, y: npt.NDArray[Any], test: Matrix, truth: npt.NDArray[Any]) -> float:
    """The share of test rows that a linear SVM gets wrong; one class alone can but be repeated."""
    if len(np.unique(y)) < 2:
        return float(np.mean(truth != y[0]))
    model = make_pipeline(StandardScaler(), LinearSVC(dual=False)).fit(X, y)
    return float(np.mean(model.predict(test) != truth))


def misclassified(
    home: Path, name: str, epsilon: float, calibration: str, trial: int, sigma: float | None = None
) -> float:
    """Trained on released components and labels, tested on the components of real rows without noise."""
    train, test, schema = split(home, name, trial)
    method = release(train, schema, epsilon, K, calibration, trial, sigma)
    released = pa.concat_tables(method.sample_batches())
    seen = method.transform(test.drop_columns(["answer"]))
    X, Z = (
        np.column_stack([table[c].to_numpy() for c in method.component_names_]) for table in (released, seen)
    )
    return wrong(X, _answers(released), Z, _answers(test))


def _answers(table: pa.Table) -> npt.NDArray[Any]:
    return np.asarray(table["answer"].to_numpy(zero_copy_only=False)).astype(bool)


def real(home: Path, name: str, trial: int) -> Numbers:
    """The same SVM on the real rows, and what answering with the more frequent class gets wrong."""
    train, test, schema = split(home, name, trial)
    encoder = Encoder(schema)
    rows, tested = (encoder.encode(table.combine_chunks()) for table in (train, test))
    assert rows.codes is not None
    assert tested.codes is not None
    often = np.bincount(rows.codes).argmax()
    return {
        "SVM": wrong(rows.X, rows.codes, tested.X, tested.codes),
        "more frequent class": float(np.mean(tested.codes != often)),
    }


def of_rows(home: Path, name: str, method: str, epsilon: float, trial: int) -> float:
    """Trained on synthetic rows, tested on real ones."""
    train, test, schema = split(home, name, trial)
    tested = Encoder(schema).encode(test.combine_chunks())
    assert tested.codes is not None
    return wrong(*compared.encoded_rows(method, train, schema, epsilon, trial), tested.X, tested.codes)


def of_private_svm(home: Path, name: str, epsilon: float, trial: int) -> float:
    train, test, schema = split(home, name, trial)
    said = compared.predicted(train, test.drop_columns(["answer"]), schema, epsilon)
    return float(np.mean(said != _answers(test)))


def figure5(data: Path) -> list[Cell]:
    return [
        cell
        for home in tables(data, *QUESTIONS)
        for name in QUESTIONS[home.name]
        for cell in _figure5(home, name)
    ]


def _figure5(home: Path, name: str) -> list[Cell]:
    table, found = f"{NAMES[home.name]}, Y={name}", list[Cell]()

    def cell(row: str, column: str, calibration: Calibration, run: Any) -> None:
        found.append(Cell(row, column, calibration, None, "original", run))

    for e in EPSILONS:
        for c in CALIBRATIONS:
            cell(table, f"epsilon {e:g}", c, partial(misclassified, home, name, e, c))
        for method in SYNTHETIC:
            run = partial(of_rows, home, name, method, e)
            cell(f"{table}, {method}", f"epsilon {e:g}", "sound", run)
        cell(f"{table}, PrivateSVM", f"epsilon {e:g}", "sound", partial(of_private_svm, home, name, e))
    for sigma in CAPTIONS:
        run = partial(misclassified, home, name, DECLARED, "paper", sigma=sigma)
        cell(table, f"sigma {sigma:g} as captioned", "paper", run)
    cell(table, "the projection without noise", "none", partial(misclassified, home, name, math.inf, "none"))
    cell(table, "real rows", "none", partial(real, home, name))
    return found


def draw5(results: Results, folder: Path) -> None:
    drawn, axes = plot.figure(len(QUESTIONS["adult"]), width=3.6, height=3.6)
    for panel, name in zip(axes, QUESTIONS["adult"], strict=True):
        row = f"Adult, Y={name}"
        lines = [
            plot.Curve(label, [(e, results.measure(row, f"epsilon {e:g}", c)) for e in EPSILONS], style)
            for label, c, style in (("DPPro, Theorem 2", "paper", "o-"), ("DPPro, sound", "sound", "s-"))
        ]
        lines += [
            plot.Curve(
                method,
                [(e, results.measure(f"{row}, {method}", f"epsilon {e:g}", "sound")) for e in EPSILONS],
                "v--",
            )
            for method in (*SYNTHETIC, "PrivateSVM")
        ]
        plot.curves(panel, lines, title=f"Y = {name}", x="epsilon", y="misclassified")
        for label, column, c, part, colour in (
            ("real rows", "real rows", "none", "SVM", "tab:green"),
            ("more frequent class", "real rows", "none", "more frequent class", "tab:gray"),
            ("projection, no noise", "the projection without noise", "none", None, "black"),
            ("sigma 0.1", f"sigma {CAPTIONS[0]:g} as captioned", "paper", None, "tab:red"),
        ):
            measured = results.measure(row, column, c, part)
            if measured is not None:
                level(panel, measured.mean, label, colour)
        panel.set_ylim(0.0, 0.6)  # intervals of few trials reach far beyond
    plot.save(drawn, folder)


EXPERIMENTS = (
    Experiment(
        "dppro-figure4",
        PAPER,
        "total variation distance on Adult",
        "DPPro is closer to the data than PrivBayes and JTree in almost all cases.",
        50,
        ("adult/data.parquet",),
        figure4,
        notes=(
            f"The mean over Adult's 15 columns of the total variation of one-way marginals (numbers in {BINS} bins). Each "
            "share is a linear query on the rows, answered without bias or by constrained least squares over products "
            "of simplices with the public R. The paper draws 10,000 random linear queries and does not say "
            "how a distance comes out of them.",
            "*noisy counts* is the same guarantee spent on the counts themselves.",
            ATTRIBUTE,
            "The shares of PrivBayes, JTree and PriView are those of as many synthetic rows as there are.",
            compared.COMPARED,
            "Not measured: TPC-E, which we do not have, and BR2000, which is measured where DIR/br2000/data.parquet is.",
            CURVES,
        ),
        draw=draw4,
    ),
    Experiment(
        "dppro-figure5",
        PAPER,
        "misclassification of an SVM on Adult",
        "an SVM on DPPro's rows errs less than on those of PrivBayes and JTree, and about as little as PrivateSVM.",
        50,
        ("adult/data.parquet",),
        figure5,
        notes=(
            f"k = {K}, a linear SVM, 80% of 45,222 rows to train and 20% to test. The label is an attribute like the "
            "others, released beside the components with the same noise; the paper does not say how it releases labels.",
            "The four questions are those of PrivBayes: female, post-secondary degree, more than 50K, never married.",
            ATTRIBUTE,
            "The same SVM learns from rows of PrivBayes, JTree and the synthesizer; PrivateSVM is a linear SVM itself.",
            compared.COMPARED,
            "Not measured: NLTCS, unless DIR/nltcs/data.parquet is there, with 1 for yes in its columns.",
            CURVES,
        ),
        draw=draw5,
    ),
)
