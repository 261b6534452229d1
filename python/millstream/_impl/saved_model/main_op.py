"""What a loaded model runs first."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.ops.control_ops import group
from millstream._impl.variables.variable_ops import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)


@public("saved_model.main_op.main_op")
def main_op() -> Any:
    """An operation that initializes all variables and all tables.

    Returns
    -------
    Operation

    Examples
    --------
    >>> v = tf.Variable(3.0)
    >>> tf.get_default_session().run(tf.saved_model.main_op.main_op())
    >>> float(v.eval())
    3.0
    """
    return group(
        global_variables_initializer(), local_variables_initializer(), tables_initializer()
    )


@public("saved_model.main_op.main_op_with_restore", "saved_model.main_op_with_restore")
def main_op_with_restore(restore_op_name: Any) -> Any:
    """As `main_op`; behind it an operation restores variables.

    Parameters
    ----------
    restore_op_name
        That operation, or its name.

    Returns
    -------
    Operation

    Examples
    --------
    >>> v = tf.Variable(3.0)
    >>> restore = v.assign(5.0).op
    >>> tf.get_default_session().run(tf.saved_model.main_op_with_restore(restore.name))
    >>> float(v.eval())
    5.0
    """
    graph = get_default_graph()
    restore = restore_op_name
    if isinstance(restore_op_name, str):
        restore = graph.as_graph_element(restore_op_name)
    elif not hasattr(restore_op_name, "name"):
        raise TypeError(f"restore_op_name: expected an operation's name, got {restore_op_name!r}")
    first = main_op()
    operation = getattr(restore, "op", restore)
    operation._add_control_input(first)
    return group(first, restore)
