"""The default session."""

from __future__ import annotations

from millstream._impl.base.public import public
from millstream._impl.graph.stacks import STACKS
from millstream._impl.session.base_session import BaseSession


@public("get_default_session")
def get_default_session() -> BaseSession | None:
    """The session of the innermost ``with session:`` of this thread, or None.

    Examples
    --------
    >>> with tf.Session() as session:
    ...     tf.get_default_session() is session
    True
    """
    return STACKS.sessions[-1] if STACKS.sessions else None
