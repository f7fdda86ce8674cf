"""Hostile inputs by a compiled, coverage-guided fuzzer: python benchmarks/fuzz_atheris.py TARGET RUNS [SEED].

Needs `pip install atheris`, which exists for some versions of Python only. The targets and what counts as wrong are those
of `fuzz_inputs.py`; libFuzzer adds coverage of every branch of gnomon (and of the parsers in Python under it), a limit on
the time of one input, and a limit on memory. Prints the inputs tried and what went wrong.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gnomon", "tomllib"]):
    import fuzz_inputs


def main() -> None:
    name, runs = sys.argv[1], int(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (fuzz_inputs.MEMORY, fuzz_inputs.MEMORY))
    place = tempfile.TemporaryDirectory()
    os.chdir(place.name)
    targets = fuzz_inputs.Targets(Path(place.name))
    tried, wrong = 0, list[str]()

    def one(data: bytes) -> None:
        nonlocal tried
        tried += 1
        found = fuzz_inputs.outcome(partial(targets.run, name, data), data)
        if found:
            wrong.append(found)
            print("  ", found, flush=True)
        if tried == runs or len(wrong) == 50:  # libFuzzer leaves without a word to Python
            print(f"{name}: {tried:,} inputs by atheris, {len(wrong)} wrong", flush=True)
            os._exit(1 if wrong else 0)

    corpus = Path(tempfile.mkdtemp(), "corpus")  # apart from where commands may write
    corpus.mkdir()
    for number, data in enumerate(targets.seeds[name]):
        (corpus / str(number)).write_bytes(data)
    words = corpus.parent / "words"
    words.write_text(
        "".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in fuzz_inputs.TOKENS)
    )
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-runs={runs}",
            f"-seed={seed}",
            f"-dict={words}",
            "-timeout=5",
            "-max_len=20000",
            "-rss_limit_mb=4096",
            "-verbosity=0",
            "-print_final_stats=1",
        ],
        one,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
