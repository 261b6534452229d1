"""Runs programs that say ``import tensorflow as tf``, with Millstream in its place.

``tensorflow.compat.v1`` and the public modules of the package stand under their names. Inner
modules, such as ``tensorflow.python.framework.ops``, are looked through: a name of theirs is the
public name that ends alike. ``tensorflow.examples.tutorials.mnist.input_data`` reads images.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import logging
import os
import signal
import sys
import traceback
import types
from collections.abc import Sequence
from typing import Any, TextIO

from millstream._impl.protos import json_format, text_format
from millstream._impl.protos.message import DecodeError, Error, Message
from millstream._impl.tools import inner_names

_ALIAS = "tensorflow"
_PACKAGE = "millstream"
# What programs compare to find out which names there are.
_VERSION = "1.15.0"
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


def _module(name: str) -> Any:
    """The module of a name below the public package, below its alias, or of protobuf."""
    return importlib.import_module(name)  # by name: programs and the tables above say which


class _InnerModule(types.ModuleType):
    """A module that is not public: its names are those of public modules."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        # `contrib` has public modules as well.
        public: Any = inner_names.public_module(name.partition(".")[2])
        self.__all__: list[str] = list(public.__all__) if public else []
        for one in self.__all__:
            setattr(self, one, getattr(public, one))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            inside = self.__name__.partition(".")[2]
            found = inner_names.find(inside, name)
            if found is inner_names.INNER_MODULE:
                return _module(f"{self.__name__}.{name}")
            if found is not None:
                return found
        raise AttributeError(_not_there(f"{self.__name__}.{name}"), name=name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        # A name in an inner module may be that of a function, which is known when it is called.
        raise AttributeError(_not_there(self.__name__), name=self.__name__.rpartition(".")[2])


def _not_there(full: str) -> str:
    """What is said of a path such as ``"tensorflow.contrib.layers.conv2d"``."""
    return f"{full} is not there{_hint(full.partition('.')[2])}"


def _hint(path: str) -> str:
    """Why a path has no public name, or which name is nearest to it."""
    why = inner_names.why_refused(path)
    if why:
        return f": {why}"
    near = inner_names.nearest(path)
    return f"; the nearest name is {near}" if near else ""


def is_example(path: str) -> bool:
    """Whether a path is that of a module of the examples, or of a name in one, that is there."""
    module, _, name = path.rpartition(".")
    if path in _EXAMPLES:
        return True
    found = _EXAMPLES.get(module)
    return bool(found) and hasattr(_module(str(found)), name)


class _OwnHandler(logging.StreamHandler[TextIO]):
    """Prints messages in programs that configure no logging of their own."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless handlers of the program do."""
        if not logging.getLogger().handlers:
            super().emit(record)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules below ``tensorflow``."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's description, for names of TensorFlow that are there."""
        first, _, rest = fullname.partition(".")
        if first != _ALIAS:
            return None
        inner = rest.split(".")[0] in inner_names.INNER
        known = rest in _EXAMPLES or inner_names.public_module(rest) is not None
        if known or (inner and inner_names.is_importable(rest)):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        message = f"No module named {fullname!r}: Millstream has none{_hint(rest)}"
        raise ModuleNotFoundError(message)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Leaves it to the import system: `exec_module` puts the real one in its place."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Put the module in its place."""
        rest = module.__name__.partition(".")[2]
        inner = rest.split(".")[0] in inner_names.INNER
        if rest in _EXAMPLES:
            if _EXAMPLES[rest]:
                sys.modules[module.__name__] = _module(_EXAMPLES[rest])
            return
        found = None if inner else inner_names.public_module(rest)
        sys.modules[module.__name__] = found or _InnerModule(module.__name__)


def install() -> None:
    """Let this process import Millstream as ``tensorflow``, whether or not that is installed."""
    package: Any = _module(_PACKAGE)
    for name in [one for one in sys.modules if one.partition(".")[0] == _ALIAS]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    sys.modules[_ALIAS] = package
    inner = inner_names.INNER
    paths = [path for path in inner_names.module_paths() if path.split(".")[0] not in inner]
    for module in ("compat.v1", *paths):
        sys.modules[f"{_ALIAS}.{module}"] = _module(f"{_PACKAGE}.{module}")
    for name in inner:
        setattr(package, name, _module(f"{_ALIAS}.{name}"))
    for holder in (package, package.version):
        holder.VERSION = _VERSION
    package.__version__ = _VERSION
    # Programs set the level and the handlers of this logger.
    logger = package.get_logger()
    logger.name = _ALIAS
    logging.root.manager.loggerDict[_ALIAS] = logger
    handler = _OwnHandler()
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    logger.addHandler(handler)
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
        theirs: Any = _module(f"google.protobuf.{last}")
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
        near = inner_names.nearest(parts[1])
        hint = f"; the nearest name is {near}" if near else ""
        error.add_note(f"Millstream has no {parts[1]!r}{hint}")
