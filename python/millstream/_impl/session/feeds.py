"""Values that take the place of tensors in a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream._impl.base import error_text
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.graph.variable_tensor import handle_of
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.ops.nest import Composite
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.session.tensor_handles import TensorHandle
from millstream._impl.values import dtypes, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream._impl.graph.graph import Graph


def fed_tensor(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of a feed dictionary stands for: of a variable, ``w:0``.

    Raises
    ------
    TypeError
        The key is no tensor of the graph.
    ValueError
        The tensor must not be fed.
    """
    try:
        element = graph.as_graph_element(key, allow_operation=False)
    except (KeyError, ValueError, TypeError) as error:
        raise TypeError(
            f"Cannot interpret feed_dict key as a tensor: {key!r}: {error.args[0]}"
        ) from None
    if not graph.is_feedable(element):
        raise ValueError(
            error_text.about(f"feed_dict: the tensor {element.name!r} may not be fed", element.op)
        )
    handle = handle_of(element)
    found: Tensor = element if handle is None else graph.named_tensor(handle)
    return found


def check_dict(feed_dict: Any) -> None:
    """Raise TypeError unless `feed_dict` is a dictionary."""
    if not isinstance(feed_dict, Mapping):
        raise TypeError(
            f"feed_dict: expected a dictionary, got {feed_dict!r}\n"
            "  hint: run(fetches, {placeholder: value}) feeds a value"
        )


def has_parts(key: Any) -> bool:
    """Whether a key of a feed dictionary stands for several tensors."""
    return isinstance(key, (tuple, SparseTensor, IndexedSlices, Composite))


def flat_feeds(feed_dict: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A feed dictionary in which keys of several parts are taken apart, and their values likewise.

    Those are tuples of keys, sparse and ragged tensors, and indexed slices.

    Raises
    ------
    ValueError
        The value has another structure than its keys, or a key occurs twice.
    """
    if not any(has_parts(key) for key in feed_dict):
        return feed_dict
    found: dict[Any, Any] = {}
    for key, value in feed_dict.items():
        for single, part in zip(flat_key(key), flat_value(key, value), strict=True):
            if single in found:
                raise ValueError(f"feed_dict: the key {single!r} occurs twice")
            found[single] = part
    return found


def _parts(key: Any) -> Any:
    """The parts of a sparse tensor or indexed slices, in the order of their values; else `key`."""
    if isinstance(key, SparseTensor):
        return (key.indices, key.values, key.dense_shape)
    if isinstance(key, IndexedSlices):
        is_fed = isinstance(key.dense_shape, TensorLike)
        return (key.values, key.indices, *([key.dense_shape] if is_fed else []))
    return key


def flat_key(key: Any) -> list[Any]:
    """The keys in a nested tuple, a sparse or ragged tensor or slices, or the one that `key` is."""
    if isinstance(key, Composite):
        return key._composite_parts()
    key = _parts(key)
    if isinstance(key, tuple):
        return [single for part in key for single in flat_key(part)]
    return [key]


def flat_value(key: Any, value: Any) -> list[Any]:
    """The values for `flat_key`, of lists and tuples nested like the key.

    Raises
    ------
    ValueError
        The value is not nested like the key.
    """
    if isinstance(key, Composite):
        return key._fed_parts(value)
    keys = _parts(key)
    if not isinstance(keys, tuple):
        return [value]
    if isinstance(key, IndexedSlices) and isinstance(value, (list, tuple)) and len(value) == 3:
        value = value[: len(keys)]  # the shape of slices whose shape is no tensor
    if not isinstance(value, (list, tuple)) or len(value) != len(keys):
        raise ValueError(
            f"feed_dict: expected {len(keys)} values for the keys {keys!r}, got {value!r}"
        )
    pairs = zip(keys, value, strict=True)
    return [single for part, item in pairs for single in flat_value(part, item)]


def _shape_hint(tensor: Tensor, shape: tuple[int, ...]) -> str:
    """What to do about a value whose elements would fit when they were arranged otherwise."""
    dims = tensor.shape.dims
    known = [dim.value for dim in dims or () if dim.value is not None]
    missing = len(dims or ()) - len(known)
    wanted, given = math.prod(known), math.prod(shape)
    if missing > 1 or not wanted or (given % wanted if missing else given != wanted):
        return ""
    sizes = [-1 if dim.value is None else dim.value for dim in dims or ()]
    return f"value.reshape({sizes}) has that shape"


class Preparer:
    """Makes contiguous arrays of the right dtype of what a step is fed, where it is not one.

    The extension calls it when a value cannot be borrowed as it is.

    Parameters
    ----------
    tensors
        The fed tensors in order.
    """

    __slots__ = ("_tensors",)

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = tensors

    def __call__(self, index: int, value: Any) -> tuple[Sequence[int], Any]:
        """Dimensions and memory of a value; an `index` of -1 says that `value` are too few or many.

        Raises
        ------
        TypeError
            The value is a tensor, or of no dtype of ours.
        ValueError
            The value has another dtype or shape than the fed tensor.
        """
        if index < 0:
            names = ", ".join(tensor.name for tensor in self._tensors) or "none"
            raise TypeError(
                f"a step() takes {len(self._tensors)} arguments, got {len(value)}: it takes the "
                f"values of its feeds by position ({names})"
            )
        tensor = self._tensors[index]
        if isinstance(value, TensorHandle):
            value = value.handle if tensor.dtype == dtypes.string else value.eval()
        if isinstance(value, (TensorLike, Operation)):
            cause = (
                "The value of a feed cannot be a tf.Tensor object: "
                f"feed_dict: the value for {tensor.name!r} is {value!r}"
            )
            hint = "a value is a Python number, text, list or NumPy array; run it first to feed it"
            raise TypeError(error_text.about(cause, tensor.op, hint))
        try:
            array = values.fed_array(value, tensor.dtype)
        except (TypeError, ValueError) as error:
            cause = (
                f"feed_dict: the value for {tensor.name!r} is not compatible with Tensor type "
                f"{tensor.dtype.name}: {error}"
            )
            raise type(error)(error_text.about(cause, tensor.op)) from None
        if not tensor.shape.is_compatible_with(array.shape):
            cause = (
                f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which has "
                f"shape {tensor.shape!s}"
            )
            raise ValueError(error_text.about(cause, tensor.op, _shape_hint(tensor, array.shape)))
        return values.wire_memory(array, tensor.dtype)
