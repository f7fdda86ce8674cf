"""How the code is built: sizes, imports, cycles, large functions, numeric literals, and the files of one release.

    python benchmarks/house.py [--json] [--package gnomon]

All but the last table is read from syntax trees. An import inside a function is *lazy*, one under
`if TYPE_CHECKING:` is for *types*; both count, because a reader follows them too. Modules that are named in
strings (the registry of methods) do not count. The files of a method share the first word of their names.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

TOP, LAZY, TYPES = "", "lazy", "types"
COMMON = {0, 1, 2, 0.5}  # numbers that need no name
METHOD_FOLDERS = ("methods", "release", "baseline")
FLAGSHIP = ("*.release.pca_*", "*.methods.synthesizer*")
DEFAULTS = ("Synthesizer", "PcaGauss")  # the first that exists is the default method of a common table
SHOWN = 16  # lines of a table on the page; --json has all


class Import(NamedTuple):
    """One module imports another."""

    importer: str
    imported: str
    kind: str

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}" + (f" [{self.kind}]" if self.kind else "")


@dataclass(frozen=True)
class Module:
    """A file of the package, in one of its folders."""

    name: str
    folder: str
    path: Path
    lines: int
    tree: ast.Module

    @property
    def family(self) -> tuple[str, str]:
        return self.folder, self.path.stem.split("_")[0]


def modules_of(package: str) -> dict[str, Module]:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"There is no package {package!r} on the path; set PYTHONPATH to its folder.")
    root = Path(next(iter(spec.submodule_search_locations)))
    found = {}
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root).with_suffix("").parts
        name = ".".join([package, *inner]).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        folder = inner[0] if len(inner) > 1 else "(top)"
        found[name] = Module(name, folder, path, text.count("\n"), ast.parse(text))
    return found


# --- Imports ---


def imports_of(modules: dict[str, Module]) -> list[Import]:
    found = {
        Import(module.name, target, kind)
        for module in modules.values()
        for node, kind in _statements(module.tree, TOP)
        for target in _targets(node, modules)
        if target != module.name
    }
    return sorted(found)


def _statements(node: ast.AST, kind: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, kind
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _statements(child, LAZY)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _statements(child, TYPES)
        else:
            yield from _statements(child, kind)


def _targets(node: ast.Import | ast.ImportFrom, modules: dict[str, Module]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif node.module in modules:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in modules else node.module


def cycles_of(imports: list[Import]) -> list[set[str]]:
    """Groups of modules that all reach each other."""
    reach: dict[str, set[str]] = defaultdict(set)
    for one in imports:
        reach[one.importer].add(one.imported)
    for name in list(reach):  # Warshall's closure
        for held in reach.values():
            if name in held:
                held |= reach[name]
    groups = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in reach if a in reach[a]}
    return sorted(map(set, groups), key=sorted)


def between_methods(modules: dict[str, Module], imports: list[Import]) -> list[str]:
    """Imports of one method's files by another's; files that belong to no method are shared."""
    inside = [module for module in modules.values() if module.folder in METHOD_FOLDERS]
    methods = {module.family for module in inside if _defines_a_method(module.tree)}
    family = {module.name: module.family for module in inside if module.family in methods}
    pairs = {i[:2]: i for i in imports if i.importer in family and i.imported in family}
    return [str(i) for i in pairs.values() if family[i.importer] != family[i.imported]]


def _defines_a_method(tree: ast.Module) -> bool:
    """A class with `name: ... = "..."` is a method; a base class gives the name no value."""
    lines = [line for node in tree.body if isinstance(node, ast.ClassDef) for line in node.body]
    return any(isinstance(a, ast.AnnAssign) and a.value and ast.unparse(a.target) == "name" for a in lines)


def flagship_of(modules: dict[str, Module], imports: list[Import]) -> list[str]:
    """The default method's files, and those that nothing but them imports."""
    found = {name for name in modules if any(fnmatch(name, pattern) for pattern in FLAGSHIP)}
    importers: dict[str, set[str]] = defaultdict(set)
    for one in imports:
        importers[one.imported].add(one.importer)
    while more := {name for name in importers if importers[name] <= found} - found:
        found |= more
    return sorted(found)


# --- Functions and numbers ---


def functions_of(module: Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield f"{module.name}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def literals_of(module: Module) -> int:
    """How many numbers other than 0, 1, 2 and 1/2 stand in the code."""
    values = (node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant))
    return sum(type(value) in (int, float) and value not in COMMON for value in values)


# --- One release ---


def walked(work: Callable[[], object], modules: dict[str, Module]) -> list[str]:
    """The modules whose functions run during `work`, which runs once before so that imports do not count."""
    work()
    files: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [name for name, module in modules.items() if str(module.path) in files]


def walks(modules: dict[str, Module]) -> dict[str, list[str]]:
    """A small table: `fit` and `sample` by RON-Gauss and by the default method, and a whole `gnomon release`."""
    import numpy as np

    gnomon, main = import_module("gnomon"), import_module("gnomon.cli").main
    default = next(name for name in DEFAULTS if name in dir(gnomon))
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 20_000)
    X = np.clip(rng.normal(0, 0.2, (len(y), 5)) + y[:, None] / 4, -1, 1)

    def library(name: str) -> Callable[[], object]:
        method = getattr(gnomon, name)
        return lambda: method(1.0, 1e-6, bounds=(-1, 1), classes=[0, 1, 2]).fit(X, y).sample(100)

    def command() -> None:
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
            place = Path(folder)
            names = [f"x{j}" for j in range(X.shape[1])]
            header = ",".join([*names, "y"])
            np.savetxt(place / "table.csv", np.c_[X, y], "%.6g", ",", header=header, comments="")
            columns = [f'[columns.{name}]\nkind = "number"\nlow = -1\nhigh = 1\n' for name in names]
            columns.append('[columns.y]\nkind = "category"\nvalues = [0, 1, 2]\nrole = "target"\n')
            (place / "schema.toml").write_text('[table]\nname = "table"\n' + "".join(columns))
            files = {"--schema": "schema.toml", "--out": "release", "--ledger": "ledger"}
            where = [word for option, name in files.items() for word in (option, str(place / name))]
            assert main(["release", str(place / "table.csv"), *where, "--epsilon=1", "--delta=1e-6"]) == 0

    found = {name: walked(library(name), modules) for name in ("RonGauss", default)}
    return found | {"gnomon release, from a file to a folder": walked(command, modules)}


# --- The page ---


def survey(package: str) -> dict[str, Any]:
    modules = modules_of(package)
    imports = imports_of(modules)
    files, lines = Counter(m.folder for m in modules.values()), Counter[str]()
    for module in modules.values():
        lines[module.folder] += module.lines
    pairs = sorted({one[:2] for one in imports})
    functions = Counter(dict(size for module in modules.values() for size in functions_of(module)))
    literals = Counter({name: literals_of(module) for name, module in modules.items()})
    flagship = flagship_of(modules, imports)
    return {
        "files": len(modules),
        "lines": lines.total(),
        "files and lines by folder": {name: (files[name], lines[name]) for name in sorted(files)},
        "fan-in (modules that import it)": dict(Counter(b for _, b in pairs).most_common()),
        "fan-out (modules that it imports)": dict(Counter(a for a, _ in pairs).most_common()),
        "cycles of imports at the top of modules": len(cycles_of([i for i in imports if i.kind == TOP])),
        "cycles with lazy imports and types": len(cycles_of(imports)),
        "the cycles, and the imports that close them": {
            ", ".join(sorted(group)): [str(i) for i in imports if i.kind and {*i[:2]} <= group]
            for group in cycles_of(imports)
        },
        "imports between methods": {"module -> module": between_methods(modules, imports)},
        "largest functions (lines)": dict(functions.most_common(SHOWN)),
        "numeric literals other than 0, 1, 2, 1/2": literals.total(),
        "numeric literals by module": dict(literals.most_common()),
        "lines of the default method": sum(modules[name].lines for name in flagship),
        "numeric literals of the default method": sum(literals[name] for name in flagship),
        "numeric literals of its modules": {name: literals[name] for name in flagship},
        "files that one release walks through": walks(modules) if package == "gnomon" else {},
    }


def page(found: dict[str, Any]) -> str:
    """The survey as plain text."""
    parts: list[str] = []
    for title, value in found.items():
        parts.append(f"{title}: {value:,}" if isinstance(value, int) else f"\n{title}")
        for name, held in list(value.items())[:SHOWN] if isinstance(value, dict) else ():
            if isinstance(held, list):
                parts += [f"  {name} ({len(held)})", *(f"    {line}" for line in held)]
            else:
                numbers = held if isinstance(held, tuple) else (held,)
                parts.append(f"  {name:<60}" + "".join(f"{number:>8,}" for number in numbers))
        parts += [""] if isinstance(value, dict) else []
    return "\n".join(parts).replace("\n\n\n", "\n\n").strip()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="the same facts for programs, uncut")
    options.add_argument("--package", default="gnomon", help="an importable package")
    asked = options.parse_args()
    found = survey(asked.package)
    print(json.dumps(found, indent=1) if asked.json else page(found))


if __name__ == "__main__":
    main()
