"""The counter of training steps."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import GRAPH, TENSOR, Kind, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.array_creation import zeros
from millstream._impl.values import dtypes
from millstream._impl.variables.variable_scope import names_scope
from millstream._impl.variables.variables import Variable

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

_LOG = logging.getLogger("millstream")
_TENSOR = "global_step:0"  # the name of the counter where no collection tells
_SESSION = Kind("a tf.Session", lambda value: hasattr(value, "run"))


@public("train.get_global_step")
@takes(graph=GRAPH)
def get_global_step(graph: Graph | None = None) -> Any:
    """The counter of a graph, or None.

    It is what the collection for it has, or else the variable or tensor named "global_step".

    Parameters
    ----------
    graph
        The graph, by default the default one.

    Returns
    -------
    Variable, Tensor or None
        None also if the collection has several, which is logged as an error.

    Raises
    ------
    TypeError
        What stands there is no integer scalar.

    Examples
    --------
    >>> tf.train.get_global_step() is None
    True
    >>> tf.train.create_global_step() is tf.train.get_global_step()
    True
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP) or _by_name(graph)
    if not found:
        return None
    if len(found) > 1:
        _LOG.error("Multiple tensors in global_step collection.")
        return None
    assert_global_step(found[0])
    return found[0]


def _by_name(graph: Graph) -> list[Any]:
    """The variable "global_step", or the tensor of that name."""
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    named = [variable for variable in variables if variable.name == _TENSOR]
    if named:
        return named[:1]
    try:
        return [graph.get_tensor_by_name(_TENSOR)]
    except KeyError:
        return []


@public("train.create_global_step")
@takes(graph=GRAPH)
def create_global_step(graph: Graph | None = None) -> Variable:
    """Make the counter of a graph, an int64 variable.

    Parameters
    ----------
    graph
        The graph, by default the default one.

    Raises
    ------
    ValueError
        There is one.

    Examples
    --------
    >>> tf.train.create_global_step()
    <tf.Variable 'global_step:0' shape=() dtype=int64>
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.enter_scope(names_scope()):
        return Variable(
            lambda: zeros([], dtypes.int64),
            trainable=False,
            name="global_step",
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@public("train.get_or_create_global_step")
@takes(graph=GRAPH)
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The counter of a graph, made if there is none.

    Parameters
    ----------
    graph
        The graph, by default the default one.

    Examples
    --------
    >>> tf.train.get_or_create_global_step() is tf.train.get_or_create_global_step()
    True
    """
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@public("train.global_step")
@takes(sess=_SESSION, global_step_tensor=TENSOR)
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number that a counter has in a session.

    Parameters
    ----------
    sess
        The session, which may be a monitored one.
    global_step_tensor
        The counter.

    Examples
    --------
    >>> counter = tf.train.create_global_step()
    >>> counter.initializer.run()
    >>> tf.train.global_step(tf.get_default_session(), counter)
    0
    """
    return int(sess.run(global_step_tensor))


@public("train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Raise TypeError unless a tensor or variable is an integer scalar.

    Parameters
    ----------
    global_step_tensor
        The tensor or variable.

    Examples
    --------
    >>> tf.train.assert_global_step(tf.Variable(0, trainable=False))
    """
    if not isinstance(global_step_tensor, TensorLike):
        raise TypeError(f"global_step_tensor: expected a variable, got {global_step_tensor!r}")
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            f"global_step_tensor: expected integers, got {global_step_tensor.dtype.name}"
        )
    if global_step_tensor.shape.ndims not in (0, None):
        raise TypeError(f"global_step_tensor: expected a scalar, got {global_step_tensor!r}")
