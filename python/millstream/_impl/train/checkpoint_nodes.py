"""The nodes of object-based checkpoints, which are made once for each set of variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import control_ops
from millstream._impl.ops.array_creation import placeholder
from millstream._impl.session.base_session import get_default_session
from millstream._impl.train.checkpoint_reader import CheckpointReader
from millstream._impl.train.object_graph import (
    GRAPH_KEY,
    ObjectGraph,
    keys_by_name,
    read_object_graph,
)
from millstream._impl.train.save_items import SaveItem, save_items
from millstream._impl.values import dtypes


def session_or_default(session: Any) -> Any:
    """The session, by default the default one.

    Raises
    ------
    ValueError
        There is none.
    """
    found = get_default_session() if session is None else session
    if found is None:
        raise ValueError("session: there is no default session; enter one, or pass one")
    return found


def _place(graph: Graph, items: Sequence[SaveItem]) -> tuple[Any, ...]:
    return (graph, *((item.key, item.spec, item.variable) for item in items))


class CheckpointNodes:
    """Saves and restores variables under keys, by nodes that it adds to their graph."""

    def __init__(self) -> None:
        self._savers: dict[Any, tuple[list[Tensor], Operation]] = {}
        self._restorers: dict[Any, tuple[Tensor, Operation]] = {}

    def save(self, session: Any, prefix: str, objects: ObjectGraph) -> None:
        """Write a checkpoint of all variables of the objects, and of their texts."""
        items, texts = objects.items(), objects.texts()
        graph = session.graph
        _check_graph(items, graph)
        place = (*_place(graph, items), *texts)
        if place not in self._savers:
            self._savers[place] = self._add_save(graph, items, list(texts))
        fed, saved = self._savers[place]
        values = [prefix, objects.message().SerializeToString(), *texts.values()]
        session.run(saved, dict(zip(fed, values, strict=True)))

    def _add_save(
        self, graph: Graph, items: Sequence[SaveItem], texts: Sequence[str]
    ) -> tuple[list[Tensor], Operation]:
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope("save_checkpoint"),
        ):
            prefix = placeholder(dtypes.string, (), name="prefix")
            message = placeholder(dtypes.string, (), name="object_graph")
            states = [placeholder(dtypes.string, (), name="py_state") for _ in texts]
            saved = gen_ops.save_v2(
                prefix,
                [*(item.key for item in items), *texts, GRAPH_KEY],
                [*(item.spec for item in items), *("" for _ in texts), ""],
                [*(item.value for item in items), *states, message],
            )
        return [prefix, message, *states], saved

    def restore(self, session: Any, prefix: str, items: Sequence[SaveItem]) -> None:
        """Give variables the values under their keys."""
        if not items:
            return
        graph = session.graph
        _check_graph(items, graph)
        place = _place(graph, items)
        if place not in self._restorers:
            self._restorers[place] = self._add_restore(graph, items)
        prefix_tensor, restored = self._restorers[place]
        session.run(restored, {prefix_tensor: prefix})

    def _add_restore(self, graph: Graph, items: Sequence[SaveItem]) -> Any:
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope("restore_checkpoint"),
        ):
            prefix = placeholder(dtypes.string, (), name="prefix")
            values = gen_ops.restore_v2(
                prefix,
                [item.key for item in items],
                [item.spec for item in items],
                [item.variable.dtype for item in items],
            )
            values = values if isinstance(values, (list, tuple)) else [values]
            assigned = [
                item.restore(value, reshape=False)
                for item, value in zip(items, values, strict=True)
            ]
            return prefix, control_ops.group(*assigned, name="restore_all")

    def restore_by_names(self, session: Any, prefix: str, var_list: Any) -> bool:
        """Restore what a saver has from a checkpoint of objects, by the names of the variables.

        Parameters
        ----------
        session
            The session.
        prefix
            The prefix of the checkpoint's files.
        var_list
            As for `Saver`.

        Returns
        -------
        bool
            False if it is no checkpoint of objects.

        Raises
        ------
        ValueError
            It has no value for a name.
        """
        message = read_object_graph(CheckpointReader(prefix))
        if message is None:
            return False
        chosen = var_list
        if chosen is None:
            chosen = session.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        items = save_items(chosen)
        keys = keys_by_name(message)
        missing = sorted({item.key for item in items} - set(keys))
        if missing:
            raise ValueError(
                "Attempting to load an object-based checkpoint using variable names, but could not "
                f"find {len(missing)} variables in the checkpoint: {', '.join(missing)}"
            )
        found = [dataclasses.replace(item, key=keys[item.key]) for item in items]
        self.restore(session, prefix, found)
        return True


def _check_graph(items: Sequence[SaveItem], graph: Graph) -> None:
    for item in items:
        if item.variable.graph is not graph:
            raise ValueError(f"the variable {item.variable.name!r} is not in the session's graph")
