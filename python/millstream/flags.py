"""Options of the command line, declared by modules and read as attributes of `FLAGS`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream.missing_names import module_getattr as _module_getattr


class _Flags:
    """The values of the declared options."""

    def __init__(self) -> None:
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None

    def declare(self, name: str, **arguments: Any) -> None:
        """Add an option."""
        self.__dict__["_parser"].add_argument("--" + name, **arguments)
        self.__dict__["_values"] = None

    def __call__(self, argv: Sequence[str]) -> list[str]:
        """Read a command line; returns what is left of it, the program's name first."""
        values, rest = self.__dict__["_parser"].parse_known_args(list(argv[1:]))
        self.__dict__["_values"] = vars(values)
        return [argv[0], *rest]

    def __getattr__(self, name: str) -> Any:
        if self.__dict__["_values"] is None:
            self(sys.argv)
        if name not in self.__dict__["_values"]:
            raise AttributeError(f"no flag is called {name!r}")
        return self.__dict__["_values"][name]

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__["_values"] is None:
            self(sys.argv)
        self.__dict__["_values"][name] = value


FLAGS = _Flags()


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise argparse.ArgumentTypeError(f"expected true or false, got {text!r}")


def DEFINE_string(name: str, default: str | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option with a text."""
    FLAGS.declare(name, default=default, help=help)


def DEFINE_integer(name: str, default: int | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option with an integer."""
    FLAGS.declare(name, default=default, help=help, type=int)


def DEFINE_float(name: str, default: float | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option with a number."""
    FLAGS.declare(name, default=default, help=help, type=float)


def DEFINE_boolean(name: str, default: bool | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option that is true or false; alone it is true."""
    FLAGS.declare(name, default=default, help=help, type=_truth, nargs="?", const=True)
    FLAGS.declare("no" + name, dest=name, action="store_false", help=argparse.SUPPRESS)


DEFINE_bool = DEFINE_boolean


if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
