"""Variables: tensors that keep their value between steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import variable_tensor
from millstream._impl.graph.arguments import DTYPE, FUNCTION, INITIALIZER, SHAPE, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operator_methods import Operators
from millstream._impl.graph.stacks import StepRunner, session_or_default
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes, tensor_shape
from millstream._impl.values.tensor_shape import TensorShape
from millstream._impl.variables import initial_values, save_slices, variable_protos
from millstream._impl.variables.creators import MadeByCreators
from millstream._impl.variables.part_updates import PartUpdates
from millstream._impl.variables.variable_kinds import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Operation, Tensor
    from millstream._impl.values.dtypes import DType


@public("Variable")
class Variable(PartUpdates, Operators, TensorLike, metaclass=MadeByCreators):
    """A tensor that keeps its value from step to step, and that operations can change.

    It must be initialized before it is read: run `initializer`, or
    ``tf.global_variables_initializer()`` for all. Where a tensor is wanted, it is read.

    Parameters
    ----------
    initial_value
        Its first value: a tensor or what becomes one, or a function that gives it.
    trainable
        Whether optimizers change it unless told otherwise.
    collections
        Collections of the graph to join, by default that of the global variables.
    validate_shape
        Whether its shape must be known, every dimension of it, and stays.
    caching_device
        A device, or a function from an operation to one, on which the value is kept for the rest of
        a step: one copy of it, ``w/cached``, stands for the variable where it is read. The copy has
        the value of the step's beginning or a later one; `read_value` does not take it.
    name
        Its name, made unique.
    variable_def, import_scope
        A ``VariableDef`` of `to_proto`, and the scope that its names are below of: the variable is
        in the graph already, and all other arguments count for nothing.
    dtype
        Type of the elements, by default that of the value.
    expected_shape
        Not used.
    constraint
        A function from the value after an optimizer's step to the value to keep.
    use_resource
        Not used: every variable is a resource.
    synchronization, aggregation
        A `VariableSynchronization` and a `VariableAggregation`; not used, as there is one copy. One
        with ``ON_READ`` is not trainable.
    shape
        Its shape, by default that of the value.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     counter = tf.Variable(1, name="counter")
    ...     sess.run(counter.initializer)
    ...     print(int(sess.run(counter.assign_add(2))), counter.name)
    3 counter:0
    """

    __array_priority__ = 100  # NumPy's operators leave it to ours
    is_tensor: ClassVar[bool] = False
    SaveSliceInfo: ClassVar[type[save_slices.SaveSliceInfo]] = save_slices.SaveSliceInfo

    @takes(
        initial_value=INITIALIZER,
        dtype=DTYPE,
        import_scope=TEXT,
        constraint=FUNCTION,
        shape=SHAPE,
    )
    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        self._graph = get_default_graph()
        self._static_shape = TensorShape(None)  # what set_shape() was told
        self._cached: Tensor | None = None  # the copy on the caching device
        # Its place, of a part of a variable.
        self._save_slice_info: save_slices.SaveSliceInfo | None = None
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value: give one of them")
            self._find_nodes(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value: a variable needs a first value")
        if constraint is not None and not callable(constraint):
            raise ValueError(f"constraint: expected a function, got {constraint!r}")
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise ValueError(f"collections: expected a list of names, got {collections!r}")
        self._constraint = constraint
        self._synchronization = _kind(VariableSynchronization, synchronization, "synchronization")
        self._trainable = self._is_trained(trainable)
        self._aggregation = _kind(VariableAggregation, aggregation, "aggregation")
        wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        with self._graph.control_dependencies(None):
            scope = self._graph.op_name(name or "Variable") + "/"
            with self._graph.enter_scope(scope):
                self._initial_value = _first_value(initial_value, wanted)
            self._make_nodes(scope, shape, validate_shape)
            if caching_device is not None:
                with self._graph.enter_scope(scope), self._graph.device(caching_device):
                    self._cached = gen_ops.identity(self._snapshot, name="cached")
        self._join(collections)

    def _is_trained(self, trainable: bool | None) -> bool:
        on_read = self._synchronization is VariableSynchronization.ON_READ
        if trainable and on_read:
            raise ValueError("trainable: a variable with VariableSynchronization.ON_READ is not")
        return not on_read if trainable is None else bool(trainable)

    def _make_nodes(self, scope: str, shape: Any, validate_shape: bool) -> None:
        graph = self._graph
        value = self._initial_value
        self._dtype = value.dtype.base_dtype
        static = value.shape if shape is None else tensor_shape.as_shape(shape)
        if validate_shape and shape is None and not static.is_fully_defined():
            raise ValueError(f"initial_value: its shape must be known, got {value!r}")
        self.handle: Tensor = gen_ops.var_handle_op(
            self._dtype,
            static if validate_shape else TensorShape(None),
            container=graph.state.container,
            shared_name=scope[:-1],
            name=scope,
        )
        self._named = self.handle  # the tensor that has its name
        graph.note_variable(self.handle, self)
        with graph.enter_scope(scope):
            self._first: Tensor = initial_values.without_uninitialized_reads(
                graph, value, scope[:-1]
            )
        with graph.enter_scope(scope):
            with graph.colocate_with(self.handle):
                self._initializer: Operation = gen_ops.assign_variable_op(
                    self.handle, self._first, name="Assign"
                )
            self._snapshot: Tensor = self._read("read")

    def _find_nodes(self, variable_def: Any, import_scope: str | None) -> None:
        found = variable_protos.FoundVariable(self._graph, variable_def, import_scope)
        self.handle = found.handle
        self._named = found.named
        self._initializer = found.initializer
        self._snapshot = found.snapshot
        self._first = found.first
        self._initial_value = found.initial_value
        self._dtype = self._snapshot.dtype.base_dtype
        self._trainable = found.trainable
        self._constraint = None
        self._synchronization = found.synchronization
        self._aggregation = found.aggregation
        self._save_slice_info = found.save_slice_info
        if self._graph.variable_of(self.handle) is None:
            self._graph.note_variable(self.handle, self)

    def _initialize_from(self, value: Tensor) -> None:
        """Have it start from another value than it was made with."""
        with self._graph.colocate_with(self.handle):
            self._initializer = gen_ops.assign_variable_op(self.handle, value, name="Assign")
        self._first = self._initial_value = value

    def _join(self, collections: Any) -> None:
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        self._graph.add_to_collections(names, self)

    # ---- What it is ----

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        return self._graph

    @property
    def name(self) -> str:
        """Its name, as ``"weights:0"``."""
        return self._named.name

    @property
    def _shared_name(self) -> str:
        return self.name[:-2]

    @property
    def op(self) -> Operation:
        """The operation that owns it."""
        return self._named.op

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """Its static shape."""
        return variable_tensor.shape_of(self.handle).merge_with(self._static_shape)

    def get_shape(self) -> TensorShape:
        """Its static shape: the property `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Add what is known of its shape, which later reads have.

        Parameters
        ----------
        shape
            The shape.

        Raises
        ------
        ValueError
            It contradicts what is known already.
        """
        self._static_shape = self.shape.merge_with(tensor_shape.as_shape(shape))
        self._snapshot.set_shape(self._static_shape)

    @property
    def device(self) -> str:
        """The device that it asks for."""
        return self.handle.device

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it unless told otherwise."""
        return self._trainable

    @property
    def constraint(self) -> Any:
        """The function from the value after an optimizer's step to the value to keep, or None."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """What it was made with."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """What it was made with."""
        return self._aggregation

    @property
    def initial_value(self) -> Tensor:
        """The tensor that it is initialized from."""
        return self._initial_value

    @property
    def initializer(self) -> Operation:
        """The operation that initializes it."""
        return self._initializer

    # ---- Reading ----

    def _read(self, name: str | None = None) -> Tensor:
        value = variable_tensor.read(self.handle, self._dtype, name)
        if self._static_shape.ndims is not None:
            value.set_shape(self._static_shape)
        return value

    def as_tensor(self) -> Tensor:
        """Its value at this place of the graph, or the copy on its caching device."""
        return self._read() if self._cached is None else self._cached

    @property
    def graph_element(self) -> Tensor:
        """The read that was made with it, ``w/read``, which stands for it in fetches."""
        return self._snapshot

    def value(self) -> Tensor:
        """Its value, read at this place of the graph, or the copy on its caching device."""
        return self.as_tensor()

    def read_value(self) -> Tensor:
        """Its value, read at this place of the graph."""
        with self._graph.name_scope("Read"):
            return self._read()

    def initialized_value(self) -> Tensor:
        """Its value, or as long as it has none, its first one: to make other variables from."""
        graph = self._graph
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope("cond"):
            known = gen_ops.var_is_initialized_op(self.handle)
            has_value = gen_ops.identity(gen_ops.switch(known, known).output_true, "switch_t")
            with graph.control_dependencies([has_value]):
                current = self._read("read")
            first = gen_ops.switch(self._first, known).output_false
            merged: Tensor = gen_ops.merge([first, current]).output
        graph.note_initialized_value(merged)
        return merged

    def eval(self, session: StepRunner | None = None) -> Any:
        """Its value now, in a session or the default one."""
        return session_or_default(session, self._graph, "Variable.eval()").run(self)

    # ---- Writing ----

    def _write(
        self, function: Any, value: Any, name: str | None, default_name: str, read_value: bool
    ) -> Any:
        graph = self._graph
        with graph.as_default():
            scope = graph.op_name(name or default_name) + "/"
            with graph.enter_scope(scope):
                tensor = convert_to_tensor(value, self._dtype, "value")
            with graph.colocate_with(self.handle):
                if not read_value:
                    return function(self.handle, tensor, name=scope)
                with graph.enter_scope(scope):
                    written = function(self.handle, tensor)
                return self._after(written, scope)

    def _after(self, written: Operation, name: str) -> Tensor:
        """The value after a write, by a name; it may be assigned to like the variable."""
        with self._graph.control_dependencies([written]):
            value = self._read(name)
        self._graph.note_written(value, self)
        return value

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replace its value.

        Parameters
        ----------
        value
            The new value, of its shape and dtype.
        use_locking
            Not used: writes are never torn.
        name
            Name of the operation.
        read_value
            Return the new value instead of the operation.

        Returns
        -------
        Tensor or Operation
            The value after the write; whatever runs it has written.

        Raises
        ------
        ValueError
            The shapes contradict, or a tensor has another dtype.
        TypeError
            The value cannot have the dtype.
        """
        return self._write(gen_ops.assign_variable_op, value, name, "Assign", read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add `delta` to its value; parameters and result are those of `assign`."""
        return self._write(gen_ops.assign_add_variable_op, delta, name, "AssignAdd", read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract `delta` from its value; parameters and result are those of `assign`."""
        return self._write(gen_ops.assign_sub_variable_op, delta, name, "AssignSub", read_value)

    def load(self, value: Any, session: StepRunner | None = None) -> None:
        """Set its value now, in a session or the default one.

        Parameters
        ----------
        value
            The value, of its shape.
        session
            The session, by default the default one.
        """
        found = session_or_default(session, self._graph, "Variable.load()")
        found.run(self._initializer, {self._initializer.inputs[1]: value})

    # ---- As data ----

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Its names in the graph as ``VariableDef``.

        Parameters
        ----------
        export_scope
            A scope to leave out of the names.

        Returns
        -------
        VariableDef
            The message, or None when the variable is not in the scope.
        """
        return variable_protos.to_proto(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable of the default graph that a message of `to_proto` names.

        Parameters
        ----------
        variable_def
            The message.
        import_scope
            A scope that the graph has been imported into, which its names are below of.

        Raises
        ------
        KeyError
            The graph has nothing of that name.
        ValueError
            What it names is no variable.
        """
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def _set_save_slice_info(self, save_slice_info: save_slices.SaveSliceInfo) -> None:
        """Note that it is a part of a variable, and where it lies there."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> save_slices.SaveSliceInfo | None:
        """Where it lies in the variable that it is a part of, if it is one."""
        return self._save_slice_info

    def experimental_ref(self) -> Variable:
        """A key for dictionaries: the variable itself, which compares by identity."""
        return self

    def __iter__(self) -> Any:
        raise TypeError("A variable cannot be iterated over; use tf.unstack")

    def __bool__(self) -> bool:
        raise TypeError("A variable of a graph has no truth value before a session runs it")

    def __len__(self) -> int:
        raise TypeError("A variable has no len(); use its static shape or tf.shape")

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self._dtype.name}>"


def _kind(kinds: Any, value: Any, name: str) -> Any:
    """A member of an enum, by default the first."""
    if value is None:
        return next(iter(kinds))
    if not isinstance(value, kinds):
        raise TypeError(f"{name}: expected a tf.{kinds.__name__}, got {value!r}")
    return value


def _first_value(value: Any, wanted: DType | None) -> Tensor:
    if callable(value) and not isinstance(value, TensorLike):
        value = value()
    if isinstance(value, Variable):
        value = value.initialized_value()
    return convert_to_tensor(value, wanted, "initial_value")
