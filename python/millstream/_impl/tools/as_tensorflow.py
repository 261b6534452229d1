"""Runs programs that say ``import tensorflow as tf``, with Millstream in its place.

``tensorflow.compat.v1`` and the public modules of the package stand under their names. Inner
modules, such as ``tensorflow.python.framework.ops``, are looked through: a name of theirs is the
public name that ends alike. ``tensorflow.examples.tutorials.mnist.input_data`` reads images.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import signal
import sys
import traceback
import types
from collections.abc import Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.protos import json_format, text_format
from millstream._impl.protos.message import DecodeError, Error, Message

_ALIAS = "tensorflow"
_PACKAGE = "millstream"
# Parts of TensorFlow whose modules are not public; a name in one of them is looked for in all.
INNER = ("python", "core", "contrib")
# Modules of the examples: empty ones, and what stands for those that programs use.
_EXAMPLES = {
    "examples": "",
    "examples.tutorials": "",
    "examples.tutorials.mnist": "",
    "examples.tutorials.mnist.input_data": "millstream._impl.tools.tutorial_data",
}
# Functions on messages of protobuf's modules, with the place of the message among the arguments.
_TEXT_FUNCTIONS = {
    "MessageToString": 0,
    "PrintMessage": 0,
    "Merge": 1,
    "MergeLines": 1,
    "Parse": 1,
    "ParseLines": 1,
}
_JSON_FUNCTIONS = {"MessageToDict": 0, "MessageToJson": 0, "Parse": 1, "ParseDict": 1}


def public_module(path: str) -> types.ModuleType | None:
    """The public module of a name such as ``"train"``; None when there is none."""
    full = f"{_PACKAGE}.{path}" if path else _PACKAGE
    if "_" in {part[:1] for part in path.split(".")}:
        return None
    try:
        found = importlib.import_module(full)
    except ModuleNotFoundError:
        return None
    return found if hasattr(found, "__all__") else None


def _public_modules() -> list[Any]:
    """The package and the modules in it, but for raw_ops, whose names no other module has."""
    package = importlib.import_module(_PACKAGE)
    inner = [getattr(package, name) for name in package.__all__ if name != "raw_ops"]
    return [package, *(one for one in inner if isinstance(one, types.ModuleType))]


def _module_paths() -> list[str]:
    """The public modules by their names below the package."""
    found: list[str] = []
    for module in _public_modules():
        inner = [getattr(module, name) for name in module.__all__]
        names = [one.__name__ for one in inner if isinstance(one, types.ModuleType)]
        inside = [name for name in names if name.startswith(f"{_PACKAGE}.")]
        found += [name.partition(".")[2] for name in inside]
    return list(dict.fromkeys(found))


def nearest(name: str) -> str:
    """The public name of any module that is nearest to a name, or ""."""
    names = {one: module for module in reversed(_public_modules()) for one in module.__all__}
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
    own = path.rpartition(".")[2].removesuffix("_ops")
    return sorted(_searched_modules(), key=lambda one: not one.__name__.endswith(own))


def _refused(path: str, name: str, module: Any) -> str:
    """Why a name of an inner module is not that of a public one, and to use that; "" if it is."""
    from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

    why = contrib_names.why_refused(path, name)
    return f"{why}; use {module.__name__}.{name}".replace(_PACKAGE, "tf", 1) if why else ""


def why_refused(path: str) -> str:
    """Why a name of an inner module, as ``"contrib.layers.conv2d"``, is not the public one."""
    inside, _, name = path.rpartition(".")
    modules = (one for one in _searched_for(inside) if name in one.__all__)
    found = next(modules, None)
    return "" if found is None else _refused(inside, name, found)


class _InnerModule(types.ModuleType):
    """A module that is not public: its names are those of public modules."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        # `contrib` has public modules as well.
        public: Any = public_module(name.partition(".")[2])
        self.__all__: list[str] = list(public.__all__) if public else []
        for one in self.__all__:
            setattr(self, one, getattr(public, one))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            if self.__name__.endswith("_pb2") and name in protos.message_names():
                return protos.message_class(name)
            found = self._looked_up(name)
            if found is not None:
                return found
        near = nearest(name)
        hint = f"; the nearest name is {near}" if near else ""
        raise AttributeError(f"{self.__name__}.{name} is not there{hint}", name=name)

    def _looked_up(self, name: str) -> Any:
        """The public name that ends alike, or a module that is not public; None if there is none.

        Raises
        ------
        AttributeError
            There is one, but it is another function.
        """
        from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

        inside = self.__name__.partition(".")[2]
        found = contrib_names.own_name(inside, name)
        if found is not None:
            return found
        path = f"{inside}.{name}"
        holds_modules = contrib_names.holds_modules(inside)
        if contrib_names.has_other_functions(path) or contrib_names.is_own(path):
            return importlib.import_module(f"{_ALIAS}.{path}")
        for module in _searched_for(inside):
            if name in module.__all__:
                why = _refused(inside, name, module)
                if why:
                    raise AttributeError(f"{self.__name__}.{name} is not there: {why}", name=name)
                value = getattr(module, name)
                # `python.ops.variable_scope` is a module, though tf.variable_scope is a class.
                if not holds_modules or not name.islower() or isinstance(value, types.ModuleType):
                    return value
        if name.islower() and holds_modules and not _is_misspelt(path):
            return importlib.import_module(f"{_ALIAS}.{path}")
        return contrib_names.op_function(inside, name)


def _is_misspelt(path: str) -> bool:
    """Whether the last part of an inner module's path is nearly, but not quite, a public name."""
    outer, _, last = path.rpartition(".")
    if not outer or last.endswith(("_ops", "_pb2", "_util", "_lib")):
        return False
    names = {name for module in _public_modules() for name in module.__all__}
    return last not in names and bool(difflib.get_close_matches(last, names, 1, 0.9))


def has_inner(path: str) -> bool:
    """Whether a path through a module that is not public, as ``python.ops.Graph``, is there.

    The last part counts: any module may be on the way, and a module may be the last, but in
    modules of ``contrib`` that are known to have functions.
    """
    from millstream._impl.tools import contrib_names  # lazy: old programs alone use it

    module, _, name = path.rpartition(".")
    if contrib_names.has_other_functions(module) and name != "python":
        return hasattr(_InnerModule(f"{_ALIAS}.{module}"), name)
    return not name[:1].isupper() or hasattr(_InnerModule(f"{_ALIAS}.{module}"), name)


def is_example(path: str) -> bool:
    """Whether a path is that of a module of the examples, or of a name in one, that is there."""
    module, _, name = path.rpartition(".")
    if path in _EXAMPLES:
        return True
    found = _EXAMPLES.get(module)
    return bool(found) and hasattr(importlib.import_module(str(found)), name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules below ``tensorflow``."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's description, for names of TensorFlow that are there."""
        first, _, rest = fullname.partition(".")
        if first != _ALIAS:
            return None
        inner = rest.split(".")[0] in INNER
        known = rest in _EXAMPLES or public_module(rest) is not None
        if known or (inner and not _is_misspelt(rest)):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        near = nearest(rest.rpartition(".")[2])
        hint = f"; the nearest name is {near}" if near else ""
        raise ModuleNotFoundError(f"No module named {fullname!r}: Millstream has none{hint}")

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Leaves it to the import system: `exec_module` puts the real one in its place."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Put the module in its place."""
        rest = module.__name__.partition(".")[2]
        inner = rest.split(".")[0] in INNER
        if rest in _EXAMPLES:
            if _EXAMPLES[rest]:
                sys.modules[module.__name__] = importlib.import_module(_EXAMPLES[rest])
            return
        found = None if inner else public_module(rest)
        sys.modules[module.__name__] = found or _InnerModule(module.__name__)


def install() -> None:
    """Let this process import Millstream as ``tensorflow``, whether or not that is installed."""
    package: Any = importlib.import_module(_PACKAGE)
    for name in [one for one in sys.modules if one.partition(".")[0] == _ALIAS]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    sys.modules[_ALIAS] = package
    paths = [path for path in _module_paths() if path.split(".")[0] not in INNER]
    for module in ("compat.v1", *paths):
        sys.modules[f"{_ALIAS}.{module}"] = importlib.import_module(f"{_PACKAGE}.{module}")
    for name in INNER:
        setattr(package, name, importlib.import_module(f"{_ALIAS}.{name}"))
    _install_protobuf()


def _install_protobuf() -> None:
    """Let protobuf's ``text_format`` and ``json_format`` work with Millstream's messages."""
    try:
        found = importlib.util.find_spec("google.protobuf")
    except ModuleNotFoundError:
        found = None
    if found is None:
        _provide_protobuf()
        return
    for ours, functions in ((text_format, _TEXT_FUNCTIONS), (json_format, _JSON_FUNCTIONS)):
        last = ours.__name__.rpartition(".")[2]
        theirs: Any = importlib.import_module(f"google.protobuf.{last}")
        for name, position in functions.items():
            chosen = _either(getattr(ours, name), getattr(theirs, name), position)
            setattr(theirs, name, chosen)


def _either(ours: Any, theirs: Any, position: int) -> Any:
    """A function for messages of both libraries, told by one of its arguments."""

    @functools.wraps(theirs)
    def call(*args: Any, **options: Any) -> Any:
        message = args[position] if len(args) > position else options.get("message")
        return (ours if isinstance(message, Message) else theirs)(*args, **options)

    return call


def _provide_protobuf() -> None:
    package: Any = types.ModuleType("google.protobuf")
    messages: Any = types.ModuleType("google.protobuf.message")
    messages.Message, messages.DecodeError, messages.Error = Message, DecodeError, Error
    texts: Any = types.ModuleType("google.protobuf.text_format")
    for name in (*_TEXT_FUNCTIONS, "ParseError"):
        setattr(texts, name, getattr(text_format, name))
    jsons: Any = types.ModuleType("google.protobuf.json_format")
    for name in (*_JSON_FUNCTIONS, "Error", "ParseError", "SerializeToJsonError"):
        setattr(jsons, name, getattr(json_format, name))
    package.__path__ = []
    package.message, package.text_format, package.json_format = messages, texts, jsons
    outer: Any = sys.modules.get("google") or types.ModuleType("google")
    outer.protobuf = package
    if not hasattr(outer, "__path__"):
        outer.__path__ = []
    sys.modules["google"] = outer
    for module in (package, messages, texts, jsons):
        sys.modules[module.__name__] = module


def main(arguments: Sequence[str]) -> int:
    """Run a program as ``__main__``.

    Parameters
    ----------
    arguments
        Path of the program and its own arguments.

    Returns
    -------
    int
        The exit status: 0; 1 after an exception, which is printed as Python prints it; 2 when
        there is no such program. A program that exits raises SystemExit through this function.
    """
    if not arguments:
        print("usage: python -m millstream.as_tensorflow PROGRAM [ARGUMENT...]", file=sys.stderr)
        return 2
    path = arguments[0]
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        print(f"as_tensorflow: can't open file {path!r}: {error.strerror}", file=sys.stderr)
        return 2
    install()
    sys.argv = list(arguments)
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    module: Any = types.ModuleType("__main__")
    module.__file__ = path
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:  # as the interpreter does with what a program lets through
        return _report(error)
    return 0


def _report(error: BaseException) -> int:
    if isinstance(error, ImportError):
        _say_nearest(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def _say_nearest(error: ImportError) -> None:
    """Add the nearest name to ``from tensorflow.x import y``."""
    origin = (error.name or "").partition(".")[0]
    frames = traceback.extract_tb(error.__traceback__)
    parts = str(error).split("'")
    if origin in (_ALIAS, _PACKAGE) and frames and "cannot import name" in parts[0]:
        near = nearest(parts[1])
        hint = f"; the nearest name is {near}" if near else ""
        error.add_note(f"Millstream has no {parts[1]!r}{hint}")
