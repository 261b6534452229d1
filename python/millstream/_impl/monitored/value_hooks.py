"""Hooks about values: what steps are fed, what they must not give, what is wanted at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, MAPPING, takes
from millstream._impl.monitored.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millstream._impl.monitored.kinds import FETCHES

_logger = logging.getLogger("millstream")


@public("train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    """The loss that `NanTensorHook` looks at is not a number.

    Examples
    --------
    >>> print(tf.train.NanLossDuringTrainingError())
    NaN loss during training.
    """

    def __str__(self) -> str:
        return "NaN loss during training."


@public("train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Stops the session when a loss is NaN.

    Parameters
    ----------
    loss_tensor
        The loss.
    fail_on_nan_loss
        Whether to raise NanLossDuringTrainingError; otherwise the session stops as at its end.

    Examples
    --------
    >>> loss = tf.log(-1.0)
    >>> with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss, False)]) as session:
    ...     _ = session.run(loss)
    ...     session.should_stop()
    True
    """

    @takes(loss_tensor=FETCHES)
    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the loss."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at it."""
        if not np.isnan(run_values.results).any():
            return
        what = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            _logger.error(what)
            raise NanLossDuringTrainingError
        _logger.warning(what)
        run_context.request_stop()


@public("train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds each step what a function gives.

    Parameters
    ----------
    feed_fn
        Takes nothing and gives the dictionary of feeds.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32)
    >>> y = x * 2.0
    >>> hook = tf.train.FeedFnHook(lambda: {x: 3.0})
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     float(session.run(y))
    6.0
    """

    @takes(feed_fn=FUNCTION)
    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Add the feeds."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


@public("train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Fetches something at the end of the session.

    Parameters
    ----------
    final_ops
        What to fetch, as for ``Session.run``; None for nothing.
    final_ops_feed_dict
        What to feed it.

    Examples
    --------
    >>> v = tf.Variable(1.0)
    >>> assign = v.assign(5.0)
    >>> hook = tf.train.FinalOpsHook({"v": v})
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     _ = session.run(assign)
    >>> float(hook.final_ops_values["v"])
    5.0
    """

    @takes(final_ops=FETCHES, final_ops_feed_dict=MAPPING)
    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the structure of `final_ops`; None before the end."""
        return self._final_ops_values

    def end(self, session: Any) -> None:
        """Fetch them."""
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(
                self._final_ops, feed_dict=self._final_ops_feed_dict
            )
        except (errors.OutOfRangeError, StopIteration):
            _logger.warning(
                "FinalOpsHook: what it fetches reads from an input that has come to its end. It "
                "should read variables only: of a metric, the value and not the update."
            )
            raise
