"""Conditionals: of two or more functions, the one whose operations run is chosen in the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import modes, scopes
from millstream._impl.graph.arguments import TENSOR, one_of, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join, check_ops, control_ops, math_ops, nest, reductions
from millstream._impl.ops.branches import CondBranch
from millstream._impl.values import dtypes


@public("cond")
@takes(pred=TENSOR)
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What one of two functions returns; only the operations that this function makes run.

    Both functions are called once, while the graph is built. What they use from outside runs
    whichever way the predicate goes.

    Parameters
    ----------
    pred
        A scalar tensor of bool.
    true_fn, false_fn
        Functions without parameters, which return tensors, operations, or nested structures of
        tensors, alike and of equal dtypes.
    strict
        Whether a list of one stays a list.
    name
        Name of the scope.
    fn1, fn2
        Old names of `true_fn` and `false_fn`.

    Returns
    -------
    Any
        What the functions return, with the tensors of the branch that is taken. For an operation
        there is a tensor without meaning, which waits for it.

    Raises
    ------
    TypeError
        The predicate is a Python bool or of another type, or `true_fn` or `false_fn` is no
        function.
    ValueError
        The functions return different structures or dtypes, or nothing.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [])
    >>> size = tf.cond(x < 0.0, lambda: -x, lambda: x)
    >>> float(size.eval({x: -2.0})), float(size.eval({x: 3.0}))
    (2.0, 3.0)
    """
    true_fn = one_of(true_fn, fn1, "true_fn", "fn1")
    false_fn = one_of(false_fn, fn2, "false_fn", "fn2")
    for function, argument in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"{argument} must be callable: expected a function, got {function!r}")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with scopes.name_scope(name, "cond", [pred]):
        decided = convert_to_tensor(pred, name="pred")
        if decided.dtype.base_dtype != dtypes.bool:
            raise TypeError(f"pred must be a tensor of bool, got one of {decided.dtype.name}")
        graph = get_default_graph()
        pivots = gen_ops.switch(decided, decided, name="Switch")
        taken = gen_ops.identity(pivots[1], name="switch_t")
        other = gen_ops.identity(pivots[0], name="switch_f")
        decided = gen_ops.identity(decided, name="pred_id")
        for tensor in (*pivots, taken, other, decided):
            graph.note_in_branch(tensor.op.node)
        results = []
        branches = []
        is_node = modes.control_flow_v2_enabled()
        for function, pivot, value in ((true_fn, taken, True), (false_fn, other, False)):
            branch = CondBranch(graph, pivot, decided, value, is_function=is_node)
            results.append(_build(branch, function, pivot, strict))
            branches.append(branch)
        (true_result, true_tensors), (false_result, false_tensors) = results
        _check_alike(true_result, false_result, true_tensors, false_tensors)
        if is_node:
            from millstream._impl.ops import functional_forms  # lazy: few programs ask for them

            tensors = (true_tensors, false_tensors)
            merged = functional_forms.choose(graph, graph.get_name_scope(), branches, tensors)
            graph.left_out.add(pivots[0].op.node)
        else:
            for branch in branches:
                branch.register(GraphKeys.COND_CONTEXT)
            merged = [
                gen_ops.merge([on_false, on_true], name="Merge")[0]
                for on_true, on_false in zip(true_tensors, false_tensors, strict=True)
            ]
        return nest.pack_sequence_as(true_result, merged, expand_composites=True)


def _build(
    branch: CondBranch, function: Callable[[], Any], pivot: Tensor, strict: bool
) -> tuple[Any, list[Tensor]]:
    """What a function returns, and the tensors of it, all of the branch."""
    with branch.building():
        result = function()
        if result is None:
            raise ValueError(f"{_name(function)} must have a return value")
        if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
            result = result[0]
        tensors = []
        for leaf in nest.flatten(result, expand_composites=True):
            if isinstance(leaf, Operation):
                tensors.append(control_ops.with_dependencies([leaf], gen_ops.identity(pivot)))
            else:
                tensor = convert_to_tensor(leaf)
                tensors.append(branch.inner(tensor, tensor.op.name))
    return result, tensors


def _name(function: Callable[[], Any]) -> str:
    return getattr(function, "__name__", repr(function))


def _check_alike(
    true_result: Any, false_result: Any, on_true: Sequence[Tensor], on_false: Sequence[Tensor]
) -> None:
    try:
        nest.assert_same_structure(true_result, false_result, expand_composites=True)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Incompatible return types of true_fn and false_fn: {error}") from None
    for first, second in zip(on_true, on_false, strict=True):
        if first.dtype.base_dtype != second.dtype.base_dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{first.dtype.name} of {first!r}, {second.dtype.name} of {second!r}"
            )


@public("case")
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the first function returns whose predicate is true.

    Parameters
    ----------
    pred_fn_pairs
        Pairs of a predicate, a scalar tensor of bool, and a function; a list, or a dictionary,
        whose order is not defined unless it is exclusive.
    default
        The function if no predicate is true. Without one, such a step fails.
    exclusive
        Whether a step fails if more than one predicate is true.
    strict
        Whether a list of one stays a list, as for `cond`.
    name
        Name of the scope.

    Raises
    ------
    TypeError
        The pairs are no pairs of a tensor of bool and a function.
    ValueError
        There is no pair.
    InvalidArgumentError
        In a step: no predicate is true and there is no `default`, or several are and `exclusive`.

    Examples
    --------
    >>> x = tf.placeholder(tf.int32, [])
    >>> sign = tf.case([(x < 0, lambda: -1), (x > 0, lambda: 1)], default=lambda: 0)
    >>> [int(sign.eval({x: value})) for value in (-5, 0, 7)]
    [-1, 0, 1]
    """
    pairs = _pairs(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError(f"default: expected a function, got {default!r}")
    with scopes.name_scope(name, "case", [pred for pred, _ in pairs]):
        preds = [pred for pred, _ in pairs]
        functions = [function for _, function in pairs]
        checks = [_at_most_one(preds)] if exclusive and len(preds) > 1 else []
        if default is None:
            checks.append(_at_least_one(preds))
            default, preds, functions = functions[-1], preds[:-1], functions[:-1]
        with scopes.control_dependencies(checks):
            if not preds:
                return default() if not checks else _after(checks, default)
            chosen = default
            for pred, function in zip(reversed(preds), reversed(functions), strict=True):
                chosen = _choice(pred, function, chosen, strict)
            return chosen()


def _choice(
    pred: Tensor, function: Callable[[], Any], otherwise: Callable[[], Any], strict: bool
) -> Callable[[], Any]:
    return lambda: cond(pred, function, otherwise, strict=strict)


def _after(checks: Sequence[Operation], function: Callable[[], Any]) -> Any:
    """What a function returns, after checks that fail the step."""
    result = function()
    flat = [
        control_ops.with_dependencies(checks, convert_to_tensor(leaf))
        for leaf in nest.flatten(result)
    ]
    return nest.pack_sequence_as(result, flat)


def _pairs(given: Any) -> list[tuple[Tensor, Callable[[], Any]]]:
    if not isinstance(given, (list, tuple, dict)):
        raise TypeError(f"pred_fn_pairs: expected a list, tuple or dict, got {given!r}")
    items = list(given.items() if isinstance(given, dict) else given)
    if not items:
        raise ValueError("pred_fn_pairs: must not be empty")
    pairs = []
    for item in items:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise TypeError(f"Each entry in pred_fn_pairs must be a 2-tuple, got {item!r}")
        pred, function = item
        if not isinstance(pred, TensorLike):
            raise TypeError(f"pred must be Tensor, got {pred!r}")
        if pred.dtype.base_dtype != dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {pred!r}")
        if not callable(function):
            raise TypeError(f"fn must be callable, got {function!r}")
        pairs.append((pred.as_tensor(), function))
    return pairs


def _at_most_one(preds: Sequence[Tensor]) -> Operation:
    count = reductions.reduce_sum(math_ops.cast(array_join.stack(preds), dtypes.int32))
    text = "Input error: exclusive=True: more than 1 conditions (" + _names(preds)
    text += ") evaluated as True:"
    shown = [text, array_join.stack(preds)]
    return check_ops.Assert(gen_ops.less_equal(count, 1), shown, summarize=len(preds))


def _at_least_one(preds: Sequence[Tensor]) -> Operation:
    stacked = array_join.stack(preds)
    text = f"None of conditions evaluated as True. Conditions: ({_names(preds)}), Values:"
    return check_ops.Assert(reductions.reduce_any(stacked), [text, stacked], summarize=len(preds))


def _names(preds: Sequence[Tensor]) -> str:
    return ", ".join(pred.name for pred in preds)


@public("switch_case")
@takes(branch_index=TENSOR)
def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """What the function of a number returns.

    Parameters
    ----------
    branch_index
        The number, a scalar tensor of int32.
    branch_fns
        A list of functions, a list of pairs of number and function, or a dictionary.
    default
        The function for numbers that have none, by default that of the greatest number.
    name
        Name of the scope.

    Raises
    ------
    TypeError
        `branch_fns` is something else, or `branch_index` is no int32.
    ValueError
        There is no function, or a number has two.

    Examples
    --------
    >>> x = tf.placeholder(tf.int32, [])
    >>> word = tf.switch_case(x, [lambda: "zero", lambda: "one"], default=lambda: "many")
    >>> word.eval({x: 1}), word.eval({x: 9})
    (b'one', b'many')
    """
    functions = _numbered(branch_fns)
    if default is not None and not callable(default):
        raise TypeError(f"default: expected a function, got {default!r}")
    with scopes.name_scope(name, "switch_case", [branch_index]):
        index = convert_to_tensor(branch_index, name="branch_index")
        if index.dtype.base_dtype != dtypes.int32:
            raise TypeError(f"branch_index must a Tensor of type int32, got {index!r}")
        if default is None:
            default = functions.pop()[1]
        chosen = default
        for number, function in reversed(functions):
            chosen = _choice(gen_ops.equal(index, number), function, chosen, True)
        return chosen()


def _numbered(given: Any) -> list[tuple[int, Callable[[], Any]]]:
    """Functions with their numbers, by number."""
    if not isinstance(given, (list, tuple, dict)):
        raise TypeError(f"branch_fns: expected a list, tuple or dict, got {given!r}")
    items: list[Any] = list(given.items() if isinstance(given, dict) else given)
    if not items:
        raise ValueError("branch_fns: must not be empty")
    if all(callable(item) for item in items):
        return list(enumerate(items))
    for item in items:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise TypeError(f"Each entry in branch_fns must be a 2-tuple, got {item!r}")
        if not isinstance(item[0], int) or not callable(item[1]):
            raise TypeError(f"branch_fns: expected a number and a function, got {item!r}")
    numbers = [number for number, _ in items]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"branch_fns: a number has two functions in {numbers}")
    return sorted(((number, function) for number, function in items), key=lambda pair: pair[0])
