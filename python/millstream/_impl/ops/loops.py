"""Loops: a body that runs while a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import modes, scopes
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import nest
from millstream._impl.ops.branches import LoopFrame
from millstream._impl.values.tensor_shape import TensorShape, as_shape


@public("while_loop")
@takes(loop_vars=LIST)
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """The loop variables after a loop, which runs its body while a condition holds.

    `cond` and `body` are called once, while the graph is built. In a step that computes gradients,
    the loop keeps what these read of each iteration.

    Parameters
    ----------
    cond
        A function of the loop variables that gives a scalar of bool.
    body
        A function of the loop variables that gives their next values, in the same structure.
    loop_vars
        Their first values: a list or a tuple, which may be nested.
    shape_invariants
        Shapes that they have in all iterations, in the same structure; by default those of the
        first values.
    parallel_iterations
        How many iterations may run at once, where one does not need what another gives.
    back_prop
        Whether the loop has a gradient.
    swap_memory
        Not used: what a loop keeps for its gradient is in host memory, whichever device runs it.
    name
        Name of the scope.
    maximum_iterations
        How often the body runs at most, a number or a scalar tensor.
    return_same_structure
        Whether a single variable comes back as the structure that `loop_vars` is.

    Returns
    -------
    Any
        The structure that `body` gives; of a single variable, that variable.

    Raises
    ------
    TypeError
        `cond` or `body` is no function, `cond` gives no tensor of bool, or `parallel_iterations` is
        no positive number.
    ValueError
        There are no variables; one comes back with another dtype or a shape that its own does
        not allow; or `maximum_iterations` is no scalar.

    Examples
    --------
    >>> count, total = tf.while_loop(
    ...     lambda i, s: i < 5, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)]
    ... )
    >>> int(count.eval()), int(total.eval())
    (5, 10)
    """
    for function, argument in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"{argument} must be callable: expected a function, got {function!r}")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError(
            f"parallel_iterations must be a positive integer, got {parallel_iterations!r}"
        )
    if not loop_vars:
        raise ValueError("loop_vars: No loop variables provided")
    with scopes.name_scope(name, "while", loop_vars):
        if maximum_iterations is not None:
            limit = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if limit.shape.ndims != 0:
                raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
            cond, body, loop_vars, shape_invariants = _limited(
                cond, body, loop_vars, shape_invariants, limit
            )
        loop = _Loop(loop_vars, shape_invariants, parallel_iterations, back_prop)
        result = loop.build(cond, body)
        if maximum_iterations is not None:
            result = result[1]
    if return_same_structure or len(result) != 1 or not isinstance(result, (list, tuple)):
        return result
    return result[0]


def _limited(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    limit: Tensor,
) -> tuple[Callable[..., Any], Callable[..., Any], Any, Any]:
    """The same loop with a counter before its variables."""
    zero = convert_to_tensor(0, limit.dtype, name="iteration_counter")

    def limited_cond(counter: Tensor, variables: Any) -> Any:
        return gen_ops.logical_and(gen_ops.less(counter, limit), cond(*variables))

    def limited_body(counter: Tensor, variables: Any) -> Any:
        return counter + 1, _as_list(body(*variables))

    shapes = shape_invariants
    if shapes is not None:
        shapes = [TensorShape([]), shapes]
    return limited_cond, limited_body, [zero, loop_vars], shapes


def _as_list(values: Any) -> Any:
    return values if isinstance(values, (list, tuple)) else [values]


class _Loop:
    """One loop while it is being built."""

    def __init__(
        self, loop_vars: Any, shape_invariants: Any, parallel_iterations: int, back_prop: bool
    ) -> None:
        self._structure = loop_vars
        self._back_prop = back_prop
        values = nest.flatten(loop_vars, expand_composites=True)
        self._values = [convert_to_tensor(value) for value in values]
        self._shapes = [value.shape for value in self._values]
        self._graph: Graph = get_default_graph()
        if shape_invariants is not None:
            self._take_shapes(shape_invariants)
        self._scope = self._graph.get_name_scope()
        self._frame = LoopFrame(self._graph, f"{self._scope}/while_context", parallel_iterations)

    def _take_shapes(self, shape_invariants: Any) -> None:
        shapes = _with_shapes_as_leaves(shape_invariants)
        try:
            nest.assert_same_structure(self._structure, shapes, check_types=False)
        except (TypeError, ValueError) as error:
            raise type(error)(f"shape_invariants: {error}") from None
        self._shapes = [as_shape(leaf.shape) for leaf in nest.flatten(shapes)]
        for value, shape in zip(self._values, self._shapes, strict=True):
            if not _allows(shape, value.shape):
                raise ValueError(
                    f"The shape invariant specified for {value.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{value.shape}, but the specified shape invariant is {shape}."
                )

    def build(self, cond: Callable[..., Any], body: Callable[..., Any]) -> Any:
        """Add the loop's nodes; its variables as the body gives them, after the loop."""
        frame, graph, scope = self._frame, self._graph, self._scope
        entered = [frame.variable(value, scope) for value in self._values]
        for value, shape in zip(entered, self._shapes, strict=True):
            value.set_shape(shape)  # an Enter has none by itself: it may change in the loop
        with frame.building():
            merged = [gen_ops.merge([value, value], name="Merge")[0] for value in entered]
            frame.pivot = merged[0]
            begin = graph.version
            decided = convert_to_tensor(cond(*self._packed(merged)), name="cond")
            condition = (range(begin, graph.version), merged, [decided])
            goes_on = gen_ops.loop_cond(decided, name="LoopCond")
            switched = [gen_ops.switch(value, goes_on, name="Switch") for value in merged]
            current = [gen_ops.identity(each[1], name="Identity") for each in switched]
            frame.pivot = current[0]
            begin = graph.version
            result = _as_list(body(*self._packed(current)))
            nest.assert_same_structure(
                list(self._structure), list(result), check_types=False, expand_composites=True
            )
            flat = nest.flatten(result, expand_composites=True)
            following = [convert_to_tensor(value) for value in flat]
            for before, shape, value in zip(self._values, self._shapes, following, strict=True):
                _check_invariant(before, shape, value)
            parts = (condition, (range(begin, graph.version), current, following))
            if not modes.control_flow_v2_enabled():
                self._close(merged, following)
        if modes.control_flow_v2_enabled():
            return self._as_node(parts, result)
        after = [self._exit(each[0]) for each in switched]
        frame.pivots = (merged[0], goes_on, current[0])
        frame.register(GraphKeys.WHILE_CONTEXT)
        for value, shape in zip(after, self._shapes, strict=True):
            value.set_shape(shape)
        return nest.pack_sequence_as(result, after, expand_composites=True)

    def _close(self, merged: Sequence[Tensor], following: Sequence[Tensor]) -> None:
        """Let what the body gives be the variables of the next iteration."""
        graph = self._graph
        ends = [gen_ops.next_iteration(value, name="NextIteration") for value in following]
        for merge, value in zip(merged, ends, strict=True):
            _set_back_edge(graph, merge.op.node, value.op.node)

    def _as_node(self, parts: Any, result: Any) -> Any:
        """The variables after a loop that is one node, whose parts are functions."""
        from millstream._impl.ops import functional_forms  # lazy: few programs ask for them

        graph, initial = self._graph, self._values
        if graph.state.controls:
            initial = [gen_ops.identity(value) for value in initial]
        after = functional_forms.repeat(
            graph, self._scope, self._frame, parts, initial, self._shapes
        )
        if not self._back_prop:
            after = [gen_ops.stop_gradient(value) for value in after]
        return nest.pack_sequence_as(result, after, expand_composites=True)

    def _packed(self, tensors: Sequence[Tensor]) -> Any:
        return nest.pack_sequence_as(self._structure, tensors, expand_composites=True)

    def _exit(self, tensor: Tensor) -> Tensor:
        """The tensor outside of the loop; what is around the loop does not take it in."""
        with self._frame.leaving():
            return self._frame.exit(tensor, self._scope, self._back_prop)


def _set_back_edge(graph: Graph, merge: int, following: int) -> None:
    graph.grow(lambda: graph.handle.set_back_edge(merge, 1, following))


class _Leaf:
    """A shape as a leaf of a structure; shapes may be lists, which are structures as well."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


def _is_shape(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(each is None or isinstance(each, int) for each in value)
    return value is None or hasattr(value, "as_list")


def _with_shapes_as_leaves(structure: Any) -> Any:
    if isinstance(structure, (list, tuple)) and not _is_shape(structure):
        return type(structure)(_with_shapes_as_leaves(each) for each in structure)
    if isinstance(structure, dict):
        return {key: _with_shapes_as_leaves(each) for key, each in structure.items()}
    return _Leaf(structure)


def _allows(invariant: TensorShape, shape: TensorShape) -> bool:
    """Whether each shape that `shape` may be is one that `invariant` may be."""
    if invariant.ndims is None:
        return True
    if shape.ndims != invariant.ndims:
        return False
    pairs = zip(invariant.as_list(), shape.as_list(), strict=True)
    return all(wanted is None or wanted == given for wanted, given in pairs)


def _check_invariant(before: Tensor, shape: TensorShape, after: Tensor) -> None:
    if after.dtype.base_dtype != before.dtype.base_dtype:
        raise ValueError(
            f"Input tensor {before.name!r} enters the loop with type {before.dtype.name}, but has "
            f"type {after.dtype.name} after 1 iteration."
        )
    if not _allows(shape, after.shape):
        common = shape.most_specific_compatible_shape(after.shape)
        dims = None if common.ndims is None else common.as_list()
        raise ValueError(
            f"Input tensor {before.name!r} enters the loop with shape {shape}, but has shape "
            f"{after.shape} after one iteration. To allow the shape to vary across iterations, use "
            "the `shape_invariants` argument of tf.while_loop to specify a less-specific shape. "
            f"For this variable, tf.TensorShape({dims}) allows both."
        )
