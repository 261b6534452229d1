"""Lists the names that a program uses and that Millstream does not have, before it runs.

The program is parsed and not run. Names are followed through ``import tensorflow as tf``, imports
of modules and of names below it, and assignments such as ``layers = tf.layers``.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millstream._impl.base import absent_names
from millstream._impl.tools import as_tensorflow, contrib_names

_ROOTS = ("tensorflow", "millstream")


class Missing(NamedTuple):
    """A name that is not there: where it stands, the nearest that is or "", why it is absent."""

    file: str
    line: int
    name: str
    nearest: str
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.file}:{self.line}: {self.name} is not there: {self.reason}"
        hint = f" (the nearest name is {self.nearest})" if self.nearest else ""
        return f"{self.file}:{self.line}: {self.name} is not there{hint}"


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
    found = {
        (node.lineno, path): None
        for node, path in names.uses(tree)
        if names.first_missing(path) is not None
    }
    result = []
    for line, path in sorted(found):
        missing = str(names.first_missing(path))
        near = as_tensorflow.nearest(missing.rpartition(".")[2])
        path = missing.removeprefix("tf.")
        reason = as_tensorflow.why_refused(path) or absent_names.reason_of(path)
        result.append(Missing(file, line, missing, near, reason))
    return list(dict.fromkeys(result))


class _Names:
    """What the names of a program stand for: paths below ``tf``."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._imported: list[tuple[ast.stmt, str]] = []

    def learn_import(self, node: ast.AST) -> None:
        """Take in an import."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root in _ROOTS:
                    self._imported.append((node, rest))
                    self._paths[alias.asname or root] = rest if alias.asname else ""
        elif isinstance(node, ast.ImportFrom) and not node.level:
            root, _, rest = (node.module or "").partition(".")
            for alias in node.names if root in _ROOTS else ():
                path = f"{rest}.{alias.name}".lstrip(".")
                if alias.name != "*":
                    self._imported.append((node, path))
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

    def uses(self, tree: ast.AST) -> Iterator[tuple[Any, str]]:
        """The imports and the longest attributes, with their paths."""
        yield from self._imported
        inner: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                path = self._path_of(node)
                below = node.value
                while isinstance(below, ast.Attribute):
                    inner.add(id(below))
                    below = below.value
                if path is not None and isinstance(node.ctx, ast.Load):
                    yield node, path

    def first_missing(self, path: str) -> str | None:
        """The beginning of a path that is not there, as ``"tf.nn.nope"``; None when all is."""
        value: Any = as_tensorflow.public_module("")
        parts = path.split(".") if path else []
        if parts and parts[0] in as_tensorflow.INNER:
            found = as_tensorflow.has_inner(path)
            return None if found else f"tf.{path}"
        if parts and parts[0] == "examples":
            return None if as_tensorflow.is_example(path) else f"tf.{path}"
        for position, part in enumerate(parts, 1):
            if not isinstance(value, types.ModuleType):
                return None  # an attribute of a class or function, as __name__
            try:
                value = getattr(value, part)
            except AttributeError:
                return "tf." + ".".join(parts[:position])
        return None


def _is_module(path: str) -> bool:
    """Whether a path is that of a public module, or of one with functions of its own."""
    return isinstance(_value(path), types.ModuleType) or contrib_names.has_other_functions(path)


def _value(path: str) -> Any:
    value: Any = as_tensorflow.public_module("")
    for part in path.split(".") if path else ():
        value = getattr(value, part, None)
    return value


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
