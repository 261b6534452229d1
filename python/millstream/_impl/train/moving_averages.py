"""Moving averages of variables: shadow variables that follow them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import ITEMS, NAME, NUMBER, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.variable_tensor import on_device_of
from millstream._impl.ops import array_creation, control_ops
from millstream._impl.values import dtypes
from millstream._impl.variables import initializers, variable_ops
from millstream._impl.variables.save_slices import place_beside
from millstream._impl.variables.variable_scope import get_variable, names_scope, variable_scope
from millstream._impl.variables.variables import Variable


@public("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Averages of variables in which older values count ever less.

    ``apply`` makes a shadow variable beside each variable and gives the operation that moves it:
    ``shadow -= (1 - decay) * (shadow - variable)``.

    Parameters
    ----------
    decay
        How much of the average is kept, slightly below 1.
    num_updates
        A count of steps n, with which the decay is ``min(decay, (1 + n) / (10 + n))``: averages
        follow fast at first.
    zero_debias
        Whether averages of tensors, which start from 0, are corrected for that (Kingma, Ba: Adam,
        2015, section 3).
    name
        Name of the operations, and the end of the names of shadow variables.

    Examples
    --------
    >>> v = tf.Variable(4.0)
    >>> average = tf.train.ExponentialMovingAverage(0.75)
    >>> move = average.apply([v])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.global_variables_initializer())
    >>> sess.run(v.assign(8.0))
    8.0
    >>> sess.run(move)
    >>> sess.run(average.average(v))
    5.0
    """

    @takes(decay=NUMBER, num_updates=or_none(NUMBER), name=NAME)
    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}
        self._debiased: set[Any] = set()

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @takes(var_list=ITEMS)
    def apply(self, var_list: Iterable[Any] | None = None) -> Operation:
        """Make the shadow variables, and give the operation that moves them.

        Parameters
        ----------
        var_list
            Variables or tensors of floating-point numbers, by default the trainable variables.
            Averages of variables start from their first values, those of tensors from 0.

        Raises
        ------
        TypeError
            One has no floating-point numbers.
        """
        given = variable_ops.trainable_variables() if var_list is None else list(var_list)
        for source in given:
            if not source.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {source.name}")
            if source not in self._averages:
                self._averages[source] = self._shadow(source)
        with scopes.name_scope(self._name) as scope:
            decay = self._current_decay()
            moves = [self._move(source, decay) for source in given]
            return control_ops.group(*moves, name=scope)

    def _shadow(self, source: Any) -> Variable:
        is_variable = isinstance(source, Variable)

        def make() -> Any:
            if is_variable:
                return source.initialized_value()
            return array_creation.zeros(source.shape, source.dtype.base_dtype)

        near = source.handle if is_variable else source
        with get_default_graph().enter_scope(names_scope()), on_device_of(near):
            shadow = Variable(make, trainable=False, name=f"{source.op.name}/{self._name}")
        if is_variable:
            place_beside(shadow, source)
            get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, source)
        elif self._zero_debias:
            self._debiased.add(shadow)
        return shadow

    def _current_decay(self) -> Tensor:
        decay = convert_to_tensor(self._decay, dtypes.float32, "decay")
        if self._num_updates is None:
            return decay
        count = gen_ops.cast(
            convert_to_tensor(self._num_updates), dtypes.float32, name="num_updates"
        )
        return gen_ops.minimum(decay, (1.0 + count) / (10.0 + count))

    def _move(self, source: Any, decay: Tensor) -> Any:
        shadow = self._averages[source]
        kept = 1.0 - gen_ops.cast(decay, shadow.dtype.base_dtype)
        with scopes.name_scope(None, "AssignMovingAvg", [source]) as scope:
            if shadow in self._debiased:
                return debiased_update(shadow, source, kept)
            return variable_ops.assign_sub(shadow, (shadow - source) * kept, name=scope)

    def average(self, var: Any) -> Variable | None:
        """The shadow variable of a variable or tensor; None before it was given to `apply`."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the shadow variable, also before there is one.

        Parameters
        ----------
        var
            A variable or tensor.
        """
        if var in self._averages:
            return str(self._averages[var].op.name)
        name: str = get_default_graph().unique_name(
            f"{var.op.name}/{self._name}", mark_as_used=False
        )
        return name

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> Any:
        """What to restore so that variables get the values of their averages.

        Parameters
        ----------
        moving_avg_variables
            The variables that have averages, by default the trainable ones and those that were
            given to `apply`.

        Returns
        -------
        dict
            Variables by the names in a checkpoint: those with an average by its name, the others by
            their own.
        """
        if moving_avg_variables is None:
            averaged = [*variable_ops.trainable_variables()]
            averaged += variable_ops.moving_average_variables()
        else:
            averaged = list(moving_avg_variables)
        found = {self.average_name(variable): variable for variable in dict.fromkeys(averaged)}
        for variable in variable_ops.global_variables():
            if variable not in averaged:
                found.setdefault(variable.op.name, variable)
        return found


def debiased_update(shadow: Variable, value: Any, kept: Tensor) -> Any:
    """Move an average that starts from 0 and divide by what it would be for ones."""
    dtype = shadow.dtype.base_dtype
    zeros = initializers.Zeros()
    with variable_scope(shadow.op.name):
        biased = get_variable("biased", shadow.shape, dtype, zeros, trainable=False)
        count = get_variable("local_step", [], dtype, zeros, trainable=False)
    moved = variable_ops.assign_sub(biased, (biased - value) * kept)
    counted = variable_ops.assign_add(count, convert_to_tensor(1, dtype))
    of_ones = 1.0 - gen_ops.pow(1.0 - kept, convert_to_tensor(counted))
    return variable_ops.assign(shadow, convert_to_tensor(moved) / of_ones)
