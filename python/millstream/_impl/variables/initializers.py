"""What variables start from: objects that make a tensor of a given shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INTEGER, NUMBER, TENSOR, TEXT, takes
from millstream._impl.graph.convert import constant as constant_of
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, random_ops
from millstream._impl.values import dtypes, tensor_shape
from millstream._impl.values.dtypes import DType


@public("initializers.Initializer")
class Initializer:
    """Makes the first value of a variable.

    Initializers are called with a shape; the dtype that they are made with holds unless the call
    gives another.

    Examples
    --------
    >>> issubclass(tf.zeros_initializer, tf.initializers.Initializer)
    True
    >>> tf.constant_initializer(0.5).get_config()["value"]
    0.5
    """

    dtype: Any = dtypes.float32

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """The value: a tensor of the shape.

        Parameters
        ----------
        shape
            Shape of the variable.
        dtype
            Type of the elements, by default the initializer's.
        partition_info
            Of a part of a variable, where it lies: the attributes ``full_shape``, ``var_offset``
            and ``var_shape``.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        config = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        if "dtype" in config:
            config["dtype"] = dtypes.as_dtype(config["dtype"]).name
        return config

    def __repr__(self) -> str:
        config = ", ".join(f"{key}={value!r}" for key, value in self.get_config().items())
        return f"{type(self).__name__}({config})"

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer that `get_config` described."""
        return cls(**config)


class _Filled(Initializer):
    """All elements are the same number."""

    _fill: Any

    @takes(dtype=DTYPE)
    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of the number."""
        filled: Tensor = self._fill(shape, dtype or self.dtype)
        return filled


def floating(dtype: Any) -> DType:
    """The dtype of random numbers; ValueError when it is not one of floating-point numbers."""
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"dtype: Expected floating point type, got {found.name}")
    return found


@public("initializers.Zeros")
class Zeros(_Filled):
    """All elements are 0.

    Parameters
    ----------
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.zeros_initializer()([2]).eval()
    array([0., 0.], dtype=float32)
    """

    _fill = staticmethod(array_creation.zeros)


@public("initializers.Ones")
class Ones(_Filled):
    """All elements are 1.

    Parameters
    ----------
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.ones_initializer()([2]).eval()
    array([1., 1.], dtype=float32)
    """

    _fill = staticmethod(array_creation.ones)


@public("initializers.Constant")
class Constant(Initializer):
    """A given value.

    Parameters
    ----------
    value
        A number, or a list or array of the variable's shape.
    dtype
        Type of the elements.
    verify_shape
        Refuse to repeat the last element to fill the shape.

    Examples
    --------
    >>> tf.constant_initializer(0.5)([2]).eval()
    array([0.5, 0.5], dtype=float32)
    """

    @takes(value=TENSOR, dtype=DTYPE)
    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of the value."""
        return constant_of(self.value, dtype or self.dtype, shape, verify_shape=self.verify_shape)


@public("initializers.RandomUniform")
class RandomUniform(Initializer):
    """Uniformly distributed numbers in [minval, maxval).

    Parameters
    ----------
    minval, maxval
        The limits; `maxval` is 1 by default.
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.random_uniform_initializer(-0.1, 0.1, seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    @takes(minval=NUMBER, maxval=NUMBER, seed=INTEGER, dtype=DTYPE)
    def __init__(
        self,
        minval: Any = 0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of random numbers."""
        kind = dtype or self.dtype
        return random_ops.random_uniform(shape, self.minval, self.maxval, kind, self.seed)


@public("initializers.RandomNormal")
class RandomNormal(Initializer):
    """Normally distributed numbers.

    Parameters
    ----------
    mean, stddev
        Mean and standard deviation.
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.random_normal_initializer(stddev=0.1, seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    _draw = staticmethod(random_ops.random_normal)

    @takes(mean=NUMBER, stddev=NUMBER, seed=INTEGER, dtype=DTYPE)
    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of random numbers."""
        return self._draw(shape, self.mean, self.stddev, dtype or self.dtype, self.seed)


@public("initializers.TruncatedNormal")
class TruncatedNormal(RandomNormal):
    """Normally distributed numbers within two deviations of the mean.

    Parameters
    ----------
    mean, stddev
        Mean and standard deviation before truncation.
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.truncated_normal_initializer(stddev=0.1, seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    _draw = staticmethod(random_ops.truncated_normal)


@public("initializers.VarianceScaling")
class VarianceScaling(Initializer):
    """Random numbers whose variance follows from the shape: ``scale / n``.

    Here n is the number of inputs of a unit ("fan_in"), of its outputs ("fan_out"), or the mean of
    both ("fan_avg"). Glorot, Bengio: Understanding the difficulty of training deep feedforward
    neural networks (2010); He et al.: Delving deep into rectifiers (2015).

    Parameters
    ----------
    scale
        Positive factor.
    mode
        "fan_in", "fan_out" or "fan_avg".
    distribution
        "normal" or "truncated_normal", "untruncated_normal", or "uniform".
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.variance_scaling_initializer(2.0, "fan_in", seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    # Standard deviation of the standard normal distribution truncated to [-2, 2].
    _TRUNCATED_DEVIATION = 0.87962566103423978

    @takes(scale=NUMBER, mode=TEXT, distribution=TEXT, seed=INTEGER, dtype=DTYPE)
    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"scale: expected a positive number, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"mode: expected fan_in, fan_out or fan_avg, got {mode!r}")
        known = ("normal", "truncated_normal", "untruncated_normal", "uniform")
        if distribution.lower() not in known:
            raise ValueError(f"distribution: expected one of {known}, got {distribution!r}")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution.lower()
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of random numbers."""
        kind = dtype or self.dtype
        inputs, outputs = _fans(_whole(shape, partition_info))
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_ops.random_uniform(shape, -limit, limit, kind, self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), kind, self.seed)
        deviation = math.sqrt(variance) / self._TRUNCATED_DEVIATION
        return random_ops.truncated_normal(shape, 0.0, deviation, kind, self.seed)


def _whole(shape: Any, partition_info: Any) -> Any:
    """The shape of the variable that a value is a part of, or of the value itself."""
    return shape if partition_info is None else partition_info.full_shape


def _fans(shape: Any) -> tuple[float, float]:
    """Inputs and outputs of a unit, for the weights of a layer or a convolution."""
    dims = [size or 0 for size in tensor_shape.as_shape(shape).as_list()]
    if not dims:
        return 1.0, 1.0
    if len(dims) == 1:
        return float(dims[0]), float(dims[0])
    window = math.prod(dims[:-2])
    return float(window * dims[-2]), float(window * dims[-1])


class _Glorot(VarianceScaling):
    """`VarianceScaling` with the mean of both numbers."""

    _distribution: str

    @takes(seed=INTEGER, dtype=DTYPE)
    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", self._distribution, seed)
        self.dtype = dtypes.as_dtype(dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": dtypes.as_dtype(self.dtype).name}


@public("initializers.GlorotUniform")
class GlorotUniform(_Glorot):
    """`VarianceScaling` with the mean of both numbers, uniform.

    Parameters
    ----------
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.glorot_uniform_initializer(seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    _distribution = "uniform"


@public("initializers.GlorotNormal")
class GlorotNormal(_Glorot):
    """`VarianceScaling` with the mean of both numbers, truncated normal.

    Parameters
    ----------
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.glorot_normal_initializer(seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    _distribution = "truncated_normal"


zeros_initializer = public("zeros_initializer", "initializers.zeros_initializer")(Zeros)
ones_initializer = public("ones_initializer", "initializers.ones_initializer")(Ones)
constant_initializer = public("constant_initializer", "initializers.constant_initializer")(Constant)
random_uniform_initializer = public(
    "random_uniform_initializer", "initializers.random_uniform_initializer"
)(RandomUniform)
random_normal_initializer = public(
    "random_normal_initializer", "initializers.random_normal_initializer"
)(RandomNormal)
truncated_normal_initializer = public(
    "truncated_normal_initializer", "initializers.truncated_normal_initializer"
)(TruncatedNormal)
variance_scaling_initializer = public(
    "variance_scaling_initializer", "initializers.variance_scaling_initializer"
)(VarianceScaling)
glorot_uniform_initializer = public(
    "glorot_uniform_initializer", "initializers.glorot_uniform_initializer"
)(GlorotUniform)
glorot_normal_initializer = public(
    "glorot_normal_initializer", "initializers.glorot_normal_initializer"
)(GlorotNormal)

# The names of `tf.initializers`.
zeros = public("initializers.zeros")(Zeros)
constant = public("initializers.constant")(Constant)
ones = public("initializers.ones")(Ones)
random_uniform = public("initializers.random_uniform")(RandomUniform)
random_normal = public("initializers.random_normal")(RandomNormal)
truncated_normal = public("initializers.truncated_normal")(TruncatedNormal)
variance_scaling = public("initializers.variance_scaling")(VarianceScaling)
glorot_uniform = public("initializers.glorot_uniform")(GlorotUniform)
glorot_normal = public("initializers.glorot_normal")(GlorotNormal)


@public("initializers.Identity")
class Identity(Initializer):
    """A matrix with a number on the diagonal and 0 elsewhere.

    Parameters
    ----------
    gain
        The number.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.initializers.identity(2.0)([2, 3]).eval()
    array([[2., 0., 0.],
           [0., 2., 0.]], dtype=float32)
    """

    @takes(gain=NUMBER, dtype=DTYPE)
    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of the shape, which must have rank 2."""
        dims = tensor_shape.as_shape(shape).as_list()
        if len(dims) != 2 or None in dims:
            raise ValueError(f"shape: expected two known dimensions, got {dims}")
        kind = dtypes.as_dtype(dtype or self.dtype)
        return constant_of(self.gain * np.eye(dims[0] or 0, dims[1] or 0), kind)


@public("initializers.UniformUnitScaling")
class UniformUnitScaling(Initializer):
    """Uniform numbers that keep the scale of a linear layer's inputs.

    They lie within ``factor * sqrt(3 / inputs)``, inputs being the product of all dimensions but
    the last. Sussillo, Abbott: Random walk initialization (2014).

    Parameters
    ----------
    factor
        The factor.
    seed
        Seed of the operation.
    dtype
        Type of the elements.

    Examples
    --------
    >>> tf.uniform_unit_scaling_initializer(seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """

    @takes(factor=NUMBER, seed=INTEGER, dtype=DTYPE)
    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of random numbers."""
        whole = tensor_shape.as_shape(_whole(shape, partition_info)).as_list()
        inputs = math.prod(size or 1 for size in whole[:-1])
        limit = self.factor * math.sqrt(3.0 / max(1, inputs))
        return random_ops.random_uniform(shape, -limit, limit, dtype or self.dtype, self.seed)


uniform_unit_scaling_initializer = public(
    "uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling_initializer"
)(UniformUnitScaling)
identity = public("initializers.identity")(Identity)
uniform_unit_scaling = public("initializers.uniform_unit_scaling")(UniformUnitScaling)


def _scaled(
    public_name: str, scale: float, distribution: str, what: str
) -> Callable[..., VarianceScaling]:
    @takes(seed=INTEGER)
    def make(seed: int | None = None) -> VarianceScaling:
        return VarianceScaling(scale, "fan_in", distribution, seed)

    make.__doc__ = f"""`VarianceScaling` {what}.

    Parameters
    ----------
    seed
        Seed of the operation.

    Examples
    --------
    >>> tf.initializers.{public_name}(seed=1)([4, 2]).shape.as_list()
    [4, 2]
    """
    make.__name__ = make.__qualname__ = public_name
    return make


_LECUN = "by the inputs alone, {} (LeCun et al. 1998)"
_HE = "for rectifiers, {} (He et al. 2015)"
_NORMAL = "truncated normal"

lecun_normal = public("initializers.lecun_normal")(
    _scaled("lecun_normal", 1.0, "truncated_normal", _LECUN.format(_NORMAL))
)
lecun_uniform = public("initializers.lecun_uniform")(
    _scaled("lecun_uniform", 1.0, "uniform", _LECUN.format("uniform"))
)
he_normal = public("initializers.he_normal")(
    _scaled("he_normal", 2.0, "truncated_normal", _HE.format(_NORMAL))
)
he_uniform = public("initializers.he_uniform")(
    _scaled("he_uniform", 2.0, "uniform", _HE.format("uniform"))
)
