"""Generators of random numbers whose state is a variable."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import array_creation, array_join, array_ops, math_ops
from millstream._impl.ops.random_ops import shape_tensor
from millstream._impl.values import dtypes
from millstream._impl.variables.variables import Variable

# The one algorithm there is, and how many numbers its state has: a counter of two, and the key.
_PHILOX = 1
_STATE_SIZE = 3
_COUNTER_SIZE = 2
_COLLECTION = "_global_random_generator"


@public("random.experimental.create_rng_state")
@takes(seed=TENSOR, algorithm=INTEGER)
def create_rng_state(seed: Any, algorithm: int) -> Tensor:
    """A state of a generator, made of a seed.

    Parameters
    ----------
    seed
        An integer or a vector of integers.
    algorithm
        1, Philox.

    Returns
    -------
    Tensor
        Three int64 numbers.

    Examples
    --------
    >>> tf.random.experimental.create_rng_state(7, 1).eval().tolist()
    [7, 0, 0]
    """
    _check_algorithm(algorithm)
    if isinstance(seed, int):
        seed = [_signed(seed >> (64 * i)) for i in range(_STATE_SIZE)]
    numbers = array_ops.reshape(convert_to_tensor(seed, dtypes.int64, "seed"), [-1])
    size = numbers.shape.num_elements()
    if size is None:
        raise ValueError("seed: its size must be known")
    padded = array_join.concat(
        [array_creation.zeros([max(_STATE_SIZE - size, 0)], dtypes.int64), numbers], 0
    )
    return padded[:_STATE_SIZE]


def _signed(number: int) -> int:
    """The low 64 bits of a number, as an int64."""
    bits = number & (2**64 - 1)
    return bits - 2**64 if bits >= 2**63 else bits


def _check_algorithm(algorithm: Any) -> None:
    if algorithm != _PHILOX:
        raise ValueError(f"alg: {algorithm!r} is no algorithm; 1 is Philox")


@public("random.experimental.Generator")
class Generator:
    """Random numbers of a stream whose place is a variable, so that each run draws others.

    Parameters
    ----------
    copy_from
        A generator to begin as; the others are not given then.
    state
        Three int64 numbers: a counter, its low half first, and a key.
    alg
        1, Philox.

    Examples
    --------
    >>> generator = tf.random.experimental.Generator.from_seed(7)
    >>> drawn = generator.uniform([2], maxval=10, dtype=tf.int32)
    >>> tf.get_default_session().run(generator.state.initializer)
    >>> drawn.eval().shape
    (2,)
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: int | None = None) -> None:
        if copy_from is not None:
            if not isinstance(copy_from, Generator):
                raise TypeError(f"copy_from: expected a Generator, got {copy_from!r}")
            if state is not None or alg is not None:
                raise ValueError("copy_from: state and alg must not be given beside it")
            self._alg = copy_from.algorithm
            self._state = Variable(
                copy_from.state.initialized_value(), dtype=dtypes.int64, use_resource=True
            )
            return
        if alg != _PHILOX:
            raise ValueError(f"alg: {alg!r} is no algorithm; 1 is Philox")
        numbers = convert_to_tensor(state, dtypes.int64, "state")
        numbers.shape.assert_is_compatible_with([_STATE_SIZE])
        self._alg = _PHILOX
        self._state = Variable(
            numbers, dtype=dtypes.int64, use_resource=True, trainable=False, name="rng_state"
        )

    @classmethod
    def from_state(cls, state: Any, alg: int) -> Generator:
        """A generator of this state and algorithm."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: int | None = None) -> Generator:
        """A generator of the state that `create_rng_state` makes of a seed."""
        algorithm = _PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, algorithm), alg=algorithm)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> Generator:
        """A generator of a state that the operating system draws."""
        algorithm = _PHILOX if alg is None else alg
        state = gen_ops.non_deterministic_ints([_STATE_SIZE], dtypes.int64)
        return cls(state=state, alg=algorithm)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: int) -> Generator:
        """A generator of this key, and the counter of two numbers, the low half first."""
        _check_algorithm(alg)
        return cls(state=_state_of(key, counter), alg=alg)

    @property
    def state(self) -> Any:
        """The variable."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The key, a scalar."""
        return self._state.read_value()[_COUNTER_SIZE]

    def reset(self, state: Any) -> Operation:
        """Set the state, by an operation that is to be run."""
        return self._state.assign(convert_to_tensor(state, dtypes.int64, "state"))

    def reset_from_seed(self, seed: Any) -> Operation:
        """Set the state that `create_rng_state` makes of a seed."""
        return self.reset(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> Operation:
        """Set the key and the counter."""
        return self.reset(_state_of(key, counter))

    def skip(self, delta: Any) -> Operation:
        """Move the counter on, as if `delta` numbers were drawn."""
        return gen_ops.rng_skip(self._state.handle, self._alg, delta)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers of a normal distribution."""
        drawn = gen_ops.stateful_standard_normal_v2(
            self._state.handle, self._alg, shape_tensor(shape), dtypes.as_dtype(dtype)
        )
        return math_ops.add(drawn * stddev, mean, name=name)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers of a normal distribution, within two deviations of its mean."""
        drawn = gen_ops.stateful_truncated_normal(
            self._state.handle, self._alg, shape_tensor(shape), dtypes.as_dtype(dtype)
        )
        return math_ops.add(drawn * stddev, mean, name=name)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers from `minval` to `maxval`, exclusive; that is 1 by default for real numbers."""
        wanted = dtypes.as_dtype(dtype)
        if maxval is None:
            if wanted.is_integer:
                raise ValueError("maxval: must be given for integers")
            maxval = 1
        low = convert_to_tensor(minval, wanted, "minval")
        high = convert_to_tensor(maxval, wanted, "maxval")
        place = (self._state.handle, self._alg, shape_tensor(shape))
        if wanted.is_integer:
            return gen_ops.stateful_uniform_int(*place, low, high, name)
        drawn = gen_ops.stateful_uniform(*place, wanted)
        return math_ops.add(drawn * (high - low), low, name=name)

    def uniform_full_int(
        self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Whole numbers, any of the type."""
        return gen_ops.stateful_uniform_full_int(
            self._state.handle, self._alg, shape_tensor(shape), dtypes.as_dtype(dtype), name
        )

    def binomial(
        self,
        shape: Any,
        counts: Any,
        probs: Any,
        dtype: Any = dtypes.int32,
        name: str | None = None,
    ) -> Tensor:
        """How many of `counts` trials succeed, each with the chance `probs`.

        Both broadcast against each other, and `shape` ends with the shape of that.
        """
        trials = convert_to_tensor(counts, name="counts")
        kind = trials.dtype
        if isinstance(probs, Tensor):
            kind = probs.dtype
        elif not kind.is_floating:
            kind = dtypes.float64
        if trials.dtype != kind:
            trials = gen_ops.cast(trials, kind)
        return gen_ops.stateful_random_binomial(
            self._state.handle,
            self._alg,
            shape_tensor(shape),
            trials,
            convert_to_tensor(probs, kind, "probs"),
            dtype=dtypes.as_dtype(dtype),
            name=name,
        )

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for stateless operations, [2, count]."""
        keys = self.uniform_full_int([count], dtypes.int64)
        return array_join.stack([keys, array_creation.zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Generators with keys that are drawn from this one."""
        keys = self.uniform_full_int([count], dtypes.int64)
        zeros = [0] * _COUNTER_SIZE
        return [Generator(state=_state_of(keys[i], zeros), alg=self._alg) for i in range(count)]


def _state_of(key: Any, counter: Any) -> Tensor:
    numbers = array_ops.reshape(convert_to_tensor(counter, dtypes.int64, "counter"), [-1])
    numbers.shape.assert_is_compatible_with([_COUNTER_SIZE])
    last = array_ops.reshape(convert_to_tensor(key, dtypes.int64, "key"), [1])
    return array_join.concat([numbers, last], 0)


@public("random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """The generator of the default graph, made when it is first asked for.

    Examples
    --------
    >>> generator = tf.random.experimental.get_global_generator()
    >>> generator is tf.random.experimental.get_global_generator()
    True
    """
    held = get_default_graph().get_collection_ref(_COLLECTION)
    if not held:
        held.append(Generator.from_non_deterministic_state())
    return held[0]


@public("random.experimental.set_global_generator")
def set_global_generator(generator: Any) -> None:
    """Make a generator that of the default graph.

    Parameters
    ----------
    generator
        A `Generator`.

    Examples
    --------
    >>> tf.random.experimental.set_global_generator(tf.random.experimental.Generator.from_seed(1))
    """
    if not isinstance(generator, Generator):
        raise TypeError(f"generator: expected a Generator, got {generator!r}")
    get_default_graph().get_collection_ref(_COLLECTION)[:] = [generator]
