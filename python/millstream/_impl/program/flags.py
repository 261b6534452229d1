"""Options of the command line, declared by modules and read as attributes of `FLAGS`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from millstream._impl.base.public import public


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

    def __repr__(self) -> str:
        values = self.__dict__["_values"]
        return "<tf.flags.FLAGS, not read yet>" if values is None else f"<tf.flags.FLAGS {values}>"

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


FLAGS = public("flags.FLAGS")(_Flags())


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise argparse.ArgumentTypeError(f"expected true or false, got {text!r}")


def _declare(name: Any, help: Any, **arguments: Any) -> None:  # noqa: A002
    if not isinstance(name, str) or not name:
        raise TypeError(f"name: expected the name of an option, got {name!r}")
    if not isinstance(help, str):
        raise TypeError(f"help: expected a text, got {help!r}")
    FLAGS.declare(name, help=help, **arguments)


@public("flags.DEFINE_string")
def DEFINE_string(name: str, default: str | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option with a text.

    Parameters
    ----------
    name
        Its name, without dashes.
    default
        Its value when the command line does not give it.
    help
        What ``--help`` says of it.

    Raises
    ------
    TypeError
        An argument is of another type.

    Examples
    --------
    >>> tf.flags.DEFINE_string("data_dir", "/tmp/data", "Where the data is.")
    >>> tf.flags.FLAGS(["prog", "--data_dir=here"])
    ['prog']
    >>> tf.flags.FLAGS.data_dir
    'here'
    """
    _declare(name, help, default=_checked(default, str))


@public("flags.DEFINE_integer")
def DEFINE_integer(name: str, default: int | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option with an integer.

    Parameters
    ----------
    name, default, help
        As for `DEFINE_string`.

    Examples
    --------
    >>> tf.flags.DEFINE_integer("steps", 100, "How many steps to train.")
    >>> tf.flags.FLAGS(["prog", "--steps=7"])
    ['prog']
    >>> tf.flags.FLAGS.steps
    7
    """
    _declare(name, help, default=_checked(default, int), type=int)


@public("flags.DEFINE_float")
def DEFINE_float(name: str, default: float | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option with a number.

    Parameters
    ----------
    name, default, help
        As for `DEFINE_string`.

    Examples
    --------
    >>> tf.flags.DEFINE_float("rate", 0.1, "Rate of learning.")
    >>> tf.flags.FLAGS(["prog"])
    ['prog']
    >>> tf.flags.FLAGS.rate
    0.1
    """
    _declare(name, help, default=_checked(default, (int, float)), type=float)


@public("flags.DEFINE_boolean")
def DEFINE_boolean(name: str, default: bool | None, help: str = "") -> None:  # noqa: A002, N802
    """Declare an option that is true or false; alone it is true.

    Parameters
    ----------
    name, default, help
        As for `DEFINE_string`; ``--noNAME`` makes it false.

    Examples
    --------
    >>> tf.flags.DEFINE_boolean("fast", True, "Whether to hurry.")
    >>> tf.flags.FLAGS(["prog", "--nofast"])
    ['prog']
    >>> tf.flags.FLAGS.fast
    False
    """
    _declare(name, help, default=_checked(default, bool), type=_truth, nargs="?", const=True)
    FLAGS.declare("no" + name, dest=name, action="store_false", help=argparse.SUPPRESS)


def _checked(default: Any, kind: Any) -> Any:
    if default is not None and not isinstance(default, kind):
        raise TypeError(f"default: expected a value of the option's type, got {default!r}")
    return default


DEFINE_bool = public("flags.DEFINE_bool")(DEFINE_boolean)
