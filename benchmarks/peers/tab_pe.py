"""Private Evolution for tables, Tab-PE (Tran, Backurs, Lin, Reis, Xiong, Yekhanin, arXiv 2606.08259), written from it.

Random rows of the declared domain are varied and chosen again by noisy counts of private rows whose nearest candidate they
are, class by class. Settings of the authors' examples: 1,000 rows and 30 generations as on Adult, 150 and 20 below 1,000
private rows as on breast cancer (286 rows); the first 5 drawn in proportion to the counts, then the highest ones with three
variations each beside them; mutation from 0.5 to 0.01; categories weigh a third in the distance. Every generation after the
first has one histogram of sensitivity 1 for adding or removing a row; Gaussian noise, composed exactly. One histogram more
buys the classes' shares, which the authors take as public. The chosen rows are drawn with replacement where more are asked.
"""

from __future__ import annotations

import numpy as np
import torch
from protocol import Asked, mu_of, serve

DRAWN, VARIATIONS = 5, 3
FEW, MANY = (150, 20), (1_000, 30)  # rows and generations, below SMALL private rows and from there on
SMALL = 1_000
FIRST, LAST, DECAY = 0.5, 0.01, 0.2
CATEGORY_WEIGHT = 1 / 3


class Space:
    """Candidates: numbers in [-1, 1] (NaN is none) and codes of categories."""

    def __init__(self, sizes: list[int], numbers: int, rng: np.random.Generator) -> None:
        self.sizes, self.numbers, self.rng = sizes, numbers, rng

    def random(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        codes = [self.rng.integers(0, size, n) for size in self.sizes]
        return self.rng.uniform(-1, 1, (n, self.numbers)), np.stack(codes, 1) if codes else np.zeros(
            (n, 0), int
        )

    def varied(self, X: np.ndarray, C: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
        moved = np.clip(X + 2 * rate * self.rng.uniform(-1, 1, X.shape), -1, 1)
        fresh = self.random(len(C))[1]
        return moved, np.where(self.rng.random(C.shape) < rate, fresh, C)

    def embedded(self, X: np.ndarray, C: np.ndarray) -> torch.Tensor:
        parts = [torch.tensor((np.nan_to_num(X) + 1) / 2).float()]
        for j, size in enumerate(self.sizes):
            parts.append(CATEGORY_WEIGHT * torch.nn.functional.one_hot(torch.tensor(C[:, j]), size).float())
        return torch.cat(parts, 1)


def votes(private: torch.Tensor, candidates: torch.Tensor) -> np.ndarray:
    """How many private rows have each candidate as the nearest."""
    found = np.zeros(len(candidates))
    half = (candidates**2).sum(1) / 2
    for part in torch.split(private, 2_000):
        nearest = torch.argmax(part @ candidates.T - half, 1).numpy()
        found += np.bincount(nearest, minlength=len(candidates))
    return found


def evolve(
    space: Space, private: torch.Tensor, rows: int, rounds: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """The chosen rows of one class, after so many histograms."""
    rng = space.rng
    X, C = space.random(rows)
    for step in range(rounds):
        counts = votes(private, space.embedded(X, C)) if len(private) else np.zeros(len(X))
        counts = counts + rng.normal(0, noise, len(counts))
        if step < DRAWN:
            chance = np.maximum(counts, 0)
            chance = chance / chance.sum() if chance.sum() > 0 else np.full(len(chance), 1 / len(chance))
            chosen = rng.choice(len(X), rows, p=chance)
        else:
            chosen = np.argsort(-counts)[:rows]
        X, C = X[chosen], C[chosen]
        if step == rounds - 1:
            break
        rate = FIRST - (FIRST - LAST) * (step / (rounds + 1)) ** DECAY
        more = [space.varied(X, C, rate) for _ in range(1 if step + 1 < DRAWN else VARIATIONS)]
        if step + 1 >= DRAWN:
            more.append((X, C))
        X, C = np.concatenate([x for x, _ in more]), np.concatenate([c for _, c in more])
    return X, C


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    domain, table, given = asked.domain, asked.table(), asked.numbers()
    target = len(domain) - 1
    by_class = not domain[target]["ordered"]
    ordered = [j for j in given if not (by_class and j == target)]
    named = [j for j in range(len(domain)) if j not in given and not (by_class and j == target)]
    X = np.column_stack([given[j] for j in ordered]) if ordered else np.zeros((len(table), 0))
    C = (
        np.column_stack([table[f"c{j}"].to_numpy() for j in named])
        if named
        else np.zeros((len(table), 0), int)
    )
    y = table[f"c{target}"].to_numpy() if by_class else np.zeros(len(table), dtype=np.int64)
    classes = domain[target]["size"] if by_class else 1
    rng = np.random.default_rng()
    space = Space([domain[j]["size"] for j in named], len(ordered), rng)
    many, generations = FEW if len(table) < SMALL else MANY
    noise = generations**0.5 / mu_of(
        asked.epsilon, asked.delta
    )  # the first has no histogram, the shares have one
    shares = np.maximum(np.bincount(y, minlength=classes) + rng.normal(0, noise, classes), 1)
    shares = shares / shares.sum()
    rows = space.embedded(X, C)
    found = []
    for label in range(classes):
        size = max(1, round(many * shares[label]))
        mine = rows[torch.tensor(y == label)]
        found.append((*evolve(space, mine, size, generations - 1, noise), np.full(size, label)))
    X, C, y = (np.concatenate(part) for part in zip(*found, strict=True))
    drawn = rng.choice(len(X), asked.rows, replace=True)
    made = {f"x{j}": X[drawn, place] for place, j in enumerate(ordered)}
    made |= {f"c{j}": C[drawn, place] for place, j in enumerate(named)}
    return {**made, **({f"c{target}": y[drawn]} if by_class else {})}


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(synthesise)
