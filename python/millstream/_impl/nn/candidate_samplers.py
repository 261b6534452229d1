"""Classes that are drawn, for losses that do without most of the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, LIST, NUMBER, TENSOR, TEXT, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.random_seed import get_seed

# The types of the arguments that all samplers have.
_COMMON = {
    "true_classes": TENSOR,
    "num_true": INTEGER,
    "num_sampled": INTEGER,
    "seed": INTEGER,
}
_PARAMETERS = """true_classes
        The true classes of each row, int64, shape [batch, num_true].
    num_true
        How many true classes a row has.
    num_sampled
        How many classes are drawn, for the whole batch.
    unique
        Whether they are all different."""
_RETURNS = """tuple
        The drawn classes, ``sampled_candidates``, int64 of shape [num_sampled]; and how often the
        true classes and the drawn ones are expected in such a sample, ``true_expected_count``
        of shape [batch, num_true] and ``sampled_expected_count`` of shape [num_sampled]."""
_RAISES = """ValueError
        The sample is unique and larger than the range, or `true_classes` has another shape."""


def _sampler(op: Any, name: str, summary: str) -> Callable[..., Any]:
    """A sampler of the classes from 0 to `range_max` exclusive."""

    @takes(**_COMMON, range_max=INTEGER)
    def sampler(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        seed1, seed2 = get_seed(seed)
        return op(
            true_classes,
            num_true,
            num_sampled,
            unique,
            range_max,
            seed=seed1,
            seed2=seed2,
            name=name,
        )

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = f"""{summary}

    Parameters
    ----------
    {_PARAMETERS}
    range_max
        How many classes there are.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the result.

    Returns
    -------
    {_RETURNS}

    Raises
    ------
    {_RAISES}

    Examples
    --------
    >>> sampled, _, _ = tf.nn.{name}([[0]], 1, 3, True, 3)
    >>> sorted(sampled.eval().tolist())
    [0, 1, 2]
    """
    return sampler


uniform_candidate_sampler = public(
    "nn.uniform_candidate_sampler", "random.uniform_candidate_sampler"
)(
    _sampler(
        gen_ops.uniform_candidate_sampler,
        "uniform_candidate_sampler",
        "Draws classes, all with the same probability.",
    )
)
log_uniform_candidate_sampler = public(
    "nn.log_uniform_candidate_sampler", "random.log_uniform_candidate_sampler"
)(
    _sampler(
        gen_ops.log_uniform_candidate_sampler,
        "log_uniform_candidate_sampler",
        """Draws classes, smaller ones with a greater probability.

    The probability of class c is log((c + 2) / (c + 1)) / log(range_max + 1). Words that are
    numbered in the order of decreasing frequency have about this distribution (Zipf's law).""",
    )
)
learned_unigram_candidate_sampler = public(
    "nn.learned_unigram_candidate_sampler", "random.learned_unigram_candidate_sampler"
)(
    _sampler(
        gen_ops.learned_unigram_candidate_sampler,
        "learned_unigram_candidate_sampler",
        """Draws classes in proportion to how often they were true classes so far.

    Each class has a count of 1 at first. A session counts the true classes of each step.""",
    )
)


@public("nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler")
@takes(
    **_COMMON,
    range_max=INTEGER,
    vocab_file=TEXT,
    distortion=NUMBER,
    num_reserved_ids=INTEGER,
    num_shards=INTEGER,
    shard=INTEGER,
    unigrams=LIST,
)
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes with given weights.

    Parameters
    ----------
    true_classes, num_true, num_sampled, unique, range_max, seed, name
        See `nn.uniform_candidate_sampler`.
    vocab_file
        A file with a line for each class, in which the weight stands behind the last comma.
    distortion
        The power that each weight is raised to; 0 makes all equal.
    num_reserved_ids
        How many classes, the first ones, are never drawn. The weights are those of the classes
        after them.
    num_shards, shard
        With several shards, the sampler has only the weights at the places i with
        ``i % num_shards == shard``.
    unigrams
        A list of weights, instead of the file.

    Returns
    -------
    tuple
        See `nn.uniform_candidate_sampler`.

    Raises
    ------
    ValueError
        Both or none of `vocab_file` and `unigrams` is given; see also
        `nn.uniform_candidate_sampler`.
    InvalidArgumentError
        In a step: there are not `range_max` weights, or one is negative.

    Examples
    --------
    >>> sampled, _, _ = tf.nn.fixed_unigram_candidate_sampler(
    ...     [[0]], 1, 2, True, 3, unigrams=[3.0, 0.0, 1.0]
    ... )
    >>> sorted(sampled.eval().tolist())
    [0, 2]
    """
    seed1, seed2 = get_seed(seed)
    return gen_ops.fixed_unigram_candidate_sampler(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
        seed=seed1,
        seed2=seed2,
        name=name,
    )


@public("nn.all_candidate_sampler", "random.all_candidate_sampler")
@takes(**_COMMON)
def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """All classes in order, in the place of drawn ones.

    A loss of these is that of all classes.

    Parameters
    ----------
    true_classes, num_true, unique, seed, name
        See `nn.uniform_candidate_sampler`.
    num_sampled
        How many classes there are.

    Returns
    -------
    tuple
        See `nn.uniform_candidate_sampler`. All counts are 1.

    Examples
    --------
    >>> tf.nn.all_candidate_sampler([[1]], 1, 3, True).sampled_candidates.eval().tolist()
    [0, 1, 2]
    """
    seed1, seed2 = get_seed(seed)
    return gen_ops.all_candidate_sampler(
        true_classes, num_true, num_sampled, unique, seed=seed1, seed2=seed2, name=name
    )


@public("nn.compute_accidental_hits")
@takes(true_classes=TENSOR, sampled_candidates=TENSOR, num_true=INTEGER, seed=INTEGER)
def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Finds the drawn classes that are true ones.

    Parameters
    ----------
    true_classes
        The true classes of each row, int64, shape [batch, num_true].
    sampled_candidates
        The drawn classes, int64, a vector.
    num_true
        How many true classes a row has.
    seed
        Not used: nothing is random.
    name
        Name of the result.

    Returns
    -------
    tuple
        For each true class that was drawn: its row (int32), its place among the drawn ones (int64)
        and the lowest float32, which removes it where it is added to a logit.

    Examples
    --------
    >>> rows, places, _ = tf.nn.compute_accidental_hits([[7], [3]], [5, 3], 1)
    >>> rows.eval().tolist(), places.eval().tolist()
    ([1], [1])
    """
    seed1, seed2 = get_seed(seed)
    found: tuple[Tensor, Tensor, Tensor] = gen_ops.compute_accidental_hits(
        true_classes, sampled_candidates, num_true, seed=seed1, seed2=seed2, name=name
    )
    return found
