"""What a session needs of its graph besides the model: initializers, checks, a saver, summaries."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, MAPPING, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.monitored.kinds import FETCHES, SAVER
from millstream._impl.monitored.resources import (
    initialize_resources,
    local_resources,
    report_uninitialized_resources,
    shared_resources,
)
from millstream._impl.ops import array_join, control_ops
from millstream._impl.summary.summary_ops import merge_all
from millstream._impl.train.saver import Saver
from millstream._impl.variables import variable_ops

_logger = logging.getLogger("millstream")

_SAVED_MODEL_INITIALIZERS = "saved_model_initializers"


@public("train.Scaffold")
class Scaffold:
    """The pieces that are needed to begin, check and save a session.

    What is not given is made by `finalize`, or taken from the collection of the graph that is for
    it.

    Parameters
    ----------
    init_op
        Gives the variables their first values; by default all global ones. It is not run when a
        checkpoint is restored.
    init_feed_dict
        What to feed `init_op`.
    init_fn
        Called with the scaffold and the session, after `init_op`.
    ready_op
        A vector of strings that is empty when the session may be used; by default the names of
        variables without a value.
    ready_for_local_init_op
        One that is empty when `local_init_op` may be run; by default the names of global variables
        without a value.
    local_init_op
        Run in each new session, after a restored one as well; by default it initializes local
        variables and tables.
    summary_op
        The summary to write; by default all merged.
    saver
        The saver; by default one of all global variables.
    copy_from_scaffold
        A scaffold that has what is not given.

    Raises
    ------
    TypeError
        `copy_from_scaffold` is none.

    Examples
    --------
    >>> v = tf.Variable(1.0)
    >>> def init(scaffold, session):
    ...     v.load(42.0, session)
    >>> scaffold = tf.train.Scaffold(init_fn=init)
    >>> with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
    ...     float(session.run(v))
    42.0
    """

    @takes(
        init_op=FETCHES,
        init_feed_dict=or_none(MAPPING),
        init_fn=or_none(FUNCTION),
        ready_op=FETCHES,
        ready_for_local_init_op=FETCHES,
        local_init_op=FETCHES,
        summary_op=FETCHES,
        saver=SAVER,
    )
    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
    ) -> None:
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError(f"copy_from_scaffold is not a Scaffold instance: {other!r}")

        def chosen(given: Any, name: str) -> Any:
            return given if given is not None or other is None else getattr(other, name)

        self._init_op = chosen(init_op, "init_op")
        self._init_feed_dict = chosen(init_feed_dict, "init_feed_dict")
        # The function as it was given: it is called with this scaffold and not with the other.
        self._user_init_fn = chosen(init_fn, "_user_init_fn")
        self._ready_op = chosen(ready_op, "ready_op")
        self._ready_for_local_init_op = chosen(ready_for_local_init_op, "ready_for_local_init_op")
        self._local_init_op = chosen(local_init_op, "local_init_op")
        self._summary_op = chosen(summary_op, "summary_op")
        self._saver = chosen(saver, "saver")

    def finalize(self) -> Scaffold:
        """Make what is missing, in the default graph, and finalize that graph."""
        keys = GraphKeys
        default = Scaffold.get_or_default
        if self._init_op is None:
            self._init_op = default("init_op", keys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = default("ready_op", keys.READY_OP, _default_ready_op)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = default(
                "ready_for_local_init_op",
                keys.READY_FOR_LOCAL_INIT_OP,
                _default_ready_for_local_init_op,
            )
        if self._local_init_op is None:
            self._local_init_op = default(
                "local_init_op", keys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = default("summary_op", keys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = default("saver", keys.SAVERS, _default_saver)
        self._saver.build()
        graph = get_default_graph()
        if not graph.finalized:
            graph.finalize()
            _logger.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """The only element of a collection, or a new one that is added to it.

        Parameters
        ----------
        arg_name
            The argument of the class that it is for.
        collection_key
            The collection.
        default_constructor
            Makes the new one, or None.

        Raises
        ------
        RuntimeError
            The collection has several.
        """
        graph = get_default_graph()
        found = graph.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                "one to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Initializes the local variables, tables and local resources of the default graph."""
        return control_ops.group(
            variable_ops.local_variables_initializer(),
            variable_ops.tables_initializer(),
            initialize_resources(local_resources()),
        )

    @property
    def init_op(self) -> Any:
        """Gives the variables their first values."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What to feed `init_op`."""
        return self._init_feed_dict

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """Takes the session; called after `init_op`."""
        given = self._user_init_fn
        return None if given is None else lambda session: given(self, session)

    @property
    def ready_op(self) -> Any:
        """Is empty when the session may be used."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """Is empty when `local_init_op` may be run."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """Run in each new session."""
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        """The summary to write."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver


def _default_init_op() -> Any:
    return control_ops.group(
        variable_ops.global_variables_initializer(),
        initialize_resources(shared_resources()),
        *get_default_graph().get_collection(_SAVED_MODEL_INITIALIZERS),
    )


def _default_ready_op() -> Any:
    resources = [*shared_resources(), *local_resources()]
    return array_join.concat(
        [
            variable_ops.report_uninitialized_variables(),
            report_uninitialized_resources(resources),
        ],
        0,
    )


def _default_ready_for_local_init_op() -> Any:
    return array_join.concat(
        [
            variable_ops.report_uninitialized_variables(variable_ops.global_variables()),
            report_uninitialized_resources(shared_resources()),
        ],
        0,
    )


def _default_saver() -> Saver:
    return Saver(sharded=True, allow_empty=True)
