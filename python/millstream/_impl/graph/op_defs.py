"""Definitions of the registered ops, as messages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from millstream import _runtime
from millstream._impl import protos


@cache
def _op_defs() -> dict[str, Any]:
    listed = protos.message_class("OpList").FromString(_runtime.op_list())
    return {op.name: op for op in listed.op}


def all_ops() -> list[Any]:
    """The ``OpDef`` of every op that is registered."""
    return list(_op_defs().values())


def op_def(name: str) -> Any:
    """The ``OpDef`` of an op; KeyError when none of that name is registered."""
    return _op_defs()[name]


def input_counts(name: str, attrs: Mapping[str, Any], total: int) -> list[int]:
    """How many tensors each argument of an op gets, of `total` in all.

    Parameters
    ----------
    name
        The op; one that is not registered has no arguments.
    attrs
        ``AttrValue`` messages by name. An argument whose attribute is not among them gets what the
        others leave.
    total
        How many tensors there are.
    """
    if name not in _op_defs():
        return []
    counts: list[int | None] = []
    for argument in op_def(name).input_arg:
        deciding = argument.number_attr or argument.type_list_attr
        if not deciding:
            counts.append(1)
        elif deciding not in attrs:
            counts.append(None)
        else:
            value = attrs[deciding]
            counts.append(int(value.i) if argument.number_attr else len(value.list.type))
    left = max(total - sum(count or 0 for count in counts), 0)
    found = [left if count is None else count for count in counts]
    return found if sum(found) == total else [*found[:-1], max(total - sum(found[:-1]), 0)]


def forget() -> None:
    """Let the definitions be listed anew: a plugin may have brought some."""
    _op_defs.cache_clear()
