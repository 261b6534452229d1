"""Kinds of arguments that several classes of this room take."""

from __future__ import annotations

from typing import Any

from millstream._impl.graph.arguments import Kind, or_none
from millstream._impl.graph.operation import Operation
from millstream._impl.graph.tensor_like import TensorLike


def _with(what: str, attribute: str) -> Kind:
    """What has an attribute: programs have classes of their own that do the same."""
    return or_none(Kind(what, lambda value: hasattr(value, attribute)))


def _is_fetch(value: Any) -> bool:
    return isinstance(value, (TensorLike, Operation, str, list, tuple, dict)) or hasattr(
        value, "graph"
    )


FETCHES = or_none(Kind("a tensor, an operation or a structure of those", _is_fetch))
SCAFFOLD = _with("a tf.train.Scaffold", "finalize")
SAVER = _with("a tf.train.Saver", "restore")
CREATOR = _with("a tf.train.SessionCreator", "create_session")
MANAGER = _with("a tf.train.SessionManager", "prepare_session")
SUPERVISOR = _with("a tf.train.Supervisor", "managed_session")
WRITER = _with("a tf.summary.FileWriter", "add_summary")
CONFIG = _with("a tf.ConfigProto", "allow_soft_placement")
OPTIONS = _with("a tf.RunOptions", "trace_level")
