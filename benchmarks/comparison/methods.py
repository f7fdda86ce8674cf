"""Who takes part: gnomon's methods, the methods that its papers compare with, and the peers in their own environments."""

from __future__ import annotations

from typing import NamedTuple

OURS = ("pca-gauss", "ron-gauss", "dprp", "jl-laplace", "dppro")
BASELINES = ("modips", "blocki", "pca-identity", "lda-identity", "bernoulli-identity", "exponential")


class Peer(NamedTuple):
    """A package's algorithm: the environment that it needs, its script in benchmarks/peers, what the script is told."""

    environment: str
    script: str
    algorithm: str
    releases: bool = True  # rows, and not only predictions


PEERS = {
    "opendp-mst": Peer("opendp", "opendp_mbi.py", "MST"),
    "opendp-aim": Peer("opendp", "opendp_mbi.py", "AIM"),
    "dpmm-mst": Peer("dpmm", "dpmm_models.py", "MST"),
    "dpmm-aim": Peer("dpmm", "dpmm_models.py", "AIM"),
    "dpmm-privbayes": Peer("dpmm", "dpmm_models.py", "PrivBayes"),
    "smartnoise-dpctgan": Peer("smartnoise", "smartnoise_gan.py", "dpctgan"),
    "smartnoise-patectgan": Peer("smartnoise", "smartnoise_gan.py", "patectgan"),
    "diffprivlib": Peer("diffprivlib", "diffprivlib_direct.py", "direct", releases=False),
}
REAL = "real rows"
AUTO = "auto"  # which method gnomon would choose; no run, only public numbers
