"""An environment of its own for every peer, from names and versions alone: gnomon never imports one.

    python benchmarks/peers/environments.py [NAME ...]

Environments are made under GNOMON_PEERS (default: gnomon-peers in the user's cache folder) with the Python that runs this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
HOME = Path(os.environ.get("GNOMON_PEERS", Path.home() / ".cache" / "gnomon-peers"))


def interpreter(name: str) -> Path | None:
    """The Python of a peer's environment; None where it was not made."""
    python = HOME / name / "bin" / "python"
    return python if (HOME / name / "complete").is_file() else None


def make(name: str) -> bool:
    """Install a peer; whether that worked."""
    if interpreter(name) is not None:
        return True
    home = HOME / name
    venv.create(home, with_pip=True, clear=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-r", str(REQUIREMENTS / f"{name}.txt")], check=False).returncode == 0
    if done:
        (home / "complete").touch()
    return done


def main() -> int:
    names = sys.argv[1:] or sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))
    failed = [name for name in names if not make(name)]
    for name in names:
        print(f"{name}: {'could not be installed' if name in failed else HOME / name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
