"""Lists the names that a program uses and that Millstream does not have, before it runs.

The program is parsed and not run. Names are followed through ``import tensorflow as tf``, imports
of modules and of names below it, and assignments such as ``layers = tf.layers``.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millstream._impl.base import absent_names
from millstream._impl.tools import as_tensorflow, inner_names

_ROOTS = ("tensorflow", "millstream")


class Missing(NamedTuple):
    """A name that is not there: where it stands, the nearest that is or "", why it is absent."""

    file: str
    line: int
    name: str
    nearest: str
    reason: str = ""

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        hint = f" (the nearest name is {self.nearest})" if self.nearest else ""
        return f"{self.file}:{self.line}: {self.name} is not there{why}{hint}"


class _Use(NamedTuple):
    """Where a program uses a path below ``tf``, and how."""

    line: int
    path: str
    is_called: bool = False


def missing_names(source: str, file: str) -> list[Missing]:
    """The names that a program uses and that are not there, each once a line.

    Parameters
    ----------
    source
        The program.
    file
        Its path, for the result.

    Raises
    ------
    SyntaxError
        It is no program.
    """
    tree = ast.parse(source, file)
    names = _Names()
    for node in ast.walk(tree):
        names.learn_import(node)
    for node in ast.walk(tree):
        names.learn_assignment(node)
    found = dict.fromkeys(names.missing(tree))
    return [_described(file, line, missing) for line, missing in sorted(found)]


def _described(file: str, line: int, path: str) -> Missing:
    """A path that is not there, as it is printed."""
    reason = inner_names.why_refused(path) or absent_names.reason_of(path)
    if reason and not path.startswith("contrib."):
        return Missing(file, line, f"tf.{path}", "", reason)
    # The names of contrib have one reason for all, unless it is a function of other arguments.
    near = "" if inner_names.why_refused(path) else inner_names.nearest(path)
    return Missing(file, line, f"tf.{path}", near, "" if near else reason)


class _Names:
    """What the names of a program stand for: paths below ``tf``."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        # Imports of modules and of names from modules, each with its line.
        self._modules: list[tuple[int, str]] = []
        self._from_modules: list[tuple[int, str]] = []

    def learn_import(self, node: ast.AST) -> None:
        """Take in an import."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root in _ROOTS:
                    self._modules.append((node.lineno, rest))
                    self._paths[alias.asname or root] = rest if alias.asname else ""
        elif isinstance(node, ast.ImportFrom) and not node.level:
            root, _, rest = (node.module or "").partition(".")
            for alias in node.names if root in _ROOTS else ():
                path = f"{rest}.{alias.name}".lstrip(".")
                if alias.name == "*":
                    self._modules.append((node.lineno, rest))
                else:
                    self._from_modules.append((node.lineno, path))
                    self._paths[alias.asname or alias.name] = path

    def learn_assignment(self, node: ast.AST) -> None:
        """Take in a name that stands for a module: ``layers = tf.layers``."""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            path = self._path_of(node.value)
            if path is not None and _is_module(path):
                self._paths.setdefault(node.targets[0].id, path)

    def _path_of(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Name):
            return self._paths.get(node.id)
        if isinstance(node, ast.Attribute):
            outer = self._path_of(node.value)
            return None if outer is None else f"{outer}.{node.attr}".lstrip(".")
        return None

    def missing(self, tree: ast.AST) -> Iterator[tuple[int, str]]:
        """The lines of a program with the paths that are not there."""
        missing_imports: set[str] = set()
        for is_module, imports in ((True, self._modules), (False, self._from_modules)):
            for line, path in imports:
                found = _missing_import(path, is_module)
                if found is not None:
                    missing_imports.add(path)
                    yield line, found
        modules = {".".join(path.split(".")[:end]) for path, end in self._imported_parts()}
        for use in self._uses(tree):
            if use.path not in missing_imports:
                found = _missing_attribute(use.path, modules - missing_imports, use.is_called)
                if found is not None:
                    yield use.line, found

    def _imported_parts(self) -> Iterator[tuple[str, int]]:
        """The imported modules, each with the numbers of parts of it and those around it."""
        for _, path in self._modules:
            yield from ((path, end) for end in range(1, path.count(".") + 2))
        for _, path in self._from_modules:
            yield from ((path, end) for end in range(1, path.count(".") + 1))
            if inner_names.is_imported_module(path):
                yield path, path.count(".") + 1

    def _uses(self, tree: ast.AST) -> Iterator[_Use]:
        """The longest attributes, and the calls of imported names."""
        inner: set[int] = set()
        called: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called.add(id(node.func))
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                called.update(id(one) for one in node.decorator_list)
        bound = set(_bound_names(tree))
        for node in ast.walk(tree):
            is_called = id(node) in called
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                path = self._path_of(node)
                below = node.value
                while isinstance(below, ast.Attribute):
                    inner.add(id(below))
                    below = below.value
                if path is not None and isinstance(node.ctx, ast.Load):
                    yield _Use(node.lineno, path, is_called)
            elif isinstance(node, ast.Name) and is_called and node.id not in bound:
                path = self._paths.get(node.id)
                if path:
                    yield _Use(node.lineno, path, is_called)


def _bound_names(tree: ast.AST) -> Iterator[str]:
    """Names that a program binds otherwise than by imports: where it calls one, it may be its own.

    They are those of arguments, assignments, functions and classes.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name


def _missing_import(path: str, is_module: bool) -> str | None:
    """The beginning of an imported path that is not there; None when all is."""
    if inner_names.is_inner(path):
        return inner_names.missing_import(path, is_module)
    return _missing_public(path)


def _missing_attribute(path: str, imported: Collection[str], is_called: bool) -> str | None:
    """The beginning of a path of attributes that is not there; None when all is."""
    if inner_names.is_inner(path):
        return inner_names.missing_attribute(path, imported, is_called)
    return _missing_public(path)


def _missing_public(path: str) -> str | None:
    """The beginning of a path, as ``"nn.nope"``, through public modules that is not there."""
    value: Any = inner_names.public_module("")
    parts = path.split(".") if path else []
    if parts and parts[0] == "examples":
        return None if as_tensorflow.is_example(path) else path
    for position, part in enumerate(parts, 1):
        if not isinstance(value, types.ModuleType):
            return None  # an attribute of a class or function, as __name__
        try:
            value = getattr(value, part)
        except AttributeError:
            return ".".join(parts[:position])
    return None


def _is_module(path: str) -> bool:
    """Whether a path is that of a module, public or not."""
    if inner_names.is_inner(path):
        return inner_names.is_module(path)
    value: Any = inner_names.public_module("")
    for part in path.split(".") if path else ():
        value = getattr(value, part, None)
    return isinstance(value, types.ModuleType)


def run(files: Sequence[str]) -> int:
    """Print what programs miss.

    Parameters
    ----------
    files
        Their paths.

    Returns
    -------
    int
        0 when nothing is missing, 1 when something is, 2 when a file is no program.
    """
    status = 0
    for file in files:
        try:
            found = missing_names(Path(file).read_text(encoding="utf-8"), file)
        except (OSError, SyntaxError, ValueError) as error:
            print(f"millstream check: {file}: {error}", file=sys.stderr)
            return 2
        for one in found:
            print(one)
            status = 1
    return status
