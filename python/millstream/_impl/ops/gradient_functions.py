"""Gradient functions in Python: which there are, and how the runtime calls them."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from millstream import _runtime
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.graph.variable_tensor import shape_of
from millstream._impl.ops import array_creation, array_ops
from millstream._impl.ops.branches import BackwardBody, anywhere
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

GradientFunction = Callable[..., Any]

# By the name of an op, or of what `gradient_override_map` gives it. None: not differentiable.
_registered: dict[str, GradientFunction | None] = {}


class _KeptFunction:
    """A gradient function that a graph keeps, under a name of its own."""

    __slots__ = ("__weakref__", "function", "name")

    def __init__(self, function: GradientFunction) -> None:
        self.function = function
        self.name = f"CustomGradient-{next(_numbers)}"
        _kept[self.name] = self


_numbers = itertools.count()
_kept: weakref.WeakValueDictionary[str, _KeptFunction] = weakref.WeakValueDictionary()


@public("RegisterGradient")
class RegisterGradient:
    """A decorator for the gradient function of an op.

    The function gets an `Operation` and the gradient of each of its outputs: a tensor, zeros where
    there is none, or `IndexedSlices`; for an output that is no floating-point or complex number it
    may be None. It returns the gradient of each input: a tensor, `IndexedSlices` or None. The
    operations that it adds are named below ``NAME_grad``.

    Parameters
    ----------
    op_type
        Name of an op that has no gradient function, or a name for `Graph.gradient_override_map`.

    Examples
    --------
    >>> @tf.RegisterGradient("PassThrough")
    ... def pass_through(op, grad):
    ...     return grad
    >>> x = tf.constant(1.5)
    >>> with tf.get_default_graph().gradient_override_map({"Floor": "PassThrough"}):
    ...     y = tf.floor(x)
    >>> float(tf.gradients(y, x)[0].eval())
    1.0
    """

    @takes(op_type=TEXT)
    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: GradientFunction) -> GradientFunction:
        """Register the function, which is returned; KeyError if the op has one already."""
        if not callable(f):
            raise TypeError(f"f: expected a function, got {f!r}")
        _register(self._op_type, f)
        return f


@public("NotDifferentiable", "NoGradient", "no_gradient")
@takes(op_type=TEXT)
def not_differentiable(op_type: str) -> None:
    """Let an op count as a constant where gradients are computed.

    Parameters
    ----------
    op_type
        Name of an op that has no gradient function, or a name for `Graph.gradient_override_map`.

    Raises
    ------
    KeyError
        The op has a gradient function, or is known to be not differentiable.

    Examples
    --------
    >>> tf.NotDifferentiable("Constant")
    >>> x = tf.constant(1.5)
    >>> with tf.get_default_graph().gradient_override_map({"Square": "Constant"}):
    ...     y = tf.square(x) + x
    >>> float(tf.gradients(y, x)[0].eval())
    1.0
    """
    _register(op_type, None)


def _register(name: str, function: GradientFunction | None) -> None:
    if name in _registered or _runtime.has_gradient(name):
        raise KeyError(
            f"Registering two gradient with name {name!r}: an op has one gradient function; "
            "tf.Graph.gradient_override_map gives some operations another one"
        )
    _registered[name] = function


def name_for_graph(graph: Graph, function: GradientFunction) -> str:
    """Give a gradient function a name that is valid as long as the graph; for the package."""
    kept = _KeptFunction(function)
    graph.kept.append(kept)
    return kept.name


class GradientCalls:
    """Calls gradient functions for the operations that the runtime comes to.

    Parameters
    ----------
    graph
        The graph.
    colocate
        Whether what the functions add is colocated with the operation.
    """

    def __init__(self, graph: Graph, colocate: bool) -> None:
        self._graph = graph
        self._colocate = colocate
        self._noted = graph.version

    def note_made(self) -> None:
        """Note where what the runtime has made since the last call belongs."""
        branch, version = self._graph.state.branch, self._graph.version
        if branch is not None:
            for node in range(self._noted, version):
                branch.note_gradient(node)
        self._noted = version

    def __call__(
        self, name: str, node: int, scope: str, region: object | None, dys: list[Any]
    ) -> list[Any] | None:
        """The gradients of the node's inputs as the extension takes them.

        Parameters
        ----------
        name
            Name of the function.
        node
            Number of the node.
        scope
            Where names of new operations begin.
        region
            The body of a loop that new operations belong to, as the extension knows it.
        dys
            The gradients of the outputs, as the extension gives them.

        Returns
        -------
        list or None
            None if there is no function of that name.
        """
        operation = self._graph.operation_of(node)
        if name in _registered:
            function = _registered[name]
        elif name in _kept:
            function = _kept[name].function
        else:
            return None
        if function is None:
            return [None] * len(operation.inputs)
        self.note_made()
        with (
            self._beside(operation, region is not None),
            self._graph.enter_scope(scope + "/"),
            self._in_region(region),
        ):
            outputs = zip(operation.outputs, dys, strict=True)
            gradients = [self._gradient_of(output, dy) for output, dy in outputs]
            return self._packed(operation, function(operation, *gradients))

    @contextlib.contextmanager
    def _beside(self, operation: Operation, in_loop: bool) -> Iterator[None]:
        """Within the block, new operations stand where the runtime's gradients stand."""
        graph = self._graph
        with contextlib.ExitStack() as blocks:
            blocks.enter_context(graph.as_default())
            if in_loop:  # the loop as a whole waits for what is outside of it
                blocks.enter_context(graph.control_dependencies(None))
            place = operation if self._colocate else None
            blocks.enter_context(graph.colocate_with(place, ignore_existing=True))
            yield

    def _in_region(self, region: object | None) -> contextlib.AbstractContextManager[None]:
        if region is None:
            return anywhere(self._graph)
        return BackwardBody(self._graph, region).building()

    def _gradient_of(self, output: Tensor, dy: Any) -> Any:
        if dy is not None:
            return unpacked_gradient(self._graph, dy)
        dtype = output.dtype.base_dtype
        if dtype.is_floating or dtype.is_complex:
            return array_creation.zeros_like(output)
        return None

    def _packed(self, operation: Operation, result: Any) -> list[Any]:
        found = list(result) if isinstance(result, (list, tuple)) else [result]
        inputs = operation.inputs
        if len(found) != len(inputs):
            raise ValueError(
                f"Num gradients {len(found)} generated for op {operation.name!r} (op "
                f"{operation.type}) do not match num inputs {len(inputs)}"
            )
        return [self._packed_gradient(x, dx) for x, dx in zip(inputs, found, strict=True)]

    def _packed_gradient(self, x: Tensor, dx: Any) -> Any:
        if dx is None:
            return None
        if not isinstance(dx, IndexedSlices):
            dtype = None if x.dtype is dtypes.resource else x.dtype.base_dtype
            return self._own(convert_to_tensor(dx, None if isinstance(dx, TensorLike) else dtype))
        shape = dx.dense_shape
        if shape is None:
            is_handle = x.dtype is dtypes.resource
            static = shape_of(x) if is_handle else x.shape
            shape = static.as_list() if static.is_fully_defined() else array_ops.shape(x)
        parts = (dx.values, dx.indices, convert_to_tensor(shape))
        return tuple(self._own(part) for part in parts)

    def _own(self, tensor: Tensor) -> int:
        if tensor.graph is not self._graph:
            raise ValueError(f"a gradient function returned {tensor!r}, which is of another graph")
        tensor.forget_shape()  # the runtime adds what it knows of the input's
        return tensor.packed


def unpacked_gradient(graph: Graph, gradient: Any) -> Any:
    """A gradient from what the extension gives: a tensor, `IndexedSlices` or None."""
    if gradient is None:
        return None
    if isinstance(gradient, tuple):
        values, indices, shape = gradient
        return IndexedSlices(
            graph.tensor_of(values),
            graph.tensor_of(indices),
            None if shape is None else graph.tensor_of(shape),
        )
    return graph.tensor_of(gradient)
