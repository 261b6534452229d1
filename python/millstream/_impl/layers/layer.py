"""What all layers have: variables under a scope of their own, that are made at the first call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.stacks import session_or_default
from millstream._impl.layers import configuration, keras_style, layer_tree
from millstream._impl.layers.configuration import REGULARIZER
from millstream._impl.layers.input_spec import InputSpec as InputSpec
from millstream._impl.layers.layer_record import LayerRecord
from millstream._impl.ops import array_ops, math_ops, nest
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables import variable_scope as scope_of_variables
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.variable_store import store_of


def snake_case(name: str) -> str:
    """The name of a class as that of a scope: MaxPooling2D gives max_pooling2d."""
    parted = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    found = re.sub(r"([a-z])([A-Z])", r"\1_\2", parted).lower()
    # Names of scopes do not begin with "_".
    return "private" + found if found.startswith("_") else found


@public("layers.Layer")
class Layer(LayerRecord):
    """A function with variables, which are made when it is called first and shared afterwards.

    A subclass makes its variables in ``build(input_shape)`` by `add_variable`, and computes in
    ``call(inputs)``.

    Parameters
    ----------
    trainable
        Whether its variables join the collection of trainable ones.
    name
        Name of its scope; by default one like the name of the class, made unique when the layer is
        called first.
    dtype
        The data type of its variables; by default that of what it is called with.
    kwargs
        ``activity_regularizer``: a function from the output to a loss.

    Attributes
    ----------
    built
        Whether there are variables already.
    input_spec
        An `InputSpec`, or None.

    Examples
    --------
    >>> class Scaled(tf.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_variable("factor", [], initializer=tf.ones_initializer())
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> scaled = Scaled(name="scaled")
    >>> y = scaled(tf.constant([1.0, 2.0]))
    >>> [v.name for v in scaled.variables]
    ['scaled/factor:0']
    """

    # The arguments of the constructor that `get_config` gives besides those of all layers.
    _described: tuple[str, ...] = ()

    @takes(dtype=DTYPE)
    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__()
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self._keras_style = keras_style.is_on()
        if self._keras_style:
            keras_style.refuse_sharing(scope, self._reuse)
        self._activity_regularizer = configuration.regularizer(
            kwargs.pop("activity_regularizer", None), "activity_regularizer"
        )
        if kwargs:
            raise TypeError(f"a layer has no argument {next(iter(kwargs))!r}")
        if name is not None and not isinstance(name, (str, scope_of_variables.VariableScope)):
            raise TypeError(f"name: expected a name or a scope, got {name!r}")
        self._trainable = trainable
        self.built = False
        self.input_spec: InputSpec | None = None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._scope: scope_of_variables.VariableScope | None = None
        self._graph: Any = None
        self._set_name(name)
        if scope:
            with scope_of_variables.variable_scope(scope) as captured:
                self._scope = captured

    def _set_name(self, name: Any) -> None:
        base = snake_case(type(self).__name__)
        if isinstance(name, scope_of_variables.VariableScope):
            base = self._name = name.name
        elif name:
            base = self._name = name
        else:
            self._name = store_of(get_default_graph()).unique_layer(base)
        self._base_name = base

    # ---- What it has ----

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._name)

    @property
    def scope_name(self) -> str:
        """The name of its scope; ValueError before the first call, which finds it."""
        if self._scope is None:
            raise ValueError(
                f"scope_name: the layer {self._name!r} was not called yet; its scope is chosen then"
            )
        return str(self._scope.name)

    @property
    def name_scope(self) -> scopes.name_scope:
        """Its scope of operations, for a ``with`` block; before the first call, one of its name."""
        return scopes.name_scope(
            self._name if self._scope is None else self._scope.original_name_scope
        )

    @property
    def dtype(self) -> Any:
        """The name of the data type of its variables; None before it is known."""
        return None if self._dtype is None else self._dtype.name

    @property
    def graph(self) -> Any:
        """The graph that it was called in first."""
        return self._graph

    @property
    def trainable(self) -> bool:
        """Whether optimizers change its variables; set, it is that of the layers in it too."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        for each in layer_tree.layers_in(self):
            each._trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers change, then those of layers in it."""
        return layer_tree.trainable_weights(self)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        return layer_tree.non_trainable_weights(self)

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """As `weights`."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        """As `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """As `non_trainable_weights`."""
        return self.non_trainable_weights

    @property
    def activity_regularizer(self) -> Any:
        """The function from the output to a loss, or None."""
        return self._activity_regularizer

    @property
    def dynamic(self) -> bool:
        """Whether it runs without a graph: never."""
        return False

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output: None, for layers have no masks.

        Parameters
        ----------
        inputs
            Not used.
        mask
            The mask of the input; TypeError unless it is None.
        """
        if mask is not None:
            raise TypeError(
                f"mask: Layer {self.name} does not support masking, but was passed an input_mask: "
                f"{mask!r}"
            )
        return mask

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, without variables; objects as dictionaries.

        Raises
        ------
        NotImplementedError
            The constructor has arguments of its own, and the class has no `get_config`.
        """
        return configuration.config_of(self, self._described)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Layer:
        """The layer that `get_config` described.

        Parameters
        ----------
        config
            The arguments.
        """
        return cls(**config)

    def _checkpoint_children(self) -> dict[str, Any]:
        """What a checkpoint of objects has of it: variables by name, then what attributes hold."""
        scope = "" if self._scope is None else f"{self._scope.name}/"
        weights = [*self._trainable_weights, *self._non_trainable_weights]
        found = {
            keras_style.last_name(each)
            if self._keras_style
            else each.op.name.removeprefix(scope): each
            for each in weights
            if each._get_save_slice_info() is None
        }
        for name, value in vars(self).items():
            if name not in ("_trainable_weights", "_non_trainable_weights", "_calls"):
                found.setdefault(name, value)
        return found

    def count_params(self) -> int:
        """How many numbers the variables hold; ValueError before they are made."""
        if not self.built:
            raise ValueError(f"count_params: the layer {self._name!r} has no variables yet")
        return int(sum(np.prod(v.shape.as_list(), dtype=np.int64) for v in self.weights))

    def get_weights(self) -> list[Any]:
        """The values of the variables in the default session, as NumPy arrays."""
        values: list[Any] = self._session().run(self.weights)
        return values

    def set_weights(self, weights: Any) -> None:
        """Give the variables values in the default session.

        Parameters
        ----------
        weights
            An array of its shape for each of `weights`.

        Raises
        ------
        ValueError
            There are more or fewer arrays than variables, or one has another shape.
        """
        arrays = [np.asarray(each) for each in weights]
        if len(arrays) != len(self.weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of '
                f"length {len(arrays)}, but the layer was expecting {len(self.weights)} weights"
            )
        for variable, array in zip(self.weights, arrays, strict=True):
            if not variable.shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"weights: Layer weight shape {variable.shape} not compatible with provided "
                    f"weight shape {array.shape}"
                )
        session = self._session()
        for variable, array in zip(self.weights, arrays, strict=True):
            variable.load(array, session)

    def _session(self) -> Any:
        graph = get_default_graph() if self._graph is None else self._graph
        return session_or_default(None, graph, f"the layer {self._name!r}")

    # ---- What subclasses use ----

    @takes(name=TEXT, initializer=REGULARIZER, regularizer=REGULARIZER)
    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
    ) -> Any:
        """A variable in the scope of the layer, see `get_variable`.

        Parameters
        ----------
        name
            Its name below the scope.
        shape, initializer, regularizer, constraint, partitioner
            As for `get_variable`. The initializer and the regularizer may be names of Keras.
        dtype
            By default the layer's.
        trainable
            Whether it is one of `trainable_weights`.
        use_resource, synchronization, aggregation
            Not used.
        """
        is_trained = trainable is None or bool(trainable)
        known = set(get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES))
        make = keras_style.new_variable if self._keras_style else scope_of_variables.get_variable
        variable = make(
            name,
            shape,
            self._dtype if dtype is None else dtype,
            configuration.initializer(initializer, "initializer"),
            configuration.regularizer(regularizer, "regularizer"),
            trainable=is_trained and self.trainable,
            constraint=constraint,
            partitioner=partitioner,
        )
        for loss in get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES):
            if loss not in known:
                self._losses.append((loss, None))
        weights = self._trainable_weights if is_trained else self._non_trainable_weights
        parts = variable if isinstance(variable, PartitionedVariable) else [variable]
        # A getter of the scope may have noted it already.
        weights.extend(part for part in parts if all(part is not known for known in weights))
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """As `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make the variables.

        Parameters
        ----------
        input_shape
            A `TensorShape`, or a list of them.
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The output.

        Parameters
        ----------
        inputs
            A tensor, or a list of them.
        args, kwargs
            What the layer was called with besides.
        """
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output for that of the input."""
        raise NotImplementedError(f"compute_output_shape: {type(self).__name__} does not say it")

    # ---- Calls ----

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The output; the first call makes the variables."""
        self._enter_first(kwargs.pop("scope", None))
        given = _as_tensors(inputs)
        with self._entered():
            if not self.built:
                self._build_for(given)
            if self.input_spec is not None:
                self.input_spec.check(self.name, _first(given))
            outputs = self.call(given, *args, **kwargs)
            if self._activity_regularizer is not None:
                self._regularize(outputs, given)
        self._calls.append((given, outputs))
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As calling it."""
        return self(inputs, *args, **kwargs)

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """The scope of the names of operations and variables."""
        if self._scope is None:
            with scopes.name_scope(self._name):
                yield
            return
        reuse = True if self.built else self._reuse
        with (
            scope_of_variables.variable_scope(
                self._scope, reuse=reuse, auxiliary_name_scope=False
            ) as scope,
            scopes.name_scope(scope.original_name_scope),
        ):
            yield

    def _enter_first(self, scope: Any) -> None:
        graph = get_default_graph()
        if self._graph is not None and self._graph is not graph and self.weights:
            raise ValueError(
                f"the layer {self._name!r} has its variables in another graph than the default one"
            )
        self._graph = graph
        if self._scope is not None or self._keras_style:
            return
        if self._reuse:
            name = self._base_name if scope is None else scope
            opened = scope_of_variables.variable_scope(name)
        else:
            opened = scope_of_variables.variable_scope(scope, default_name=self._base_name)
        with opened as captured:
            self._scope = captured

    def _build_for(self, inputs: Any) -> None:
        if self.input_spec is not None:
            self.input_spec.check(self.name, _first(inputs))
        if self._dtype is None:
            self._dtype = _first(inputs).dtype.base_dtype
        self.build(nest.map_structure(lambda tensor: tensor.shape, inputs))
        self.built = True

    def _regularize(self, outputs: Any, inputs: Any) -> None:
        with scopes.name_scope("ActivityRegularizer"):
            for output in outputs if isinstance(outputs, list) else [outputs]:
                loss = self._activity_regularizer(output)
                # A mean over the batch, so that the loss does not grow with it.
                count = math_ops.cast(array_ops.shape(output)[0], loss.dtype)
                self.add_loss(loss / count, inputs)


def _as_tensors(inputs: Any) -> Any:
    if any(isinstance(leaf, Tensor) for leaf in nest.flatten(inputs)):
        return nest.map_structure(convert_to_tensor, inputs)
    return convert_to_tensor(inputs, name="inputs")


def _first(inputs: Any) -> Tensor:
    tensor: Tensor = nest.flatten(inputs)[0]
    return tensor


def size_of(shape: Any, axis: int, layer: str, what: str = "inputs") -> int:
    """The size of a dimension that must be known for variables to be made."""
    size = as_shape(shape).as_list()[axis]
    if size is None:
        raise ValueError(
            f"The size of dimension {axis} of the {what} to `{layer}` should be defined. "
            "Found `None`."
        )
    return int(size)


def window_sizes(value: Any, count: int, name: str) -> tuple[int, ...]:
    """`count` positive integers, of one or of a sequence of so many."""
    items = [value] * count if isinstance(value, (int, np.integer)) else value
    if (
        not isinstance(items, Sequence)
        or len(items) != count
        or not all(isinstance(item, (int, np.integer)) and item > 0 for item in items)
    ):
        raise ValueError(
            f"The `{name}` argument must be a tuple of {count} positive integers. "
            f"Received: {value!r}"
        )
    return tuple(int(item) for item in items)


def activated(function: Callable[[Any], Any] | None, outputs: Tensor) -> Any:
    """The outputs through an activation function, or as they are."""
    return outputs if function is None else function(outputs)
