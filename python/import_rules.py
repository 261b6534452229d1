"""Rules for the imports of a package whose modules are in rooms, which are in layers.

1. A room imports rooms below it, never one above; imports for types alone count as well.
2. Modules do not import each other in a circle. Imports for types alone may do so within a room.
3. An import inside a function has a comment ``# lazy: REASON`` on its line. It counts for the rules
   above all the same, so that it cannot hide a circle.
4. ``import_module("name")`` and ``__import__("name")`` are imports like any other. Where the name
   is computed, the rules above cannot be checked: only the rooms that are named for it may do so,
   with a comment ``# by name: REASON`` on the line.

Nothing is imported to find this out: the sources are parsed.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

_LAZY = "# lazy: "
_BY_NAME = "# by name: "
# The functions that import a module by its name.
_IMPORTERS = frozenset({"import_module", "__import__"})


@dataclasses.dataclass(frozen=True)
class Import:
    """One import of one module.

    Parameters
    ----------
    importer, imported
        Full names of the modules; `imported` may be of another package, and is "" where the name is
        computed.
    line
        Where it stands in the importer's file.
    in_function
        Whether it happens as a function runs.
    for_types
        Whether only type checkers see it.
    reason
        Why it is inside a function, or why its name is computed; "" where nothing is said.
    """

    importer: str
    imported: str
    line: int
    in_function: bool
    for_types: bool
    reason: str


def module_files(folder: Path) -> dict[str, Path]:
    """The modules of the package in `folder` by their full names, tests left out.

    A module in C is known by its stub.
    """
    found: dict[str, Path] = {}
    for path in [*sorted(folder.rglob("*.py")), *sorted(folder.rglob("*.pyi"))]:
        if not path.name.endswith("_test.py"):
            parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
            found.setdefault(".".join(parts).removesuffix(".__init__"), path)
    return found


def imports_of(files: Mapping[str, Path]) -> list[Import]:
    """All imports of the modules."""
    return [found for name, path in files.items() for found in _in_file(name, path, files)]


def _in_file(module: str, path: Path, files: Mapping[str, Path]) -> Iterator[Import]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node, in_function, for_types in _statements(ast.parse(text), False, False):
        for target in _targets(node, package, files):
            reason = lines[node.lineno - 1].partition(_LAZY if target else _BY_NAME)[2]
            yield Import(module, target, node.lineno, in_function, for_types, reason.strip())


def _statements(
    node: ast.AST, in_function: bool, for_types: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom | ast.Call, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and _is_importer(child.func):
            yield child, in_function, for_types
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, in_function, for_types
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            is_for_types = not isinstance(child.test, ast.UnaryOp)
            for part, seen in ((child.body, is_for_types), (child.orelse, not is_for_types)):
                yield from _statements(ast.Module(part, []), in_function, for_types or seen)
        else:
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _statements(child, in_function or is_function, for_types)


def _is_importer(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else ""
    return (function.id if isinstance(function, ast.Name) else name) in _IMPORTERS


def _targets(
    node: ast.Import | ast.ImportFrom | ast.Call, package: str, files: Mapping[str, Path]
) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = node.args[0] if node.args else None
        text = name.value if isinstance(name, ast.Constant) else None
        # A name that begins with a dot depends on further arguments.
        yield text if isinstance(text, str) and text[:1] != "." else ""
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        outer = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*outer, base] if base else outer)
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        yield inner if inner in files else base


def problems(
    files: Mapping[str, Path], package: str, rooms: Sequence[str], computing: Collection[str] = ()
) -> list[str]:
    """What breaks the rules, a line each.

    Parameters
    ----------
    files
        From `module_files`.
    package
        Full name of the package whose modules are in the rooms.
    rooms
        Names of the rooms, the lowest first.
    computing
        Names of those rooms that may import modules whose names they compute.
    """
    everything = imports_of(files)
    imports = [one for one in everything if one.imported]
    computed = [one for one in everything if not one.imported]
    found = [
        f"{one.importer}:{one.line}: imports {one.imported} inside a function without a comment "
        f"`{_LAZY}REASON`"
        for one in imports
        if one.in_function and not one.for_types and not one.reason
    ]
    found += _computed(computed, package, computing)
    inside = [one for one in imports if one.importer.startswith(package + ".")]
    found += _upward(inside, package, rooms)
    for loop in circles((one.importer, one.imported) for one in imports if not one.for_types):
        found.append(f"imported in a circle: {', '.join(loop)}")
    return found


def _computed(imports: Iterable[Import], package: str, computing: Collection[str]) -> Iterator[str]:
    for one in imports:
        where = f"{one.importer}:{one.line}: imports a module whose name is computed"
        if one.importer.removeprefix(package + ".").split(".")[0] not in computing:
            yield f"{where}; only the rooms {', '.join(computing) or '(none)'} may"
        elif not one.reason:
            yield f"{where} without a comment `{_BY_NAME}REASON`"


def _upward(imports: Iterable[Import], package: str, rooms: Sequence[str]) -> Iterator[str]:
    outer = package.split(".")[0]
    for one in imports:
        where = f"{one.importer}:{one.line}: imports {one.imported}"
        room = one.importer.removeprefix(package + ".").split(".")[0]
        if room not in rooms:
            yield f"{where} from the room {room!r}, which has no place in the order"
        elif one.imported.startswith(package + "."):
            other = one.imported.removeprefix(package + ".").split(".")[0]
            if other not in rooms or rooms.index(other) > rooms.index(room):
                yield f"{where}: the room {other!r} is above {room!r}"
        elif (one.imported + ".").startswith(outer + ".") and one.imported != f"{outer}._runtime":
            yield f"{where}: the public package is above all rooms"


def circles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Sets of modules that import each other, and modules that import themselves.

    Parameters
    ----------
    edges
        Pairs of importer and imported.
    """
    graph: dict[str, list[str]] = {}
    for importer, imported in edges:
        graph.setdefault(importer, []).append(imported)
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in graph.get(module, ()):
            if other not in order:
                visit(other)
            if other in path:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == order[module]:
            start = path.index(module)
            members = path[start:]
            del path[start:]
            if len(members) > 1 or module in graph.get(module, ()):
                found.append(sorted(members))

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return found
