"""A loop of training steps in the sessions of a supervisor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, LIST, MAPPING, TEXT, or_none, takes
from millstream._impl.monitored.kinds import SUPERVISOR
from millstream._impl.monitored.supervisor import Supervisor

_logger = logging.getLogger("millstream")


@public("train.basic_train_loop")
@takes(
    supervisor=SUPERVISOR,
    train_step_fn=FUNCTION,
    args=or_none(LIST),
    kwargs=or_none(MAPPING),
    master=or_none(TEXT),
)
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str | None = "",
) -> None:
    """Call a function in a supervisor's session until a stop, in a new one after AbortedError.

    Parameters
    ----------
    supervisor
        The `Supervisor`.
    train_step_fn
        Called with the session and the arguments, again and again.
    args, kwargs
        The arguments.
    master
        The execution engine; "" is this process.

    Examples
    --------
    >>> count = tf.train.get_or_create_global_step().assign_add(1)
    >>> supervisor = tf.train.Supervisor()
    >>> def train_step(session, last_step):
    ...     if session.run(count) >= last_step:
    ...         supervisor.request_stop()
    >>> tf.train.basic_train_loop(supervisor, train_step, args=[3])
    """
    should_retry = True
    while should_retry:
        should_retry = False
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except errors.AbortedError as error:
            _logger.info("The session was lost, and will be made again. Error: %s", error)
            should_retry = True
