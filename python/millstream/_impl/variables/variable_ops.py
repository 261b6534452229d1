"""Functions on variables and their collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import ITEMS, TENSOR, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor, holds_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.graph.variable_tensor import VariableTensor, on_device_of
from millstream._impl.ops import control_ops
from millstream._impl.ops.slicing import VariableSlice
from millstream._impl.values import dtypes, values
from millstream._impl.values.tensor_shape import as_shape
from millstream._impl.variables.variables import Variable


def _checked(value: Any, name: str) -> Variable:
    found = value.graph.variable_of(value) if isinstance(value, VariableTensor) else value
    if not isinstance(found, Variable):
        raise TypeError(f"{name}: expected a variable, got {value!r}")
    return found


def variable_to_change(ref: Any) -> tuple[Variable, list[Tensor]]:
    """The variable to change, and what runs before the change.

    The value that an assignment gave stands for its variable, after that assignment.
    """
    if isinstance(ref, Tensor):
        variable = ref.graph.variable_written(ref)
        if variable is not None:
            return variable, [ref]
    return _checked(ref, "ref"), []


@public("assign")
@takes(value=TENSOR)
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
        The variable, or what an assignment to it returned, which then runs before; or a slice of
        the variable (``v[1:]``), which alone changes.
    value
        The new value, of its shape and dtype.
    validate_shape
        Whether the value must have its shape. When False, a value that may have another makes the
        static shape of the variable and of what was read from it unknown.
    use_locking
        Not used.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write; whatever runs it has written.

    Raises
    ------
    TypeError
        `ref` is no variable, or the value cannot have its dtype.
    ValueError
        The shapes contradict.
    FailedPreconditionError
        They may, with ``validate_shape=False``, but a step has used the variable with its shape.

    Examples
    --------
    >>> v = tf.Variable([1, 2])
    >>> tf.assign(v, [3, 4]).eval().tolist()
    [3, 4]
    """
    if isinstance(ref, VariableSlice):
        written: Tensor = ref.assign(value, name)
        return written
    variable, before = variable_to_change(ref)
    unchecked = validate_shape is not None and not validate_shape
    if unchecked and _may_have_another_shape(value, variable):
        variable.graph.forget_variable_shape(variable.handle)
    with variable.graph.control_dependencies(before):
        found: Tensor = variable.assign(value, name=name)
    return found


def _may_have_another_shape(value: Any, variable: Variable) -> bool:
    own = variable.shape
    if own.ndims is None:
        return False
    if not isinstance(value, TensorLike):
        if holds_tensor(value):
            return True
        value = values.to_array(value, variable.dtype)
    return not own.is_fully_defined() or own != as_shape(value.shape)


def _update(
    method: Callable[..., Tensor], public_name: str, what: str, outcome: str
) -> Callable[..., Tensor]:
    @takes(value=TENSOR)
    def update(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
        variable, before = variable_to_change(ref)
        with variable.graph.control_dependencies(before):
            return method(variable, value, name=name)

    update.__doc__ = f"""{what} the value of a variable.

    Parameters
    ----------
    ref
        The variable, or what an assignment to it returned, which then runs before.
    value
        A value of its shape and dtype.
    use_locking
        Not used.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        The value after the write; whatever runs it has written.

    Raises
    ------
    TypeError
        `ref` is no variable, or the value cannot have its dtype.
    ValueError
        The shapes contradict.

    Examples
    --------
    >>> v = tf.Variable([1, 2])
    >>> v.initializer.run()
    >>> tf.{public_name}(v, [10, 10]).eval().tolist()
    {outcome}
    """
    update.__name__ = update.__qualname__ = public_name
    return update


assign_add = public("assign_add")(_update(Variable.assign_add, "assign_add", "Add to", "[11, 12]"))
assign_sub = public("assign_sub")(
    _update(Variable.assign_sub, "assign_sub", "Subtract from", "[-9, -8]")
)


def _collection(key: str, public_name: str, which: str) -> Callable[..., list[Any]]:
    @takes(scope=TEXT)
    def variables(scope: str | None = None) -> list[Any]:
        return get_default_graph().get_collection(key, scope)

    variables.__doc__ = f"""The variables of the default graph{which}.

    Parameters
    ----------
    scope
        A regular expression that their names start with, or None for all.

    Returns
    -------
    list
        Variables in the order in which they were made.

    Examples
    --------
    >>> v = tf.Variable(1.0, name="part/v", collections=["{key}"])
    >>> tf.{public_name}("part/") == [v]
    True
    """
    variables.__name__ = variables.__qualname__ = public_name
    return variables


global_variables = public("global_variables")(
    _collection(GraphKeys.GLOBAL_VARIABLES, "global_variables", "")
)
local_variables = public("local_variables")(
    _collection(
        GraphKeys.LOCAL_VARIABLES,
        "local_variables",
        " that belong to one process, such as counters",
    )
)
trainable_variables = public("trainable_variables")(
    _collection(GraphKeys.TRAINABLE_VARIABLES, "trainable_variables", " that optimizers change")
)
model_variables = public("model_variables")(
    _collection(GraphKeys.MODEL_VARIABLES, "model_variables", " that inference needs")
)
moving_average_variables = public("moving_average_variables")(
    _collection(
        GraphKeys.MOVING_AVERAGE_VARIABLES, "moving_average_variables", " that have moving averages"
    )
)


@public("variables_initializer", "initializers.variables")
@takes(var_list=ITEMS)
def variables_initializer(var_list: Iterable[Any] | None, name: str = "init") -> Operation:
    """An operation that initializes variables.

    Parameters
    ----------
    var_list
        The variables.
    name
        Name of the operation.

    Raises
    ------
    TypeError
        Something else is among them.

    Examples
    --------
    >>> v = tf.Variable(3)
    >>> tf.variables_initializer([v]).run()
    >>> int(v.eval())
    3
    """
    chosen = [_checked(variable, "var_list") for variable in var_list or ()]
    return control_ops.group(*[variable.initializer for variable in chosen], name=name)


@public("global_variables_initializer", "initializers.global_variables")
def global_variables_initializer() -> Operation:
    """An operation that initializes the variables of the default graph.

    Examples
    --------
    >>> v = tf.Variable([1.0, 2.0])
    >>> tf.global_variables_initializer().run()
    >>> v.eval()
    array([1., 2.], dtype=float32)
    """
    return variables_initializer(global_variables())


@public("local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Operation:
    """An operation that initializes the local variables of the default graph.

    Examples
    --------
    >>> seen = tf.get_local_variable("seen", initializer=0)
    >>> tf.local_variables_initializer().run()
    >>> int(seen.eval())
    0
    """
    return variables_initializer(local_variables())


@public("tables_initializer", "initializers.tables_initializer")
@takes()
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initializes the tables of the default graph.

    Parameters
    ----------
    name
        Name of the operation.

    Examples
    --------
    >>> tf.tables_initializer().run()
    """
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return control_ops.group(*tables, name=name)


@public("is_variable_initialized")
def is_variable_initialized(variable: Any) -> Tensor:
    """Whether a variable has a value, as a scalar tensor of bool.

    Parameters
    ----------
    variable
        The variable.

    Raises
    ------
    TypeError
        It is none.

    Examples
    --------
    >>> bool(tf.is_variable_initialized(tf.Variable(1.0)).eval())
    False
    """
    handle = _checked(variable, "variable").handle
    with on_device_of(handle):
        return gen_ops.var_is_initialized_op(handle)


@public("assert_variables_initialized")
@takes(var_list=ITEMS)
def assert_variables_initialized(var_list: Iterable[Any] | None = None) -> Operation | None:
    """An operation that fails with FailedPreconditionError when a variable has no value.

    Parameters
    ----------
    var_list
        The variables, by default all of the default graph, local ones among them.

    Returns
    -------
    Operation
        The operation, or None when there are no variables.

    Raises
    ------
    TypeError
        Something else is among them.

    Examples
    --------
    >>> v = tf.Variable(1.0)
    >>> v.initializer.run()
    >>> tf.assert_variables_initialized([v]).run()
    """
    chosen = _all_variables() if var_list is None else var_list
    reads = [_checked(variable, "var_list").value() for variable in chosen]
    return control_ops.group(*reads) if reads else None


def _all_variables() -> list[Any]:
    return [*global_variables(), *local_variables()]


@public("report_uninitialized_variables")
@takes(var_list=ITEMS)
def report_uninitialized_variables(
    var_list: Iterable[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of those variables that have no value, as a vector of strings.

    Parameters
    ----------
    var_list
        The variables, by default all of the default graph, local ones among them.
    name
        Name of the result.

    Raises
    ------
    TypeError
        Something else is among them.

    Examples
    --------
    >>> first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second")
    >>> first.initializer.run()
    >>> tf.report_uninitialized_variables([first, second]).eval().tolist()
    [b'second']
    """
    given = _all_variables() if var_list is None else var_list
    chosen = [_checked(variable, "var_list") for variable in given]
    with get_default_graph().name_scope(name):
        names = convert_to_tensor([variable.op.name for variable in chosen], dtypes.string)
        if not chosen:
            return names
        known = gen_ops.pack([is_variable_initialized(variable) for variable in chosen])
        # Part 0: those that have none.
        return gen_ops.dynamic_partition(names, gen_ops.cast(known, dtypes.int32), 2)[0]


# The papers' and first releases' names.
all_variables = public("all_variables")(global_variables)
initialize_all_tables = public("initialize_all_tables")(tables_initializer)
initialize_all_variables = public("initialize_all_variables")(global_variables_initializer)
initialize_local_variables = public("initialize_local_variables")(local_variables_initializer)
initialize_variables = public("initialize_variables")(variables_initializer)
