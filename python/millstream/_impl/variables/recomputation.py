"""Functions that are computed a second time for their gradient, and keep nothing until then."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.ops import nest
from millstream._impl.ops.custom_gradients import custom_gradient
from millstream._impl.ops.gradient_ops import gradients
from millstream._impl.variables.variable_scope import get_variable_scope, variable_scope


@public("recompute_grad")
@takes(f=FUNCTION)
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose gradient computes it once more: a step keeps no values of its inside.

    A long chain of such functions needs little memory and a third more time. Chen et al.: Training
    Deep Nets with Sublinear Memory Cost (2016).

    Parameters
    ----------
    f
        A function of tensors. Its second call is in the variable scope of the first one, with
        ``reuse``: variables must have names that the function gives, or belong to layer objects. It
        must give the same values again, so that random operations in it need a seed, and it should
        have no effects.

    Examples
    --------
    >>> layer = tf.layers.Dense(3, tf.nn.relu)
    >>> x = tf.ones([2, 4])
    >>> y = tf.recompute_grad(layer)(x)
    >>> [g.shape.as_list() for g in tf.gradients(y, [x, layer.kernel])]
    [[2, 4], [4, 3]]
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        scope = get_variable_scope()

        def once(*given: Any) -> tuple[Any, Callable[..., Any]]:
            result = f(*given, **kwargs)

            def gradient(*dys: Any, variables: Any = None) -> Any:
                flat = [convert_to_tensor(result) for result in nest.flatten(result)]
                known = [
                    gen_ops.zeros_like(one) if dy is None else convert_to_tensor(dy)
                    for one, dy in zip(flat, dys, strict=True)
                ]
                found = _again(functools.partial(f, **kwargs), given, scope, known, variables)
                count = len(given)
                return found if variables is None else (found[:count], found[count:])

            return result, gradient

        return custom_gradient(once)(*args)

    return decorated


def _again(
    f: Callable[..., Any], given: tuple[Any, ...], scope: Any, dys: list[Any], variables: Any
) -> list[Any]:
    """The gradients by the arguments and variables, of results that are computed now."""
    # The inputs wait for the gradient, or the step would keep the values of the first time.
    with get_default_graph().control_dependencies(dys):
        inputs = [gen_ops.identity(argument) for argument in given]
        with variable_scope(scope, reuse=True, auxiliary_name_scope=False):
            results = [convert_to_tensor(one) for one in nest.flatten(f(*inputs))]
    return gradients(results, [*inputs, *(variables or ())], dys)
