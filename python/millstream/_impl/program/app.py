"""Running a program with options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, LIST, takes
from millstream._impl.program import flags


@public("app.run")
@takes(main=FUNCTION, argv=LIST)
def run(main: Callable[[Sequence[str]], Any] | None = None, argv: Any = None) -> NoReturn:
    """Read the options, call a function with what is left of the command line, and exit.

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
    function = sys.modules["__main__"].main if main is None else main
    sys.exit(function(flags.FLAGS(sys.argv if argv is None else argv)))
