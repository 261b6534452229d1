"""The public functions and classes, for the tests that go through all of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import millstream as tf

# Modules that are no part of the API, which tools use, and one whose functions are generated.
_OF_TOOLS = (tf.plugins, tf.protos, tf.raw_ops, tf.timeline)


def public_modules() -> list[ModuleType]:
    """The package and the public modules in it."""
    inner = (getattr(tf, name) for name in tf.__all__)
    return [tf, *(one for one in inner if inspect.ismodule(one) and one not in _OF_TOOLS)]


def public_callables() -> Iterator[tuple[str, Any]]:
    """Functions and classes of the public modules, each under its first name."""
    seen = set()
    for module in public_modules():
        for name in module.__all__:
            getattr(module, name)  # some are imported when they are first used
        for name, value in sorted(vars(module).items()):
            is_kind = inspect.isfunction(value) or inspect.isclass(value)
            if name.startswith("_") or not is_kind or id(value) in seen:
                continue
            if not hasattr(value, "DESCRIPTOR"):  # message classes say what their fields are
                seen.add(id(value))
                yield f"{module.__name__}.{name}", value
