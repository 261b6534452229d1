"""Constants, and the conversion of Python values to tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph import tensor_protos
from millstream._impl.graph.arguments import DTYPE, FUNCTION, INTEGER, SHAPE, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.tensor_like import Conversion, TensorLike, conversions
from millstream._impl.values import dtypes, tensor_shape, values

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Tensor
    from millstream._impl.values.dtypes import DType

# Between these sizes, in bytes, the runtime is given a constant of one value as that value and a
# shape. A message may stand for the second size at most.
_LEAST_REPEATED = 1 << 16
_MOST_REPEATED = 1 << 31


@public("constant")
@takes(dtype=DTYPE, shape=SHAPE)
def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor with a fixed value.

    Parameters
    ----------
    value
        A number, text, nested list of them, or NumPy value.
    dtype
        Dtype; by default that of the value.
    shape
        Shape; the value's last element is repeated to fill it. By default the value's own. A shape
        without elements takes none of any value.
    name
        Name of the operation.
    verify_shape
        Refuse to repeat elements.

    Returns
    -------
    Tensor
        Its operation is a ``Const`` of the default graph.

    Raises
    ------
    TypeError
        `value` cannot have the dtype, or its shape is not the one to verify.
    ValueError
        `value` has more elements than `shape`, or no shape of its own.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.constant(0.5, shape=[2, 3]).shape.as_list()
    [2, 3]
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    array = values.to_array(value, wanted)
    if shape is not None:
        dims = tensor_shape.as_shape(shape).as_list()
        if not verify_shape and _is_repeated(array, dims):
            return _repeated_constant(array, dims, wanted, name or "Const")
        array = _filled(array, dims, verify_shape)
    return constant_of_array(get_default_graph(), array, wanted, name or "Const")


def _is_repeated(array: values.Array, dims: list[int | None]) -> bool:
    """Whether the constant is one value, so large that its elements are not written yet."""
    if array.size != 1 or array.dtype.kind == "O" or None in dims:
        return False
    total = math.prod(size or 0 for size in dims) * array.itemsize
    return _LEAST_REPEATED <= total <= _MOST_REPEATED


def _repeated_constant(
    array: values.Array, dims: list[int | None], dtype: DType | None, name: str
) -> Tensor:
    found = dtype or dtypes.as_dtype(array.dtype)
    proto = tensor_protos.make_tensor_proto(array, found, dims)
    value = protos.message_class("AttrValue")(tensor=proto).SerializeToString()
    graph = get_default_graph()
    attrs = [("value", "p", value), ("dtype", "t", found.as_datatype_enum)]
    return graph.add("Const", graph.op_name(name), (), (), attrs).outputs[0]


def _filled(array: values.Array, dims: list[int | None], verify_shape: bool) -> values.Array:
    if list(array.shape) == dims:
        return array
    if verify_shape:
        raise TypeError(f"value: expected the shape {dims}, got {list(array.shape)}")
    if None in dims:
        raise ValueError(f"shape: expected known dimensions, got {dims}")
    sizes = [size or 0 for size in dims]
    total = int(np.prod(sizes, dtype=np.int64))
    if not total:
        return np.empty(sizes, array.dtype)
    if array.size > total:
        raise ValueError(f"value: {array.size} elements do not fit the shape {dims}")
    if array.size == 0:
        raise ValueError(f"value: no elements to fill the shape {dims}")
    filled = np.empty(total, array.dtype)
    filled[: array.size] = array.reshape(-1)
    if array.size < total:
        filled[array.size :] = array.reshape(-1)[-1]
    return filled.reshape(sizes)


def constant_of_array(
    graph: Graph, array: values.Array, dtype: DType | None, name: str, controlled: bool = True
) -> Tensor:
    """A ``Const`` of the array, whose dtype is that of the array unless given."""
    if dtype is None:
        dtype = dtypes.string if array.dtype.kind == "O" else dtypes.as_dtype(array.dtype)
    wire = values.wire_value(array, dtype)
    attrs = [("value", "v", wire), ("dtype", "t", wire[0])]
    return graph.add("Const", graph.op_name(name), (), (), attrs, controlled).outputs[0]


@public("convert_to_tensor")
@takes(dtype=DTYPE, preferred_dtype=DTYPE, dtype_hint=DTYPE)
def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """The tensor that `value` is or becomes.

    Parameters
    ----------
    value
        A tensor, a variable (it is read), a Python or NumPy value, or a nested list in which
        tensors occur (it is stacked).
    dtype
        Dtype that the tensor must have, or None.
    name
        Name of the operation, if one is made, and of the value in errors.
    preferred_dtype, dtype_hint
        Dtype to try first when `dtype` is None.

    Raises
    ------
    TypeError
        A Python value cannot have the dtype.
    ValueError
        A tensor has another dtype, or the value is None.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.convert_to_tensor([1, 2], preferred_dtype=tf.float32).dtype.name
    'float32'
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    hint = dtype_hint if preferred_dtype is None else preferred_dtype
    preferred = None if hint is None else dtypes.as_dtype(hint)
    return tensor_of_argument(value, name or "value", wanted, name, preferred)


def tensor_of_argument(
    value: Any,
    argument: str,
    wanted: DType | None = None,
    name: str | None = None,
    preferred: DType | None = None,
) -> Tensor:
    """`convert_to_tensor` of the argument that errors call `argument`; for the package."""
    if isinstance(value, TensorLike):
        if wanted is not None and value.dtype.base_dtype != wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for a tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value.as_tensor()
    if conversions:
        converted = _converted(value, wanted, name, preferred)
        if converted is not None:
            return converted
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return pack_list(value, wanted, name or "packed")
    array, found = _array_of(value, wanted, preferred, argument)
    return constant_of_array(get_default_graph(), array, found, name or "Const")


def convert_argument(
    graph: Graph, value: Any, wanted: DType | None, name: str, preferred: DType | None = None
) -> Tensor:
    """The tensor in `graph` of an op's argument that is none yet.

    The constant that is made for it waits for no control input: the node that takes it does.
    """
    if conversions:
        with graph.as_default():
            converted = _converted(value, wanted, name, preferred)
        if converted is not None:
            return converted
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        with graph.as_default():
            return pack_list(value, wanted, name)
    array, found = _array_of(value, wanted, preferred)
    return constant_of_array(graph, array, found, name, controlled=False)


# No program says how these become tensors. Lists do so by themselves at this priority.
_NOT_CONVERTED = (int, float, np.generic, np.ndarray)
_PRIORITY_OF_LISTS = 100


@public("register_tensor_conversion_function")
@takes(conversion_func=FUNCTION, priority=INTEGER)
def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Say how objects of a class become tensors, wherever a tensor is wanted.

    Parameters
    ----------
    base_type
        The class, or a tuple of them.
    conversion_func
        A function ``conversion_func(value, dtype=None, name=None, as_ref=False)``. It returns a
        tensor, of the type `dtype` unless that is None, or ``NotImplemented`` to leave the value to
        the next function. TypeError or ValueError mean that the value cannot have the type.
    priority
        Functions of a smaller number are asked first, then those that were registered first.

    Raises
    ------
    TypeError
        `base_type` is no class, or one of Python's or NumPy's numbers or arrays.

    Examples
    --------
    >>> class Celsius:
    ...     def __init__(self, degrees):
    ...         self.degrees = degrees
    >>> def as_kelvin(value, dtype=None, name=None, as_ref=False):
    ...     return tf.constant(value.degrees + 273.0, dtype, name=name)
    >>> tf.register_tensor_conversion_function(Celsius, as_kelvin)
    >>> float(tf.add(Celsius(20.0), 1.0).eval())
    294.0
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(one, type) for one in types):
        raise TypeError(f"base_type must be a type or a tuple of types, got {base_type!r}")
    if any(issubclass(one, _NOT_CONVERTED) for one in types):
        raise TypeError(
            "base_type: Cannot register conversions for Python numeric types and NumPy scalars "
            f"and arrays, got {base_type!r}"
        )
    conversions.append(Conversion(int(priority), types, conversion_func))
    conversions.sort(key=lambda one: one.priority)  # stable


def _converted(
    value: Any, wanted: DType | None, name: str | None, preferred: DType | None
) -> Tensor | None:
    """The tensor that a function of the program makes of the value, if one does.

    Raises
    ------
    RuntimeError
        The function returned no tensor, or one of another type.
    """
    for priority, types, function in conversions:
        is_list = isinstance(value, (list, tuple))
        if not isinstance(value, types) or (is_list and priority >= _PRIORITY_OF_LISTS):
            continue
        made: Any = NotImplemented
        if wanted is None and preferred is not None:
            try:
                made = function(value, dtype=preferred, name=name, as_ref=False)
            except (TypeError, ValueError):
                made = NotImplemented
        if made is NotImplemented:
            made = function(value, dtype=wanted, name=name, as_ref=False)
        if made is NotImplemented:
            continue
        said = f"Conversion function {function!r} for type {types[0].__name__} returned"
        if not isinstance(made, TensorLike):
            raise RuntimeError(f"{said} non-Tensor: {made!r}")
        if wanted is not None and made.dtype.base_dtype != wanted:
            raise RuntimeError(
                f"{said} incompatible dtype: requested = {wanted.name}, actual = {made.dtype.name}"
            )
        return made.as_tensor()
    return None


def pack_list(value: Any, dtype: DType | None, name: str) -> Tensor:
    """A nested list in which tensors occur, stacked; for the package."""
    if dtype is None:
        dtype = dtype_of_tensor_in(value)
    graph = graph_of(value)
    with get_default_graph().name_scope(name) as scope:
        items = [
            pack_list(item, dtype, str(index))
            if isinstance(item, (list, tuple)) and holds_tensor(item)
            else convert_to_tensor(item, dtype, str(index))
            for index, item in enumerate(value)
        ]
        name = graph.op_name(scope or "Pack")
        return graph.add("Pack", name, items, [len(items)], [("axis", "i", 0)]).outputs[0]


def dtype_of_tensor_in(value: Any) -> DType | None:
    if isinstance(value, TensorLike):
        return value.dtype.base_dtype
    if isinstance(value, (list, tuple)):
        for item in value:
            found = dtype_of_tensor_in(item)
            if found is not None:
                return found
    return None


def _array_of(
    value: Any, wanted: DType | None, preferred: DType | None, argument: str = "value"
) -> tuple[values.Array, DType | None]:
    if wanted is None and preferred is not None:
        try:
            if values.fits(value, preferred):
                return values.to_array(value, preferred), preferred
        except (TypeError, ValueError):
            pass
    return values.to_array(value, wanted, argument), wanted


def graph_of(arguments: Sequence[Any]) -> Graph:
    """The graph of the first tensor among the arguments, else the default one.

    Raises
    ------
    ValueError
        Tensors of two graphs are among them.
    """
    graph: Graph | None = None
    first: Any = None
    for argument in arguments:
        items = argument if isinstance(argument, (list, tuple)) else (argument,)
        for item in items:
            if isinstance(item, TensorLike):
                if graph is None:
                    graph, first = item.graph, item
                elif item.graph is not graph:
                    raise ValueError(
                        f"{item!r} must be from the same graph as {first!r}.\n  hint: make both in "
                        "one `with graph.as_default()` block; a value gets from one graph to "
                        "another by session.run and a feed"
                    )
    return get_default_graph() if graph is None else graph


def holds_tensor(value: Any) -> bool:
    """Whether a tensor occurs in a nested list."""
    if isinstance(value, (list, tuple)):
        return any(holds_tensor(item) for item in value)
    return isinstance(value, TensorLike)


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor that is the same in every step, or None when it is not known.

    It is known of constants, and of integers that follow from static shapes and constants.

    Parameters
    ----------
    tensor
        A tensor, or a Python value.
    partial
        Not used: a value is known as a whole or not at all.

    Examples
    --------
    >>> tf.get_static_value(tf.constant([1, 2])).tolist()
    [1, 2]
    >>> tf.get_static_value(tf.shape(tf.ones([2, 3]))).tolist()
    [2, 3]
    >>> tf.get_static_value(tf.placeholder(tf.int32)) is None
    True
    """
    if not isinstance(tensor, TensorLike):
        return np.asarray(tensor)
    found = tensor.as_tensor()
    return found.graph.handle.constant(found.packed)


@public("is_tensor")
def is_tensor(x: Any) -> bool:
    """Whether a value is a tensor, or stands for one as variables do.

    Parameters
    ----------
    x
        Any value.

    Examples
    --------
    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor(1)
    (True, False)
    """
    return isinstance(x, TensorLike)
