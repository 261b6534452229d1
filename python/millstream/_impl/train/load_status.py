"""What a restored `Checkpoint` gives: which objects have values, and how they take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._impl.train.checkpoint_nodes import CheckpointNodes, session_or_default
from millstream._impl.train.checkpoint_reader import CheckpointReader
from millstream._impl.train.object_graph import (
    GRAPH_KEY,
    Match,
    full_name,
    items_of,
    read_object_graph,
)
from millstream._impl.train.restore_report import RestoreReport
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.variables import Variable

_NOTHING = "No checkpoint specified (save_path=None); nothing is being restored."


class LoadStatus:
    """A checkpoint and the objects that take its values.

    Objects are matched when a method is called, so that variables that were made after
    ``restore()`` take their values too.

    Parameters
    ----------
    root
        The object that was restored.
    prefix
        The prefix of the checkpoint's files.
    nodes
        Where nodes are made.

    Raises
    ------
    NotFoundError
        There is no such checkpoint.
    DataLossError
        A file is damaged.
    """

    def __init__(self, root: Any, prefix: str, nodes: CheckpointNodes) -> None:
        self._root = root
        self._reader = CheckpointReader(prefix)
        self._message = read_object_graph(self._reader)
        self._nodes = nodes

    # ---- What matched ----

    def _matched(self) -> tuple[list[tuple[Any, str | None]], Mapping[str, str]]:
        """All variables, each with its key or None, and the keys that none has."""
        graph = self._root._objects()
        if self._message is None:
            names = self._reader.get_variable_to_shape_map()
            found = [
                (variable, full_name(variable) if full_name(variable) in names else None)
                for _, variable in graph.variables()
            ]
            used = {key for _, key in found}
            return found, {name: name for name in names if name not in used}
        match = Match(graph, self._message)
        keys = match.keys()
        return [(each, keys.get(number)) for number, each in graph.variables()], match.unused()

    def report(self) -> RestoreReport:
        """What matched, as it is now.

        Returns
        -------
        RestoreReport
            Its ``str()`` is a text for people.
        """
        variables, unused = self._matched()
        reasons = {
            full_name(variable): self._reader.why_not(variable, key)
            for variable, key in variables
            if key is not None
        }
        return RestoreReport(
            {
                full_name(each): key
                for each, key in variables
                if key and not reasons[full_name(each)]
            },
            [full_name(each) for each, key in variables if key is None and not self._is_own(each)],
            {name: why for name, why in reasons.items() if why},
            sorted(key for key in unused if key != GRAPH_KEY),
        )

    def _is_own(self, variable: Any) -> bool:
        """Whether it is the counter of saves, which a checkpoint of names has not."""
        return self._message is None and variable is getattr(self._root, "_save_counter", None)

    def assert_consumed(self) -> LoadStatus:
        """Check that each value of the checkpoint has a variable, and each variable a value.

        Raises
        ------
        AssertionError
            One has not.
        """
        self.assert_existing_objects_matched()
        _, unused = self._matched()
        left = [f"{path} ({key})" for key, path in unused.items() if key != GRAPH_KEY]
        if left:
            raise AssertionError(f"Unresolved object in checkpoint: {', '.join(left)}")
        return self

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Check that each variable that there is has a value in the checkpoint.

        Raises
        ------
        AssertionError
            One has none.
        """
        missing = self.report().missing
        if missing:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes "
                f"in the Python program: {', '.join(missing)}"
            )
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Check that at least one variable has a value in the checkpoint.

        Raises
        ------
        AssertionError
            None has.
        """
        report = self.report()
        if report.matched:
            return self
        if not report.missing:
            raise AssertionError(f"Nothing to match. {self._root!r} leads to no variables yet.")
        raise AssertionError(
            "Nothing except the root object matched a checkpointed value. Typically this means "
            "that the checkpoint does not match the Python program. The following objects have no "
            f"matching checkpointed value: {', '.join(report.missing)}"
        )

    def expect_partial(self) -> LoadStatus:
        """Say that values may be left over; nothing warns of them anyway."""
        return self

    # ---- Values ----

    def restore_states(self) -> None:
        """Give the objects whose state is a text that of the checkpoint."""
        if self._message is None:
            return
        graph = self._root._objects()
        for number, key in Match(graph, self._message).state_keys().items():
            graph.states()[number].deserialize(self._reader.get_tensor(key))

    def run_restore_ops(self, session: Any = None) -> None:
        """Give the variables their values.

        Parameters
        ----------
        session
            The session, by default the default one.

        Raises
        ------
        InvalidArgumentError
            A value has another shape or type than its variable.
        DataLossError
            A file is damaged.
        """
        self._restore(session_or_default(session), self._matched()[0])

    def _restore(self, session: Any, variables: list[tuple[Any, str | None]]) -> None:
        items = [item for each, key in variables if key for item in items_of(each, key)]
        self._nodes.restore(session, self._reader.prefix, items)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Give the variables their values, and initialize those that have none.

        Parameters
        ----------
        session
            The session, by default the default one.

        Raises
        ------
        InvalidArgumentError
            A value has another shape or type than its variable.
        DataLossError
            A file is damaged.
        """
        session = session_or_default(session)
        variables, _ = self._matched()
        self._restore(session, variables)
        session.run([op for each, key in variables if not key for op in _initializers(each)])


def _initializers(variable: Any) -> list[Any]:
    parts: list[Variable] = (
        list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    )
    return [part.initializer for part in parts]


class InitializationStatus:
    """What ``restore(None)`` gives: there is no checkpoint, so variables are initialized.

    Parameters
    ----------
    root
        The object that was restored.
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    def assert_consumed(self) -> InitializationStatus:
        """Fail, because there is no checkpoint."""
        raise AssertionError(_NOTHING)

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed

    def report(self) -> RestoreReport:
        """All variables are missing in it."""
        variables = self._root._objects().variables()
        return RestoreReport({}, [full_name(each) for _, each in variables], {}, [])

    def expect_partial(self) -> InitializationStatus:
        """Say that values may be left over."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Fail, because there is no checkpoint."""
        raise AssertionError(_NOTHING)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialize the variables.

        Parameters
        ----------
        session
            The session, by default the default one.
        """
        session = session_or_default(session)
        variables = self._root._objects().variables()
        session.run([op for _, each in variables for op in _initializers(each)])
