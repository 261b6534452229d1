"""What programs know besides `get_variable` and `variable_scope`: the same in other forms."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, FUNCTION, INITIALIZER, LIST, SHAPE, takes
from millstream._impl.variables.variable_kinds import VariableAggregation, VariableSynchronization
from millstream._impl.variables.variable_scope import get_variable, variable_scope


@public("get_local_variable")
@takes(
    shape=SHAPE,
    dtype=DTYPE,
    initializer=INITIALIZER,
    regularizer=FUNCTION,
    collections=LIST,
    custom_getter=FUNCTION,
    constraint=FUNCTION,
)
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """A variable of the collection of local ones, which is not trained.

    Parameters
    ----------
    name, shape, dtype, initializer, regularizer, caching_device, partitioner, validate_shape
        As for `get_variable`.
    use_resource, custom_getter, constraint, synchronization, aggregation
        As for `get_variable`.
    trainable
        Not used: it is False.
    collections
        Further collections to join.

    Examples
    --------
    >>> seen = tf.get_local_variable("seen", initializer=0)
    >>> tf.local_variables() == [seen]
    True
    """
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        False,
        [*(collections or []), GraphKeys.LOCAL_VARIABLES],
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
        synchronization,
        aggregation,
    )


@public("variable_op_scope")
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> variable_scope:
    """A `variable_scope` with its parameters in another order.

    Parameters
    ----------
    values
        Tensors in whose graph the scope is entered.
    name_or_scope, default_name, initializer, regularizer, caching_device, partitioner
        As for `variable_scope`.
    custom_getter, reuse, dtype, use_resource, constraint
        As for `variable_scope`.

    Examples
    --------
    >>> with tf.variable_op_scope([tf.constant(1.0)], "layer") as scope:
    ...     scope.name
    'layer'
    """
    return variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    )
