"""Messages of programs, through Python's own logging."""

from __future__ import annotations

import itertools
import logging as _logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from millstream._impl.base import source_location
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, Kind, takes

DEBUG = public("logging.DEBUG")(_logging.DEBUG)
INFO = public("logging.INFO")(_logging.INFO)
WARN = public("logging.WARN")(_logging.WARNING)
ERROR = public("logging.ERROR")(_logging.ERROR)
FATAL = public("logging.FATAL")(_logging.CRITICAL)

_logger = _logging.getLogger("millstream")

debug = public("logging.debug")(_logger.debug)
info = public("logging.info")(_logger.info)
warn = public("logging.warn")(_logger.warning)
warning = public("logging.warning")(_logger.warning)
error = public("logging.error")(_logger.error)
fatal = public("logging.fatal")(_logger.critical)

_LEVEL = Kind("a level or its name", lambda value: isinstance(value, str) or INTEGER.accepts(value))

# How often each place of the program has called log_every_n or log_first_n.
_counts: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)


@public("get_logger", "logging.get_logger")
def get_logger() -> _logging.Logger:
    """The logger that the functions of this module use.

    Examples
    --------
    >>> tf.get_logger().name
    'millstream'
    """
    return _logger


@public("logging.log")
@takes(level=INTEGER)
def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message at a level.

    Parameters
    ----------
    level
        One of the levels of this module.
    msg, args, kwargs
        As for Python's ``Logger.log``.

    Examples
    --------
    >>> tf.logging.log(tf.logging.DEBUG, "step %d", 3)
    """
    _logger.log(level, msg, *args, **kwargs)


vlog = public("logging.vlog")(log)


@public("logging.log_if")
@takes(level=INTEGER)
def log_if(level: int, msg: str, condition: Any, *args: Any) -> None:
    """Log a message at a level if a condition holds.

    Parameters
    ----------
    level, msg, args
        As for `log`.
    condition
        The condition.

    Examples
    --------
    >>> tf.logging.log_if(tf.logging.DEBUG, "large: %f", False, 3.0)
    """
    if condition:
        log(level, msg, *args)


def _calls_before() -> int:
    """How often the user's line that this is called from was reached before."""
    return next(_counts[source_location.current()])


@public("logging.log_every_n")
@takes(level=INTEGER, n=INTEGER)
def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log a message the first time and every `n` times that this line is reached.

    Parameters
    ----------
    level, msg, args
        As for `log`.
    n
        How many times.

    Examples
    --------
    >>> for step in range(100):
    ...     tf.logging.log_every_n(tf.logging.DEBUG, "step %d", 10, step)
    """
    log_if(level, msg, _calls_before() % n == 0, *args)


@public("logging.log_first_n")
@takes(level=INTEGER, n=INTEGER)
def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log a message the first `n` times that this line is reached.

    Parameters
    ----------
    level, msg, args
        As for `log`.
    n
        How many times.

    Examples
    --------
    >>> for step in range(100):
    ...     tf.logging.log_first_n(tf.logging.DEBUG, "step %d", 2, step)
    """
    log_if(level, msg, _calls_before() < n, *args)


@public("logging.TaskLevelStatusMessage")
def TaskLevelStatusMessage(msg: str) -> None:  # noqa: N802
    """Log a message at the level ERROR.

    Parameters
    ----------
    msg
        What to say.

    Examples
    --------
    >>> tf.logging.set_verbosity(tf.logging.FATAL)
    >>> tf.logging.TaskLevelStatusMessage("out of disk")
    """
    _logger.error(msg)


@public("logging.flush")
def flush() -> None:
    """Write out what was said.

    Examples
    --------
    >>> tf.logging.flush()
    """
    for handler in _logger.handlers:
        handler.flush()


@public("logging.set_verbosity")
@takes(v=_LEVEL)
def set_verbosity(v: int | str) -> None:
    """Hide what is below a level.

    Parameters
    ----------
    v
        One of the levels of this module, or its name.

    Raises
    ------
    ValueError
        No level has that name.

    Examples
    --------
    >>> tf.logging.set_verbosity(tf.logging.ERROR)
    >>> tf.logging.warning("not shown")
    """
    if not _logging.getLogger().handlers and not _logger.handlers:
        handler = _logging.StreamHandler()
        handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
        _logger.addHandler(handler)
    _logger.setLevel(v)


@public("logging.get_verbosity")
def get_verbosity() -> int:
    """The level below which messages are hidden.

    Examples
    --------
    >>> tf.logging.set_verbosity(tf.logging.INFO)
    >>> tf.logging.get_verbosity() == tf.logging.INFO
    True
    """
    return _logger.getEffectiveLevel()
