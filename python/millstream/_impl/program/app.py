"""Running a program with options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, LIST, takes
from millstream._impl.program.flag_values import FLAGS, Error

_HELP = {"-h", "-help", "--help", "-helpshort", "--helpshort", "-helpfull", "--helpfull"}


@public("app.run")
@takes(main=FUNCTION, argv=LIST)
def run(main: Callable[[Sequence[str]], Any] | None = None, argv: Any = None) -> NoReturn:
    """Read the options, call a function with what is left of the command line, and exit.

    Options that are not declared are left in the command line. ``--help`` prints the declared ones.
    After an error in the options, the exit status is 1.

    Parameters
    ----------
    main
        The function, by default ``main`` of the program.
    argv
        The command line, by default the program's.

    Examples
    --------
    >>> tf.app.run(lambda argv: print(argv), argv=["prog", "file"])
    Traceback (most recent call last):
    SystemExit
    """
    program: Any = sys.modules["__main__"]
    function = program.main if main is None else main
    arguments = list(sys.argv if argv is None else argv)
    try:
        left = FLAGS(arguments, known_only=True)
    except Error as error:
        print(
            f"FATAL Flags parsing error:\n  {error}\n"
            "Pass --helpshort or --helpfull to see help on flags.",
            file=sys.stderr,
        )
        sys.exit(1)
    if _asks_for_help(left[1:]):
        _print_help(program, left[0])
        sys.exit(1)
    sys.exit(function(left))


def _asks_for_help(left: Sequence[str]) -> bool:
    """Whether an option for help is among what is left, before the first argument."""
    for argument in left:
        if argument == "--" or not argument.startswith("-"):
            return False
        if argument in _HELP:
            return True
    return False


def _print_help(program: Any, name: str) -> None:
    about = getattr(program, "__doc__", None) or f"USAGE: {os.path.basename(name)} [flags]"
    print(f"{about.strip()}\nflags:\n\n{FLAGS.get_help()}")
