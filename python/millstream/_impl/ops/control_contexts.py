"""Conditionals and loops as messages, by which readers of a graph know what belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from millstream._impl import protos
from millstream._impl.base.graph_keys import GraphKeys

if TYPE_CHECKING:
    from millstream._impl.ops.branches import CondBranch, Enclosure, LoopFrame

# Fields of both messages with names of tensors and operations.
_NAMES = ("context_name", "pred_name", "pivot_name", "pivot_for_pred_name", "pivot_for_body_name")
_LISTS = ("loop_exit_names", "loop_enter_names")


def cond_to_proto(branch: CondBranch, export_scope: str | None) -> Any:
    """The ``CondContextDef`` of a branch; None when it is not in `export_scope`."""
    message = protos.message_class("CondContextDef")()
    message.context_name = branch.name
    message.pred_name = branch.pred.name
    assert branch.pivot is not None
    message.pivot_name = branch.pivot.name
    message.branch = int(branch.taken)
    _add_values(message, branch, [branch.pred.name, branch.pivot.name])
    # The predicate is not of the branch.
    message.values_def.external_values[branch.pred.name] = branch.pred.name
    _add_nested(message, branch)
    return _without_scope(message, export_scope)


def loop_to_proto(frame: LoopFrame, export_scope: str | None) -> Any:
    """The ``WhileContextDef`` of a loop; None when it is not in `export_scope`."""
    message = protos.message_class("WhileContextDef")()
    message.context_name = frame.name
    message.parallel_iterations = frame.parallel_iterations
    message.back_prop = frame.back_prop
    merged, condition, current = frame.pivots
    message.pivot_name = condition.name
    message.pivot_for_pred_name = merged.name
    message.pivot_for_body_name = current.name
    exits = [tensor.name for tensor in frame.exits]
    message.loop_exit_names.extend(exits)
    message.loop_enter_names.extend(tensor.name for tensor in frame.enters)
    _add_values(message, frame, exits)
    _add_nested(message, frame)
    return _without_scope(message, export_scope)


def _add_values(message: Any, part: Enclosure, more: Iterable[str]) -> None:
    """The names of what is in a part and not in parts of it, and of what it takes from outside."""
    entered = part.entered()
    names = {*more, *(outside.name for outside in entered)}
    for operation in part.operations():
        names.update(tensor.name for tensor in operation.outputs)
        if not operation.outputs:
            names.add(operation.name)
    message.values_def.values.extend(sorted(names))
    for outside, inside in entered.items():
        message.values_def.external_values[outside.name] = inside.name


def _add_nested(message: Any, part: Enclosure) -> None:
    for inner in part.nested:
        inner.add_to(message.nested_contexts.add())


def _without_scope(message: Any, scope: str | None) -> Any:
    if not scope:
        return message
    start = f"{scope}/"
    if not message.context_name.startswith(start):
        return None
    return _renamed(message, lambda name: name.removeprefix(start))


def _renamed(message: Any, rename: Callable[[str], str]) -> Any:
    """A copy with other names."""
    made = type(message)()
    made.CopyFrom(message)
    _rename(made, rename)
    return made


def _rename(message: Any, rename: Callable[[str], str]) -> None:
    for field in _NAMES:
        if getattr(message, field, ""):
            setattr(message, field, rename(getattr(message, field)))
    for field in _LISTS:
        _rename_all(getattr(message, field, None), rename)
    values = message.values_def
    _rename_all(values.values, rename)
    external = {rename(key): rename(name) for key, name in values.external_values.items()}
    values.external_values.clear()
    for key, name in external.items():
        values.external_values[key] = name
    for nested in message.nested_contexts:
        _rename(getattr(nested, nested.WhichOneof("ctxt")), rename)


def _rename_all(names: Any, rename: Callable[[str], str]) -> None:
    if names:
        renamed = [rename(name) for name in names]
        del names[:]
        names.extend(renamed)


class ImportedContext:
    """A conditional's branch or a loop of an imported graph: the message that came with it.

    Parameters
    ----------
    key
        The collection that it is in.
    data
        The message, in bytes.
    import_scope
        The scope of the imported nodes, or None.
    """

    def __init__(self, key: str, data: bytes, import_scope: str | None) -> None:
        kind = "WhileContextDef" if key == GraphKeys.WHILE_CONTEXT else "CondContextDef"
        self._message = protos.message_class(kind).FromString(data)
        if import_scope:
            # The frame of a loop keeps its name.
            own = self._message.context_name
            _rename(self._message, lambda name: f"{import_scope}/{name}")
            if key == GraphKeys.WHILE_CONTEXT:
                self._message.context_name = own

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The message; None when it is not in `export_scope`."""
        pivot = self._message.pivot_name
        if export_scope and not pivot.startswith(f"{export_scope}/"):
            return None
        start = f"{export_scope}/" if export_scope else ""
        return _renamed(self._message, lambda name: name.removeprefix(start))
