"""Summaries of a run, and event files that TensorBoard shows."""

import typing as _typing

from millstream.summary.event_writer import FileWriter, FileWriterCache
from millstream.summary.summary_ops import (
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)

__all__ = [
    "FileWriter",
    "FileWriterCache",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]

# The messages that belong to summaries; they are made when first used.
Event: _typing.Any
SessionLog: _typing.Any
Summary: _typing.Any
SummaryDescription: _typing.Any
TaggedRunMetadata: _typing.Any

_MESSAGES = frozenset(__annotations__)

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """The message classes."""
        if name in _MESSAGES:
            from millstream import protos

            return protos.message_class(name)
        raise AttributeError(f"millstream.summary has no attribute {name!r}")
