"""A hook that logs the values of tensors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, ITEMS, NUMBER, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.monitored.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millstream._impl.monitored.timers import NeverTimer, SecondOrStepTimer

_logger = logging.getLogger("millstream")


@public("train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors, at the level INFO.

    Parameters
    ----------
    tensors
        A dictionary from texts to tensors or their names, or a list of tensors or names.
    every_n_iter
        Steps of the session between two times; the first step is one of them.
    every_n_secs
        Seconds between two times.
    at_end
        Whether to log at the end of the session as well. The tensors are then fetched once more.
    formatter
        Makes the text to log from the dictionary of values.

    Raises
    ------
    ValueError
        Both of `every_n_iter` and `every_n_secs` are given, or neither without `at_end`; or
        `every_n_iter` is not positive.

    Examples
    --------
    >>> loss = tf.constant(0.5, name="loss")
    >>> hook = tf.train.LoggingTensorHook(["loss"], every_n_iter=100)
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     _ = session.run(loss)
    """

    @takes(tensors=ITEMS, every_n_iter=NUMBER, every_n_secs=NUMBER, formatter=FUNCTION)
    def __init__(
        self,
        tensors: Mapping[Any, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        at_end_only = at_end and every_n_iter is None and every_n_secs is None
        if not at_end_only and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, Mapping):
            self._tag_order = sorted(tensors)
            self._tensors = dict(tensors)
        else:
            self._tag_order = list(tensors)
            self._tensors = {item: item for item in self._tag_order}
        self._timer = (
            NeverTimer()
            if at_end_only
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._log_at_end = at_end
        self._formatter = formatter

    def begin(self) -> None:
        """Find the tensors."""
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: _graph_element(item) for tag, item in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for them when they are due."""
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log them."""
        if run_values.results is not None:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        """Log them once more, if that was asked for."""
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                _logger.info("%s", self._formatter(values))
                return
            text = ", ".join([f"{tag} = {values[tag]}" for tag in self._tag_order])
        if seconds is None:
            _logger.info("%s", text)
        else:
            _logger.info("%s (%.3f sec)", text, seconds)


def _graph_element(item: Any) -> Any:
    """A tensor or operation of the default graph, or the one of a name.

    Raises
    ------
    ValueError
        It is of another graph, or the name is that of an operation with several outputs.
    KeyError
        There is none of that name.
    """
    graph = get_default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item} should have graph attribute that is equal to current graph {graph}."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    element = graph.as_graph_element(f"{item}:0")
    if len(element.op.outputs) > 1:
        raise ValueError(
            f"Name {item} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return element
