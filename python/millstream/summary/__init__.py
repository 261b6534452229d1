"""Summaries of a run, and event files that TensorBoard shows."""

from millstream.summary.event_writer import FileWriter
from millstream.summary.summary_ops import merge, merge_all, scalar

__all__ = ["FileWriter", "merge", "merge_all", "scalar"]


def __getattr__(name: str) -> object:
    """The messages that belong to summaries."""
    if name in ("Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata"):
        from millstream import protos

        return protos.message_class(name)
    raise AttributeError(f"millstream.summary has no attribute {name!r}")
