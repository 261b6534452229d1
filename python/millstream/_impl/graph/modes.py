"""Switches of programs that run under several versions of the API.

Millstream has graphs and resource variables only: what asks for those does nothing, what asks for
anything else is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millstream._impl.base.public import public
from millstream._impl.graph.default_graph import get_default_graph

# What graphs declare that programs of 1.15 wrote, and what may be declared.
GRAPH_DEF_VERSION = public("GRAPH_DEF_VERSION", "version.GRAPH_DEF_VERSION")(134)
GRAPH_DEF_VERSION_MIN_CONSUMER = public(
    "GRAPH_DEF_VERSION_MIN_CONSUMER", "version.GRAPH_DEF_VERSION_MIN_CONSUMER"
)(0)
GRAPH_DEF_VERSION_MIN_PRODUCER = public(
    "GRAPH_DEF_VERSION_MIN_PRODUCER", "version.GRAPH_DEF_VERSION_MIN_PRODUCER"
)(0)

_control_flow_v2 = [False]


@public("executing_eagerly")
def executing_eagerly() -> bool:
    """Whether operations run when they are called: never.

    Examples
    --------
    >>> tf.executing_eagerly()
    False
    """
    return False


@public("disable_eager_execution")
def disable_eager_execution() -> None:
    """Do nothing: operations run in sessions.

    Examples
    --------
    >>> tf.disable_eager_execution()
    """


@public("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Do nothing: there is no other behavior than that of graphs.

    Examples
    --------
    >>> tf.disable_v2_behavior()
    """


@public("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Do nothing: the dimensions of a shape are `Dimension` objects.

    Examples
    --------
    >>> tf.disable_v2_tensorshape()
    >>> tf.TensorShape([2])[0]
    Dimension(2)
    """


@public("enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Make ``If`` and ``While`` nodes of conditionals and loops from now on.

    Their parts are functions of the graph's library. Both forms run alike.

    Examples
    --------
    >>> tf.enable_control_flow_v2()
    >>> chosen = tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
    >>> tf.disable_control_flow_v2()
    >>> [node.op for node in tf.get_default_graph().as_graph_def().node]
    ['Const', 'Identity', 'StatelessIf']
    >>> int(chosen.eval())
    1
    """
    _control_flow_v2[0] = True


@public("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Make Switches, Merges and frames of conditionals and loops from now on, as by default.

    Examples
    --------
    >>> tf.disable_control_flow_v2()
    """
    _control_flow_v2[0] = False


@public("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Whether conditionals and loops become ``If`` and ``While`` nodes.

    Examples
    --------
    >>> tf.control_flow_v2_enabled()
    False
    """
    return _control_flow_v2[0]


@public("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Do nothing: ``==`` of tensors is whether they are one object.

    Examples
    --------
    >>> tf.disable_tensor_equality()
    >>> tf.constant(1) == tf.constant(1)
    False
    """


@public("enable_resource_variables")
def enable_resource_variables() -> None:
    """Do nothing: every variable is a resource.

    Examples
    --------
    >>> tf.enable_resource_variables()
    """


@public("disable_resource_variables")
def disable_resource_variables() -> None:
    """Do nothing: every variable stays a resource.

    Examples
    --------
    >>> tf.disable_resource_variables()
    >>> tf.resource_variables_enabled()
    True
    """


@public("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Whether variables are resources: all are.

    Examples
    --------
    >>> tf.resource_variables_enabled()
    True
    """
    return True


@public("init_scope")
@contextmanager
def init_scope() -> Iterator[None]:
    """Within the block, new operations wait for no control input.

    Examples
    --------
    >>> with tf.control_dependencies([tf.no_op()]), tf.init_scope():
    ...     tf.constant(1).op.control_inputs
    []
    """
    with get_default_graph().control_dependencies(None):
        yield
