"""Training by replicas that keep equal variables: their gradients are reduced over all of them."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FLAG, INTEGER, LIST, TEXT, Kind, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.variable_tensor import on_device_of
from millstream._impl.ops import (
    array_creation,
    array_join,
    array_ops,
    collective_ops,
    control_ops,
)
from millstream._impl.variables import variable_scope
from millstream._impl.variables.variables import Variable

# Elements of the largest tensors that travel together. Larger ones are not worth the copies.
_MOST_TOGETHER = 16 * 1024
# The first group of Mirrored. Programs number their own from 1.
_FIRST_GROUP = 1 << 20

_ITERABLE = Kind("a list", lambda value: isinstance(value, Iterable))

# By graph, group and device: how many operations of the group it has.
_counts: weakref.WeakKeyDictionary[Any, dict[tuple[int, str], int]] = weakref.WeakKeyDictionary()


def _next_instance(group_key: int, device: str) -> int:
    """A number for the next operation of a group: replicas that are built alike get the same."""
    counts = _counts.setdefault(get_default_graph(), defaultdict(int))
    counts[group_key, device] += 1
    return counts[group_key, device]


def _together(tensors: Sequence[Tensor]) -> list[list[int]]:
    """Which tensors travel together: their positions."""
    groups: dict[Any, list[int]] = {}
    for position, tensor in enumerate(tensors):
        size = tensor.shape.num_elements()
        small = size is not None and size <= _MOST_TOGETHER
        # Types are equal to their numbers, so they must not stand beside positions.
        key = (tensor.dtype, -1) if small else (tensor.dtype, position)
        groups.setdefault(key, []).append(position)
    return list(groups.values())


def _reduce_all(
    tensors: Sequence[Tensor], device: str, group_size: int, group_key: int, final_op: str
) -> list[Tensor]:
    reduced: list[Any] = [None] * len(tensors)
    for positions in _together(tensors):
        parts = [tensors[position] for position in positions]
        instance = _next_instance(group_key, device)
        if len(parts) == 1:
            joined = parts[0]
        else:
            joined = array_join.concat([array_ops.reshape(part, [-1]) for part in parts], 0)
        result = collective_ops.all_reduce(joined, group_size, group_key, instance, "Add", final_op)
        if len(parts) == 1:
            reduced[positions[0]] = result
            continue
        sizes = [part.shape.num_elements() or 0 for part in parts]
        for position, piece in zip(positions, array_join.split(result, sizes), strict=True):
            reduced[position] = array_ops.reshape(piece, tensors[position].shape)
    return reduced


@public("cluster.all_reduce_gradients")
@takes(grads_and_vars=_ITERABLE, group_size=INTEGER, group_key=INTEGER, device=TEXT, mean=FLAG)
def all_reduce_gradients(
    grads_and_vars: Iterable[tuple[Any, Any]],
    group_size: int,
    group_key: int = 1,
    device: str = "",
    mean: bool = True,
) -> list[tuple[Any, Any]]:
    """Replace the gradients of a replica by their means over all replicas.

    Each replica calls it with its own gradients, in the same order, and applies what it gets. If
    the variables of the replicas are equal before, they are equal afterwards, in all bits. Small
    gradients travel together.

    Parameters
    ----------
    grads_and_vars
        What `tf.train.Optimizer.compute_gradients` gives. Gradients of rows become dense ones.
    group_size
        How many replicas there are, in all processes.
    group_key
        A number of the group; other operations of it must be the same in all replicas.
    device
        The device of the replica. Replicas of one graph need different ones; in a cluster where
        each worker has a graph of its own, it is the worker's.
    mean
        Whether sums are divided by `group_size`.

    Returns
    -------
    list of tuple
        For `tf.train.Optimizer.apply_gradients`.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind.

    Examples
    --------
    >>> v = tf.get_variable("v", initializer=3.0)
    >>> optimizer = tf.train.GradientDescentOptimizer(0.5)
    >>> gradients = optimizer.compute_gradients(v * v)
    >>> train = optimizer.apply_gradients(tf.cluster.all_reduce_gradients(gradients, group_size=1))
    """
    pairs = list(grads_and_vars)
    present = [position for position, (gradient, _) in enumerate(pairs) if gradient is not None]
    with scopes.name_scope(None, "all_reduce_gradients"), _on(device):
        dense = [convert_to_tensor(pairs[position][0]) for position in present]
        reduced = _reduce_all(dense, device, group_size, group_key, "Div" if mean else "Id")
    result = list(pairs)
    for position, gradient in zip(present, reduced, strict=True):
        result[position] = (gradient, pairs[position][1])
    return result


@contextmanager
def _on(device: str) -> Iterator[None]:
    """A block on a device, or where it would be anyway."""
    if not device:
        yield
        return
    with scopes.device(device):
        yield


@public("cluster.broadcast_variables")
@takes(variables=_ITERABLE, is_source=FLAG, group_size=INTEGER, group_key=INTEGER, device=TEXT)
def broadcast_variables(
    variables: Iterable[Any],
    is_source: bool,
    group_size: int,
    group_key: int = 1,
    device: str = "",
) -> Operation:
    """An operation that gives the variables of one replica to all.

    Each replica runs it, for example after its variables were initialized.

    Parameters
    ----------
    variables
        The variables, in the same order in all replicas. Their shapes must be known.
    is_source
        Whether this replica gives its values. One does.
    group_size, group_key, device
        As for `all_reduce_gradients`.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind, or a variable has no known shape.

    Examples
    --------
    >>> v = tf.get_variable("v", initializer=3.0)
    >>> share = tf.cluster.broadcast_variables([v], is_source=True, group_size=1)
    """
    updates = []
    with scopes.name_scope(None, "broadcast_variables"), _on(device):
        for variable in variables:
            if not variable.shape.is_fully_defined():
                raise ValueError(f"variables: {variable.name} has no known shape")
            if group_size == 1:
                continue
            dtype = variable.dtype.base_dtype
            keys = (group_size, group_key, _next_instance(group_key, device))
            if is_source:
                value = variable.read_value()
                updates.append(
                    collective_ops.broadcast_send(value, variable.shape, dtype, *keys).op
                )
            else:
                value = collective_ops.broadcast_recv(variable.shape, dtype, *keys)
                updates.append(variable.assign(value, read_value=False))
    return control_ops.group(*updates)


@public("cluster.Mirrored")
class Mirrored:
    """Replicas of a model in one graph, each on a device of its own, that train together.

    Every replica has its own variables, which begin with equal values and stay equal: the means of
    all gradients are applied to each. The devices may be CPUs of this process or of the tasks of a
    cluster. A session in one process needs as many CPUs as there are:
    ``tf.ConfigProto(device_count={"CPU": 2})``.

    Parameters
    ----------
    devices
        Names of the devices.

    Raises
    ------
    TypeError, ValueError
        No device is given, or one twice.

    Attributes
    ----------
    devices
        As given.

    Examples
    --------
    >>> def model(x, y):
    ...     return tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
    >>> mirrored = tf.cluster.Mirrored(["/cpu:0", "/cpu:1"])
    >>> x, y = tf.random_normal([8, 3], seed=1), tf.ones([8, 1])
    >>> losses = mirrored.build(model, tf.split(x, 2), tf.split(y, 2))
    >>> train = mirrored.minimize(lambda: tf.train.GradientDescentOptimizer(0.1), losses)
    >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
    ...     session.run(tf.global_variables_initializer())
    ...     for _ in range(3):
    ...         session.run(train)
    ...     first, second = session.run([mirrored.variables(0), mirrored.variables(1)])
    >>> all((a == b).all() for a, b in zip(first, second))
    True
    """

    @takes(devices=LIST)
    def __init__(self, devices: Sequence[str]) -> None:
        if not devices or len(set(devices)) != len(devices):
            raise ValueError(f"devices: expected different devices, got {list(devices)}")
        self.devices = list(devices)
        # Groups of a graph have different numbers.
        self._group_key = _FIRST_GROUP + _next_instance(0, "")
        self._variables: list[dict[str, Variable]] = [{} for _ in devices]

    def build(self, model: Callable[..., Any], *inputs: Sequence[Any]) -> list[Any]:
        """Build the model once for each device; what it returns, as a list.

        Variables of the first replica have the names that the model gives. Those of replica 1 stand
        below ``replica_1``, and so on.

        Parameters
        ----------
        model
            A function that makes its variables by `tf.get_variable`, as layers do. Each replica
            must make the same ones.
        inputs
            For each parameter of `model`, a list with the value of each replica.

        Raises
        ------
        ValueError
            A list of inputs has another length, or the model makes other variables, or makes them
            in another way.
        """
        for position, values in enumerate(inputs):
            if len(values) != len(self.devices):
                raise ValueError(
                    f"inputs: expected {len(self.devices)} values of parameter {position}, got "
                    f"{len(values)}"
                )
        results = []
        for replica, device in enumerate(self.devices):
            before = set(_trainable())
            with scopes.device(device), self._scope(replica):
                results.append(model(*(values[replica] for values in inputs)))
            made = [v for v in _trainable() if v not in before]
            own = self._variables[replica]
            known = set(own.values())
            other = [variable.name for variable in made if variable not in known]
            if other:
                raise ValueError(f"model: variables must be made by tf.get_variable, not {other}")
            missing = [name for name in self._variables[0] if name not in own]
            if missing:
                raise ValueError(f"model: replica {replica} does not make the variables {missing}")
        return results

    def minimize(
        self,
        make_optimizer: Callable[[], Any],
        losses: Sequence[Any],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """An operation by which all replicas take a step, by the mean of their gradients.

        Parameters
        ----------
        make_optimizer
            A function without parameters that makes an optimizer. Each replica has its own.
        losses
            The loss of each replica, as `build` gave them.
        global_step
            A variable that is increased by one.
        name
            Name of the operation.

        Raises
        ------
        ValueError
            There is another number of losses.
        """
        count = len(self.devices)
        if len(losses) != count:
            raise ValueError(f"losses: expected {count} losses, got {len(losses)}")
        updates = []
        for replica, device in enumerate(self.devices):
            with scopes.device(device), self._scope(replica, gets=False):
                optimizer = make_optimizer()
                pairs = optimizer.compute_gradients(losses[replica], self.variables(replica))
                if count > 1:
                    pairs = all_reduce_gradients(pairs, count, self._group_key, device)
                updates.append(optimizer.apply_gradients(pairs))
        if global_step is None:
            return control_ops.group(*updates, name=name)
        with scopes.control_dependencies(updates), on_device_of(global_step.handle):
            one = array_creation.ones([], global_step.dtype.base_dtype)
            return control_ops.group(global_step.assign_add(one, read_value=False), name=name)

    def variables(self, replica: int = 0) -> list[Variable]:
        """The variables of a replica that its optimizer changes.

        Parameters
        ----------
        replica
            Its number. The first one's are all that a checkpoint needs.
        """
        own = self._variables[replica]
        trained = set(_trainable())
        found = (own[name] for name in self._variables[0])  # in one order in all replicas
        return [variable for variable in found if variable in trained]

    @contextmanager
    def _scope(self, replica: int, gets: bool = True) -> Iterator[None]:
        getter = self._getter(replica) if gets else None
        if replica == 0 and getter is None:
            yield
            return
        outer = variable_scope.get_variable_scope()
        where = outer if replica == 0 else f"replica_{replica}"
        with variable_scope.variable_scope(
            where, custom_getter=getter, auxiliary_name_scope=replica > 0
        ):
            yield

    def _getter(self, replica: int) -> Callable[..., Any]:
        outer = variable_scope.names_scope()
        prefix = outer if replica == 0 else f"{outer}replica_{replica}/"
        own = self._variables[replica]
        first = self._variables[0]

        def get(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
            short = name.removeprefix(prefix)
            if replica > 0 and short not in own:
                if short not in first:
                    raise ValueError(
                        f"model: replica {replica} makes the variable {short!r}, which the first "
                        "replica does not have"
                    )
                source = first[short]
                kwargs["shape"] = source.shape
                kwargs["initializer"] = lambda *args, **kwargs: _first_value(source)
            variable = getter(name, *args, **kwargs)
            own[short] = variable
            return variable

        return get


def _trainable() -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)


def _first_value(variable: Variable) -> Tensor:
    with on_device_of(variable.handle):
        return variable.initialized_value()
