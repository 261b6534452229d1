"""Optimizers outside of the graph: programs in Python that call for the loss and its gradient."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import ITEMS, MAPPING, TENSOR_ITSELF, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.stacks import session_or_default
from millstream._impl.ops.gradient_ops import gradients
from millstream._impl.variables.variable_ops import trainable_variables
from millstream._impl.variables.variables import Variable

_Array = np.ndarray[Any, np.dtype[Any]]
_ALL = (-np.inf, np.inf)
# What reads a variable's parts or shape where it is, so that its value cannot be fed.
_READS_IN_PLACE = {"ResourceGather", "ResourceGatherNd", "VariableShape"}
_logger = logging.getLogger("millstream")


class _Function:
    """A scalar of the graph as a function of the variables' values in one vector of float64."""

    def __init__(self, value: Tensor, variables: Sequence[Variable]) -> None:
        if value.shape.ndims not in (None, 0):
            raise ValueError(f"expected a scalar, got {value!r}")
        slopes = gradients(value, variables)
        self.tensors = [value, *(_dense(*pair) for pair in zip(slopes, variables, strict=True))]


def _dense(slope: Any, variable: Variable) -> Tensor:
    if slope is None:
        return gen_ops.zeros_like(variable)
    return convert_to_tensor(slope, variable.dtype.base_dtype)


@public("contrib.opt.ExternalOptimizerInterface")
class ExternalOptimizerInterface:
    """The base of optimizers that are programs in Python.

    Such a program calls for the loss and its gradient where it wants them, and gives the values of
    the variables that it found best. All variables together are one vector of float64 to it. A
    class of this kind defines `_minimize`.

    Parameters
    ----------
    loss
        What is made small: a scalar tensor.
    var_list
        The variables, by default the trainable ones. Their shapes must be known.
    equalities
        Scalar tensors that are to be zero.
    inequalities
        Scalar tensors that are not to be negative.
    var_to_bounds
        A dictionary from variables to pairs of a lower and an upper bound of their elements:
        numbers, or arrays that broadcast to the variable's shape; infinite ones are none.
    optimizer_kwargs
        Further arguments, for the program.

    Raises
    ------
    ValueError
        There are no variables, a shape is not known, or a bound is for another variable.

    Examples
    --------
    >>> class Halving(tf.contrib.opt.ExternalOptimizerInterface):
    ...     def _minimize(self, initial_val, loss_grad_func, optimizer_kwargs, **rest):
    ...         for _ in range(optimizer_kwargs["steps"]):
    ...             loss, gradient = loss_grad_func(initial_val)
    ...             initial_val = initial_val - gradient / 4
    ...         return initial_val
    >>> w = tf.Variable([0.0, 8.0])
    >>> tf.global_variables_initializer().run()
    >>> Halving(tf.reduce_sum(tf.square(w - 1.0)), [w], steps=30).minimize()
    >>> w.eval().round(3).tolist()
    [1.0, 1.0]
    """

    @takes(loss=TENSOR_ITSELF, var_list=ITEMS, var_to_bounds=MAPPING)
    def __init__(
        self,
        loss: Any,
        var_list: Iterable[Any] | None = None,
        equalities: Iterable[Any] | None = None,
        inequalities: Iterable[Any] | None = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._vars: list[Variable] = list(trainable_variables() if var_list is None else var_list)
        if not self._vars:
            raise ValueError("var_list: there are no variables to change")
        for variable in self._vars:
            if not variable.shape.is_fully_defined():
                raise ValueError(f"var_list: the shape of {variable!r} must be known")
        self._graph = self._vars[0].graph
        self._shapes = [
            tuple(size or 0 for size in variable.shape.as_list()) for variable in self._vars
        ]
        self.optimizer_kwargs = optimizer_kwargs
        with self._graph.as_default(), self._graph.name_scope("external_optimizer"):
            self._loss = _Function(convert_to_tensor(loss), self._vars)
            self._equalities = [_Function(tensor, self._vars) for tensor in equalities or ()]
            self._inequalities = [_Function(tensor, self._vars) for tensor in inequalities or ()]
            self._new_values = [
                gen_ops.placeholder(variable.dtype.base_dtype, shape)
                for variable, shape in zip(self._vars, self._shapes, strict=True)
            ]
            pairs = zip(self._vars, self._new_values, strict=True)
            self._writes = {
                value: variable.assign(value, read_value=False) for variable, value in pairs
            }
        self._read_in_place = {
            variable
            for variable in self._vars
            if any(reader.type in _READS_IN_PLACE for reader in variable.handle.consumers())
        }
        self._bounds = self._packed_bounds(var_to_bounds)

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[_Array], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Run the program, and give the variables the values that it found.

        While it runs, the variables stay as they are: their values are fed. Only variables of which
        the graph reads rows or slices get each value that the program tries.

        Parameters
        ----------
        session
            The session, by default the default one.
        feed_dict
            Values of further tensors.
        fetches
            Tensors whose values go to `loss_callback`.
        step_callback
            Called after each step of the program with the vector of all values.
        loss_callback
            Called whenever the loss is computed, with the values of `fetches`.
        run_kwargs
            Further arguments for ``session.run``.
        """
        session = session_or_default(session, self._graph, f"{type(self).__name__}.minimize()")
        fetched = list(fetches or ())

        def evaluated(function: _Function, more: Sequence[Any], values: _Array) -> list[Any]:
            tried = zip(self._vars, self._new_values, self._unpacked(values), strict=True)
            feeds: dict[Any, Any] = dict(feed_dict or {})
            written: dict[Any, Any] = {}
            for variable, new_value, value in tried:
                if variable in self._read_in_place:
                    written[new_value] = value
                else:
                    feeds.setdefault(variable, value)
            if written:
                writes = [self._writes[value] for value in written]
                session.run(writes, written, **run_kwargs)
            found: list[Any] = session.run([function.tensors, list(more)], feeds, **run_kwargs)
            return found

        def loss_and_gradient(values: _Array) -> tuple[float, _Array]:
            (loss, *slopes), more = evaluated(self._loss, fetched, values)
            if loss_callback is not None:
                loss_callback(*more)
            return float(loss), self._packed(slopes)

        def value_of(function: _Function) -> Callable[[_Array], float]:
            return lambda values: float(evaluated(function, (), values)[0][0])

        def gradient_of(function: _Function) -> Callable[[_Array], _Array]:
            return lambda values: self._packed(evaluated(function, (), values)[0][1:])

        best = self._minimize(
            initial_val=self._packed(session.run(self._vars, feed_dict, **run_kwargs)),
            loss_grad_func=loss_and_gradient,
            equality_funcs=[value_of(function) for function in self._equalities],
            equality_grad_funcs=[gradient_of(function) for function in self._equalities],
            inequality_funcs=[value_of(function) for function in self._inequalities],
            inequality_grad_funcs=[gradient_of(function) for function in self._inequalities],
            packed_bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        session.run(
            list(self._writes.values()),
            dict(zip(self._new_values, self._unpacked(np.asarray(best)), strict=True)),
            **run_kwargs,
        )

    def _minimize(
        self,
        initial_val: _Array,
        loss_grad_func: Callable[[_Array], tuple[float, _Array]],
        equality_funcs: list[Callable[[_Array], float]],
        equality_grad_funcs: list[Callable[[_Array], _Array]],
        inequality_funcs: list[Callable[[_Array], float]],
        inequality_grad_funcs: list[Callable[[_Array], _Array]],
        packed_bounds: list[tuple[float, float]] | None,
        step_callback: Callable[[_Array], Any] | None,
        optimizer_kwargs: dict[str, Any],
    ) -> _Array:
        """The program, which derived classes have.

        Parameters
        ----------
        initial_val
            The vector of the variables' values.
        loss_grad_func
            Gives the loss and its gradient at a vector.
        equality_funcs, equality_grad_funcs, inequality_funcs, inequality_grad_funcs
            Give the constraints at a vector, and their gradients.
        packed_bounds
            A pair of bounds for each element, or None if nothing is bounded.
        step_callback
            To call after each step with the vector.
        optimizer_kwargs
            The further arguments.

        Returns
        -------
        numpy.ndarray
            The best vector.
        """
        raise NotImplementedError(f"{type(self).__name__} has no _minimize")

    # ---- One vector for all variables ----

    @staticmethod
    def _packed(arrays: Iterable[Any]) -> _Array:
        return np.concatenate([np.asarray(array, np.float64).reshape(-1) for array in arrays])

    def _unpacked(self, values: _Array) -> list[_Array]:
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        parts = np.split(np.asarray(values), ends[:-1])
        return [
            part.reshape(shape).astype(variable.dtype.as_numpy_dtype)
            for part, shape, variable in zip(parts, self._shapes, self._vars, strict=True)
        ]

    def _packed_bounds(
        self, var_to_bounds: Mapping[Any, Any] | None
    ) -> list[tuple[float, float]] | None:
        if var_to_bounds is None:
            return None
        for variable in var_to_bounds:
            if variable not in self._vars:
                raise ValueError(f"var_to_bounds: {variable!r} is none of the variables")
        sides: tuple[list[Any], list[Any]] = ([], [])
        for variable, shape in zip(self._vars, self._shapes, strict=True):
            for side, bound in zip(sides, var_to_bounds.get(variable, _ALL), strict=True):
                side.append(np.broadcast_to(np.asarray(bound, np.float64), shape))
        lower, upper = (self._packed(side) for side in sides)
        return [(float(low), float(high)) for low, high in zip(lower, upper, strict=True)]


@public("contrib.opt.ScipyOptimizerInterface")
class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Makes a loss small by ``scipy.optimize.minimize``.

    Needs the package SciPy. The optimizer_kwargs are arguments of that function, as ``method``
    (by default "L-BFGS-B"), ``options`` and ``tol``. Constraints need a method that knows them,
    such as "SLSQP".

    Parameters
    ----------
    loss, var_list, equalities, inequalities, var_to_bounds, optimizer_kwargs
        As for `ExternalOptimizerInterface`.

    Raises
    ------
    ImportError
        SciPy is not installed.
    ValueError
        An argument in optimizer_kwargs is one that this class gives itself.

    Examples
    --------
    >>> w = tf.Variable([7.0, -2.0])
    >>> loss = tf.reduce_sum(tf.square(w))
    >>> def train(sess):
    ...     sess.run(tf.global_variables_initializer())
    ...     optimizer = tf.contrib.opt.ScipyOptimizerInterface(
    ...         loss, options={"maxiter": 100}, var_to_bounds={w: ([1, 2], np.inf)})
    ...     optimizer.minimize(sess)  # w becomes [1, 2]
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def __init__(
        self,
        loss: Any,
        var_list: Iterable[Any] | None = None,
        equalities: Iterable[Any] | None = None,
        inequalities: Iterable[Any] | None = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        try:
            self._scipy: Any = importlib.import_module("scipy.optimize")  # lazy: few need SciPy
        except ImportError as error:
            raise ImportError(
                "ScipyOptimizerInterface needs the package SciPy: pip install scipy"
            ) from error
        for name in ("fun", "x0", "jac", "callback", "constraints", "bounds"):
            if name in optimizer_kwargs:
                instead = "var_to_bounds" if name == "bounds" else "the class's own arguments"
                raise ValueError(f"{name}: cannot be given here; it follows from {instead}")
        super().__init__(
            loss, var_list, equalities, inequalities, var_to_bounds, **optimizer_kwargs
        )

    def _minimize(
        self,
        initial_val: _Array,
        loss_grad_func: Callable[[_Array], tuple[float, _Array]],
        equality_funcs: list[Callable[[_Array], float]],
        equality_grad_funcs: list[Callable[[_Array], _Array]],
        inequality_funcs: list[Callable[[_Array], float]],
        inequality_grad_funcs: list[Callable[[_Array], _Array]],
        packed_bounds: list[tuple[float, float]] | None,
        step_callback: Callable[[_Array], Any] | None,
        optimizer_kwargs: dict[str, Any],
    ) -> _Array:
        constraints = [
            {"type": kind, "fun": function, "jac": slope}
            for kind, functions, slopes in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, slope in zip(functions, slopes, strict=True)
        ]
        arguments = {"method": self._DEFAULT_METHOD, **optimizer_kwargs}
        result = self._scipy.minimize(
            loss_grad_func,
            initial_val,
            jac=True,
            callback=step_callback,
            constraints=constraints,
            bounds=packed_bounds,
            **arguments,
        )
        _logger.info("Optimization ended with loss %g: %s", result["fun"], result["message"])
        best: _Array = result["x"]
        return best
