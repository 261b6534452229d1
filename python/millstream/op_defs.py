"""Definitions of the registered ops, as messages."""

from __future__ import annotations

from functools import cache
from typing import Any

from millstream import _runtime, protos


@cache
def _op_defs() -> dict[str, Any]:
    listed = protos.message_class("OpList").FromString(_runtime.op_list())
    return {op.name: op for op in listed.op}


def op_def(name: str) -> Any:
    """The ``OpDef`` of an op; KeyError when none of that name is registered."""
    return _op_defs()[name]


def forget() -> None:
    """Let the definitions be listed anew: a plugin may have brought some."""
    _op_defs.cache_clear()
