"""Functions that apply a function to the rows of tensors, one after the other, in a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.graph.convert import constant, convert_to_tensor, tensor_of_argument
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, nest
from millstream._impl.ops.loops import while_loop
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


class _Rows:
    """The rows of tensors in a nested structure, in an array for each tensor."""

    def __init__(self, elems: Any) -> None:
        self._structure = elems
        flat = [tensor_of_argument(elem, "elems", name="elem") for elem in nest.flatten(elems)]
        if not flat:
            raise ValueError("elems: expected at least one tensor, got an empty structure")
        for elem in flat:
            if elem.shape.ndims == 0:
                raise ValueError(
                    f"elems: must be a 1+ dimensional Tensor, not a scalar, got {elem!r}"
                )
        self.dtypes = [elem.dtype.base_dtype for elem in flat]
        self.static_count = TensorShape(_first_dim(flat[0]))
        for elem in flat[1:]:
            self.static_count = self.static_count.merge_with(TensorShape(_first_dim(elem)))
        known = _first_dim(flat[0])[0]
        self.count: Any = array_ops.shape(flat[0])[0] if known is None else known
        self._tensors = flat
        self._arrays: list[TensorArray] = []

    def unstack(self, with_shape: bool = False) -> None:
        """Add the operations that write the rows to the arrays."""
        arrays = [
            TensorArray(
                elem.dtype,
                size=self.count,
                element_shape=elem.shape[1:] if with_shape and elem.shape.ndims else None,
            )
            for elem in self._tensors
        ]
        pairs = zip(arrays, self._tensors, strict=True)
        self._arrays = [array.unstack(elem) for array, elem in pairs]

    def read(self, index: Any) -> Any:
        """The rows with a number, in the structure of the tensors."""
        return nest.pack_sequence_as(self._structure, [array.read(index) for array in self._arrays])


def _first_dim(tensor: Tensor) -> list[int | None]:
    return [None] if tensor.shape.ndims is None else [tensor.shape.as_list()[0]]


def _tensors(initializer: Any) -> Any:
    def convert(value: Any) -> Tensor:
        return tensor_of_argument(value, "initializer")

    return nest.map_structure(convert, initializer, expand_composites=True)


def _stacked(arrays: Sequence[TensorArray], rows: _Rows) -> list[Tensor]:
    """All elements of the arrays, which are as many as the rows."""
    results = [array.stack() for array in arrays]
    for result in results:
        if result.shape.ndims is not None:
            result.set_shape(rows.static_count.concatenate(result.shape[1:]))
    return results


def _check_same(wanted: Any, given: Any) -> None:
    try:
        nest.assert_same_structure(wanted, given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"fn: expected another structure of its result: {error}") from None


@public("map_fn")
@takes(fn=FUNCTION)
def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """What a function gives for each row of tensors, as the rows of tensors.

    Parameters
    ----------
    fn
        A function of a row, in the structure of `elems`. It is called once.
    elems
        A tensor, or a nested structure of tensors with equal first dimensions.
    dtype
        Dtype of what the function gives, in its structure; by default that of `elems`.
    parallel_iterations
        How many calls may run at once, by default 10.
    back_prop
        Whether the results have gradients.
    swap_memory
        As for `tf.while_loop`.
    infer_shape
        Whether all results have one shape.
    name
        Name of the scope.

    Raises
    ------
    TypeError
        `fn` is no function, `elems` is sparse, or a result has another structure than `dtype`.
    ValueError
        A tensor is a scalar, or a result has another dtype than `dtype` says.

    Examples
    --------
    >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).eval()
    array([1, 4, 9], dtype=int32)
    >>> pairs = (tf.constant([1, 2]), tf.constant([10, 20]))
    >>> tf.map_fn(lambda pair: pair[0] + pair[1], pairs, dtype=tf.int32).eval()
    array([11, 22], dtype=int32)
    """
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "elems: To perform a map over the values of a sparse tensor use either "
            "SparseTensor(input.indices, fn(input.values), input.dense_shape) or "
            "SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)"
        )
    with scopes.name_scope(name, "map", nest.flatten(elems)):
        rows = _Rows(elems)
        structure = elems if dtype is None else dtype
        kinds = rows.dtypes if dtype is None else nest.flatten(dtype)
        rows.unstack()
        start = constant(0)
        results = [TensorArray(kind, size=rows.count, infer_shape=infer_shape) for kind in kinds]

        def compute(i: Tensor, arrays: list[TensorArray]) -> Any:
            given = fn(rows.read(i))
            _check_same(structure, given)
            pairs = zip(arrays, nest.flatten(given), strict=True)
            return i + 1, [array.write(i, value) for array, value in pairs]

        _, results = while_loop(
            lambda i, _: i < rows.count,
            compute,
            (start, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=rows.count,
        )
        return nest.pack_sequence_as(structure, _stacked(results, rows))


@public("vectorized_map")
@takes(fn=FUNCTION)
def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """What a function gives for each row of tensors, in any structure and with any dtypes.

    It is a loop as that of `tf.map_fn`, so that each row has random numbers of its own.

    Parameters
    ----------
    fn
        A function of a row, in the structure of `elems`. It is called once.
    elems
        A tensor, or a nested structure of tensors with equal first dimensions.

    Returns
    -------
    Any
        Tensors of rows, in the structure that the function gives.

    Raises
    ------
    TypeError
        `fn` is no function.
    ValueError
        A tensor is a scalar.

    Examples
    --------
    >>> found = tf.vectorized_map(lambda x: {"twice": 2 * x, "small": x < 2}, tf.constant([1, 2]))
    >>> found["twice"].eval().tolist(), found["small"].eval().tolist()
    ([2, 4], [True, False])
    """
    with scopes.name_scope(None, "vectorized_map", nest.flatten(elems)):
        rows = _Rows(elems)
        rows.unstack(with_shape=True)
        arrays: list[TensorArray] = []
        structures: list[Any] = []

        def compute(i: Tensor, flow: Tensor) -> tuple[Tensor, Tensor]:
            structures.append(fn(rows.read(i)))
            values = [tensor_of_argument(value, "fn") for value in nest.flatten(structures[0])]
            # Their dtypes and shapes are known now. The arrays are made outside of the loop, and
            # one flow orders the writes to all of them.
            loop: Any = get_default_graph().state.branch
            with loop.outside():
                arrays.extend(
                    TensorArray(value.dtype, size=rows.count, element_shape=value.shape)
                    for value in values
                )
            for place, value in enumerate(values):
                arrays[place] = arrays[place]._with_flow(flow).write(i, value)
                flow = arrays[place].flow
            return i + 1, flow

        _, flow = while_loop(
            lambda i, _: i < rows.count,
            compute,
            (constant(0), constant(0.0)),
            maximum_iterations=rows.count,
        )
        written = [array._with_flow(flow) for array in arrays]
        return nest.pack_sequence_as(structures[0], _stacked(written, rows))


@public("foldl")
@takes(fn=FUNCTION)
def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """What remains of the rows of tensors when a function combines them, from the first on.

    Parameters
    ----------
    fn
        A function of what remains of the rows before, and of a row. It is called once.
    elems
        A tensor, or a nested structure of tensors with equal first dimensions.
    initializer
        What to begin with, by default the first row.
    parallel_iterations
        How many calls may run at once.
    back_prop
        Whether the results have gradients.
    swap_memory
        As for `tf.while_loop`.
    name
        Name of the scope.

    Raises
    ------
    TypeError
        `fn` is no function.
    ValueError
        A tensor is a scalar.

    Examples
    --------
    >>> int(tf.foldl(lambda digits, x: 10 * digits + x, tf.constant([1, 2, 3])).eval())
    123
    """
    with scopes.name_scope(name, "foldl", nest.flatten(elems)):
        rows = _Rows(elems)
        rows.unstack()
        start = constant(1 if initializer is None else 0)
        first = rows.read(0) if initializer is None else _tensors(initializer)

        return _folded(
            lambda i, _: i < rows.count,
            lambda i, so_far: [i + 1, fn(so_far, rows.read(i))],
            [start, first],
            rows,
            (parallel_iterations, back_prop, swap_memory),
        )


@public("foldr")
@takes(fn=FUNCTION)
def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """What remains of the rows of tensors when a function combines them, from the last on.

    Parameters
    ----------
    fn
        A function of what remains of the rows behind, and of a row. It is called once.
    elems, parallel_iterations, name
        As for `foldl`.
    initializer
        What to begin with, by default the last row.
    back_prop
        Whether the results have gradients.
    swap_memory
        As for `tf.while_loop`.

    Raises
    ------
    TypeError
        `fn` is no function.
    ValueError
        A tensor is a scalar.

    Examples
    --------
    >>> int(tf.foldr(lambda digits, x: 10 * digits + x, tf.constant([1, 2, 3])).eval())
    321
    """
    with scopes.name_scope(name, "foldr", nest.flatten(elems)):
        rows = _Rows(elems)
        rows.unstack()
        start = rows.count - 1 if initializer is None else rows.count
        first = rows.read(start) if initializer is None else _tensors(initializer)

        return _folded(
            lambda i, _: i > 0,
            lambda i, so_far: [i - 1, fn(so_far, rows.read(i - 1))],
            [convert_to_tensor(start, dtypes.int32), first],
            rows,
            (parallel_iterations, back_prop, swap_memory),
        )


def _folded(
    goes_on: Callable[..., Any],
    compute: Callable[..., Any],
    start: list[Any],
    rows: _Rows,
    options: tuple[int, bool, bool],
) -> Any:
    """What remains of the rows after a loop over their numbers."""
    parallel_iterations, back_prop, swap_memory = options
    _, result = while_loop(
        goes_on,
        compute,
        start,
        parallel_iterations=parallel_iterations,
        back_prop=back_prop,
        swap_memory=swap_memory,
        maximum_iterations=rows.count,
    )
    return result


@public("scan")
@takes(fn=FUNCTION)
def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """What a function gives for each row of tensors and its result for the row before.

    Parameters
    ----------
    fn
        A function of the result for the row before, and of a row, in the structures of
        `initializer` and `elems`. It gives a result in the structure of `initializer`. It is called
        once.
    elems
        A tensor, or a nested structure of tensors with equal first dimensions.
    initializer
        The result before the first row. By default the first row is the first result.
    parallel_iterations
        How many calls may run at once.
    back_prop
        Whether the results have gradients.
    swap_memory
        As for `tf.while_loop`.
    infer_shape
        Whether all results have one shape.
    reverse
        Whether to go from the last row to the first one.
    name
        Name of the scope.

    Returns
    -------
    Any
        The results as rows, in the structure of `initializer`.

    Raises
    ------
    TypeError
        `fn` is no function, or a result has another structure.
    ValueError
        A tensor is a scalar, or a result has another dtype or shape than the one before.

    Examples
    --------
    >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3, 4])).eval()
    array([ 1,  3,  6, 10], dtype=int32)
    """
    structure = elems if initializer is None else initializer
    with scopes.name_scope(name, "scan", nest.flatten(elems)):
        rows = _Rows(elems)
        rows.unstack(with_shape=True)
        first = (rows.count - 1 if reverse else 0) if initializer is None else None
        before = nest.flatten(_tensors(initializer) if first is None else rows.read(first))
        results = [
            TensorArray(
                value.dtype,
                size=rows.count,
                element_shape=value.shape if infer_shape else None,
                infer_shape=infer_shape,
            )
            for value in before
        ]
        if first is not None:
            pairs = zip(results, before, strict=True)
            results = [array.write(first, value) for array, value in pairs]
        done = 0 if first is None else 1

        def compute(i: Tensor, so_far: list[Tensor], arrays: list[TensorArray]) -> Any:
            row = rows.read(i)
            given = fn(nest.pack_sequence_as(structure, so_far), row)
            _check_same(structure, given)
            flat = nest.flatten(given)
            pairs = zip(arrays, flat, strict=True)
            arrays = [array.write(i, value) for array, value in pairs]
            return i - 1 if reverse else i + 1, flat, arrays

        start = rows.count - 1 - done if reverse else done
        _, _, results = while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < rows.count),
            compute,
            (convert_to_tensor(start, dtypes.int32), before, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=rows.count,
        )
        return nest.pack_sequence_as(structure, _stacked(results, rows))
