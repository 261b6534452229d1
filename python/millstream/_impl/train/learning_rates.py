"""Learning rates that change with the count of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import LIST, NUMBER, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes


def like(first: Tensor, **numbers: Any) -> list[Tensor]:
    """Return numbers as tensors of the dtype of the first, each named by its argument.

    Parameters
    ----------
    first
        The tensor.
    numbers
        What to convert, in this order.
    """
    return [
        gen_ops.cast(convert_to_tensor(number, name=name), first.dtype)
        for name, number in numbers.items()
    ]


def rate_and(learning_rate: Any, **numbers: Any) -> list[Tensor]:
    """Return the learning rate as a tensor, and numbers of a schedule in its dtype.

    Parameters
    ----------
    learning_rate
        The rate.
    numbers
        What to convert, in this order.
    """
    first = convert_to_tensor(learning_rate, name="learning_rate")
    return [first, *like(first, **numbers)]


def _decay(
    formula: Callable[[Tensor, Tensor, Tensor, str], Tensor],
    public_name: str,
    scope_name: str,
    meaning: str,
    outcome: str,
) -> Callable[..., Tensor]:
    @takes(learning_rate=NUMBER, global_step=NUMBER, decay_steps=NUMBER, decay_rate=NUMBER)
    def decay(
        learning_rate: Any,
        global_step: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> Tensor:
        arguments = [learning_rate, global_step, decay_steps, decay_rate]
        with scopes.name_scope(name, scope_name, arguments) as scope:
            first, rate, step, length = rate_and(
                learning_rate,
                decay_rate=decay_rate,
                global_step=global_step,
                decay_steps=decay_steps,
            )
            periods = gen_ops.real_div(step, length)
            if staircase:
                periods = gen_ops.floor(periods)
            return formula(first, rate, periods, scope)

    decay.__doc__ = f"""``{meaning}``, where ``n = global_step / decay_steps``.

    Parameters
    ----------
    learning_rate
        The rate at step 0, a floating-point number.
    global_step
        The count of steps, a number, scalar tensor or variable.
    decay_steps
        The length of a period in steps.
    decay_rate
        How strongly the rate falls in a period.
    staircase
        Whether n is rounded down, so that the rate changes once a period.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `learning_rate`, new in each step.

    Examples
    --------
    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.{public_name}(1.0, step, 10, 0.5, staircase=True)
    >>> [round(float(rate.eval({{step: count}})), 3) for count in (0, 9, 10, 20)]
    {outcome}
    """
    decay.__name__ = decay.__qualname__ = public_name
    return decay


def _exponential(first: Tensor, rate: Tensor, periods: Tensor, name: str) -> Tensor:
    return gen_ops.mul(first, gen_ops.pow(rate, periods), name)


def _natural(first: Tensor, rate: Tensor, periods: Tensor, name: str) -> Tensor:
    return _exponential(first, gen_ops.exp(gen_ops.neg(rate)), periods, name)


def _inverse(first: Tensor, rate: Tensor, periods: Tensor, name: str) -> Tensor:
    return gen_ops.real_div(first, 1 + rate * periods, name)


exponential_decay = public("train.exponential_decay")(
    _decay(
        _exponential,
        "exponential_decay",
        "ExponentialDecay",
        "learning_rate * decay_rate**n",
        "[1.0, 1.0, 0.5, 0.25]",
    )
)
natural_exp_decay = public("train.natural_exp_decay")(
    _decay(
        _natural,
        "natural_exp_decay",
        "ExponentialDecay",
        "learning_rate * exp(-decay_rate * n)",
        "[1.0, 1.0, 0.607, 0.368]",
    )
)
inverse_time_decay = public("train.inverse_time_decay")(
    _decay(
        _inverse,
        "inverse_time_decay",
        "InverseTimeDecay",
        "learning_rate / (1 + decay_rate * n)",
        "[1.0, 1.0, 0.667, 0.5]",
    )
)


@public("train.polynomial_decay")
@takes(
    learning_rate=NUMBER,
    global_step=NUMBER,
    decay_steps=NUMBER,
    end_learning_rate=NUMBER,
    power=NUMBER,
)
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """``(learning_rate - end_learning_rate) * (1 - n)**power + end_learning_rate``.

    Here ``n = min(global_step, decay_steps) / decay_steps``.

    Parameters
    ----------
    learning_rate
        The rate at step 0, a floating-point number.
    global_step
        The count of steps, a number, scalar tensor or variable.
    decay_steps
        The number of steps until the end.
    end_learning_rate
        The rate there and afterwards.
    power
        The power; 1 for a straight line.
    cycle
        Whether the rate rises again after the end, each time for as many steps as lie between 0 and
        the next end.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `learning_rate`, new in each step.

    Examples
    --------
    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.polynomial_decay(1.0, step, 10, 0.0)
    >>> [round(float(rate.eval({step: count})), 3) for count in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    arguments = [learning_rate, global_step, decay_steps, end_learning_rate, power]
    with scopes.name_scope(name, "PolynomialDecay", arguments) as scope:
        first = convert_to_tensor(learning_rate, name="learning_rate")
        last = gen_ops.cast(convert_to_tensor(end_learning_rate), first.dtype)
        exponent, step, length = like(
            first, power=power, global_step=global_step, decay_steps=decay_steps
        )
        if cycle:
            # The smallest multiple of the length that is not passed, at least one.
            periods = gen_ops.neg(gen_ops.floor(gen_ops.neg(gen_ops.real_div(step, length))))
            length = length * gen_ops.maximum(periods, gen_ops.ones_like(periods))
        else:
            step = gen_ops.minimum(step, length)
        left = gen_ops.pow(1 - gen_ops.real_div(step, length), exponent)
        return gen_ops.add((first - last) * left, last, scope)


@public("train.piecewise_constant")
@takes(x=TENSOR, boundaries=LIST, values=LIST)
def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """One of several values, by where a number lies between boundaries.

    Parameters
    ----------
    x
        The number, such as the count of steps: a scalar.
    boundaries
        Numbers of the dtype of `x`, in ascending order.
    values
        One more than `boundaries`: the first up to and with the first boundary, and so on; the last
        beyond the last one. All have one dtype.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `values`, new in each step.

    Raises
    ------
    ValueError
        There are more or fewer `values`, no boundaries, the boundaries descend, or the dtypes
        differ.

    Examples
    --------
    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.piecewise_constant(step, [100, 200], [1.0, 0.5, 0.25])
    >>> [float(rate.eval({step: count})) for count in (0, 100, 101, 200, 300)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    if not boundaries or len(values) != len(boundaries) + 1:
        raise ValueError(
            f"values: expected one more than boundaries, of which there is one at least, got "
            f"{len(values)} and {len(boundaries)}"
        )
    with scopes.name_scope(name, "PiecewiseConstant", [x, *boundaries, *values]) as scope:
        number = convert_to_tensor(x, name="x")
        limits = [_boundary(limit, number.dtype.base_dtype) for limit in boundaries]
        known = [constant_value(limit) for limit in limits]
        if any(None not in pair and pair[0] > pair[1] for pair in pairwise(known)):
            raise ValueError(f"boundaries: expected ascending numbers, got {boundaries}")
        parts = [convert_to_tensor(value, name="values") for value in values]
        for part in parts:
            if part.dtype.base_dtype != parts[0].dtype.base_dtype:
                raise ValueError(
                    f"values: expected one dtype, got {parts[0].dtype.name} and {part.dtype.name}"
                )
        found = parts[-1]
        for index in reversed(range(len(limits))):
            last = index == 0
            below = gen_ops.less_equal(number, limits[index])
            found = gen_ops.select(below, parts[index], found, scope if last else None)
        return found


def _boundary(limit: Any, dtype: dtypes.DType) -> Tensor:
    tensor = convert_to_tensor(limit, name="boundaries")
    found = tensor.dtype.base_dtype
    if found == dtype:
        return tensor
    if (found, dtype) == (dtypes.int32, dtypes.int64):
        return gen_ops.cast(tensor, dtype)
    raise ValueError(f"boundaries: expected the dtype of x, {dtype.name}, got {found.name}")


piecewise_constant_decay = public("train.piecewise_constant_decay")(piecewise_constant)
