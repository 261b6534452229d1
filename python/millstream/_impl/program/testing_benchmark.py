"""Benchmarks: methods that measure steps, and the option of a program that runs them."""

from __future__ import annotations

import inspect
import itertools
import logging
import os
import re
import statistics
import time
from collections.abc import Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, LIST, MAPPING, NUMBER, TEXT, takes
from millstream._impl.session.base_session import get_default_session
from millstream._impl.session.session import Session
from millstream._impl.session.timeline import Timeline

# Reports are files whose paths begin with what this variable of the environment says.
_REPORTS = "TEST_REPORT_FILE_PREFIX"
_OPTION = re.compile("--?benchmarks=(.*)")

_classes: list[type[Benchmark]] = []


@public("test.Benchmark")
class Benchmark:
    """Measures steps in methods whose names begin with "benchmark".

    The option ``--benchmarks=REGEX`` of a program that calls `tf.test.main` runs those methods
    instead of tests whose name, "module.Class.method", has a match; "all" stands for all.

    Examples
    --------
    >>> class Sums(tf.test.Benchmark):
    ...     def benchmark_sum(self):
    ...         total = tf.reduce_sum(tf.random_normal([100]))
    ...         with tf.Session() as sess:
    ...             return self.run_op_benchmark(sess, total, min_iters=5)
    >>> Sums().benchmark_sum()["iters"]  # doctest: +ELLIPSIS
    entry {
      name: "Sums.benchmark_sum"
    ...
    5
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _classes.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether it is the class that others are derived from."""
        return cls is Benchmark

    def _get_name(self, overwrite_name: str | None) -> str:
        """The name of a report: the class, and the method that runs or another name."""
        method = None
        for frame in reversed(inspect.stack()):
            if isinstance(frame.frame.f_locals.get("self"), Benchmark):
                method = frame.function
                break
        if method is None:
            raise ValueError("Unable to determine calling Benchmark class.")
        return f"{type(self).__name__}.{overwrite_name or method}"

    @takes(
        iters=INTEGER,
        cpu_time=NUMBER,
        wall_time=NUMBER,
        throughput=NUMBER,
        extras=MAPPING,
        name=TEXT,
        metrics=LIST,
    )
    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Any = None,
        name: str | None = None,
        metrics: Any = None,
    ) -> None:
        """Print what was measured, or write it where ``TEST_REPORT_FILE_PREFIX`` says.

        Parameters
        ----------
        iters
            How many steps were measured.
        cpu_time, wall_time
            Median seconds of a step.
        throughput
            Megabytes a second.
        extras
            Further numbers and texts by name.
        name
            Name of the measurement; by default that of the method.
        metrics
            Dictionaries of ``name``, ``value`` and, optionally, ``min_value`` and ``max_value``.
        """
        full_name = self._get_name(name)
        numbers = {"cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput}
        lines = [f"name: {_text(full_name)}"]
        lines += [] if iters is None else [f"iters: {iters}"]
        lines += [f"{key}: {value}" for key, value in numbers.items() if value is not None]
        for key, value in (extras or {}).items():
            kind = "double_value" if isinstance(value, (int, float)) else "string_value"
            shown = float(value) if kind == "double_value" else _text(str(value))
            lines += ["extras {", f"  key: {_text(key)}", "  value {", f"    {kind}: {shown}"]
            lines += ["  }", "}"]
        for metric in metrics or []:
            lines.append("metrics {")
            lines += [
                f"  {key}: {_text(value) if isinstance(value, str) else float(value)}"
                for key, value in metric.items()
            ]
            lines.append("}")
        _report(full_name, "entry {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")

    @takes(burn_iters=INTEGER, min_iters=INTEGER, name=TEXT, extras=MAPPING, mbs=NUMBER)
    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Any = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Measure steps, report them by `report_benchmark`, and return the report.

        Parameters
        ----------
        sess
            The session.
        op_or_tensor, feed_dict
            What a step fetches and is fed.
        burn_iters
            Steps before the first that is measured.
        min_iters
            Steps that are measured.
        store_trace
            Whether the result has a trace of one more step, for Chrome.
        store_memory_usage
            Whether the report has the most memory that one more step used.
        name, extras
            As for `report_benchmark`.
        mbs
            Megabytes that a step handles.

        Returns
        -------
        dict
            ``iters``, ``wall_time`` (the median, in seconds), ``throughput``, ``extras``, ``name``.
        """
        if not hasattr(sess, "run"):
            raise TypeError(f"sess: expected a session, got {sess!r}")
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        seconds = []
        for _ in range(min_iters):
            begin = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            seconds.append(time.perf_counter() - begin)
        more = dict(extras or {})
        unreported: dict[str, Any] = {}
        if store_trace or store_memory_usage:
            step_stats = _traced(sess, op_or_tensor, feed_dict)
            if store_trace:
                trace = Timeline(step_stats).generate_chrome_trace_format()
                unreported["full_trace_chrome_format"] = trace
            if store_memory_usage:
                for allocator, most in _most_memory(step_stats).items():
                    more[f"allocator_maximum_num_bytes_{allocator}"] = most
        median = statistics.median(seconds) if seconds else -1
        report: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": more,
            "name": name,
            "throughput": mbs / median,
        }
        self.report_benchmark(**report)
        more.update(unreported)
        return report

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in the default session or one of their own.

        Parameters
        ----------
        tensors
            What `Session.run` fetches.
        """
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with Session() as own:
            return own.run(tensors)


def _traced(sess: Session, fetches: Any, feed_dict: Any) -> Any:
    """The ``StepStats`` of a step."""
    options = protos.message_class("RunOptions")
    metadata = protos.message_class("RunMetadata")()
    traced = options(trace_level=options.FULL_TRACE)
    sess.run(fetches, feed_dict, options=traced, run_metadata=metadata)
    return metadata.step_stats


def _most_memory(step_stats: Any) -> dict[str, int]:
    """By allocator, the most bytes that running nodes had allocated at one time."""
    changes: dict[str, list[tuple[int, int]]] = {}
    for device in step_stats.dev_stats:
        for node in device.node_stats:
            end = node.all_start_micros + node.all_end_rel_micros
            for used in node.memory:
                of_allocator = changes.setdefault(used.allocator_name, [])
                of_allocator.append((node.all_start_micros, used.peak_bytes))
                of_allocator.append((end, -used.peak_bytes))
    return {
        allocator: max(itertools.accumulate(change for _, change in sorted(of_allocator)))
        for allocator, of_allocator in changes.items()
    }


def _text(value: str) -> str:
    """A text in quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _report(name: str, entry: str) -> None:
    logging.getLogger("millstream").info("Benchmark [%s] %s", name, entry)
    prefix = os.environ.get(_REPORTS)
    if prefix is None:
        print(entry, end="")
        return
    path = prefix + name.replace("/", "__")
    if os.path.exists(path):
        raise OSError(f"File already exists: {path}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(entry)


def pattern_of(arguments: Sequence[str]) -> str | None:
    """The pattern of the option ``--benchmarks`` of a command line, or None."""
    found = [match for match in map(_OPTION.fullmatch, arguments) if match]
    return found[0][1] if found else None


def without_pattern(arguments: Sequence[str]) -> list[str]:
    """A command line without that option."""
    return [each for each in arguments if not _OPTION.fullmatch(each)]


def run_benchmarks(pattern: str) -> None:
    """Run the benchmarks of all classes that the program has defined and that the pattern finds."""
    for each in list(_classes):
        methods = [attr for attr in dir(each) if attr.startswith("benchmark")]
        found = [
            method
            for method in methods
            if callable(getattr(each, method))
            and (
                pattern == "all"
                or re.search(pattern, f"{each.__module__}.{each.__name__}.{method}")
            )
        ]
        if found:
            benchmark = each()
            for method in found:
                getattr(benchmark, method)()


@public("test.benchmark_config")
def benchmark_config() -> Any:
    """A ``ConfigProto`` for benchmarks: operations that give nothing are not left out.

    Examples
    --------
    >>> type(tf.test.benchmark_config()).__name__
    'ConfigProto'
    """
    config = protos.message_class("ConfigProto")()
    rewriter = config.graph_options.rewrite_options
    rewriter.dependency_optimization = protos.message_class("RewriterConfig").OFF
    return config
