"""Functions on variables and their collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream.gen_ops as gen_ops
from millstream import control_ops
from millstream.default_graph import get_default_graph
from millstream.graph_keys import GraphKeys
from millstream.operation import Operation, Tensor
from millstream.variables import Variable

__all__ = [
    "all_variables",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "trainable_variables",
    "variables_initializer",
]


def _checked(ref: Any) -> Variable:
    if not isinstance(ref, Variable):
        raise TypeError(f"ref: expected a variable, got {ref!r}")
    return ref


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Replace the value of a variable.

    Parameters
    ----------
    ref
        The variable.
    value
        The new value.
    validate_shape, use_locking
        Not used.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write.
    """
    found: Tensor = _checked(ref).assign(value, name=name)
    return found


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
    """Add to the value of a variable.

    Parameters
    ----------
    ref
        The variable.
    value
        What to add.
    use_locking
        Not used.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write.
    """
    found: Tensor = _checked(ref).assign_add(value, name=name)
    return found


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
    """Subtract from the value of a variable.

    Parameters
    ----------
    ref
        The variable.
    value
        What to subtract.
    use_locking
        Not used.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write.
    """
    found: Tensor = _checked(ref).assign_sub(value, name=name)
    return found


def global_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph.

    Parameters
    ----------
    scope
        A regular expression that their names start with.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that belong to one process, such as counters.

    Parameters
    ----------
    scope
        A regular expression that their names start with.
    """
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that optimizers change.

    Parameters
    ----------
    scope
        A regular expression that their names start with.
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that inference needs.

    Parameters
    ----------
    scope
        A regular expression that their names start with.
    """
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that have moving averages.

    Parameters
    ----------
    scope
        A regular expression that their names start with.
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Any] | None, name: str = "init") -> Operation:
    """An operation that initializes variables.

    Parameters
    ----------
    var_list
        The variables.
    name
        Name of the operation.
    """
    return control_ops.group(*[variable.initializer for variable in var_list or ()], name=name)


def global_variables_initializer() -> Operation:
    """An operation that initializes the variables of the default graph.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable([1.0, 2.0])
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run(v))
    [1. 2.]
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An operation that initializes the local variables of the default graph."""
    return variables_initializer(local_variables())


def is_variable_initialized(variable: Any) -> Tensor:
    """Whether a variable has a value, as a scalar tensor of bool.

    Parameters
    ----------
    variable
        The variable.
    """
    return gen_ops.var_is_initialized_op(_checked(variable).handle)


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Operation:
    """An operation that fails when a variable has no value.

    Parameters
    ----------
    var_list
        The variables, by default all of the default graph.
    """
    chosen = global_variables() if var_list is None else var_list
    return control_ops.group(*[variable.value() for variable in chosen])


# The papers' and first releases' names.
all_variables = global_variables
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer
initialize_variables = variables_initializer
