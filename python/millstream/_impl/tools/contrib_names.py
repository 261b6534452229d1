"""Names of modules that are not public: those that are given, and those that must not be.

A module that is not public is looked through: a name in it is the public name that ends alike. Some
modules of ``tf.contrib`` have functions that are called as public ones and take other arguments or
have other defaults. Their names are refused, so that no program computes something else in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.graph import Graph
from millstream._impl.ops import reductions
from millstream._impl.session.session import Session
from millstream._impl.tools import contrib_lookup, inner_functions
from millstream._impl.train import moving_averages
from millstream._impl.values import dtypes
from millstream._impl.variables import initializers, variable_ops

# The modules, and what differs. It differs in the modules inside of them as well.
_OTHER_FUNCTIONS = {
    "contrib.layers": "it has other arguments and defaults, among them an activation",
    "contrib.losses": "it takes predictions before labels",
    "contrib.metrics": "it takes predictions before labels",
    "contrib.slim": "it has other arguments and defaults, among them an activation",
    "contrib.summary": "it writes to a writer of its own",
}
# The public names nearest to names of these modules that are called otherwise.
_INSTEAD = {
    "avg_pool2d": "tf.layers.average_pooling2d",
    "avg_pool3d": "tf.layers.average_pooling3d",
    "batch_norm": "tf.layers.batch_normalization",
    "bias_add": "tf.nn.bias_add",
    "convolution": "tf.nn.convolution",
    "convolution2d": "tf.layers.conv2d",
    "convolution2d_transpose": "tf.layers.conv2d_transpose",
    "embed_sequence": "tf.nn.embedding_lookup",
    "fully_connected": "tf.layers.dense",
    "linear": "tf.layers.dense",
    "max_pool2d": "tf.layers.max_pooling2d",
    "max_pool3d": "tf.layers.max_pooling3d",
    "model_variable": "tf.get_variable",
    "one_hot_encoding": "tf.one_hot",
    "separable_convolution2d": "tf.layers.separable_conv2d",
    "unit_norm": "tf.nn.l2_normalize",
    "variable": "tf.get_variable",
}
# Their functions that mean the same as the public ones.
_EQUAL = frozenset({"flatten", "softmax", "sum_regularizer"})
# A truncated normal distribution of this variance has 1.3 before truncation.
_NORMAL_SCALE = 1.3 * 0.87962566103423978**2


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Any:
    """The initializer of Glorot and Bengio (2010), uniform or normal."""
    if uniform:
        return initializers.GlorotUniform(seed, dtype)
    return initializers.VarianceScaling(_NORMAL_SCALE, "fan_avg", "truncated_normal", seed, dtype)


def _regularizer(name: str, penalty: Callable[[Any], Any]) -> Callable[..., Any]:
    def make(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
        if scale < 0.0:
            raise ValueError(f"scale: expected a number that is not negative, got {scale}")
        if scale == 0.0:
            return lambda _: None

        def regularize(weights: Any) -> Any:
            return gen_ops.mul(penalty(weights), scale, name=scope or name)

        return regularize

    make.__name__ = make.__qualname__ = name
    return make


def list_local_devices(session_config: Any = None) -> list[Any]:
    """The devices of this machine, each with its name and type."""
    with Session(graph=Graph(), config=session_config) as session:
        devices: list[Any] = session.list_devices()
        return devices


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """An operation that moves a variable towards a value, by ``1 - decay`` of the difference."""
    with scopes.name_scope(name, "AssignMovingAvg", [variable, value]) as scope:
        kept = gen_ops.cast(1.0 - decay, variable.dtype.base_dtype)
        if zero_debias:
            return moving_averages.debiased_update(variable, value, kept)
        return variable_ops.assign_sub(variable, (variable - value) * kept, name=scope)


_OWN: dict[str, dict[str, Any]] = {
    "contrib.layers": {
        "xavier_initializer": xavier_initializer,
        "xavier_initializer_conv2d": xavier_initializer,
        "l1_regularizer": _regularizer(
            "l1_regularizer", lambda weights: reductions.reduce_sum(gen_ops.abs(weights))
        ),
        "l2_regularizer": _regularizer("l2_regularizer", gen_ops.l2_loss),
    },
}
_OWN["contrib.slim"] = _OWN["contrib.layers"]
_OWN.update(inner_functions.NAMES)
_OWN["contrib.lookup"] = _OWN["python.ops.lookup_ops"] = contrib_lookup.NAMES
_OWN["python.client.device_lib"] = {"list_local_devices": list_local_devices}
_OWN["python.training.moving_averages"] = {"assign_moving_average": assign_moving_average}


def _outer(module: str) -> str:
    """The module of other functions that a module is, or is inside of; "" if there is none."""
    found = ".".join(module.split(".")[:2])
    return found if found in _OTHER_FUNCTIONS else ""


def own_name(module: str, name: str) -> Any:
    """What a name of a module, as ``"contrib.layers"``, stands for; None if it is not ours."""
    own = _OWN.get(module) or _OWN.get(_outer(module), {})
    return own.get(name)


def instead_of(module: str, name: str) -> str:
    """The public name nearest to a name of a module of other functions; "" if none is known."""
    return _INSTEAD.get(name, "") if _outer(module) else ""


def op_function(module: str, name: str) -> Any:
    """The function of an op in a module of ops, as ``"python.ops.control_flow_ops"``; or None."""
    is_op = module.endswith("_ops") and name.islower() and not name.startswith("_")
    return getattr(gen_ops, name, None) if is_op else None


def is_own(module: str) -> bool:
    """Whether names of a module, as ``"contrib.lookup"``, stand for functions of this one."""
    return module in _OWN


def why_refused(module: str, name: str) -> str:
    """Why a public function does not stand for the name of a module; "" where it may."""
    return "" if name in _EQUAL else _OTHER_FUNCTIONS.get(_outer(module), "")


def has_other_functions(module: str) -> bool:
    """Whether functions of a module, as ``"contrib.slim"``, differ from those of public names."""
    return module in _OTHER_FUNCTIONS


def is_inside_of_others(module: str) -> bool:
    """Whether a module is inside of one of other functions, as ``"contrib.layers.python"``."""
    return _outer(module) not in ("", module)


def holds_modules(module: str) -> bool:
    """Whether the names in a module, as ``"contrib"``, are those of modules."""
    parts = module.split(".")
    return len(parts) == 1 or (len(parts) == 2 and parts[0] in ("python", "core"))
