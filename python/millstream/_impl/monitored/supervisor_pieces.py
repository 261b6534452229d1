"""What a supervisor finds in its graph, or adds to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.ops import control_ops
from millstream._impl.summary.summary_ops import merge_all
from millstream._impl.train.saver import Saver
from millstream._impl.values import dtypes
from millstream._impl.variables import variable_ops

_logger = logging.getLogger("millstream")

# What an argument is that is to be found in the graph, or made.
DEFAULT: Any = 0


def _first_or_added(key: str, make: Callable[[], Any]) -> Any:
    """The first element of a collection, or a new one that is added to it; None for nothing."""
    graph = get_default_graph()
    found = graph.get_collection(key)
    if len(found) > 1:
        _logger.info("Found %d %s operations. Returning the first one.", len(found), key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


def _ready_op() -> Any:
    """The names of variables without a value."""
    return _first_or_added(GraphKeys.READY_OP, variable_ops.report_uninitialized_variables)


def _ready_for_local_init_op() -> Any:
    """The names of global variables without a value."""
    return _first_or_added(
        GraphKeys.READY_FOR_LOCAL_INIT_OP,
        lambda: variable_ops.report_uninitialized_variables(variable_ops.global_variables()),
    )


def _init_op() -> Any:
    """Initializes the global variables."""
    return _first_or_added(GraphKeys.INIT_OP, variable_ops.global_variables_initializer)


def _local_init_op() -> Any:
    """Initializes local variables and tables."""
    return _first_or_added(
        GraphKeys.LOCAL_INIT_OP,
        lambda: control_ops.group(
            variable_ops.local_variables_initializer(), variable_ops.tables_initializer()
        ),
    )


def _saver() -> Any:
    """A saver of all global variables; None when there are none."""
    return _first_or_added(
        GraphKeys.SAVERS, lambda: Saver() if variable_ops.global_variables() else None
    )


def _summary_op() -> Any:
    """All summaries, merged; None when there are none."""
    return _first_or_added(GraphKeys.SUMMARY_OP, merge_all)


def _global_step() -> Any:
    """The global step, or the integers named "global_step"; None when there are none."""
    return _first_or_added(GraphKeys.GLOBAL_STEP, _step_by_name)


def _step_by_name() -> Any:
    try:
        found = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return found
    _logger.warning("Found 'global_step' is not an int type: %s", found.dtype)
    return None


# In the order in which they are made.
_MAKERS = {
    "ready_op": _ready_op,
    "ready_for_local_init_op": _ready_for_local_init_op,
    "init_op": _init_op,
    "local_init_op": _local_init_op,
    "saver": _saver,
    "summary_op": _summary_op,
    "global_step": _global_step,
}


class SupervisorPieces:
    """The pieces of a supervisor, by name.

    Parameters
    ----------
    graph
        The graph.
    given
        The pieces that are given: `DEFAULT` for those that are to be found or made.
    """

    def __init__(self, graph: Graph, given: Mapping[str, Any]) -> None:
        with graph.as_default():
            self._pieces = {
                name: make() if given[name] is DEFAULT else given[name]
                for name, make in _MAKERS.items()
            }

    @property
    def init_op(self) -> Any:
        """Gives the variables their first values."""
        return self._pieces["init_op"]

    @property
    def ready_op(self) -> Any:
        """Is empty when the session may be used."""
        return self._pieces["ready_op"]

    @property
    def ready_for_local_init_op(self) -> Any:
        """Is empty when `local_init_op` may be run."""
        return self._pieces["ready_for_local_init_op"]

    @property
    def summary_op(self) -> Any:
        """The summary that is written."""
        return self._pieces["summary_op"]

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._pieces["saver"]

    @property
    def global_step(self) -> Any:
        """The tensor or variable that counts steps, or None."""
        return self._pieces["global_step"]


def check_devices(graph: Graph) -> None:
    """Raise ValueError if a variable may be anywhere: other processes would not find it."""
    for op in graph.get_operations():
        if op.type in ("Variable", "VariableV2", "VarHandleOp") and not op.device:
            raise ValueError(
                f"When using replicas, all Variables must have their device set: {op.name!r}"
            )
