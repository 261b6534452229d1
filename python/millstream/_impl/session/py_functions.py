"""Python functions on tensors whose values are known: a small graph in each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import nest
from millstream._impl.ops.custom_gradients import custom_gradient
from millstream._impl.ops.gradient_ops import gradients
from millstream._impl.ops.script_ops import py_func
from millstream._impl.session.session import Session
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType


class _KnownTensor(Tensor):
    """A tensor of a call: its value can be had at any time."""

    __slots__ = ()

    def numpy(self) -> Any:
        """Its value: an array, or a NumPy scalar for a tensor without dimensions."""
        graph: Any = self.graph
        return graph.value_of(self)

    def __bool__(self) -> bool:  # type: ignore[override]
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __index__(self) -> int:
        return int(self.numpy().__index__())

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.numpy())

    def __iter__(self) -> Iterator[Tensor]:
        return iter([self[i] for i in range(len(self))])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype)

    def __repr__(self) -> str:
        return f"<tf.Tensor shape={self.shape} dtype={self.dtype.name} numpy={self.numpy()!r}>"


class _CallGraph(Graph):
    """The graph of one call. What was evaluated once is fed to later evaluations."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[Tensor, Any] = {}

    def _make_operation(self, described: tuple[int, ...], name: str, op_type: str) -> Operation:
        operation = super()._make_operation(described, name, op_type)
        operation.outputs = [
            _KnownTensor(operation, output.value_index, output.dtype, output.packed)
            for output in operation.outputs
        ]
        return operation

    def known(self, value: Any, dtype: DType) -> Tensor:
        """A tensor of a value."""
        tensor: Tensor = gen_ops.placeholder(dtype, np.shape(value))
        self._values[tensor] = value
        return tensor

    def values_of(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The values of tensors."""
        new = [tensor for tensor in dict.fromkeys(tensors) if tensor not in self._values]
        if new:
            with Session(graph=self) as session:
                self._values.update(zip(new, session.run(new, self._values), strict=True))
        return [self._values[tensor] for tensor in tensors]

    def value_of(self, tensor: Tensor) -> Any:
        """The value of a tensor."""
        return self.values_of([tensor])[0]


class _Call:
    """A function with the types of its arguments and results."""

    def __init__(
        self, function: Callable[..., Any], takes_types: list[DType], gives_types: list[DType]
    ) -> None:
        self._function = function
        self._takes = takes_types
        self._gives = gives_types

    def forward(self, *arguments: Any) -> list[Any]:
        """The results."""
        graph = _CallGraph()
        with graph.as_default():
            return graph.values_of(self._results(self._inputs(graph, arguments)))

    def backward(self, *arguments: Any) -> list[Any]:
        """The gradients by the arguments that have any.

        Parameters
        ----------
        arguments
            Those of the function, then the gradient of each result that has one.
        """
        graph = _CallGraph()
        with graph.as_default():
            count = len(self._takes)
            inputs = self._inputs(graph, arguments[:count])
            results = [one for one in self._results(inputs) if one.dtype.is_floating]
            pairs = zip(results, arguments[count:], strict=True)
            given = [graph.known(value, result.dtype) for result, value in pairs]
            xs = [one for one in inputs if one.dtype.is_floating]
            found = gradients(results, xs, given, unconnected_gradients="zero")
            return graph.values_of([convert_to_tensor(one) for one in found])

    def _inputs(self, graph: _CallGraph, values: Sequence[Any]) -> list[Tensor]:
        return [graph.known(value, dtype) for value, dtype in zip(values, self._takes, strict=True)]

    def _results(self, inputs: list[Tensor]) -> list[Tensor]:
        result = self._function(*inputs)
        listed = [] if result is None else result
        listed = list(listed) if isinstance(listed, (list, tuple)) else [listed]
        if len(listed) != len(self._gives):
            raise ValueError(f"expected {len(self._gives)} results, got {len(listed)}: {result!r}")
        pairs = zip(listed, self._gives, strict=True)
        return [convert_to_tensor(one, dtype) for one, dtype in pairs]


@public("py_function")
@takes(inp=LIST)
def py_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803  (the public name)
    name: str | None = None,
) -> Any:
    """An operation that calls a Python function on tensors whose values it can ask for.

    In the function, the program builds a small graph, and each tensor of it has a value at once:
    ``x.numpy()``, ``if x > 0:``, ``for row in x:``, ``float(x)``. The results have gradients. For
    these the function is called once more, and the gradient follows the operations of that call; it
    does not pass through ``numpy()``.

    `numpy_function` costs less where the function only computes by NumPy.

    Parameters
    ----------
    func
        A function of tensors. It returns a tensor, an array or a number for each dtype of `Tout`.
        Tensors and variables of other graphs cannot be used in it.
    inp
        Tensors.
    Tout
        The dtypes of the results: a list, or the dtype of the only one.
    name
        Name of the operation.

    Returns
    -------
    Tensor, list or Operation
        As for `py_func`, with the same errors in a step.

    Raises
    ------
    ValueError
        The function cannot be called.

    Examples
    --------
    >>> def huber(x):
    ...     return x * x if tf.abs(x) < 1.0 else 2.0 * tf.abs(x) - 1.0
    >>> x = tf.constant(3.0)
    >>> y = tf.py_function(huber, [x], tf.float32)
    >>> float(y.eval()), float(tf.gradients(y, x)[0].eval())
    (5.0, 2.0)
    """
    if not callable(func):
        raise ValueError(f"func: Expected func to be callable, got func of type {type(func)}")
    is_list = isinstance(Tout, (list, tuple))
    try:
        types = [dtypes.as_dtype(dtype) for dtype in (Tout if is_list else [Tout])]
    except TypeError as error:
        raise TypeError(f"Tout: {error}") from None
    tensors = [convert_to_tensor(item) for item in inp]
    call = _Call(func, [tensor.dtype.base_dtype for tensor in tensors], types)
    if not types:
        return py_func(call.forward, tensors, types, name=name)

    def compute(*given: Tensor) -> tuple[Any, Callable[..., Any]]:
        results = py_func(call.forward, list(given), types, name=name)

        def gradient(*dys: Any) -> list[Any]:
            return _gradients_by(call, given, types, dys)

        return results, gradient

    results = nest.flatten(custom_gradient(compute)(*tensors))
    return results if is_list else results[0]


def _gradients_by(
    call: _Call, given: Sequence[Tensor], types: Sequence[DType], dys: Sequence[Any]
) -> list[Any]:
    """The gradients by the arguments: None for those that are no floating-point numbers."""
    pairs = zip(dys, types, strict=True)
    upper = [convert_to_tensor(dy) for dy, dtype in pairs if dtype.is_floating]
    kinds = [tensor.dtype.base_dtype for tensor in given if tensor.dtype.is_floating]
    if not kinds or not upper:
        return [None] * len(given)
    found = iter(py_func(call.backward, [*given, *upper], kinds))
    made: list[Any] = []
    for tensor in given:
        made.append(next(found) if tensor.dtype.is_floating else None)
        if made[-1] is not None:
            made[-1].set_shape(tensor.shape)
    return made
