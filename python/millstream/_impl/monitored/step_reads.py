"""The global step as hooks read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.monitored.timers import SecondOrStepTimer
from millstream._impl.train.global_step import get_global_step

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

# The collection in which other programs look for it as well.
_READS = "global_step_read_op_cache"


def step_read(hook: str, graph: Graph | None = None) -> Any:
    """The tensor that has the value of a graph's global step; one for all hooks.

    Fetched with a step that counts, it is the value before or after the step: nothing orders them.

    Parameters
    ----------
    hook
        The class that needs it, for the error.
    graph
        The graph, by default the default one.

    Raises
    ------
    RuntimeError
        The graph has no global step, or several reads.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(_READS)
    if len(found) > 1:
        raise RuntimeError(
            f"There are multiple items in collection {_READS}. There should be only one."
        )
    if found:
        return found[0]
    counter = get_global_step(graph)
    if counter is None:
        raise RuntimeError(
            f"Global step should be created to use {hook}: call "
            "tf.train.get_or_create_global_step() before the session is made"
        )
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        with graph.name_scope(counter.op.name + "/"):
            read = counter + 0
        graph.add_to_collection(_READS, read)
    return read


def step_to_come(session: Any, read: Any, seen: int, timer: SecondOrStepTimer) -> int:
    """The number that the next step will have, as far as it matters to a timer.

    Parameters
    ----------
    session
        The session.
    read
        The tensor of `step_read`.
    seen
        Its value in the last step: before or after counting.
    timer
        The timer.
    """
    coming: int = seen + 2  # if it was the value before
    if timer.should_trigger_for_step(coming):
        coming = session.run(read) + 1
    return coming
