"""The base of optimizers: gradients of a loss, slots beside variables, updates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base import error_text
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.graph.variable_tensor import on_device_of
from millstream._impl.ops import array_creation, array_ops, control_ops, gradient_ops
from millstream._impl.ops.gradient_paths import where_gradients_end
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes
from millstream._impl.variables.save_slices import place_beside
from millstream._impl.variables.variable_scope import names_scope
from millstream._impl.variables.variables import Variable


@public("train.Optimizer")
class Optimizer:
    """Changes variables so that a loss decreases.

    A subclass says how one variable is changed (`_apply_dense`, and `_apply_sparse` where only some
    rows have a gradient), and which values it keeps beside each variable (`_create_slots`).

    Parameters
    ----------
    use_locking
        Not used: writes are never torn.
    name
        Name of the optimizer, of its operations and slots.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> optimizer = tf.train.GradientDescentOptimizer(0.25)
    >>> ((gradient, variable),) = optimizer.compute_gradients(tf.square(w))
    >>> train = optimizer.apply_gradients([(gradient * 2.0, variable)])
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> float(w.eval())
    0.0
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("name: an optimizer needs a name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._shared: dict[tuple[str, Any], Variable] = {}

    def get_name(self) -> str:
        """Name of the optimizer."""
        return self._name

    # ---- Public steps ----

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """An operation that changes variables so that `loss` decreases.

        Parameters
        ----------
        loss
            The tensor to minimize; the sum of its elements counts.
        global_step
            A variable that is increased by one.
        var_list
            The variables, in anything that can be iterated over, nested, or as the values of a
            dictionary; by default all trainable ones.
        colocate_gradients_with_ops
            Whether new operations stand beside those whose gradients they are, as in `gradients`.
        gate_gradients, aggregation_method
            Hints, not used.
        name
            Name of the operation, by default the optimizer's.
        grad_loss
            What `loss` is weighted with.

        Raises
        ------
        ValueError
            `loss` depends on none of the variables, or is of integers.
        TypeError
            `loss` is no tensor.

        Examples
        --------
        >>> import millstream as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     w = tf.Variable(4.0)
        ...     step = tf.train.GradientDescentOptimizer(0.25).minimize(w * w)
        ...     sess.run(tf.global_variables_initializer())
        ...     sess.run(step)
        ...     print(float(sess.run(w)))
        2.0
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            names = [variable.name for _, variable in pairs]
            raise ValueError(
                f"No gradients provided for any variable: the loss {loss!r} depends on none of "
                f"{names}{where_gradients_end(loss, [variable for _, variable in pairs])}"
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Gradients of a loss by variables.

        Parameters
        ----------
        loss
            The tensor to minimize.
        var_list
            The variables, in anything that can be iterated over, nested, or as the values of a
            dictionary; by default all trainable ones.
        colocate_gradients_with_ops
            Whether new operations stand beside those whose gradients they are, as in `gradients`.
        gate_gradients, aggregation_method
            Hints, not used.
        grad_loss
            What `loss` is weighted with.

        Returns
        -------
        list
            (gradient, variable) of each; the gradient is None where `loss` does not depend on it.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(f"gate_gradients: expected a GATE_ constant, got {gate_gradients!r}")
        if var_list is None:
            graph = loss.graph if hasattr(loss, "graph") else get_default_graph()
            var_list = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        chosen = list(_flat(var_list))
        for item in chosen:
            if not isinstance(item, (Variable, Tensor)):
                raise TypeError(f"var_list: expected variables, got {item!r}")
        if not chosen:
            raise ValueError(
                error_text.with_hint(
                    "No variables to optimize, as var_list says",
                    "the loss's graph has no tf.Variable or tf.get_variable that is trainable",
                )
            )
        if not isinstance(loss, TensorLike):
            raise TypeError(
                f"loss: expected a tensor that is computed from the variables, got {loss!r}"
            )
        _check_differentiable([loss])
        found = gradient_ops.gradients(
            loss,
            chosen,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        pairs = list(zip(found, chosen, strict=True))
        # A variable of integers that counts has no gradient, and is left alone.
        _check_differentiable([variable for gradient, variable in pairs if gradient is not None])
        return pairs

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """An operation that changes variables by gradients.

        Parameters
        ----------
        grads_and_vars
            (gradient, variable) of each, as `compute_gradients` gives them.
        global_step
            A variable that is increased by one afterwards.
        name
            Name of the operation, by default the optimizer's.

        Raises
        ------
        ValueError
            No gradient is given.
        TypeError
            A gradient, a variable or the global step is something else.
        """
        if global_step is not None and not isinstance(global_step, Variable):
            raise TypeError(f"global_step: expected a variable, got {global_step!r}")
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("grads_and_vars: no variables provided")
        used = [
            (_gradient(gradient), variable) for gradient, variable in pairs if gradient is not None
        ]
        if not used:
            names = [variable.name for _, variable in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}")
        for _, variable in used:
            if not isinstance(variable, Variable):
                raise TypeError(f"grads_and_vars: expected variables, got {variable!r}")
        graph = used[0][1].graph
        with graph.as_default():
            with graph.control_dependencies(None):
                self._create_slots([variable for _, variable in used])
            with scopes.name_scope(name, self._name) as scope:
                self._prepare()
                updates = [self._update(gradient, variable) for gradient, variable in used]
                train = self._finish_step(updates, global_step, scope)
            collection = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if train not in collection:
                collection.append(train)
        return train

    def _finish_step(self, updates: list[Operation], global_step: Any, scope: str) -> Operation:
        if global_step is None:
            return self._finish(updates, scope)
        done = self._finish(updates, "update")
        with done.graph.control_dependencies([done]):
            one = convert_to_tensor(1, global_step.dtype.base_dtype, "value")
            with done.graph.colocate_with(global_step.handle):
                return gen_ops.assign_add_variable_op(global_step.handle, one, name=scope)

    def _update(self, gradient: Any, variable: Variable) -> Operation:
        graph = variable.graph
        with graph.name_scope("update_" + variable.op.name), on_device_of(variable.handle):
            if isinstance(gradient, IndexedSlices):
                update = self._apply_sparse(gradient, variable)
            else:
                update = self._apply_dense(gradient, variable)
            if variable.constraint is None:
                return update
            with graph.control_dependencies([update]):
                assigned: Tensor = variable.assign(variable.constraint(variable.value()))
                return assigned.op

    def __repr__(self) -> str:
        return f"<tf.train.{type(self).__name__} {self._name!r}>"

    # ---- Slots ----

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The value that is kept beside a variable under a name, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Names of what is kept beside each variable."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """The variables that the optimizer has made, by name."""
        graph = get_default_graph()
        found = [
            variable
            for slots in (*self._slots.values(), dict(self._shared))
            for variable in slots.values()
            if variable.graph is graph
        ]
        return sorted(found, key=lambda variable: variable.name)

    def _checkpoint_children(self) -> dict[str, Variable]:
        """What a checkpoint of objects has of it besides the slots."""
        graph = get_default_graph()
        shared = sorted(self._shared.items(), key=lambda item: item[0][0])
        return {name: variable for (name, _), variable in shared if variable.graph is graph}

    def _slot(self, variable: Variable, make: Any, slot_name: str, op_name: str) -> Variable:
        """The slot of a variable, made by ``make()`` when it is not there.

        Its name is that of the variable, in the current scope of variables.
        """
        slots = self._slots.setdefault(slot_name, {})
        if variable not in slots:
            graph = variable.graph
            with graph.enter_scope(names_scope()), on_device_of(variable.handle):
                slots[variable] = Variable(
                    make, trainable=False, name=f"{variable.op.name}/{op_name}"
                )
            place_beside(slots[variable], variable)
        return slots[variable]

    def _zeros_slot(self, variable: Variable, slot_name: str, op_name: str) -> Variable:
        """A slot that starts from zeros."""

        def make() -> Tensor:
            return _filled_like(variable, 0)

        return self._slot(variable, make, slot_name, op_name)

    def _constant_slot(
        self, variable: Variable, value: Any, slot_name: str, op_name: str
    ) -> Variable:
        """A slot that starts from one number."""

        def make() -> Tensor:
            return _filled_like(variable, value)

        return self._slot(variable, make, slot_name, op_name)

    def _shared_variable(self, initial_value: Any, name: str, graph: Any) -> Variable:
        """A variable that belongs to the optimizer and to no other variable.

        Its name is in the current scope of operations.
        """
        key = (name, graph)
        if key not in self._shared:
            self._shared[key] = Variable(initial_value, trainable=False, name=name)
        return self._shared[key]

    # ---- What subclasses say ----

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Make what is kept beside the variables."""

    def _prepare(self) -> None:
        """Make tensors of the hyperparameters, in the scope of the updates."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        """Change a variable by a gradient of its shape."""
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        """Change a variable by a gradient of some of its rows."""
        return self._apply_dense(grad.as_tensor(), var)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        """The operation that has run when all updates have."""
        return control_ops.group(*update_ops, name=name_scope)


def _check_differentiable(tensors: Sequence[Any]) -> None:
    for tensor in tensors:
        dtype = tensor.dtype.base_dtype
        if not (dtype.is_floating or dtype.is_complex or dtype == dtypes.resource):
            raise ValueError(
                error_text.with_hint(
                    f"Invalid type {dtype.name} for {tensor.name}: only floating-point and complex "
                    "numbers have gradients",
                    "tf.cast(loss, tf.float32) makes some of a loss; a variable is made with "
                    "dtype=tf.float32, or with trainable=False where it only counts",
                )
            )


def hyperparameter(value: Any, name: str) -> Tensor:
    """What was given as `name`, a number, tensor or function, as a tensor; for `_prepare`."""
    return convert_to_tensor(value() if callable(value) else value, name=name)


def sum_repeated_rows(grad: IndexedSlices) -> IndexedSlices:
    """The same gradient with each of its rows once, the rows of an index added up."""
    indices, places = gen_ops.unique(grad.indices)
    values = gen_ops.unsorted_segment_sum(grad.values, places, array_ops.shape(indices)[0])
    return IndexedSlices(values, indices, grad.dense_shape)


def _flat(items: Any) -> Iterator[Any]:
    """The items of nested collections one after the other; a dictionary's by their sorted keys."""
    if isinstance(items, Mapping):
        items = [items[key] for key in sorted(items)]
    if isinstance(items, (TensorLike, str, bytes)) or not isinstance(items, Iterable):
        yield items
    else:
        for item in items:
            yield from _flat(item)


def _gradient(gradient: Any) -> Any:
    if isinstance(gradient, IndexedSlices):
        return gradient
    try:
        return convert_to_tensor(gradient)
    except TypeError:
        raise TypeError(
            f"grads_and_vars: expected a tensor, slices or None, got {gradient!r}"
        ) from None


def _filled_like(variable: Variable, value: Any) -> Tensor:
    """A tensor of one number with the shape of a variable."""
    shape = variable.shape
    if shape.is_fully_defined():
        dims: Any = shape
    else:
        dims = array_ops.shape(variable.initialized_value())
    if value == 0:
        return array_creation.zeros(dims, variable.dtype)
    if isinstance(dims, Tensor):
        return array_creation.fill(dims, convert_to_tensor(value, variable.dtype))
    return array_creation.fill(dims.as_list(), convert_to_tensor(value, variable.dtype))
