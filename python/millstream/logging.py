"""Messages of programs, through Python's own logging."""

from __future__ import annotations

import logging as _logging
from typing import TYPE_CHECKING, Any

from millstream.missing_names import module_getattr as _module_getattr

DEBUG = _logging.DEBUG
INFO = _logging.INFO
WARN = _logging.WARNING
ERROR = _logging.ERROR
FATAL = _logging.CRITICAL

_logger = _logging.getLogger("millstream")

debug = _logger.debug
info = _logger.info
warn = _logger.warning
warning = _logger.warning
error = _logger.error
fatal = _logger.critical


def log(level: int, msg: str, *args: Any) -> None:
    """Say something at a level."""
    _logger.log(level, msg, *args)


def set_verbosity(v: int) -> None:
    """Hide what is below the level `v`."""
    if not _logging.getLogger().handlers and not _logger.handlers:
        _logger.addHandler(_logging.StreamHandler())
    _logger.setLevel(v)


def get_verbosity() -> int:
    """The level below which messages are hidden."""
    return _logger.getEffectiveLevel()


if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
