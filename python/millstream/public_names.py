"""The public functions and classes, for the tests that go through all of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import millstream as tf

# Where users look for names; nested modules are listed by themselves.
PUBLIC = [
    tf,
    tf.app,
    tf.compat,
    tf.debugging,
    tf.errors,
    tf.flags,
    tf.initializers,
    tf.logging,
    tf.math,
    tf.nn,
    tf.random,
    tf.summary,
    tf.train,
    tf.version,
]


def public_callables() -> Iterator[tuple[str, Any]]:
    """Functions and classes of the public modules, each under its first name."""
    seen = set()
    for module in PUBLIC:
        for name, value in sorted(vars(module).items()):
            own = str(getattr(value, "__module__", "")).startswith("millstream")
            own = own and value.__module__ != "millstream._impl.graph.arguments"
            is_kind = inspect.isfunction(value) or inspect.isclass(value)
            if name.startswith("_") or not own or not is_kind or id(value) in seen:
                continue
            if not hasattr(value, "DESCRIPTOR"):  # message classes say what their fields are
                seen.add(id(value))
                yield f"{module.__name__}.{name}", value
