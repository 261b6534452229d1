"""Seeds of random operations.

A seed of the graph and one of the operation give the pair that the operation's generator starts
from. With neither, the generator is seeded from the system.
"""

from __future__ import annotations

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph

_DEFAULT_GRAPH_SEED = 87654321
_LIMIT = 2**31 - 1


@public("set_random_seed", "random.set_random_seed")
@takes(seed=or_none(INTEGER))
def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph.

    Operations without a seed of their own then differ from each other, and repeat from session to
    session.

    Parameters
    ----------
    seed
        The seed, or None.

    Raises
    ------
    TypeError
        It is no integer.

    Examples
    --------
    >>> tf.set_random_seed(1)
    >>> tf.random_uniform([3]).eval().shape
    (3,)
    """
    get_default_graph().seed = seed


@public("get_seed", "random.get_seed")
@takes(op_seed=or_none(INTEGER))
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The pair of seeds for an operation, or (None, None) for one that nothing seeds.

    Parameters
    ----------
    op_seed
        The operation's own seed, or None.

    Raises
    ------
    TypeError
        It is no integer.

    Examples
    --------
    >>> tf.get_seed(None)
    (None, None)
    >>> tf.get_seed(3)
    (87654321, 3)
    """
    graph = get_default_graph()
    if graph.seed is not None:
        second = graph.version if op_seed is None else op_seed
        pair = graph.seed % _LIMIT, second % _LIMIT
    elif op_seed is not None:
        pair = _DEFAULT_GRAPH_SEED % _LIMIT, op_seed % _LIMIT
    else:
        return None, None
    return (0, _LIMIT) if pair == (0, 0) else pair  # (0, 0) stands for "no seed"
