"""Checks that run with the step: operations that fail when values are not as they should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, LIST, NUMBER, TENSOR, TEXT, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import reductions
from millstream._impl.ops.control_ops import no_op, with_dependencies

_SUMMARIZE = 3  # elements of each tensor that an error shows by default


@public("Assert", "debugging.Assert")
@takes(condition=TENSOR, data=LIST, summarize=INTEGER)
def Assert(  # noqa: N802  (the public name)
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that fails the step when a condition does not hold.

    It checks only when it runs: what relies on it should wait for it, by `control_dependencies`.

    Parameters
    ----------
    condition
        A scalar tensor of bool.
    data
        Tensors that the error shows.
    summarize
        How many elements of each it shows, by default 3; all when negative.
    name
        Name of the scope.

    Raises
    ------
    TypeError
        The condition is no bool.
    ValueError
        The condition is known not to be a scalar, or there are no data.

    Examples
    --------
    >>> x = tf.constant(-1)
    >>> with tf.control_dependencies([tf.Assert(x > 0, ["x is", x])]):
    ...     root = tf.identity(x)
    >>> try:
    ...     root.eval()
    ... except tf.errors.InvalidArgumentError as error:
    ...     print("assertion failed: [x is] [-1]" in error.message)
    True
    """
    with scopes.name_scope(name, "Assert", [condition]):
        tensors = [convert_to_tensor(item) for item in data]
        count = _SUMMARIZE if summarize is None else summarize
        return gen_ops.assert_(condition, tensors, count, "Assert")  # noqa: PT009  (an op)


@public("check_numerics", "debugging.check_numerics")
@takes(tensor=TENSOR, message=TEXT)
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor, provided that its elements are finite; its gradient is checked as well.

    Parameters
    ----------
    tensor
        A tensor of floating-point numbers.
    message
        What the error starts with.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The tensor. Running it raises InvalidArgumentError when an element is NaN or infinite.

    Raises
    ------
    TypeError
        The elements are no floating-point numbers.

    Examples
    --------
    >>> tf.check_numerics([1.0, 2.0], "weights").eval()
    array([1., 2.], dtype=float32)
    """
    return gen_ops.check_numerics(tensor, message, name)


@public("verify_tensor_all_finite", "debugging.assert_all_finite")
@takes(t=TENSOR, msg=TEXT, x=TENSOR, message=TEXT)
def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Tensor:
    """The tensor, after a check that its elements are finite; see `check_numerics`.

    Parameters
    ----------
    t
        A tensor of floating-point numbers.
    msg
        What the error starts with.
    name
        Name of the scope.
    x, message
        New names of `t` and `msg`.

    Raises
    ------
    ValueError
        The tensor or the message is missing, or given twice.

    Examples
    --------
    >>> tf.verify_tensor_all_finite([1.0], "weights").eval()
    array([1.], dtype=float32)
    """
    for old, new, names in ((t, x, "t and x"), (msg, message, "msg and message")):
        if (old is None) == (new is None):
            raise ValueError(f"{names}: expected one of them, which are one argument")
    text = str(msg if message is None else message)
    with scopes.name_scope(name, "VerifyFinite", [x if t is None else t]):
        value = convert_to_tensor(x if t is None else t, name="t")
        verified = gen_ops.check_numerics(value, text)
        return with_dependencies([verified], value)


def _fail_or_assert(
    condition: Tensor, data: Sequence[Any], summarize: int | None, message: str | None
) -> Operation:
    """Raises InvalidArgumentError when the condition is known not to hold; else checks in steps."""
    known = constant_value(condition)
    shown = [*([message] if message else []), *data]
    if known is None:
        return Assert(condition, shown, summarize)
    if not known:
        texts = [str(_known(item)) for item in shown]
        raise errors.InvalidArgumentError(None, None, "assertion failed: " + "  ".join(texts))
    return no_op("static_checks_determined_all_ok")


def _known(item: Any) -> Any:
    value = constant_value(item)
    return item if value is None else value


_PARAMETERS = """    data
        Tensors that the error shows, by default the ones compared.
    summarize
        How many elements of each it shows, by default 3.
    message
        What the error starts with.
    name
        Name of the scope.

    Returns
    -------
    Operation
        Running it raises InvalidArgumentError when the condition does not hold.

    Raises
    ------
    InvalidArgumentError
        The condition is known not to hold.
    TypeError, ValueError
        Tensors cannot be compared so."""


def _pair_assertion(
    holds: Callable[[Tensor, Tensor], Tensor],
    static: Callable[[Any, Any], Any],
    public_name: str,
    relation: str,
    fine: int,
) -> Callable[..., Operation]:
    """An assertion of a relation, which the number `fine` has to 7."""

    @takes(x=TENSOR, y=TENSOR, data=LIST, summarize=INTEGER, message=TEXT)
    def assertion(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with scopes.name_scope(name, public_name, [x, y]):
            left = convert_to_tensor(x, name="x")
            right = convert_to_tensor(y, left.dtype.base_dtype, "y")
            condition = _condition(holds, static, left, right)
            told = f"Condition x {relation} y did not hold element-wise:"
            shown = [told, f"x ({left.name}) =", left, f"y ({right.name}) =", right]
            return _fail_or_assert(condition, shown if data is None else data, summarize, message)

    assertion.__doc__ = f"""An operation that fails unless ``x {relation} y`` for all elements.

    Parameters
    ----------
    x, y
        Tensors of one dtype, of shapes that broadcast.
{_PARAMETERS}

    Examples
    --------
    >>> x = tf.placeholder(tf.int32)
    >>> tf.{public_name}(x, 7).run({{x: {fine}}})
    """
    assertion.__name__ = assertion.__qualname__ = public_name
    return assertion


def _condition(holds: Any, static: Any, left: Tensor, right: Tensor) -> Tensor:
    """Whether a relation holds of all elements; a constant where both tensors are."""
    known = constant_value(left), constant_value(right)
    if known[0] is not None and known[1] is not None:
        _check_broadcast(left, right)
        return convert_to_tensor(bool(np.all(static(*known))))
    return reductions.reduce_all(holds(left, right))


def _check_broadcast(left: Tensor, right: Tensor) -> None:
    """Raise ValueError when two static shapes do not broadcast."""
    pairs = zip(reversed(left.shape.as_list()), reversed(right.shape.as_list()), strict=False)
    for one, other in pairs:
        if 1 not in (one, other) and one != other:
            raise ValueError(
                f"Dimensions must be equal, but are {one} and {other}: expected shapes that "
                f"broadcast, got {left.shape} of {left.name!r} and {right.shape} of {right.name!r}"
            )


def _sign_assertion(
    pair: Callable[..., Operation], public_name: str, relation: str, fine: int
) -> Callable[..., Operation]:
    @takes(x=TENSOR, data=LIST, summarize=INTEGER, message=TEXT)
    def assertion(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with scopes.name_scope(name, public_name, [x]):
            value = convert_to_tensor(x, name="x")
            zero = convert_to_tensor(0, value.dtype.base_dtype)
            told = f"Condition x {relation} 0 did not hold element-wise:"
            shown = [told, f"x ({value.name}) =", value] if data is None else data
            return pair(value, zero, shown, summarize, message)

    assertion.__doc__ = f"""An operation that fails unless ``x {relation} 0`` for all elements.

    Parameters
    ----------
    x
        A tensor of numbers.
{_PARAMETERS}

    Examples
    --------
    >>> x = tf.placeholder(tf.int32)
    >>> tf.{public_name}(x).run({{x: {fine}}})
    """
    assertion.__name__ = assertion.__qualname__ = public_name
    return assertion


assert_equal = public("assert_equal", "debugging.assert_equal")(
    _pair_assertion(gen_ops.equal, np.equal, "assert_equal", "==", 7)
)
assert_none_equal = public("assert_none_equal", "debugging.assert_none_equal")(
    _pair_assertion(gen_ops.not_equal, np.not_equal, "assert_none_equal", "!=", 6)
)
assert_less = public("assert_less", "debugging.assert_less")(
    _pair_assertion(gen_ops.less, np.less, "assert_less", "<", 6)
)
assert_less_equal = public("assert_less_equal", "debugging.assert_less_equal")(
    _pair_assertion(gen_ops.less_equal, np.less_equal, "assert_less_equal", "<=", 7)
)
assert_greater = public("assert_greater", "debugging.assert_greater")(
    _pair_assertion(gen_ops.greater, np.greater, "assert_greater", ">", 8)
)
assert_greater_equal = public("assert_greater_equal", "debugging.assert_greater_equal")(
    _pair_assertion(gen_ops.greater_equal, np.greater_equal, "assert_greater_equal", ">=", 7)
)
assert_positive = public("assert_positive", "debugging.assert_positive")(
    _sign_assertion(assert_greater, "assert_positive", ">", 1)
)
assert_non_negative = public("assert_non_negative", "debugging.assert_non_negative")(
    _sign_assertion(assert_greater_equal, "assert_non_negative", ">=", 0)
)
assert_negative = public("assert_negative", "debugging.assert_negative")(
    _sign_assertion(assert_less, "assert_negative", "<", -1)
)
assert_non_positive = public("assert_non_positive", "debugging.assert_non_positive")(
    _sign_assertion(assert_less_equal, "assert_non_positive", "<=", 0)
)


@public("assert_near", "debugging.assert_near")
@takes(x=TENSOR, y=TENSOR, rtol=NUMBER, atol=NUMBER, data=LIST, summarize=INTEGER, message=TEXT)
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless ``abs(x - y) < atol + rtol * abs(y)`` for all elements.

    Parameters
    ----------
    x, y
        Tensors of one floating-point dtype, of shapes that broadcast.
    rtol, atol
        Relative and absolute tolerance, by default ten times the dtype's step at 1.
    data
        Tensors that the error shows, by default both.
    summarize
        How many elements of each it shows, by default 3.
    message
        What the error starts with.
    name
        Name of the scope.

    Returns
    -------
    Operation
        Running it raises InvalidArgumentError when the condition does not hold.

    Raises
    ------
    TypeError, ValueError
        The dtypes differ or are not floating-point, or the shapes do not broadcast.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32)
    >>> tf.assert_near(x, 2.0, rtol=0.1).run({x: 2.1})
    """
    with scopes.name_scope(name, "assert_near", [x, y]):
        left = convert_to_tensor(x, name="x")
        dtype = left.dtype.base_dtype
        if not dtype.is_floating:
            raise TypeError(f"x: expected floating-point numbers, got {dtype.name}")
        right = convert_to_tensor(y, dtype, "y")
        step = 2.0**-7 if dtype.name == "bfloat16" else float(np.finfo(dtype.as_numpy_dtype).eps)
        relative = convert_to_tensor(10 * step if rtol is None else rtol, dtype)
        absolute = convert_to_tensor(10 * step if atol is None else atol, dtype)
        distance = gen_ops.abs(left - right)
        close = reductions.reduce_all(distance < absolute + relative * gen_ops.abs(right))
        shown = ["x and y are expected to be near; x:", left, "and y:", right]
        return _fail_or_assert(close, shown if data is None else data, summarize, message)


def _check_scalar_rank(rank: Tensor) -> None:
    """Raise ValueError when the rank that is asked for is known to be no scalar."""
    if rank.shape.ndims not in (None, 0):
        raise ValueError(f"Rank must be a scalar, got the shape {rank.shape} of {rank!r}")


def _rank_assertion(
    pair: Callable[..., Operation], public_name: str, which: str, static: Callable[[int, int], bool]
) -> Callable[..., Operation]:
    @takes(x=TENSOR, rank=TENSOR, data=LIST, summarize=INTEGER, message=TEXT)
    def assertion(
        x: Any,
        rank: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with scopes.name_scope(name, public_name, [x]):
            value = convert_to_tensor(x, name="x")
            wanted = convert_to_tensor(rank, "int32", "rank")
            number, known = constant_value(wanted), value.shape.ndims
            if number is None or known is None:
                _check_scalar_rank(wanted)
                shown = [f"{value.name} must have {which} ", wanted, "x:", value]
                shown = shown if data is None else data
                return pair(gen_ops.rank(value), wanted, shown, summarize, message)
            _check_scalar_rank(wanted)
            if not static(known, int(number)):
                start = f"{message}  " if message else ""
                raise ValueError(
                    f"{start}Tensor {value.name} must have {which} {number}, got rank {known}, "
                    f"shape {value.shape}"
                )
            return no_op("static_checks_determined_all_ok")

    assertion.__doc__ = f"""An operation that fails unless a tensor has {which} `rank`.

    Parameters
    ----------
    x
        The tensor.
    rank
        The number of dimensions.
    data
        Tensors that the error shows, by default the tensor.
    summarize
        How many elements of each it shows, by default 3.
    message
        What the error starts with.
    name
        Name of the scope.

    Returns
    -------
    Operation
        Running it raises InvalidArgumentError when the tensor has another rank.

    Raises
    ------
    ValueError
        The tensor is known to have another rank.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32)
    >>> tf.{public_name}(x, 1).run({{x: [1.0, 2.0]}})
    """
    assertion.__name__ = assertion.__qualname__ = public_name
    return assertion


assert_rank = public("assert_rank", "debugging.assert_rank")(
    _rank_assertion(assert_equal, "assert_rank", "rank", lambda known, wanted: known == wanted)
)
assert_rank_at_least = public("assert_rank_at_least", "debugging.assert_rank_at_least")(
    _rank_assertion(
        assert_greater_equal,
        "assert_rank_at_least",
        "rank at least",
        lambda known, wanted: known >= wanted,
    )
)


@public("assert_rank_in", "debugging.assert_rank_in")
@takes(x=TENSOR, ranks=LIST, data=LIST, summarize=INTEGER, message=TEXT)
def assert_rank_in(
    x: Any,
    ranks: Sequence[Any],
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless a tensor has one of several ranks.

    Parameters
    ----------
    x
        The tensor.
    ranks
        Numbers of dimensions.
    data
        Tensors that the error shows, by default the tensor.
    summarize
        How many elements of each it shows, by default 3.
    message
        What the error starts with.
    name
        Name of the scope.

    Returns
    -------
    Operation
        Running it raises InvalidArgumentError when the tensor has another rank.

    Raises
    ------
    ValueError
        The tensor is known to have another rank.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32)
    >>> tf.assert_rank_in(x, [0, 1]).run({x: [1.0, 2.0]})
    """
    with scopes.name_scope(name, "assert_rank_in", [x]):
        value = convert_to_tensor(x, name="x")
        wanted = [convert_to_tensor(rank, "int32", "ranks") for rank in ranks]
        for rank in wanted:
            _check_scalar_rank(rank)
        numbers = [constant_value(rank) for rank in wanted]
        known = value.shape.ndims
        if known is not None and all(number is not None for number in numbers):
            if known in [int(number) for number in numbers if number is not None]:
                return no_op("static_checks_determined_all_ok")
            start = f"{message}  " if message else ""
            allowed = tuple(int(number) for number in numbers if number is not None)
            raise ValueError(
                f"{start}Tensor {value.name} must have rank in {allowed}, got rank {known}, "
                f"shape {value.shape}"
            )
        found = gen_ops.equal(gen_ops.rank(value), gen_ops.pack(wanted, 0))
        shown = [f"{value.name} must have rank in ", *wanted, "x:", value]
        return _fail_or_assert(
            reductions.reduce_any(found), shown if data is None else data, summarize, message
        )


def _order_check(
    relation: Callable[..., Tensor], public_name: str, what: str
) -> Callable[..., Tensor]:
    @takes(x=TENSOR)
    def check(x: Any, name: str | None = None) -> Tensor:
        with scopes.name_scope(name, public_name, [x]):
            flat = gen_ops.reshape(convert_to_tensor(x, name="x"), [-1])
            steps = gen_ops.strided_slice(flat, [1], [0], [1], 0, 1) - gen_ops.strided_slice(
                flat, [0], [-1], [1], 1, 0
            )
            return reductions.reduce_all(relation(convert_to_tensor(0, steps.dtype), steps))

    check.__doc__ = f"""Whether the elements of a tensor {what}, in row-major order.

    Parameters
    ----------
    x
        A tensor of numbers. One of at most one element does.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        A scalar of bool.

    Examples
    --------
    >>> bool(tf.{public_name}([1, 2, 5]).eval()), bool(tf.{public_name}([3, 1]).eval())
    (True, False)
    """
    check.__name__ = check.__qualname__ = public_name
    return check


is_non_decreasing = public(
    "is_non_decreasing", "math.is_non_decreasing", "debugging.is_non_decreasing"
)(_order_check(gen_ops.less_equal, "is_non_decreasing", "never decrease"))
is_strictly_increasing = public(
    "is_strictly_increasing", "math.is_strictly_increasing", "debugging.is_strictly_increasing"
)(_order_check(gen_ops.less, "is_strictly_increasing", "increase from one to the next"))
