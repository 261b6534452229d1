"""Scopes of variables: shared names, and what variables made inside have in common."""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    DTYPE,
    FUNCTION,
    INITIALIZER,
    LIST,
    NAME,
    SHAPE,
    TEXT,
    takes,
)
from millstream._impl.graph.convert import graph_of
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes, values
from millstream._impl.values.dtypes import DType
from millstream._impl.variables.variable_kinds import VariableAggregation, VariableSynchronization
from millstream._impl.variables.variable_store import AUTO_REUSE, store_of


@public("no_regularizer")
def no_regularizer(_: Any) -> None:
    """Regularize nothing, whatever the scope says.

    Parameters
    ----------
    _
        The variable.

    Examples
    --------
    >>> v = tf.get_variable("v", [2], regularizer=tf.no_regularizer)
    >>> tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    []
    """


@public("VariableScope")
class VariableScope:
    """The defaults of `get_variable` within a block.

    Attributes
    ----------
    name
        The start of variables' names, without the "/" at its end.
    original_name_scope, name_scope
        The scope of operations' names that was opened with it; as a parameter it is `name_scope`.
    reuse
        True (variables must exist), `AUTO_REUSE` (they may), or False (they must not).
    dtype, initializer, regularizer, constraint, custom_getter, use_resource, caching_device,
    partitioner
        Defaults of `get_variable`.

    Examples
    --------
    >>> with tf.variable_scope("layer") as scope:
    ...     scope.reuse_variables()
    >>> scope.name, scope.reuse
    ('layer', True)
    """

    @takes(
        initializer=INITIALIZER,
        regularizer=FUNCTION,
        custom_getter=FUNCTION,
        name_scope=TEXT,
        dtype=DTYPE,
        constraint=FUNCTION,
    )
    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        _check_reuse(reuse)
        self.name = name
        self.original_name_scope = name_scope
        self.reuse = reuse
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.dtype = dtypes.as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint

    def __repr__(self) -> str:
        return f"<tf.VariableScope {self.name!r} reuse={self.reuse}>"

    def reuse_variables(self) -> None:
        """From now on, variables must exist."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype."""
        self.dtype = dtypes.as_dtype(dtype)

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set the function that variables are got through."""
        self.custom_getter = custom_getter

    def set_caching_device(self, caching_device: Any) -> None:
        """Set the default device on which variables' values are kept within a step."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Set the default partitioner."""
        self.partitioner = partitioner

    def get_variable(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The variable of a name in this scope, see the function `get_variable`.

        Parameters
        ----------
        name
            Its name below the scope.
        args, kwargs
            As for the function `get_variable`; ``reuse`` and ``regularizer`` as for the scope.
        """
        reuse = kwargs.pop("reuse", None)
        with variable_scope(self, reuse=reuse, auxiliary_name_scope=False):
            return get_variable(name, *args, **kwargs)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Set a hint; every variable is a resource."""
        self.use_resource = use_resource

    def get_collection(self, name: Any) -> list[Any]:
        """A collection of the default graph, what is in this scope."""
        return get_default_graph().get_collection(name, self.name + "/" if self.name else None)

    def trainable_variables(self) -> list[Any]:
        """The variables in this scope that optimizers change."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """The variables in this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables in this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)


def _check_reuse(reuse: Any) -> None:
    if reuse not in (None, False, True, AUTO_REUSE):
        raise ValueError(f"reuse: expected True, False, None or AUTO_REUSE, got {reuse!r}")


@public("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """The current scope of the default graph.

    Examples
    --------
    >>> with tf.variable_scope("outer"), tf.variable_scope("inner"):
    ...     tf.get_variable_scope().name
    'outer/inner'
    """
    state = get_default_graph().state
    if state.variable_scope is None:
        state.variable_scope = VariableScope(False)
    scope: VariableScope = state.variable_scope
    return scope


def names_scope() -> str:
    """What names of variables start with in the current scope: "" or it with a "/"."""
    name = get_variable_scope().name
    return name + "/" if name else ""


@public("get_variable")
@takes(
    shape=SHAPE,
    dtype=DTYPE,
    initializer=INITIALIZER,
    regularizer=FUNCTION,
    custom_getter=FUNCTION,
    constraint=FUNCTION,
)
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
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
    """The variable of a name in the current scope, made or shared as the scope says.

    Parameters
    ----------
    name
        Its name below the scope.
    shape
        Its shape; None where the initializer has one.
    dtype
        Its dtype, by default the scope's, else float32; that of the first value where one is given.
    initializer
        An initializer, or its first value; by default the scope's, else Glorot's uniform one.
    regularizer
        A function from the variable to a loss, by default the scope's.
    trainable, collections, validate_shape, constraint
        As for `Variable`.
    caching_device
        As for `Variable`; by default the scope's.
    custom_getter
        A function that gets the variable through the getter it is given, by default the scope's.
    partitioner
        A function from the shape and dtype of the variable to the number of parts along each
        dimension, such as `fixed_size_partitioner` gives; by default the scope's. The result is
        an object that stands for the joined parts: ``list(v)`` has the parts, which are
        variables ``name/part_0`` and so on.
    use_resource
        Not used.
    synchronization, aggregation
        As for `Variable`.

    Raises
    ------
    ValueError
        It exists and may not be shared, or does not and must be, or its shape is not known; or
        `initializer` is a value of another dtype; or the partitioner gives no valid numbers.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
    ...         first = tf.get_variable("w", [2, 3])
    ...         again = tf.get_variable("w", [2, 3])
    ...     print(first.name, first is again)
    layer/w:0 True
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name: expected a name, got {name!r}")
    scope = get_variable_scope()
    chosen_regularizer = scope.regularizer if regularizer is None else regularizer
    if chosen_regularizer is no_regularizer:
        chosen_regularizer = None

    def getter(name: str, *positional: Any, **arguments: Any) -> Any:
        # Getters of programs call it with the shape and the type by position.
        arguments.update(zip(_GETTER_ARGUMENTS, positional, strict=False))
        return store_of(get_default_graph()).get(name, **arguments)

    if dtype is not None and initializer is not None:
        _check_dtype(name, initializer, dtypes.as_dtype(dtype).base_dtype)
    chosen_getter = scope.custom_getter if custom_getter is None else custom_getter
    found = _through(chosen_getter, getter)
    # What a getter adds is not named by the scope in which the variable is got.
    with get_default_graph().name_scope(None):
        return found(
            name=names_scope() + name,
            shape=shape,
            dtype=scope.dtype if dtype is None else dtype,
            initializer=scope.initializer if initializer is None else initializer,
            reuse=scope.reuse,
            regularizer=chosen_regularizer,
            trainable=trainable,
            collections=collections,
            caching_device=scope.caching_device if caching_device is None else caching_device,
            partitioner=scope.partitioner if partitioner is None else partitioner,
            validate_shape=validate_shape,
            use_resource=scope.use_resource if use_resource is None else use_resource,
            constraint=scope.constraint if constraint is None else constraint,
            synchronization=synchronization,
            aggregation=aggregation,
        )


# What the function that gets a variable takes, after the name.
_GETTER_ARGUMENTS = (
    *("shape", "dtype", "initializer", "regularizer", "reuse", "trainable", "collections"),
    *("caching_device", "partitioner", "validate_shape", "use_resource", "constraint"),
    *("synchronization", "aggregation"),
)


def _check_dtype(name: str, initializer: Any, dtype: DType) -> None:
    """ValueError when the first value has another dtype than the one asked for."""
    if isinstance(initializer, TensorLike):
        own = initializer.dtype.base_dtype
    elif callable(initializer):
        return
    else:
        array = values.to_array(initializer, name="initializer")
        own = dtypes.string if array.dtype.kind == "O" else dtypes.as_dtype(array.dtype)
    if own != dtype:
        raise ValueError(
            f"Initializer type {own.name} and explicit dtype {dtype.name} don't match, in the "
            f"variable {name!r}"
        )


def _through(custom_getter: Any, getter: Any) -> Any:
    if custom_getter is None:
        return getter
    return lambda *positional, **arguments: custom_getter(getter, *positional, **arguments)


@public("variable_scope")
class variable_scope:  # noqa: N801  (the public name)
    """A block whose variables share the start of their names, and defaults.

    It opens a scope of operations' names as well.

    Parameters
    ----------
    name_or_scope
        Name of the scope, or a `VariableScope` to enter again.
    default_name
        Name to take, made unique, when `name_or_scope` is None.
    values
        Tensors in whose graph the scope is entered.
    initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
    constraint
        Defaults of `get_variable`.
    reuse
        True (variables must exist), `AUTO_REUSE` (they may), None (as outside).
    auxiliary_name_scope
        Whether to open a scope of operations' names.

    Examples
    --------
    >>> with tf.variable_scope("layer", initializer=tf.zeros_initializer()):
    ...     v = tf.get_variable("v", [2])
    >>> with tf.variable_scope("layer", reuse=True):
    ...     v is tf.get_variable("v", [2])
    True
    """

    @takes(
        default_name=NAME,
        values=LIST,
        initializer=INITIALIZER,
        regularizer=FUNCTION,
        dtype=DTYPE,
        constraint=FUNCTION,
    )
    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("name_or_scope: needed when default_name is None")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError(f"name_or_scope: expected a name or a scope, got {name_or_scope!r}")
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"custom_getter: expected a callable, got {custom_getter!r}")
        _check_reuse(reuse)
        if name_or_scope is None and reuse is True:
            raise ValueError("reuse: a default_name is a new scope, which has nothing to reuse")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values
        self._defaults = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "use_resource": use_resource,
            "constraint": constraint,
            "dtype": None if dtype is None else dtypes.as_dtype(dtype),
        }
        self._custom_getter = custom_getter
        self._reuse = reuse
        self._auxiliary_name_scope = auxiliary_name_scope
        self._stack = ExitStack()

    def __enter__(self) -> VariableScope:
        graph = graph_of(self._values) if self._values else get_default_graph()
        stack = self._stack
        stack.enter_context(graph.as_default())
        try:
            state = graph.state
            outer = get_variable_scope()
            name_scope = state.scope
            label = self._label()
            if self._auxiliary_name_scope and label:
                name_scope = stack.enter_context(graph.name_scope(label))
            inner = self._make(outer, name_scope)
            store = store_of(graph)
            store.open_scope(inner.name)
            state.variable_scope = inner

            def leave() -> None:
                state.variable_scope = outer
                store.close_subscopes(inner.name)

            stack.callback(leave)
        except BaseException:
            stack.close()
            raise
        return inner

    def _label(self) -> str:
        """Name of the scope of operations' names."""
        if self._name_or_scope is None:
            return self._default_name or ""
        if isinstance(self._name_or_scope, VariableScope):
            return self._name_or_scope.name.rpartition("/")[2]
        return str(self._name_or_scope)

    def _make(self, outer: VariableScope, name_scope: str) -> VariableScope:
        if isinstance(self._name_or_scope, VariableScope):
            inner = copy.copy(self._name_or_scope)
        else:
            inner = copy.copy(outer)
            inner.name = self._full_name(outer)
            inner.original_name_scope = name_scope
        for key, value in self._defaults.items():
            if value is not None:
                setattr(inner, key, value)
        inner.reuse = self._reuse or inner.reuse
        if self._custom_getter is not None:
            inner.custom_getter = _chained(self._custom_getter, inner.custom_getter)
        return inner

    def _full_name(self, outer: VariableScope) -> str:
        prefix = outer.name + "/" if outer.name else ""
        if isinstance(self._name_or_scope, str):
            return prefix + self._name_or_scope if self._name_or_scope else outer.name
        return store_of(get_default_graph()).unique_scope(f"{prefix}{self._default_name}")

    def __exit__(self, *error: object) -> None:
        self._stack.close()


def _chained(inner: Any, outer: Any) -> Any:
    """The getter of an inner scope around that of the outer one."""
    if outer is None:
        return inner
    return lambda getter, **arguments: inner(_through(outer, getter), **arguments)
