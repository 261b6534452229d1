"""Arrays of tensors, whose elements are written and read one by one in the course of a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, SHAPE, TENSOR, TENSOR_ITSELF, TEXT, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import array_ops, math_ops
from millstream._impl.ops.nest import Composite
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape

if TYPE_CHECKING:
    from millstream._impl.values.dtypes import DType


@public("TensorArray")
class TensorArray(Composite):
    """An array of tensors of one dtype, which lives as long as a step.

    It is there for loops: the body of a `tf.while_loop` reads an element of one array and writes an
    element of another one. An array is a handle and a *flow*, a tensor that orders the operations.
    Methods that write give a new object with a new flow. The next operation has to use that object,
    and nothing else may write by way of the old one. An array may be a loop variable of
    `tf.while_loop`, and a result of the branches of `tf.cond`.

    Parameters
    ----------
    dtype
        Dtype of the elements.
    size
        How many elements there are, a number or a scalar tensor of int32.
    dynamic_size
        Whether a write beyond the end makes the array larger.
    clear_after_read
        Whether an element is released when it was read, and cannot be read again. The default is
        True.
    tensor_array_name
        Name of the array in the step, by default that of the operation.
    handle
        The handle of an array that is there, in place of all arguments that describe one.
    flow
        The flow of that array.
    infer_shape
        Whether all elements have one shape, which the first write decides.
    element_shape
        The shape of all elements, as far as it is known. It is checked, whatever `infer_shape` is.
    colocate_with_first_write_call
        Whether the operations that write stand on the device of the first value that is written.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        There is neither a size nor a handle, or both a handle and an argument that describes an
        array.
    TypeError
        `handle` is no tensor.

    Examples
    --------
    >>> squares = tf.TensorArray(tf.int32, size=4)
    >>> _, squares = tf.while_loop(
    ...     lambda i, _: i < 4, lambda i, array: (i + 1, array.write(i, i * i)), (0, squares)
    ... )
    >>> squares.stack().eval()
    array([0, 1, 4, 9], dtype=int32)
    """

    @takes(
        dtype=DTYPE,
        size=TENSOR,
        tensor_array_name=TEXT,
        flow=TENSOR_ITSELF,
        element_shape=SHAPE,
    )
    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._size = size
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape or element_shape is not None
        # The shape of all elements if it is known. All objects of one array share the list.
        self._shapes = [] if element_shape is None else [as_shape(element_shape)]
        # The first value that was written. All objects of one array share the list.
        self._neighbour: list[Operation] | None = [] if colocate_with_first_write_call else None
        if handle is not None:
            described = {
                "tensor_array_name": tensor_array_name,
                "size": size,
                "element_shape": element_shape,
                "dynamic_size": dynamic_size,
                "clear_after_read": clear_after_read,
            }
            self._take_handle(handle, flow, described)
            return
        if size is None:
            raise ValueError("size: Size must be provided if handle is not provided")
        with scopes.name_scope(name, "TensorArray", [size]) as scope:
            self._handle, self._flow = gen_ops.tensor_array_v3(
                size,
                self._dtype,
                element_shape=self.element_shape,
                dynamic_size=self._dynamic_size,
                clear_after_read=clear_after_read is None or clear_after_read,
                identical_element_shapes=bool(infer_shape),
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )

    def _take_handle(self, handle: Any, flow: Tensor | None, described: dict[str, Any]) -> None:
        for argument, value in described.items():
            if value is not None:
                raise ValueError(f"Cannot provide both a handle and {argument} at the same time")
        if not isinstance(handle, Tensor):
            raise TypeError(f"handle: Handle must be a Tensor, got {handle!r}")
        if flow is None:
            raise ValueError("flow: must not be None if handle is not None")
        self._handle, self._flow = handle, flow

    def _with_flow(self, flow: Tensor) -> TensorArray:
        """The same array, after another operation."""
        array = object.__new__(TensorArray)
        array.__dict__.update(self.__dict__)
        array._flow = flow
        return array

    def _composite_parts(self) -> list[Tensor]:
        return [self._flow]

    def _with_composite_parts(self, parts: list[Tensor]) -> TensorArray:
        return self._with_flow(parts[0])

    def __repr__(self) -> str:
        return f"<tf.TensorArray {self._handle.op.name!r} dtype={self._dtype.name}>"

    @property
    def flow(self) -> Tensor:
        """The tensor that orders the operations on the array."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        """The handle, which operations on the array take."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether a write beyond the end makes the array larger."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The shape of all elements, as far as it is known."""
        return self._shapes[0] if self._shapes else TensorShape(None)

    def identity(self) -> TensorArray:
        """The same array, with an operation of its own for the flow.

        Returns
        -------
        TensorArray
            It is used after the operations that stand as control dependencies around the call.
        """
        return self._with_flow(gen_ops.identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array for the gradients of the elements.

        Parameters
        ----------
        source
            There is one such array for each source.
        flow
            The flow to begin with, by default that of this array.
        name
            Name of the scope.

        Returns
        -------
        TensorArray
            Writes to one of its elements are added up.
        """
        flow = self._flow if flow is None else flow
        with (
            scopes.name_scope(name, "TensorArrayGrad", [self._handle]),
            scopes.colocate_with(self._handle),
        ):
            handle, _ = gen_ops.tensor_array_grad_v3(self._handle, flow, source)
            with scopes.control_dependencies([handle]):
                flow = gen_ops.identity(flow, name="gradient_flow")
            array = TensorArray(
                self._dtype,
                handle=handle,
                flow=flow,
                infer_shape=self._infer_shape,
                colocate_with_first_write_call=False,
            )
            array._shapes = self._shapes
            return array

    # ---- One element ----

    @takes(index=TENSOR)
    def read(self, index: Any, name: str | None = None) -> Tensor:
        """An element.

        Parameters
        ----------
        index
            Which one, a number or a scalar tensor of int32.
        name
            Name of the operation.

        Returns
        -------
        Tensor
            Running it raises InvalidArgumentError if there is no such element, if it was cleared by
            a read, or if it was not written and its shape is not known. With a known shape an
            element that was not written is zero.
        """
        value: Tensor = gen_ops.tensor_array_read_v3(
            self._handle, index, self._flow, self._dtype, name=name
        )
        if self._shapes:
            value.set_shape(self._shapes[0])
        return value

    @takes(index=TENSOR)
    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array after a write of one element.

        Parameters
        ----------
        index
            Which one, a number or a scalar tensor of int32.
        value
            The element.
        name
            Name of the scope.

        Raises
        ------
        ValueError
            The value has another dtype, or another shape than all elements have.
        """
        with scopes.name_scope(name, "TensorArrayWrite", [self._handle]):
            given = self._element(value)
            self._note_shape(given.shape)
            with self._beside(given):
                flow = gen_ops.tensor_array_write_v3(self._handle, index, given, self._flow)
            return self._with_flow(flow)

    # ---- Rows ----

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, as the rows of one tensor. They all have to have one shape.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with (
            scopes.colocate_with(self._handle),
            scopes.name_scope(name, "TensorArrayStack", [self._handle]),
        ):
            return self.gather(math_ops.range(0, self.size()))

    @takes(indices=TENSOR)
    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Some elements, as the rows of one tensor. They all have to have one shape.

        Parameters
        ----------
        indices
            Which ones, a vector of int32.
        name
            Name of the operation.
        """
        value: Tensor = gen_ops.tensor_array_gather_v3(
            self._handle,
            indices,
            self._flow,
            self._dtype,
            element_shape=self.element_shape,
            name=name,
        )
        if self._shapes:
            value.set_shape(value.op.inputs[1].shape.concatenate(self._shapes[0]))
        return value

    @takes(value=TENSOR)
    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array after the rows of a tensor were written to its elements.

        Parameters
        ----------
        value
            The tensor.
        name
            Name of the scope.
        """
        with scopes.name_scope(name, "TensorArrayUnstack", [self._handle]):
            given = self._element(value)
            count = array_ops.shape(given)[0]
            return self.scatter(math_ops.range(0, count), given)

    @takes(indices=TENSOR, value=TENSOR)
    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array after the rows of a tensor were written to some of its elements.

        Parameters
        ----------
        indices
            To which ones, a vector of int32.
        value
            The tensor.
        name
            Name of the scope.

        Raises
        ------
        ValueError
            The value has another dtype, or its rows another shape than all elements have.
        """
        with scopes.name_scope(name, "TensorArrayScatter", [self._handle]):
            given = self._element(value)
            if given.shape.ndims is not None:
                self._note_shape(given.shape.with_rank_at_least(1)[1:])
            with self._beside(given):
                flow = gen_ops.tensor_array_scatter_v3(self._handle, indices, given, self._flow)
            return self._with_flow(flow)

    # ---- Elements of several rows ----

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one below the other. They may differ in their first dimension.

        Parameters
        ----------
        name
            Name of the operation.
        """
        rows = TensorShape(None)
        if self._shapes and self._shapes[0].ndims is not None:
            rows = self._shapes[0][1:]
        value: Tensor = gen_ops.tensor_array_concat_v3(
            self._handle, self._flow, self._dtype, element_shape_except0=rows, name=name
        )[0]
        return value

    @takes(value=TENSOR, lengths=TENSOR)
    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array after the rows of a tensor were distributed to its elements.

        Parameters
        ----------
        value
            The tensor.
        lengths
            How many rows each element has, a vector of integers.
        name
            Name of the scope.

        Raises
        ------
        ValueError
            The value has another dtype, or the elements another shape than all have.
        """
        with scopes.name_scope(name, "TensorArraySplit", [self._handle]):
            given = self._element(value)
            counts = math_ops.cast(lengths, dtypes.int64)
            known = constant_value(counts)
            are_equal = known is not None and np.size(known) > 0 and np.ptp(known) == 0
            if are_equal and given.shape.ndims is not None:
                first = TensorShape([int(np.min(known))])
                self._note_shape(first.concatenate(given.shape[1:]))
            with self._beside(given):
                flow = gen_ops.tensor_array_split_v3(self._handle, given, counts, self._flow)
            return self._with_flow(flow)

    # ---- The whole array ----

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, a scalar of int32.

        Parameters
        ----------
        name
            Name of the operation.
        """
        if not self._dynamic_size and self._size is not None:
            return convert_to_tensor(self._size, dtypes.int32)
        size: Tensor = gen_ops.tensor_array_size_v3(self._handle, self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> Operation:
        """An operation that releases all elements. The array cannot be used after it.

        Parameters
        ----------
        name
            Name of the operation.
        """
        closed: Operation = gen_ops.tensor_array_close_v3(self._handle, name=name)
        return closed

    def _element(self, value: Any) -> Tensor:
        given = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if given.dtype.base_dtype != self._dtype:
            raise ValueError(
                f"value: TensorArray dtype is {self._dtype.name}, but the value has dtype "
                f"{given.dtype.name}: {value!r}"
            )
        return given

    def _note_shape(self, shape: TensorShape) -> None:
        """Take the shape of an element that is written as that of all."""
        if not self._infer_shape:
            return
        if not self._shapes:
            self._shapes.append(shape)
        elif not shape.is_compatible_with(self._shapes[0]):
            raise ValueError(
                f"value: Inconsistent shapes: saw {shape} but expected {self._shapes[0]} "
                "(and infer_shape=True)"
            )

    @contextmanager
    def _beside(self, value: Tensor) -> Iterator[None]:
        """Within the block, operations stand on the device of the first value that was written."""
        if self._neighbour is None:
            yield
            return
        if not self._neighbour:
            self._neighbour.append(value.op)
        with scopes.colocate_with(self._neighbour[0]):
            yield
