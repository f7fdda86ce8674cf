"""The picture of the README: `python docs/tools/picture.py`. Noise cannot be seeded, so that each run draws another."""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import gnomon as gn

OUT = Path(__file__).parents[1] / "assets" / "readme.png"
COLUMNS = {  # low and high from what the units mean, not from the rows: micrometres, their squares, shares
    "radius": (0, 30, "mean radius"),
    "texture": (0, 40, "mean texture"),
    "concavity": (0, 0.5, "mean concavity"),
    "symmetry": (0, 0.4, "mean symmetry"),
}
EPSILON = 4.0
COLOUR = {"good": "#2e7d4f", "usable": "#2f5d7c", "weak": "#b26a00", "lost": "#9b2c1f"}
MEANING = {
    "good": "off by less than 0.1",
    "usable": "off by less than 0.25",
    "weak": "better than what was public",
    "lost": "no better",
}

RELATION = {**MEANING, "good": "within a tenth", "usable": "within three tenths"}


def main() -> None:
    found = load_breast_cancer(as_frame=True)
    table = found.data[[source for _, _, source in COLUMNS.values()]].set_axis(list(COLUMNS), axis=1)
    table["diagnosis"] = found.target.map({0: "malignant", 1: "benign"})
    columns = [
        gn.Column(name=name, kind="number", low=low, high=high) for name, (low, high, _) in COLUMNS.items()
    ]
    columns.append(
        gn.Column(name="diagnosis", kind="category", values=("benign", "malignant"), role="target")
    )
    schema = gn.Schema(name="tumours", columns=tuple(columns))
    with tempfile.TemporaryDirectory() as folder:
        gn.publish(
            table,
            Path(folder) / "out",
            schema=schema,
            epsilon=EPSILON,
            ledger=gn.Ledger(Path(folder) / "ledger.sqlite"),
        )
        release = gn.open_release(Path(folder) / "out")
        draw(table, release.data.to_pandas(), release.certificate)


def draw(table, released, certificate) -> None:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.1), width_ratios=(1.15, 1), layout="constrained"
    )
    edges = np.linspace(0, 30, 31)
    left.hist(table["radius"], bins=edges, color="#d9a65a", label="real")
    left.hist(released["radius"], bins=edges, histtype="step", color="#2f5d7c", linewidth=2, label="released")
    left.set(xlabel="mean radius of a tumour, 569 rows", ylabel="rows")
    left.legend(frameon=False)
    left.spines[["top", "right"]].set_visible(False)
    right.axis("off")
    head = f"epsilon {certificate.privacy.epsilon:g}, delta {certificate.privacy.delta:g}: what the release says of itself"
    right.text(0, 1, head, fontsize=9.5, weight="bold", va="top")
    levels = [(name, certificate.verdicts.level(name)) for name in [*COLUMNS, "diagnosis"]]
    levels.append(("relation to diagnosis", certificate.verdicts.relation))
    for place, (name, level) in enumerate(levels):
        height = 0.84 - 0.14 * place
        right.text(0, height, name, fontsize=10, va="top")
        right.text(0.48, height, level, fontsize=10, va="top", color=COLOUR[level], weight="bold")
        within = RELATION[level] if name.startswith("relation") else MEANING[level]
        right.text(0.66, height, within, fontsize=9, va="top", color="#5b6675")
    figure.savefig(OUT, dpi=120, facecolor="white")
    print(OUT, dict(levels))


if __name__ == "__main__":
    main()
