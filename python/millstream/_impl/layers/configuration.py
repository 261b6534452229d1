"""What layers are given, by name and as data: activations, initializers, regularizers.

A name is that of Keras: ``"relu"``, ``"he_normal"``, ``"l2"``. As data, an object is a dictionary
of its class and its arguments, ``{"class_name": "RandomNormal", "config": {"stddev": 0.1}}``, as
``get_config`` of a layer gives it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.arguments import INITIALIZER as _VALUES
from millstream._impl.graph.arguments import Kind
from millstream._impl.nn import activations
from millstream._impl.ops import reductions
from millstream._impl.variables import initializers


def hard_sigmoid(x: Any) -> Any:
    """``0.2 x + 0.5``, cut to [0, 1]."""
    return gen_ops.minimum(gen_ops.maximum(0.2 * x + 0.5, 0.0), 1.0)


class L1L2:
    """A penalty for large weights: ``l1 * sum(|w|) + l2 * sum(w²)``.

    Parameters
    ----------
    l1, l2
        The factors.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = float(l1)
        self.l2 = float(l2)

    def __call__(self, weights: Any) -> Any:
        """The penalty: a scalar."""
        first = self.l1 * reductions.reduce_sum(gen_ops.abs(weights)) if self.l1 else None
        second = self.l2 * reductions.reduce_sum(gen_ops.square(weights))
        return second if first is None else first + second

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal penalty."""
        return {"l1": self.l1, "l2": self.l2}


_ACTIVATIONS: dict[str, Any] = {
    "elu": gen_ops.elu,
    "exponential": gen_ops.exp,
    "hard_sigmoid": hard_sigmoid,
    "leaky_relu": activations.leaky_relu,
    "linear": None,
    "relu": gen_ops.relu,
    "relu6": gen_ops.relu6,
    "selu": gen_ops.selu,
    "sigmoid": gen_ops.sigmoid,
    "softmax": activations.softmax,
    "softplus": gen_ops.softplus,
    "softsign": gen_ops.softsign,
    "swish": activations.swish,
    "tanh": gen_ops.tanh,
}
_INITIALIZERS: dict[str, Any] = {
    "Constant": initializers.Constant,
    "GlorotNormal": initializers.GlorotNormal,
    "GlorotUniform": initializers.GlorotUniform,
    "Identity": initializers.Identity,
    "Ones": initializers.Ones,
    "RandomNormal": initializers.RandomNormal,
    "RandomUniform": initializers.RandomUniform,
    "TruncatedNormal": initializers.TruncatedNormal,
    "UniformUnitScaling": initializers.UniformUnitScaling,
    "VarianceScaling": initializers.VarianceScaling,
    "Zeros": initializers.Zeros,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
}
# Other names, with the arguments that they stand for.
_NAMED_INITIALIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "constant": ("Constant", {}),
    "glorot_normal": ("GlorotNormal", {}),
    "glorot_uniform": ("GlorotUniform", {}),
    "identity": ("Identity", {}),
    "one": ("Ones", {}),
    "ones": ("Ones", {}),
    "normal": ("RandomNormal", {"stddev": 0.05}),
    "random_normal": ("RandomNormal", {"stddev": 0.05}),
    "uniform": ("RandomUniform", {"minval": -0.05, "maxval": 0.05}),
    "random_uniform": ("RandomUniform", {"minval": -0.05, "maxval": 0.05}),
    "truncated_normal": ("TruncatedNormal", {"stddev": 0.05}),
    "variance_scaling": ("VarianceScaling", {}),
    "zero": ("Zeros", {}),
    "zeros": ("Zeros", {}),
}
_REGULARIZERS: dict[str, Any] = {"L1L2": L1L2}
_NAMED_REGULARIZERS = {
    "l1": ("L1L2", {"l1": 0.01}),
    "l2": ("L1L2", {"l2": 0.01}),
    "l1_l2": ("L1L2", {"l1": 0.01, "l2": 0.01}),
}

# What arguments of layers may be.
ACTIVATION = Kind(
    "a function, its name or None",
    lambda value: value is None or callable(value) or isinstance(value, str),
)
REGULARIZER = Kind(
    "a function, its name, its description or None",
    lambda value: value is None or callable(value) or isinstance(value, (str, Mapping)),
)
INITIALIZER = Kind(
    "an initializer, its name or description, a value or None",
    lambda value: value is None or isinstance(value, Mapping) or _VALUES.accepts(value),
)


def activation(given: Any) -> Any:
    """The function of a name; any other value as it is."""
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise ValueError(f"activation: Unknown activation function:{given}")
    return _ACTIVATIONS[given]


def cell_activation(given: Any) -> Any:
    """As `activation`, for a recurrent cell: None stands for tanh."""
    return gen_ops.tanh if given is None else activation(given) or gen_ops.identity


def initializer(given: Any, argument: str) -> Any:
    """The initializer of a name or description; any other value as it is."""
    described = given.get("class_name") if isinstance(given, Mapping) else given
    if isinstance(described, str) and described in ("orthogonal", "Orthogonal"):
        from millstream._impl.variables import orthogonal  # lazy: few programs use it

        return orthogonal.Orthogonal(**(given["config"] if isinstance(given, Mapping) else {}))
    return _object_of(given, argument, "initializer", _INITIALIZERS, _NAMED_INITIALIZERS)


def regularizer(given: Any, argument: str) -> Any:
    """The penalty of a name or description; any other value as it is."""
    return _object_of(given, argument, "regularizer", _REGULARIZERS, _NAMED_REGULARIZERS)


def _object_of(
    given: Any,
    argument: str,
    what: str,
    classes: Mapping[str, Any],
    named: Mapping[str, tuple[str, dict[str, Any]]],
) -> Any:
    if isinstance(given, str):
        name, config = named.get(given, (given, {}))
    elif isinstance(given, Mapping):
        name, config = given.get("class_name", ""), dict(given.get("config", {}))
    else:
        return given
    if name not in classes:
        raise ValueError(f"{argument}: Unknown {what}: {name}")
    return classes[name](**config)


def config_of(layer: Any, arguments: Sequence[str]) -> dict[str, Any]:
    """The arguments that make an equal layer, as data that they take.

    Parameters
    ----------
    layer
        The layer.
    arguments
        Those of its constructor that not all layers have. Each is an attribute.

    Raises
    ------
    ValueError
        One is an object that does not say what makes an equal one.
    NotImplementedError
        The constructor has arguments, and none are given here.
    """
    config = {"name": layer.name, "trainable": layer.trainable, "dtype": layer.dtype}
    for name in arguments:
        value = getattr(layer, name if hasattr(layer, name) else f"_{name}")
        config[name] = _described(name, value)
    if not arguments and _has_more_arguments(layer, config):
        raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
    return config


def _described(name: str, value: Any) -> Any:
    if name == "activation" and (value is None or value is gen_ops.identity):
        return "linear"
    if name == "padding":
        return value.lower()
    if isinstance(value, (str, int, float, tuple, list, type(None), np.generic)):
        return value
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if hasattr(value, "__name__"):
        return value.__name__
    raise ValueError(f"{name}: Cannot serialize {value!r}: it has no get_config()")


def _has_more_arguments(layer: Any, config: Mapping[str, Any]) -> bool:
    """Whether a layer's constructor has arguments that its description lacks."""
    parameters = list(inspect.signature(type(layer).__init__).parameters.values())[1:]
    open_ended = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return any(one.kind not in open_ended and one.name not in config for one in parameters)
