"""The public tables as files hold them, and what is declared about their columns.

Bounds come from what a column means (a pixel, a sensor's usual range, a count of comments, a share), never from the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import gnomon as gn
from gnomon import reproduce

SCHEMAS = Path(reproduce.__file__).parent / "schemas"
HELD_OUT = 0.2
SENSORS = {"acc": 20.0, "gyro": 5.0, "mag": 1.2}  # m/s^2, rad/s, gauss: what body-worn sensors usually read
KINECT = {"x": 640.0, "y": 480.0, "z": 2000.0}  # pixels of the image, millimetres to a person at a desk
BUZZ = {
    "NCD": 1e5,
    "AI": 1e5,
    "NAC": 1e5,
    "NA": 1e5,
    "NAD": 1e5,
    "AT": 1e3,
    "ADL": 1e3,
}  # the rest are shares
KDD_COUNTS = {
    "duration": 60_000,
    "src_bytes": 1e9,
    "dst_bytes": 1e9,
    "num_compromised": 1000,
    "num_root": 1000,
}
KDD_HUNDREDS = {"count": 511, "srv_count": 511, "dst_host_count": 255, "dst_host_srv_count": 255}
KDD_FLAGS = ("land", "logged_in", "root_shell", "is_host_login", "is_guest_login")
KDD_CLASSES = ("normal", "dos", "probe", "r2l", "u2r")
KDD_ATTACKS = {
    "dos": ("back", "land", "neptune", "pod", "smurf", "teardrop"),
    "probe": ("ipsweep", "nmap", "portsweep", "satan"),
    "r2l": ("ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"),
    "u2r": ("buffer_overflow", "loadmodule", "perl", "rootkit"),
}


@dataclass(frozen=True)
class Table:
    """`load(data)` gives all rows and, where the table comes with a split, which of them are tested on."""

    name: str
    title: str
    load: Callable[[Path], tuple[pa.Table, np.ndarray | None]]
    declare: Callable[[pa.Table], gn.Schema]
    delta: float
    trials: int

    def split(self, data: Path, trial: int) -> tuple[pa.Table, pa.Table, gn.Schema]:
        """Rows to release, rows to test on, schema; a table without a split of its own is cut by the trial's number."""
        table, tested = self.load(data)
        if tested is None:
            order = np.random.default_rng([11, trial]).permutation(table.num_rows)
            tested = np.zeros(table.num_rows, dtype=bool)
            tested[order[: round(HELD_OUT * table.num_rows)]] = True
        schema = self.declare(table)
        kept = table.select([column.name for column in schema.released])
        return kept.filter(pa.array(~tested)), kept.filter(pa.array(tested)), schema


def number(name: str, low: float, high: float, **more: object) -> gn.Column:
    return gn.Column(name=name, kind="number", low=low, high=high, **more)


def classes(name: str, values: tuple[object, ...]) -> gn.Column:
    return gn.Column(name=name, kind="category", values=values, role="target")


def _file(data: Path, name: str) -> pa.Table:
    path = data / name
    if not path.is_file():
        raise SystemExit(f"The file {name} is missing; give its folder with --data DIR.")
    return pq.read_table(path)


def _tested(table: pa.Table) -> np.ndarray:
    return np.asarray(pc.not_equal(table["split"].cast(pa.string()), "train").to_numpy(zero_copy_only=False))


def mnist(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    table = _file(data, "mnist/data.parquet")
    return table.drop_columns(["split"]), _tested(table)


def mnist_schema(table: pa.Table) -> gn.Schema:
    pixels = [number(f"pixel{j}", 0, 255) for j in range(784)]
    return gn.Schema(name="mnist", columns=(*pixels, classes("label", tuple(range(10)))))


def sports(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    return _file(data, "daily_sports_activities/data_5hz.parquet"), None


def sports_schema(table: pa.Table) -> gn.Schema:
    names = [name for name in table.column_names if name.endswith(tuple(SENSORS))]
    high = [next(v for kind, v in SENSORS.items() if name.endswith(kind)) for name in names]
    columns = [number(name, -h, h) for name, h in zip(names, high, strict=True)]
    return gn.Schema(name="sports", columns=(*columns, classes("activity", tuple(range(1, 20)))))


def gfe(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    return _file(data, "gfe/data.parquet"), None


def gfe_schema(table: pa.Table) -> gn.Schema:
    columns = [number(f"{point}{axis}", 0, KINECT[axis]) for point in range(100) for axis in "xyz"]
    return gn.Schema(name="gfe", columns=(*columns, classes("target", (0, 1))))


def buzz(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    """Counts as log(1 + count); the target is the seventh day's active discussions, from the six days before."""
    table = _file(data, "buzz_twitter/data.parquet")
    kept = [name for name in table.column_names if name[-2:] in {f"_{d}" for d in range(6)}] + ["NAD_6"]
    columns = {}
    for name in kept:
        values = table[name].to_numpy().astype(np.float64)
        columns[name] = np.log1p(values) if name[:-2] in BUZZ else values
    return pa.table(columns), None


def buzz_schema(table: pa.Table) -> gn.Schema:
    return gn.Schema(
        name="buzz",
        columns=tuple(
            number(
                name,
                0,
                float(np.log1p(BUZZ.get(name[:-2], np.e - 1))),
                role="target" if name == "NAD_6" else None,
            )
            for name in table.column_names
        ),
    )


def blog(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    """The target is log(1 + comments)."""
    table = _file(data, "blogfeedback/data.parquet")
    y = np.log1p(table["target"].to_numpy().astype(np.float64))
    kept = table.drop_columns(["target", "split"])
    return kept.append_column("target", pa.array(y)), _tested(table)


def blog_schema(table: pa.Table) -> gn.Schema:
    """By the published description: f1-f50 comments and links of the blog, f51-f60 of the post, f61 hours, f62 the
    length of the post, then words and weekdays (0/1), f277 parent pages and f278-f280 their comments; some are
    differences and have signs.
    """
    high = np.ones(280)
    high[:25], high[25:50], high[50:55], high[55:60], high[60], high[61], high[276], high[277:] = (
        4000, 30, 4000, 30, 72, 100_000, 200, 4000
    )  # fmt: skip
    low = np.zeros(280)
    signed = [20, 21, 22, 23, 24, 45, 46, 47, 48, 49, 54, 59]
    low[signed] = -high[signed]
    columns = [number(f"f{j + 1}", float(low[j]), float(high[j])) for j in range(280)]
    return gn.Schema(name="blogfeedback", columns=(*columns, number("target", 0, 8, role="target")))


def kdd(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    """Counts of bytes and seconds as log(1 + count); the 23 labels as the contest's five classes."""
    table = _file(data, "kddcup99_10pct/data.parquet")
    for name in KDD_COUNTS:
        logs = pa.array(np.log1p(table[name].to_numpy().astype(np.float64)))
        table = table.set_column(table.column_names.index(name), name, logs)
    kinds = {attack: kind for kind, attacks in KDD_ATTACKS.items() for attack in attacks}
    labels = [kinds.get(label.rstrip("."), "normal") for label in table["label"].to_pylist()]
    return table.set_column(table.column_names.index("label"), "label", pa.array(labels)), None


def kdd_schema(table: pa.Table) -> gn.Schema:
    columns = []
    for name in table.column_names:
        if name == "label":
            columns.append(classes(name, KDD_CLASSES))
        elif name in (
            "protocol_type",
            "service",
            "flag",
        ):  # the protocol's own lists, as the contest published them
            values = tuple(sorted(pc.unique(table[name]).to_pylist()))
            columns.append(gn.Column(name=name, kind="category", values=values))
        elif name in KDD_FLAGS:
            columns.append(gn.Column(name=name, kind="boolean"))
        elif name.endswith("_rate"):
            columns.append(number(name, 0, 1))
        else:
            high = KDD_HUNDREDS.get(name, np.log1p(KDD_COUNTS[name]) if name in KDD_COUNTS else 10)
            columns.append(number(name, 0, float(high)))
    return gn.Schema(name="kdd99", columns=tuple(columns))


def adult(data: Path) -> tuple[pa.Table, np.ndarray | None]:
    table = _file(data, "adult/data.parquet")
    table = table.filter(table["complete"])
    return table.drop_columns(["complete"]), _tested(table)


def small(folder: str, title: str) -> Table:
    def load(data: Path) -> tuple[pa.Table, np.ndarray | None]:
        return _file(data, f"{folder}/data.parquet"), None

    return Table(folder, title, load, lambda table: gn.Schema.load(SCHEMAS / f"{folder}.toml"), 1e-4, 3)


def _adult_schema(table: pa.Table) -> gn.Schema:
    return gn.Schema.load(SCHEMAS / "adult.toml").with_target("income")


LARGE = (
    Table("mnist", "MNIST", mnist, mnist_schema, 1e-6, 3),
    Table("sports", "Sports activities", sports, sports_schema, 1e-6, 3),
    Table("gfe", "Grammatical facial expressions", gfe, gfe_schema, 1e-6, 3),
    Table("buzz", "Buzz in social media", buzz, buzz_schema, 1e-6, 3),
    Table("blogfeedback", "BlogFeedback", blog, blog_schema, 1e-6, 3),
    Table("kdd99", "KDD Cup 1999", kdd, kdd_schema, 1e-6, 3),
    Table("adult", "Adult", adult, _adult_schema, 1e-6, 3),
)
SMALL = (
    small("breast_cancer_coimbra", "Breast cancer Coimbra"),
    small("breast_cancer_wisconsin_diagnostic", "Breast cancer Wisconsin"),
    small("indian_liver_patient", "Indian liver patients"),
    small("dermatology", "Dermatology"),
    small("cervical_cancer_risk", "Cervical cancer risk"),
    small("caesarian", "Caesarian"),
    small("hcc_survival", "HCC survival"),
)
TABLES = {table.name: table for table in (*LARGE, *SMALL)}
