"""DPGAN and DP-CGAN by DP-SGD through Opacus: `opacus_gan.py dpgan|dp-cgan ...`.

Xie, Lin, Wang, Wang, Zhou, "Differentially Private Generative Adversarial Network", 2018: a Wasserstein GAN whose critic
learns from real rows by noisy gradients. Torkzadehmahani, Kairouz, Paten, "DP-CGAN: Differentially Private Synthetic Data
and Label Generation", CVPR workshops 2019: a conditional GAN that clips the gradients of real and of made rows apart.

Networks, optimizer, batches and epochs are those of the DPRP paper (Gondara, Wang, 2020, Section 4): three layers, the
generator's of sizes d, d/2, d; RMSProp at 0.001; batches of 50 below 200 rows and of 100 above; 100 epochs.

Only the gradients of real rows are private: each row's is clipped to norm 1 and their sum meets Gaussian noise, whose
multiplier is the smallest by Opacus's accountant for (epsilon, delta), Poisson sampling and as many steps; gradients of
made rows are added after the noise. The guarantee is for adding or removing a row, as that accountant counts; the number
of rows is public. Torch's generator draws noise and batches: a benchmark, not a release.

Numbers are between 0 and 1 by their declared domain, categories one-hot. DPGAN makes the label as a column like the others.
DP-CGAN draws labels evenly, since how frequent they are is not paid for.
"""

from __future__ import annotations

import itertools
import secrets
import warnings
from functools import cache

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from protocol import FACTS, Asked, serve
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, RATE = 100, 0.001
CLIP = 1.0  # the norm of one row's gradient
WEIGHT = 0.1  # of the Wasserstein critic, at most
warnings.filterwarnings("ignore")


@cache
def multiplier_for(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The smallest noise by Opacus's accountant; at large sampling rates it takes longer to find than to train with."""
    return float(
        get_noise_multiplier(
            target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps, accountant="rdp"
        )
    )


def layers(*sizes: int) -> nn.Sequential:
    found: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        found += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*found[:-1])


def encoded(asked: Asked, domain: list[dict]) -> tuple[torch.Tensor, list[tuple[int, int]]]:
    """Rows in [0, 1], and where the cells of every column are."""
    table, blocks, places, start = asked.table(), [], [], 0
    for column in domain:
        codes = table[column["name"]].to_numpy()
        if column["ordered"] and not column["exact"]:
            block = (codes / max(column["size"] - 1, 1))[:, None]
        else:
            block = np.eye(column["size"])[codes]
        blocks.append(block)
        places.append((start, start + block.shape[1]))
        start += block.shape[1]
    return torch.tensor(np.hstack(blocks), dtype=torch.float32), places


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    torch.manual_seed(secrets.randbits(62))
    torch.set_num_threads(1)
    epochs, rate = int(asked.settings.get("epochs", EPOCHS)), asked.settings.get("rate", RATE)
    domain = asked.domain
    rows, places = encoded(asked, domain)
    n, d = rows.shape
    conditional = asked.algorithm == "dp-cgan"
    label = places[-1]
    given = label[1] - label[0] if conditional else 0
    made_width = label[0] if conditional else d

    batch = min(50 if n < 200 else 100, n)
    loader = DataLoader(TensorDataset(rows), batch_size=batch)
    steps = epochs * len(loader)
    multiplier = multiplier_for(asked.epsilon, asked.delta, 1 / len(loader), steps)
    half = max(made_width // 2, 1)
    generator = layers(d + given, made_width, half, made_width)
    critic = layers(d, d, max(d // 2, 1), 1)
    engine = PrivacyEngine(accountant="rdp")
    critic, optimizer, loader = engine.make_private(
        module=critic,
        optimizer=torch.optim.RMSprop(critic.parameters(), lr=rate),
        data_loader=loader,
        noise_multiplier=multiplier,
        max_grad_norm=CLIP,
        poisson_sampling=True,
    )
    maker = torch.optim.RMSprop(generator.parameters(), lr=rate)
    cross = nn.BCEWithLogitsLoss()

    def made(count: int) -> torch.Tensor:
        noise = torch.randn(count, d)
        if not conditional:
            return torch.sigmoid(generator(noise))
        labels = torch.eye(given)[torch.randint(given, (count,))]
        return torch.cat([torch.sigmoid(generator(torch.cat([noise, labels], 1))), labels], 1)

    def loss(scores: torch.Tensor, real: bool) -> torch.Tensor:
        if conditional:
            return cross(scores, torch.full_like(scores, float(real)))
        return -scores.mean() if real else scores.mean()

    parameters = list(critic.parameters())
    for _ in range(epochs):
        for (real,) in loader:
            critic.disable_hooks()
            of_made = torch.autograd.grad(loss(critic(made(batch).detach()), real=False), parameters)
            critic.enable_hooks()
            optimizer.zero_grad()
            if len(real):
                loss(critic(real), real=True).backward()
            else:  # an empty sample is noise alone
                for parameter in parameters:
                    parameter.grad_sample = torch.zeros(0, *parameter.shape)
            optimizer.pre_step()  # clips, adds noise, and counts the step
            for parameter, gradient in zip(parameters, of_made, strict=True):
                parameter.grad += gradient
            optimizer.original_optimizer.step()
            if not conditional:
                with torch.no_grad():
                    for parameter in parameters:
                        parameter.clamp_(-WEIGHT, WEIGHT)
            critic.disable_hooks()
            maker.zero_grad()
            loss(critic(made(batch)), real=True).backward()
            maker.step()
            critic.enable_hooks()

    assert len(engine.accountant.history) == 1
    assert engine.accountant.history[0][2] == steps
    FACTS.update(
        epsilon=float(engine.get_epsilon(asked.delta)),
        noise_multiplier=multiplier,
        sample_rate=1 / len(loader),
        steps=steps,
    )
    with torch.no_grad():
        out = made(asked.rows).numpy()
    return {
        column["name"]: np.rint(out[:, a] * (column["size"] - 1)).astype(np.int64)
        if column["ordered"] and not column["exact"]
        else out[:, a:b].argmax(axis=1)
        for column, (a, b) in zip(domain, places, strict=True)
    }


if __name__ == "__main__":
    serve(synthesise)
