"""Versions: of Millstream, and of the graphs that it reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._impl.base.version import VERSION
from millstream._impl.graph.modes import (
    GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER,
)
from millstream._impl.names.missing_names import module_getattr as _module_getattr

__all__ = [
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]

if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
