"""Layers that share no variables by names: each makes its own, in a scope of operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.values import dtypes
from millstream._impl.variables.initializers import GlorotUniform, Zeros
from millstream._impl.variables.variables import Variable


class _State:
    """Whether layers that are made have the style."""

    is_on = False


def is_on() -> bool:
    """Whether a layer that is made now has the style."""
    return _State.is_on


@public("layers.experimental.keras_style_scope")
@contextmanager
def keras_style_scope() -> Iterator[None]:
    """A block in which layers and recurrent cells that are made share no variables by names.

    A layer outside of it takes its variables from a variable scope: layers of one name with
    ``reuse`` have the same ones. In the block a layer makes variables of its own, whose names are
    those of operations, unique in the graph; `scope` and `reuse` are errors. To use variables
    again, call the layer object again.

    Examples
    --------
    >>> with tf.layers.experimental.keras_style_scope():
    ...     first, second = tf.layers.Dense(2, name="d"), tf.layers.Dense(2, name="d")
    >>> first(tf.zeros([1, 3])), second(tf.zeros([1, 3]))  # doctest: +ELLIPSIS
    (<tf.Tensor ...>, <tf.Tensor ...>)
    >>> first.kernel is second.kernel
    False
    """
    before, _State.is_on = _State.is_on, True
    try:
        yield
    finally:
        _State.is_on = before


@public("layers.experimental.set_keras_style")
def set_keras_style() -> None:
    """Let all layers that are made from now on be as in a `keras_style_scope`.

    Examples
    --------
    >>> tf.layers.experimental.set_keras_style()  # doctest: +SKIP
    """
    _State.is_on = True


def refuse_sharing(scope: Any, reuse: Any) -> None:
    """Raise ValueError for an argument that shares variables by names."""
    for name, value in (("scope", scope), ("reuse", reuse)):
        if value is not None:
            raise ValueError(
                f"`{name}` argument not allowed when keras style layers are enabled, but saw: "
                f"{value}"
            )


def last_name(variable: Variable) -> str:
    """The name of a variable in its layer."""
    return str(variable.op.name).rpartition("/")[2]


def new_variable(
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    regularizer: Any,
    *,
    trainable: bool,
    constraint: Any,
    partitioner: Any,
) -> Variable:
    """A variable that no other layer has; see `get_variable` for the arguments.

    The loss of a regularizer joins the collection of such losses.
    """
    if partitioner is not None:
        raise ValueError(
            "partitioner: variables of layers of this style have one part, got a partitioner"
        )
    kind = dtypes.as_dtype(dtypes.float32 if dtype is None else dtype)
    if initializer is None:
        initializer = GlorotUniform() if kind.is_floating else Zeros()
    elif isinstance(initializer, type):
        initializer = initializer()
    variable = Variable(
        lambda: initializer(shape, dtype=kind),
        trainable=trainable,
        name=name,
        dtype=kind,
        constraint=constraint,
    )
    if regularizer is not None:
        with scopes.name_scope(f"{name}/Regularizer"):
            get_default_graph().add_to_collection(
                GraphKeys.REGULARIZATION_LOSSES, regularizer(variable)
            )
    return variable
