"""What the names of TensorFlow's modules stand for, those that are not public among them.

A module that is not public, such as ``tensorflow.python.framework.ops``, is looked through: a name
in it is the public name that ends alike, or another module that is not public.
"""

from __future__ import annotations

import difflib
import importlib
import types
from collections.abc import Collection, Sequence
from typing import Any

from millstream._impl import protos

_PACKAGE = "millstream"
# Parts of TensorFlow whose modules are not public; a name in one of them is looked for in all.
INNER = ("python", "core", "contrib")
# What a name stands for that is a module that is not public.
INNER_MODULE = object()
# Modules whose names are nearly those of public functions and classes.
_NEARLY_PUBLIC = frozenset(
    {
        "checkpoint",
        "convolutional",
        "coordinator",
        "feature_column_v2",
        "resources",
        "sparse_tensor",
        "supervisor",
        "types",
        "versions",
    }
)


def public_module(path: str) -> types.ModuleType | None:
    """The public module of a name such as ``"train"``; None when there is none."""
    full = f"{_PACKAGE}.{path}" if path else _PACKAGE
    if "_" in {part[:1] for part in path.split(".")}:
        return None
    try:
        found = importlib.import_module(full)  # by name: the caller's program says which
    except ModuleNotFoundError:
        return None
    return found if hasattr(found, "__all__") else None


def _public_modules() -> list[Any]:
    """The package and the modules in it, but for raw_ops, whose names no other module has."""
    package = importlib.import_module(_PACKAGE)  # by name: what it holds is what is looked for
    inner = [getattr(package, name) for name in package.__all__ if name != "raw_ops"]
    return [package, *(one for one in inner if isinstance(one, types.ModuleType))]


def module_paths() -> list[str]:
    """The public modules by their names below the package."""
    found: list[str] = []
    for module in _public_modules():
        inner = [getattr(module, name) for name in module.__all__]
        names = [one.__name__ for one in inner if isinstance(one, types.ModuleType)]
        inside = [name for name in names if name.startswith(f"{_PACKAGE}.")]
        found += [name.partition(".")[2] for name in inside]
    return list(dict.fromkeys(found))


def nearest(path: str) -> str:
    """The public name of any module that is nearest to the last part of a path, or ""."""
    from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

    inside, _, name = path.rpartition(".")
    instead = contrib_names.instead_of(inside, name)
    if instead:
        return instead
    modules = reversed(_searched_for(inside))
    names = {one: module for module in modules for one in module.__all__}
    found = difflib.get_close_matches(name, names, 1)
    return f"{names[found[0]].__name__}.{found[0]}".replace(_PACKAGE, "tf", 1) if found else ""


def _searched_modules() -> list[Any]:
    """The public modules, each followed by those inside of it."""
    found: list[Any] = []
    for module in _public_modules():
        inner = [getattr(module, name) for name in module.__all__]
        modules = [one for one in inner if isinstance(one, types.ModuleType)]
        found += [module, *(one for one in modules if one.__name__.count(".") > 1)]
    return list(dict.fromkeys(found))


def _searched_for(path: str) -> list[Any]:
    """The public modules, those first whose names end as that of an inner module."""
    own = path.rpartition(".")[2].removesuffix("_ops").removeprefix("tf_")
    return sorted(_searched_modules(), key=lambda one: not one.__name__.endswith(own))


def why_refused(path: str) -> str:
    """Why a name of an inner module, as ``"contrib.layers.conv2d"``, is not the public one.

    The text says which public name to use. It is empty if the name is the public one, or if no
    public name ends alike.
    """
    from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

    inside, _, name = path.rpartition(".")
    why = contrib_names.why_refused(inside, name)
    if not why or contrib_names.own_name(inside, name) is not None:
        return ""
    module = next((one for one in _searched_for(inside) if name in one.__all__), None)
    if module is None:
        return ""
    is_module = isinstance(getattr(module, name), types.ModuleType)
    if is_module and contrib_names.is_inside_of_others(inside):
        return ""
    return f"{why}; use {module.__name__}.{name}".replace(_PACKAGE, "tf", 1)


def find(inside: str, name: str) -> Any:
    """What a name of an inner module stands for, as ``Graph`` of ``"python.framework.ops"``.

    Returns
    -------
    Any
        The public value, or the module's own one; INNER_MODULE; None if there is no such name, or
        if the public name that ends alike is another function.
    """
    from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

    public: Any = public_module(inside)  # `contrib` has public modules as well
    if public is not None and name in public.__all__:
        return getattr(public, name)
    if inside.endswith("_pb2") and name in protos.message_names():
        return protos.message_class(name)
    found = contrib_names.own_name(inside, name)
    if found is not None:
        return found
    path = f"{inside}.{name}"
    if contrib_names.has_other_functions(path) or contrib_names.is_own(path):
        return INNER_MODULE
    if why_refused(path):
        return None
    holds_modules = contrib_names.holds_modules(inside)
    for module in _searched_for(inside):
        if name in module.__all__:
            value = getattr(module, name)
            is_module = isinstance(value, types.ModuleType)
            if is_module and contrib_names.is_inside_of_others(inside):
                return INNER_MODULE
            # `python.ops.variable_scope` is a module, though tf.variable_scope is a class.
            if not holds_modules or not name.islower() or is_module:
                return value
    if name.islower() and holds_modules and not _is_misspelt(path):
        return INNER_MODULE
    return contrib_names.op_function(inside, name)


def is_inner(path: str) -> bool:
    """Whether a path goes through modules that are not public."""
    return path.partition(".")[0] in INNER


def is_module(path: str) -> bool:
    """Whether a path through inner modules is that of a module, inner or public."""
    inside, _, name = path.rpartition(".")
    if not inside:
        return True
    if missing_attribute(inside, (), False) is not None:
        return False
    found = find(inside, name)
    return found is INNER_MODULE or isinstance(found, types.ModuleType)


def is_imported_module(path: str) -> bool:
    """Whether what a program imports from an inner module is an inner module as well."""
    inside, _, name = path.rpartition(".")
    return is_inner(path) and bool(inside) and find(inside, name) in (None, INNER_MODULE)


def _is_misspelt(path: str) -> bool:
    """Whether the last part of an inner module's path is nearly, but not quite, a public name."""
    outer, _, last = path.rpartition(".")
    if not outer or last.endswith(("_ops", "_pb2", "_util", "_lib")):
        return False
    names = _NEARLY_PUBLIC.union(*(module.__all__ for module in _public_modules()))
    return last not in names and bool(difflib.get_close_matches(last, names, 1, 0.9))


def is_importable(path: str) -> bool:
    """Whether an inner module, as ``"python.ops.nn_ops"``, can be imported: most can.

    Those cannot that have capitals, as classes, or nearly the name of a public one, and what is in
    the modules of ``contrib`` that have functions of their own.
    """
    from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

    outer, _, name = path.rpartition(".")
    if contrib_names.has_other_functions(outer) and name != "python":
        return False
    if name != name.lower():
        return False
    return not why_refused(path) and not _is_misspelt(path)


def missing_import(path: str, is_module: bool) -> str | None:
    """The beginning of an imported path through inner modules that is not there; None if all is.

    Parameters
    ----------
    path
        For example ``"python.framework.ops.Graph"``.
    is_module
        Whether the last part must be a module. If not, it may be a name of the module before it.
    """
    parts = path.split(".")
    for end in range(2, len(parts) + 1):
        part = ".".join(parts[:end])
        is_name = end == len(parts) and not is_module
        if is_name and find(".".join(parts[:-1]), parts[-1]) is not None:
            return None
        if not is_importable(part):
            return part
    return None


def missing_attribute(path: str, imported: Collection[str], is_called: bool) -> str | None:
    """The beginning of a path of attributes through inner modules that is not there; or None.

    Parameters
    ----------
    path
        For example ``"python.framework.ops.Graph"``.
    imported
        The paths of the modules that the program imports, which are attributes of others.
    is_called
        Whether the program calls what the path stands for, which therefore is no module.
    """
    parts = path.split(".")
    for end in range(2, len(parts) + 1):
        inside, part = ".".join(parts[: end - 1]), ".".join(parts[:end])
        found = INNER_MODULE if part in imported else find(inside, parts[end - 1])
        if found is None:
            return part
        if found is not INNER_MODULE:
            return _missing_below(found, part, parts[end:])
    return path if is_called else None


def _missing_below(value: Any, path: str, names: Sequence[str]) -> str | None:
    """The path of the first of some names, each of the one before it, that a module lacks."""
    for name in names:
        if not isinstance(value, types.ModuleType):
            return None  # an attribute of a class or function, as __name__
        path = f"{path}.{name}"
        try:
            value = getattr(value, name)
        except AttributeError:
            return path
    return None
