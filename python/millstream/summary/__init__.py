"""Summaries of a run, and event files that TensorBoard shows."""

import typing as _typing

from millstream._impl.names.missing_names import module_dir as _module_dir
from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.summary.event_writer import FileWriter, FileWriterCache
from millstream._impl.summary.summary_ops import (
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

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, __annotations__)
    __dir__ = _module_dir(__name__, __annotations__)
