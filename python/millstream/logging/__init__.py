"""Messages of programs, through Python's own logging."""

import typing as _typing

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.program.logging import (
    DEBUG,
    ERROR,
    FATAL,
    INFO,
    WARN,
    TaskLevelStatusMessage,
    debug,
    error,
    fatal,
    flush,
    get_logger,
    get_verbosity,
    info,
    log,
    log_every_n,
    log_first_n,
    log_if,
    set_verbosity,
    vlog,
    warn,
    warning,
)

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "TaskLevelStatusMessage",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_logger",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
