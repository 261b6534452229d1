"""Functions that are called for several steps at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, LIST, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, conditionals, control_ops, nest
from millstream._impl.values.tensor_shape import TensorShape

# Microseconds: no time limit.
_NEVER = 2**63 - 1


@public("nondifferentiable_batch_function")
@takes(
    num_batch_threads=INTEGER,
    max_batch_size=INTEGER,
    batch_timeout_micros=INTEGER,
    allowed_batch_sizes=or_none(LIST),
    max_enqueued_batches=INTEGER,
)
def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions that are computed for several steps at once.

    Steps that run at the same time put their arguments together, one below the other. One of the
    steps computes the function of the whole batch, and each gets its rows of the results. A step
    that waits for others holds no thread. If the step that computes fails, so do the others, with
    AbortedError.

    Parameters
    ----------
    num_batch_threads
        How many batches are computed at the same time. More are collected meanwhile.
    max_batch_size
        Rows of a batch at most.
    batch_timeout_micros
        Microseconds after which a batch is computed that is not full.
    allowed_batch_sizes
        Sizes of batches, in ascending order, to `max_batch_size`, or None: all. The first row of a
        batch is repeated up to one of them.
    max_enqueued_batches
        How many batches may wait. A step that needs one more fails with UnavailableError.
    autograph
        Not used.

    Returns
    -------
    Callable
        The decorator. The function that it gives takes tensors of as many rows, and calls the
        decorated function on tensors of more rows. It returns what that returns: tensors, or a
        nested structure of them, which have as many rows as the arguments. They have no gradient.

    Raises
    ------
    ValueError
        In a call: an argument is no tensor, or the function returns nothing.

    Examples
    --------
    >>> @tf.nondifferentiable_batch_function(1, 4, 1000)
    ... def doubled(x):
    ...     return x * 2.0
    >>> x = tf.placeholder(tf.float32, [None])
    >>> doubled(x).eval({x: [1.0, 2.0]}).tolist()
    [2.0, 4.0]
    """
    attrs = [
        ("num_batch_threads", "i", int(num_batch_threads)),
        ("max_batch_size", "i", int(max_batch_size)),
        ("batch_timeout_micros", "i", int(batch_timeout_micros)),
        ("allowed_batch_sizes", "I", [int(size) for size in allowed_batch_sizes or ()]),
        ("max_enqueued_batches", "i", int(max_enqueued_batches)),
        ("grad_timeout_micros", "i", _NEVER),
        # A batch is computed until its first result is there, which waits for all.
        ("_batch_results", "i", 1),
    ]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any) -> Any:
            for argument in args:
                if not isinstance(argument, Tensor):
                    raise ValueError(
                        "All arguments to functions decorated with `batch_function` are supposed "
                        f"to be Tensors; found {argument!r}"
                    )
            if not args:
                raise ValueError("a batched function needs at least one argument")
            return _computed(function, args, attrs)

        return decorated

    return decorate


def _computed(
    function: Callable[..., Any], tensors: Sequence[Tensor], attrs: Sequence[tuple[str, str, Any]]
) -> Any:
    graph = tensors[0].graph
    with graph.as_default(), scopes.name_scope(None, "batch", tensors):
        batch = graph.add("Batch", graph.op_name("Batch"), tensors, [len(tensors)], attrs)
        *batched, index, number = batch.outputs
        results: list[Any] = []
        leaves: list[Tensor] = []

        def compute() -> list[Tensor]:
            results.append(function(*batched))
            leaves.extend(convert_to_tensor(leaf) for leaf in nest.flatten(results[0]))
            if not leaves:
                raise ValueError("a batched function must return at least one tensor")
            return control_ops.tuple(leaves)

        def wait() -> list[Tensor]:
            return [array_creation.zeros([0], leaf.dtype.base_dtype) for leaf in leaves]

        has_rows = gen_ops.greater(gen_ops.size(index), 0)
        parts = []
        for value, leaf in zip(
            conditionals.cond(has_rows, compute, wait, strict=True), leaves, strict=True
        ):
            part = gen_ops.unbatch(value, index, number, _NEVER)
            if leaf.shape.ndims is not None:
                part.set_shape(TensorShape([None]).concatenate(leaf.shape[1:]))
            parts.append(gen_ops.prevent_gradient(part, "a batched function has no gradient"))
        return nest.pack_sequence_as(results[0], parts)
