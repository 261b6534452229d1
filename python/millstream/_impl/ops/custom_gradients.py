"""Functions whose gradient the program defines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import gradient_functions, nest
from millstream._impl.values import dtypes

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

# The ops that take the handle of a variable whose value is used: the last two bring it into a
# branch or loop.
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "Switch", "Enter")


@public("custom_gradient")
@takes(f=FUNCTION)
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a gradient of its own.

    Parameters
    ----------
    f
        A function of tensors, without keywords. It returns a pair: its result, which is a tensor or
        a structure of tensors, and a function that gets the gradient of each of these and returns
        the gradient of each argument: a tensor, `IndexedSlices` or None. The gradients are
        differentiated as usual if second derivatives are wanted.

        If `f` reads trainable variables that are not arguments, the second function is called with
        the keyword `variables`, the list of them, and returns a pair: the gradients of the
        arguments, and a list of those of the variables.

    Returns
    -------
    function
        Its arguments become tensors, and it returns the result of `f`. ValueError if it is called
        with keywords, TypeError if `f` reads variables and the second function does not take
        `variables`.

    Examples
    --------
    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))
    >>> x = tf.constant(100.0)
    >>> float(tf.gradients(log1pexp(x), x)[0].eval())
    1.0
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator supports no keyword arguments in graphs, got "
                f"{', '.join(kwargs)}; pass them by position, or bind them by functools.partial"
            )
        return _call(f, args)

    return decorated


@public("grad_pass_through")
@takes(f=FUNCTION)
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose gradient is that of the identity.

    Parameters
    ----------
    f
        A function of tensors, with as many results as arguments and of the same shapes. Variables
        that it reads have no gradient.

    Examples
    --------
    >>> x = tf.constant(1.5)
    >>> y = tf.grad_pass_through(tf.floor)(x)
    >>> float(y.eval()), float(tf.gradients(y, x)[0].eval())
    (1.0, 1.0)
    """

    def passed_on(*args: Any) -> tuple[Any, Callable[..., Any]]:
        def gradient(*dys: Any, variables: Any = None) -> Any:
            return dys if variables is None else (dys, [None] * len(variables))

        return f(*args), gradient

    return custom_gradient(functools.wraps(f)(passed_on))


def _call(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result of `f`, behind an IdentityN that has the gradient.

    The IdentityN takes the results, the arguments and the variables. Its gradient function has none
    for the results, so no gradient gets into `f`.
    """
    arguments = [convert_to_tensor(argument) for argument in args]
    graph = get_default_graph()
    first_inside = graph.version
    pair = f(*arguments)
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not callable(pair[1]):
        raise TypeError(
            f"f: expected a function that returns its result and a gradient function, got {pair!r}"
        )
    result, gradient = pair
    results = [convert_to_tensor(item) for item in nest.flatten(result)]
    given = {argument.packed for argument in arguments}
    variables = _variables_read(graph, first_inside, given)
    if variables and not _takes_variables(gradient):
        names = ", ".join(variable.name for variable in variables)
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must "
            f"accept a 'variables' keyword argument; it uses {names}"
        )
    entry = _Gradient(gradient, len(results), len(arguments), variables)
    name = gradient_functions.name_for_graph(graph, entry)
    with graph.gradient_override_map({"IdentityN": name}):
        passed = gen_ops.identity_n([*results, *arguments, *variables])
    return nest.pack_sequence_as(result, passed[: len(results)])


class _Gradient:
    """The gradient function of an IdentityN."""

    def __init__(
        self, gradient: Callable[..., Any], n_results: int, n_arguments: int, variables: list[Any]
    ) -> None:
        self._gradient = gradient
        self._n_results = n_results
        self._n_arguments = n_arguments
        self._variables = variables

    def __call__(self, _: Operation, *dys: Any) -> list[Any]:
        results = dys[: self._n_results]
        of_variables: list[Any] = []
        if self._variables:
            found, given = self._gradient(*results, variables=list(self._variables))
            of_variables = nest.flatten(given)
        else:
            found = self._gradient(*results)
        of_arguments = nest.flatten(found)
        self._check("argument", len(of_arguments), self._n_arguments)
        self._check("variable", len(of_variables), len(self._variables))
        return [None] * self._n_results + of_arguments + of_variables

    def _check(self, what: str, got: int, expected: int) -> None:
        if got != expected:
            raise ValueError(
                f"Must return gradient for each {what} from @custom_gradient grad_fn: expected "
                f"{expected}, got {got}"
            )


def _variables_read(graph: Graph, first_inside: int, given: set[int]) -> list[Any]:
    """The trainable variables that operations from a number on read, in order of the first read."""
    found: dict[int, Any] = {}
    for operation in graph.get_operations()[first_inside:]:
        for tensor in operation.inputs:
            if tensor.packed in given:
                continue
            variable = _variable_read(graph, operation, tensor)
            if variable is not None and variable.trainable:
                found.setdefault(variable.handle.packed, variable)
    return list(found.values())


def _variable_read(graph: Graph, operation: Operation, tensor: Tensor) -> Any:
    """The variable that an operation reads by one of its inputs, or None.

    The read that is made with a variable does not count.
    """
    if tensor.dtype is not dtypes.resource:
        return _cached_variable(graph, tensor.op)
    variable = graph.variable_of(tensor) if operation.type in _READS else None
    is_own = variable is not None and variable.graph_element.op is operation
    return None if is_own else variable


def _cached_variable(graph: Graph, operation: Operation) -> Any:
    """The variable whose value on its caching device an operation gives, or None."""
    if operation.type != "Identity":
        return None
    read = operation.inputs[0].op
    if read.type != "ReadVariableOp":
        return None
    variable = graph.variable_of(read.inputs[0])
    is_cache = variable is not None and operation.name == f"{variable.op.name}/cached"
    return variable if is_cache else None


def _takes_variables(gradient: Callable[..., Any]) -> bool:
    """Whether a function has the keyword `variables`."""
    try:
        parameters = inspect.signature(gradient).parameters
    except (TypeError, ValueError):  # a builtin function may not tell
        return False
    return "variables" in parameters or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
    )
