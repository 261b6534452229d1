"""What all recurrent cells have: a step from an input and a state to an output and a state."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.layers.layer import InputSpec, Layer
from millstream._impl.nn import activations
from millstream._impl.ops import array_join, array_ops, matmul_ops, nest
from millstream._impl.rnn import shapes
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import as_shape
from millstream._impl.variables import variable_scope as scope_of_variables


def check_cell(name: str, cell: Any) -> None:
    """TypeError when an object lacks what cells have, with the argument's name."""
    lacks = [
        f"'{attribute}' property is missing"
        for attribute in ("output_size", "state_size")
        if not _has(cell, attribute)
    ]
    if not _has(cell, "zero_state") and not _has(cell, "get_initial_state"):
        lacks.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        lacks.append("is not callable")
    if lacks:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(lacks)}.")


def _has(cell: Any, attribute: str) -> bool:
    try:
        getattr(cell, attribute)
    except AttributeError:
        return False
    except NotImplementedError:
        return True
    return True


def state_before(cell: Any, batch_size: Any, dtype: Any) -> Any:
    """The state that a cell starts from."""
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


@public("nn.rnn_cell.RNNCell")
class RNNCell(Layer):
    """A step of a recurrent network: ``output, next_state = cell(input, state)``.

    A subclass says `state_size` and `output_size`, and computes in ``call(inputs, state)``.

    Parameters
    ----------
    trainable, name, dtype, kwargs
        As for `tf.layers.Layer`.

    Examples
    --------
    >>> class Sum(tf.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 2
    ...     def call(self, inputs, state):
    ...         return inputs + state, inputs + state
    >>> cell = Sum()
    >>> output, state = cell(tf.constant([[1.0, 2.0]]), cell.zero_state(1, tf.float32))
    >>> output.eval()
    array([[1., 2.]], dtype=float32)
    """

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    @property
    def state_size(self) -> Any:
        """Sizes of the state for one example: integers or shapes, alone or in a structure."""
        raise NotImplementedError("state_size: a cell must say the sizes of its state")

    @property
    def output_size(self) -> Any:
        """Sizes of the output for one example, as for `state_size`."""
        raise NotImplementedError("output_size: a cell must say the sizes of its output")

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step.

        Parameters
        ----------
        inputs
            A tensor [batch, size], or a structure of tensors.
        state
            The state before, nested as `state_size`.
        scope
            The scope of the variables, a name or a `VariableScope`; by default one of the name of
            the cell.

        Returns
        -------
        tuple
            The output, nested as `output_size`, and the state after.
        """
        around = scope_of_variables.get_variable_scope() if scope is None else scope
        with scope_of_variables.variable_scope(around, custom_getter=self._got) as entered:
            if scope is None:
                return super().__call__(inputs, state)
            return super().__call__(inputs, state, scope=entered)

    def _got(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """A variable, which is one of the cell's from now on."""
        variable = getter(*args, **kwargs)
        trained = getattr(variable, "trainable", True)
        weights = self._trainable_weights if trained else self._non_trainable_weights
        if all(variable is not known for known in weights):
            weights.append(variable)
        return variable

    def build(self, input_shape: Any) -> None:
        """Make the variables; those that `call` makes need no `build`."""
        self.built = True

    @takes(inputs=TENSOR, batch_size=TENSOR, dtype=DTYPE)
    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """The state that a network starts from.

        Parameters
        ----------
        inputs
            A tensor whose first dimension is the batch, and whose type is that of the state.
        batch_size, dtype
            The size of the batch and the type, without `inputs`.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            _check_agrees(inputs, batch_size, dtype)
            batch_size = inputs.shape.as_list()[0]
            if batch_size is None:
                batch_size = array_ops.shape(inputs)[0]
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros.

        Parameters
        ----------
        batch_size
            An integer or a scalar tensor.
        dtype
            Type of the elements.
        """
        with scopes.name_scope(type(self).__name__ + "ZeroState"):
            return shapes.zero_structure(self.state_size, batch_size, dtype)


def _check_agrees(inputs: Tensor, batch_size: Any, dtype: Any) -> None:
    if batch_size is not None:
        known = constant_value(batch_size) if isinstance(batch_size, TensorLike) else batch_size
        own = inputs.shape.as_list()[0]
        if own != known:
            raise ValueError(
                "batch size from input tensor is different from the input param. Input tensor "
                f"batch: {own}, batch_size: {batch_size}"
            )
    if dtype is not None and inputs.dtype.base_dtype != dtypes.as_dtype(dtype).base_dtype:
        raise ValueError(
            "dtype from input tensor is different from the input param. Input tensor dtype: "
            f"{inputs.dtype.name}, dtype: {dtypes.as_dtype(dtype).name}"
        )


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in ``build``: they have the scope that a layer's have."""

    def __init__(self, reuse: Any, name: Any, dtype: Any, kwargs: dict[str, Any]) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        # Inputs are matrices: a row for each example.
        self.input_spec = InputSpec(ndim=2)

    def __call__(
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """One step, as that of `RNNCell`."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)


def depth_of(input_shape: Any) -> int:
    """The size of each row of an input, which must be known for variables to be made."""
    shape = as_shape(input_shape)
    depth = None if shape.ndims is None else shape.as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
    return int(depth)


def check_floating(*structures: Any) -> None:
    """ValueError when a tensor has no floating-point numbers."""
    for tensor in nest.flatten(structures):
        if isinstance(tensor, TensorLike) and not tensor.dtype.is_floating:
            raise ValueError(
                f"RNN cell only supports floating point inputs, but saw dtype: {tensor.dtype.name}"
            )


def affine(inputs: Any, state: Any, kernel: Any, bias: Any) -> Tensor:
    """``[inputs, state] @ kernel + bias``."""
    joined = array_join.concat([inputs, state], 1)
    return activations.bias_add(matmul_ops.matmul(joined, kernel), bias)
