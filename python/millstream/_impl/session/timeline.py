"""A step's trace as a timeline that Chrome's ``chrome://tracing`` and Perfetto show.

The format is the JSON object form of the Trace Event Format ("Trace Event Format", Google, 2016).
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.values.dtypes import as_dtype

# Behind the name of a task: what has no nodes, but tells how much the clock of that task differs.
_CLOCK_SUFFIX = "/clock"


@public("timeline.Timeline")
class Timeline:
    """Turns the ``StepStats`` of one or more steps into a timeline.

    A step of a cluster has the devices of all its tasks. Times are those of the master's clock;
    the label of each other process says how well they are known.

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
            Draw an arrow from each node to those that read it. Those between tasks of a cluster
            are of the category ``Transfer``, others of ``DataFlow``.
        show_memory
            Add a counter of the bytes that nodes allocated, a device a line.

        Returns
        -------
        str
            One JSON object; times are microseconds.
        """
        events: list[dict[str, Any]] = []
        origin = self._origin()
        clocks = self._clocks()
        for process, device in self._devices():
            events.append(_metadata("process_name", process, 0, device.device))
            clock = clocks.get(_task_of(device.device))
            if clock is not None:
                events.append(_labels(process, clock))
            for thread, name in sorted(device.thread_names.items()):
                events.append(_metadata("thread_name", process, thread, name))
            for node in device.node_stats:
                events.append(_slice(process, node, origin))
            if show_memory:
                events.extend(_memory(process, device, origin))
        if show_dataflow:
            events.extend(self._arrows(origin))
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, indent=1)

    def _devices(self) -> list[tuple[int, Any]]:
        """The devices that ran nodes, with the numbers of their processes."""
        devices = [
            one for one in self._step_stats.dev_stats if not one.device.endswith(_CLOCK_SUFFIX)
        ]
        return list(enumerate(devices))

    def _clocks(self) -> dict[str, str]:
        """What is known of the clocks of other tasks, by task, in words."""
        clocks = {}
        for device in self._step_stats.dev_stats:
            if device.device.endswith(_CLOCK_SUFFIX) and device.node_stats:
                label = device.node_stats[0].timeline_label
                clocks[device.device.removesuffix(_CLOCK_SUFFIX)] = _clock_text(label)
        return clocks

    def _origin(self) -> int:
        starts = [
            node.all_start_nanos for _, device in self._devices() for node in device.node_stats
        ]
        return min(starts, default=0)

    def _arrows(self, origin: int) -> list[dict[str, Any]]:
        """Draw them from the end of each node to those that name it as input.

        An arrow ends where the reader starts, or where it ends if it was waiting for the tensor. A
        node that was over before what it reads was there only told a stream what to do: arrows
        pass it by. Times of other tasks may be wrong by the errors of their clocks, so that arrows
        between tasks are drawn whatever the times are.
        """
        made: _ByName = {}
        for process, device in self._devices():
            task = _task_of(device.device)
            for node in device.node_stats:
                made.setdefault(node.node_name, {})[process] = _Made(process, task, node)
        arrows: list[dict[str, Any]] = []
        for reader in [one for several in made.values() for one in several.values()]:
            for source in _sources(reader, made):
                crosses = source.task != reader.task
                if _end(source.node) > _end(reader.node) and not crosses:
                    continue
                number = len(arrows) // 2
                waited = crosses or _end(source.node) > reader.node.all_start_nanos
                kind = "Transfer" if crosses else "DataFlow"
                arrows.append(_arrow("s", kind, number, source, origin, at_end=True))
                arrows.append(_arrow("t", kind, number, reader, origin, at_end=waited))
        return arrows


class _Made(NamedTuple):
    """An executed node, with the number of its process and its task."""

    process: int
    task: str
    node: Any


# By name and process: the last execution.
_ByName = dict[str, dict[int, _Made]]


def _find(name: str, reader: _Made, made: _ByName) -> _Made | None:
    """The node of that name that the reader reads: its own device's, if that has one.

    Constants are copied to the devices that read them.
    """
    several = made.get(name, {})
    return several.get(reader.process) or next(reversed(several.values()), None)


def _sources(reader: _Made, made: _ByName) -> list[_Made]:
    """Who gave what a node reads."""
    sources: list[_Made] = []
    seen = {reader.node.node_name}
    waiting = _label_parts(reader.node)[1]
    while waiting:
        name = waiting.pop(0)
        source = _find(name, reader, made)
        if name in seen or source is None:
            continue
        seen.add(name)
        inputs = [_find(given, source, made) for given in _label_parts(source.node)[1]]
        known = [given for given in inputs if given is not None and given.task == source.task]
        if any(_end(given.node) > _end(source.node) for given in known):
            waiting += [given.node.node_name for given in known]
        else:
            sources.append(source)
    return sources


def _task_of(device: str) -> str:
    return device.partition("/device:")[0]


def _clock_text(label: str) -> str:
    """A text like ``clock ahead by 12.0 µs, known to 3.0 µs``, of a node's label."""
    fields = dict(part.partition("=")[::2] for part in label.rpartition("(")[2][:-1].split(", "))
    ahead, error = (int(fields.get(name, 0)) / 1000.0 for name in ("ahead_ns", "error_ns"))
    return f"clock ahead by {ahead:.1f} µs, known to {error:.1f} µs"


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


def _labels(process: int, text: str) -> dict[str, Any]:
    return {"name": "process_labels", "ph": "M", "pid": process, "args": {"labels": text}}


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
    phase: str, kind: str, number: int, made: _Made, origin: int, at_end: bool
) -> dict[str, Any]:
    node = made.node
    # Viewers look for the slice at that time, which as microseconds is rounded: a nanosecond
    # earlier is inside of it for sure.
    time = max(_end(node) - 1, node.all_start_nanos) if at_end else node.all_start_nanos
    return {
        "name": "tensor",
        "cat": kind,
        "ph": phase,
        "id": number,
        "pid": made.process,
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
