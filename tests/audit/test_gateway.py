"""One gateway from rows to noise: no other module both reads rows and draws noise, by the syntax of every module.

A module draws where it imports a sampler or a mechanism, or calls `query.release(exact, noise)`. It reads where it calls
`.parts()`, `.batches(...)`, `.load()` or `.of_batch(...)`; a query's own `of_batch(self, rows)` may pass its rows on to the
query inside it. Beside the gateway, noise is drawn in a query's `release(self, exact, noise)` only: that method is handed
the exact sum and never a row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gnomon

ROOT = Path(gnomon.__file__).parent
GATEWAY = "privacy/measure.py"

# modules that draw, and why each may
DRAWS = {
    GATEWAY: "the gateway: every noisy answer and every noisy row",
    "privacy/mechanism.py": "the mechanisms themselves: integers in, noisy integers out",
    "statistics/queries.py": "queries: `release` is handed the exact sum",
    "methods/baseline/exponential.py": "a query: `release` is handed how far each candidate is from the best",
    "methods/baseline/blocki.py": "a query: `release` is handed the moments of every class",
    "methods/pca_gauss_paper.py": "a query: `release` mirrors the noise of its parent's",
    "privacy/noisy_rows.py": "the random order of noisy rows: post-processing",
    "methods/classes.py": "a query: `release` is handed the counts of all labels",
    "projection/gaussian.py": "a projection from no seed, published: it sees no data",
    "reproduce/dppro_adult.py": "a baseline of a paper on a public table",
}
IN_RELEASE = {
    "statistics/queries.py",
    "methods/baseline/exponential.py",
    "methods/baseline/blocki.py",
    "methods/pca_gauss_paper.py",
    "methods/classes.py",
}
# modules that read, and why each may; all of table/ gives rows to others
READS = {
    GATEWAY: "the gateway",
    "engine/local.py": "folds a query over rows for the gateway",
    "engine/cluster.py": "the same, by tasks on workers",
    "engine/committed.py": "reads back the rows that workers committed",
    "engine/staged.py": "gives the rows of a frame to others, as table/ does",
    "methods/principal_components.py": "a public table's principal components",
    "methods/synthesizer.py": "a caller's own rows through the subspace of a model (transform)",
    "methods/baseline/privatesvm.py": "a caller's own rows before the noisy weights (predict)",
    "methods/baseline/subspace.py": "a public table's directions",
    "release/transform.py": "a caller's own rows through a public map",
    "evaluation/sides.py": "real rows beside released ones, for the custodian's eyes",
    "evaluation/shared.py": "whether test rows are training rows, for the custodian's eyes",
    "release/holdout.py": "splits a table by coins that look at no row",
    "release/verify.py": "released rows",
}
# the noise package is what is drawn from; the audit reads and releases tables of its own making, and no release imports it
EXEMPT = ("privacy/noise/", "audit/", "table/")

MECHANISMS = {"draw", "release_vector", "release_moments"}
NO_SAMPLERS = {"TOTAL_VARIATION", "total_variation", "noise_is_private", "LAWS", "STREAM_ASSUMPTION"}
# of a Measurer: measurements, public draws, and the noisy answers of an earlier run
ASKED = {"measure", "minimise", "measure_all", "select", "release_rows", "draw_public", "drew", "recorded"}
READERS = {"parts", "batches", "load", "of_batch"}


@dataclass
class Uses:
    """Where a module reads rows and draws noise: the functions, innermost last, or () for an import."""

    reads: list[tuple[ast.FunctionDef, ...]] = field(default_factory=list)
    draws: list[tuple[ast.FunctionDef, ...]] = field(default_factory=list)
    drawn_names: set[str] = field(default_factory=set)


def uses(source: str) -> Uses:
    tree, found = ast.parse(source), Uses()
    for node in ast.walk(tree):
        found.drawn_names |= _imported_samplers(node)
    for node, around in _with_functions(tree, ()):
        if isinstance(node, ast.Call):
            if _reads(node) and not _delegates(around):
                found.reads.append(around)
            if _draws(node, found.drawn_names):
                found.draws.append(around)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("gnomon.privacy.noise."):
            found.draws.append(around)  # a module by its name, imported later
    if found.drawn_names and not found.draws:
        found.draws.append(())  # imported and handed on
    return found


def _imported_samplers(node: ast.AST) -> set[str]:
    """The names by which noise can be drawn that an import brings."""
    if isinstance(node, ast.Import):
        homes = ("gnomon.privacy.noise", "gnomon.privacy.mechanism")
        return {
            (name.asname or name.name).split(".")[0] for name in node.names if name.name.startswith(homes)
        }
    if not isinstance(node, ast.ImportFrom) or node.module is None:
        return set()
    names = {name.name: name.asname or name.name for name in node.names}
    if node.module.startswith("gnomon.privacy.noise"):
        return {mine for name, mine in names.items() if name not in NO_SAMPLERS}
    if node.module == "gnomon.privacy.mechanism":
        return {mine for name, mine in names.items() if name in {*MECHANISMS, "*"}}
    if node.module == "gnomon.privacy":
        return {mine for name, mine in names.items() if name in ("noise", "mechanism")}
    return set()


def _with_functions(
    node: ast.AST, around: tuple[ast.FunctionDef, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.FunctionDef, ...]]]:
    for child in ast.iter_child_nodes(node):
        yield child, around
        inner = (*around, child) if isinstance(child, ast.FunctionDef) else around
        yield from _with_functions(child, inner)


def _reads(call: ast.Call) -> bool:
    called = call.func
    if not isinstance(called, ast.Attribute) or called.attr not in READERS:
        return False
    return called.attr != "load" or not (call.args or call.keywords)  # Schema.load(path) reads no rows


def _delegates(around: tuple[ast.FunctionDef, ...]) -> bool:
    return bool(around) and _is(around[0], "of_batch", ["self", "rows"])


def _draws(call: ast.Call, names: set[str]) -> bool:
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr == "release" and len(call.args) == 2:
        return True
    while isinstance(called, ast.Attribute):
        called = called.value
    return isinstance(called, ast.Name) and called.id in names


def _is(function: ast.FunctionDef, name: str, arguments: list[str]) -> bool:
    return function.name == name and [one.arg for one in function.args.args] == arguments


def modules() -> dict[str, str]:
    found = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
    return {name: source for name, source in found.items() if not name.startswith(EXEMPT)}


FOUND = {name: uses(source) for name, source in modules().items()}


def test_only_the_gateway_both_reads_rows_and_draws_noise() -> None:
    both = {name for name, found in FOUND.items() if found.reads and found.draws}
    assert both == {GATEWAY}


def test_every_module_that_draws_noise_says_why() -> None:
    assert {name for name, found in FOUND.items() if found.draws} == set(DRAWS)


def test_every_module_that_reads_rows_says_why() -> None:
    assert {name for name, found in FOUND.items() if found.reads} == set(READS)


@pytest.mark.parametrize("name", sorted(IN_RELEASE))
def test_a_query_draws_noise_for_its_exact_sum_only(name) -> None:
    for around in FOUND[name].draws:
        assert around, f"{name} hands a sampler on"
        assert _is(around[0], "release", ["self", "exact", "noise"]), f"{name}: {around[0].name} draws noise"


def test_no_method_reaches_past_the_gateway_to_its_rows() -> None:
    """A method has a `Measurer` and asks it for measurements; only the base class gives it its rows."""
    for name, source in modules().items():
        if name.startswith("methods/") and name != "methods/base.py":
            touched = [
                node.attr
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "data"
                and node.attr not in ASKED
            ]
            assert touched == [], f"{name} touches {touched} of its Measurer"


def test_no_release_imports_the_audit() -> None:
    for name, source in modules().items():
        imported = [
            home
            for node in ast.walk(ast.parse(source))
            for home in _homes(node)
            if home.startswith("gnomon.audit")
        ]
        assert not imported or name == "commands/audit.py", f"{name} imports {imported}"


def _homes(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return []


READING = "def sums(rows):\n    return sum(part.load().X.sum() for part in rows.parts())\n"
PLANTED = {
    "a mechanism": "from gnomon.privacy.mechanism import release_vector\n"
    "def told(x, s, loss):\n    return release_vector(x, s, loss)\n",
    "a mechanism by another name": "from gnomon.privacy.mechanism import draw as paint\n"
    "def told(x, noise):\n    return x + paint(noise, x.shape)\n",
    "a mechanism by its module": "from gnomon.privacy import mechanism\n"
    "def told(x, noise):\n    return x + mechanism.draw(noise, x.shape)\n",
    "a sampler": "from gnomon.privacy.noise.laplace import discrete_laplace\n"
    "def told(x):\n    return x + discrete_laplace(3.0, x.shape)\n",
    "a sampler inside a function": "def told(x):\n"
    "    from gnomon.privacy.noise.laplace import discrete_laplace\n    return x + discrete_laplace(3.0, x.shape)\n",
    "a sampler by its package": "import gnomon.privacy.noise.laplace\n"
    "def told(x):\n    return x + gnomon.privacy.noise.laplace.discrete_laplace(3.0, x.shape)\n",
    "a sampler by its name": "def told(x):\n"
    "    return x + import_module('gnomon.privacy.noise.laplace').discrete_laplace(3.0, x.shape)\n",
    "a sampler that is handed on": "from gnomon.privacy.noise import sampler\nSAMPLE = {'noise': sampler}\n",
    "a query's release": "def told(query, x, noise):\n    return query.release(x, noise)\n",
}


@pytest.mark.parametrize("how", sorted(PLANTED))
def test_another_gateway_would_be_seen(how) -> None:
    found = uses(READING + PLANTED[how])
    assert found.reads
    assert found.draws


@pytest.mark.parametrize(
    "reading",
    [
        READING,
        "def look(source):\n    return next(source.batches(['a']))\n",
        "def of(query, rows):\n    return query.of_batch(rows)\n",
        "class Q:\n    def finish(self, total):\n        return total + self.query.of_batch(self.kept)\n",
    ],
)
def test_another_reader_would_be_seen(reading) -> None:
    assert uses(reading).reads


def test_a_query_that_passes_its_rows_on_is_no_reader() -> None:
    assert not uses("class Q:\n    def of_batch(self, rows):\n        return self.q.of_batch(rows)\n").reads
