"""DP-MERF (Harder, Adamczewski, Park, AISTATS 2021), written from the paper and its settings for tables.

One release: the noisy mean of random Fourier features of the numbers beside one-hot categories (divided by the root of
their number), times the label; the labels' noisy shares are a second one. A network of two hidden layers is trained to have
the same mean. Their numbers: 2,000 features, a code of 10, 4 and 2 units a column, Adam at 0.01, batches of a tenth of the
rows, here at most 1,000. There are 2,000 steps, where their script's default is 200 epochs and its grids reach 10,000.
The promise is for replacing a row, sensitivity 2 or, with categories, 2 sqrt(2). As in the authors' code the kernel's width
is the median distance of ten rows, which are left out of the mean and are not protected. Here numbers end in tanh, between
the declared bounds, and categories in a softmax that values are drawn from.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from protocol import Asked, mu_of, serve
from torch import nn

FEATURES, CODE, STEPS, BATCH, RATE, WIDTH_ROWS = 2_000, 10, 2_000, 1_000, 0.01, 10


class Generator(nn.Module):
    """Label and code to numbers in [-1, 1] and shares of every category."""

    def __init__(self, classes: int, numbers: int, categories: list[int]) -> None:
        super().__init__()
        width = numbers + sum(categories)
        self.numbers, self.categories, self.classes = numbers, categories, classes
        self.layers = nn.Sequential(
            nn.Linear(CODE + classes, 4 * width), nn.BatchNorm1d(4 * width), nn.ReLU(),
            nn.Linear(4 * width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(),
            nn.Linear(2 * width, width),
        )  # fmt: skip

    def forward(self, labels: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        told = nn.functional.one_hot(labels, self.classes).float()
        made = self.layers(torch.cat([torch.randn(len(labels), CODE), told], 1))
        parts = torch.split(made[:, self.numbers :], self.categories, dim=1) if self.categories else []
        return torch.tanh(made[:, : self.numbers]), [torch.softmax(part, 1) for part in parts]


def embedding(
    numbers: torch.Tensor, categories: list[torch.Tensor], frequencies: torch.Tensor
) -> torch.Tensor:
    """A row's features, of norm 1 for the numbers and 1 for the categories."""
    parts = []
    if numbers.shape[1]:
        angles = numbers @ frequencies.T
        parts.append(torch.cat([torch.cos(angles), torch.sin(angles)], 1) * math.sqrt(2 / FEATURES))
    if categories:
        parts.append(torch.cat(categories, 1) / math.sqrt(len(categories)))
    return torch.cat(parts, 1)


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    domain, table, given = asked.domain, asked.table(), asked.numbers()
    target = len(domain) - 1
    by_class = not domain[target]["ordered"]  # a number to predict is one number more, and there is one class
    ordered = [j for j in given if not (by_class and j == target)]
    named = [j for j in range(len(domain)) if j not in given and not (by_class and j == target)]
    X = np.column_stack([np.nan_to_num(given[j]) for j in ordered]) if ordered else np.zeros((len(table), 0))
    codes = [table[f"c{j}"].to_numpy() for j in named]
    gaps = [j for j in ordered if domain[j]["missing"]]
    codes += [np.isnan(given[j]).astype(np.int64) for j in gaps]
    sizes = [domain[j]["size"] for j in named] + [2] * len(gaps)
    y = table[f"c{target}"].to_numpy() if by_class else np.zeros(len(table), dtype=np.int64)
    classes = domain[target]["size"] if by_class else 1
    rng = np.random.default_rng()
    order = rng.permutation(len(X))
    apart, kept = order[:WIDTH_ROWS], order[WIDTH_ROWS:]
    frequencies = torch.tensor(rng.standard_normal((FEATURES // 2, X.shape[1])) / _width(X[apart])).float()
    noise = math.sqrt(2) / mu_of(asked.epsilon, asked.delta)  # two releases of equal noise
    n = len(kept)
    mean = np.zeros((classes, (FEATURES if X.shape[1] else 0) + sum(sizes)))
    for part in np.array_split(kept, max(1, n // 5_000)):
        hot = [
            nn.functional.one_hot(torch.tensor(c[part]), s).float() for c, s in zip(codes, sizes, strict=True)
        ]
        rows = embedding(torch.tensor(X[part]).float(), hot, frequencies).numpy()
        np.add.at(mean, y[part], rows)
    widest = 2 * math.sqrt((X.shape[1] > 0) + (len(codes) > 0))
    mean = mean / n + rng.normal(0, noise * widest / n, mean.shape)
    shares = np.bincount(y[kept], minlength=classes) / n + rng.normal(0, noise * math.sqrt(2) / n, classes)
    shares = np.maximum(shares, 1e-3) / np.maximum(shares, 1e-3).sum()
    generator = Generator(classes, X.shape[1], sizes)
    train(generator, torch.tensor(mean).float(), shares, frequencies, min(BATCH, max(n // 10, 100)))
    with torch.no_grad():
        labels = torch.tensor(rng.choice(classes, asked.rows, p=shares))
        numbers, chances = generator(labels)
    drawn = [torch.multinomial(chance, 1)[:, 0].numpy() for chance in chances]
    made = {f"x{j}": numbers[:, place].double().numpy() for place, j in enumerate(ordered)}
    made |= {f"c{j}": drawn[place] for place, j in enumerate(named)}
    for place, j in enumerate(gaps):
        made[f"x{j}"] = np.where(drawn[len(named) + place] == 1, np.nan, made[f"x{j}"])
    if by_class:
        made[f"c{target}"] = labels.numpy()
    if asked.check is not None:  # the noisy tables of the label and a category, which are a part of the mean
        ends = np.cumsum([mean.shape[1] - sum(sizes), *sizes])
        tables = {
            (f"c{target}", f"c{j}"): mean[:, ends[k] : ends[k + 1]] * math.sqrt(len(sizes))
            for k, j in enumerate(named)
        }
        asked.check(
            tables.get, made, {f"c{j}": column["size"] for j, column in enumerate(domain)}, list(tables)
        )
    return made


def train(
    generator: Generator, mean: torch.Tensor, shares: np.ndarray, frequencies: torch.Tensor, batch: int
) -> None:
    """Minimise the distance of the mean embeddings, each class divided by its share as in the paper."""
    optimiser = torch.optim.Adam(generator.parameters(), lr=RATE)
    weight = torch.tensor(1 / shares).float()[:, None]
    chances = torch.tensor(shares)
    for _ in range(STEPS):
        labels = torch.cat([torch.multinomial(chances, batch, replacement=True), torch.arange(len(shares))])
        rows = embedding(*generator(labels), frequencies)
        told = nn.functional.one_hot(labels, len(shares)).float()
        loss = ((weight * (mean - told.T @ rows / len(labels))) ** 2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def _width(X: np.ndarray) -> float:
    """The median distance of a few rows."""
    if not X.shape[1]:
        return 1.0
    gaps = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(len(X), 1)]
    return float(np.median(gaps)) or 1.0


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(synthesise)
