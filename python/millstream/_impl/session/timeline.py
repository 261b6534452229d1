"""A step's trace as a timeline that Chrome's ``chrome://tracing`` and Perfetto show.

The format is the JSON object form of the Trace Event Format ("Trace Event Format", Google, 2016).
"""

from __future__ import annotations

import json
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.values.dtypes import as_dtype


@public("timeline.Timeline")
class Timeline:
    """Turns the ``StepStats`` of one or more steps into a timeline.

    Parameters
    ----------
    step_stats
        ``RunMetadata.step_stats`` of a run with ``trace_level=RunOptions.FULL_TRACE``.

    Raises
    ------
    TypeError
        `step_stats` is no ``StepStats``.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.reduce_max(tf.random_uniform([100]), name="y")
    ...     metadata = tf.RunMetadata()
    ...     options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    ...     _ = sess.run(y, options=options, run_metadata=metadata)
    >>> text = tf.timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    >>> '"name": "Max"' in text
    True
    """

    def __init__(self, step_stats: Any) -> None:
        if not isinstance(step_stats, protos.message_class("StepStats")):
            raise TypeError(f"step_stats: expected a StepStats, got {step_stats!r}")
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Give the timeline as JSON text.

        Parameters
        ----------
        show_dataflow
            Draw an arrow from each node to those that read it.
        show_memory
            Add a counter of the bytes that nodes allocated, a device a line.

        Returns
        -------
        str
            One JSON object; times are microseconds.
        """
        events: list[dict[str, Any]] = []
        origin = self._origin()
        for process, device in enumerate(self._step_stats.dev_stats):
            events.append(_metadata("process_name", process, 0, device.device))
            for thread, name in sorted(device.thread_names.items()):
                events.append(_metadata("thread_name", process, thread, name))
            for node in device.node_stats:
                events.append(_slice(process, node, origin))
            if show_memory:
                events.extend(_memory(process, device, origin))
        if show_dataflow:
            events.extend(self._arrows(origin))
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, indent=1)

    def _origin(self) -> int:
        starts = [
            node.all_start_nanos
            for device in self._step_stats.dev_stats
            for node in device.node_stats
        ]
        return min(starts, default=0)

    def _arrows(self, origin: int) -> list[dict[str, Any]]:
        """Draw them from the end of each node to those that name it as input.

        An arrow ends where the reader starts, or where it ends if it was waiting for the tensor. A
        node that was over before what it reads was there only told a stream what to do: arrows
        pass it by.
        """
        made = {
            node.node_name: (process, node)
            for process, device in enumerate(self._step_stats.dev_stats)
            for node in device.node_stats
        }
        arrows: list[dict[str, Any]] = []
        for process, node in made.values():
            for source in _sources(node, made):
                if _end(source[1]) > _end(node):
                    continue
                number = len(arrows) // 2
                waited = _end(source[1]) > node.all_start_nanos
                arrows.append(_arrow("s", number, source[0], source[1], origin, at_end=True))
                arrows.append(_arrow("t", number, process, node, origin, at_end=waited))
        return arrows


def _sources(node: Any, made: dict[str, tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Who gave what the node reads, with their processes."""
    sources: list[tuple[int, Any]] = []
    seen = {node.node_name}
    waiting = _label_parts(node)[1]
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in made:
            continue
        seen.add(name)
        source = made[name]
        inputs = [made[name][1] for name in _label_parts(source[1])[1] if name in made]
        if any(_end(given) > _end(source[1]) for given in inputs):
            waiting += [given.node_name for given in inputs]
        else:
            sources.append(source)
    return sources


def _end(node: Any) -> int:
    return int(node.all_start_nanos + node.all_end_rel_nanos)


def _label_parts(node: Any) -> tuple[str, list[str]]:
    """Op and inputs from a label like ``y = Neg(x)``; the label is all that tells them.

    The op of a node that stands for several is like ``_FusedElementwise(Add,Mul)``.
    """
    label = node.timeline_label
    _, separator, call = label.partition(" = ")
    op, bracket, inputs = call.rpartition("(")
    if not separator or not bracket:
        return node.node_name, []
    return op, [name for name in inputs.rstrip(")").split(", ") if name]


def _micros(nanos: int, origin: int) -> float:
    return (nanos - origin) / 1000.0


def _metadata(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _slice(process: int, node: Any, origin: int) -> dict[str, Any]:
    op, inputs = _label_parts(node)
    outputs = [
        f"{as_dtype(tensor.dtype).name}[{', '.join(str(dim.size) for dim in tensor.shape.dim)}]"
        for tensor in (output.tensor_description for output in node.output)
    ]
    return {
        "name": op,
        "cat": "Op",
        "ph": "X",
        "pid": process,
        "tid": node.thread_id,
        "ts": _micros(node.all_start_nanos, origin),
        "dur": node.all_end_rel_nanos / 1000.0,
        "args": {"name": node.node_name, "inputs": inputs, "outputs": outputs},
    }


def _arrow(
    phase: str, number: int, process: int, node: Any, origin: int, at_end: bool
) -> dict[str, Any]:
    # Viewers look for the slice at that time, which as microseconds is rounded: a nanosecond
    # earlier is inside of it for sure.
    time = max(_end(node) - 1, node.all_start_nanos) if at_end else node.all_start_nanos
    return {
        "name": "tensor",
        "cat": "DataFlow",
        "ph": phase,
        "id": number,
        "pid": process,
        "tid": node.thread_id,
        "ts": _micros(time, origin),
    }


def _memory(process: int, device: Any, origin: int) -> list[dict[str, Any]]:
    """The bytes that nodes had allocated by the end of each."""
    total = 0
    counters = []
    for node in sorted(device.node_stats, key=lambda node: node.all_start_nanos):
        total += sum(memory.live_bytes for memory in node.memory)
        counters.append(
            {
                "name": "allocated",
                "cat": "Memory",
                "ph": "C",
                "pid": process,
                "ts": _micros(node.all_start_nanos + node.all_end_rel_nanos, origin),
                "args": {"bytes": total},
            }
        )
    return counters
