"""Names of ``tf.contrib`` in old programs: those that are given, and those that must not be.

A module that is not public is looked through: a name in it is the public name that ends alike. Some
modules of ``tf.contrib`` have functions that are called as public ones and take other arguments or
have other defaults. Their names are refused, so that no program computes something else in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.ops import reductions
from millstream._impl.values import dtypes
from millstream._impl.variables import initializers

# The modules, and what differs.
_OTHER_FUNCTIONS = {
    "contrib.layers": "it has other arguments and defaults, among them an activation",
    "contrib.losses": "it takes predictions before labels",
    "contrib.metrics": "it takes predictions before labels",
    "contrib.slim": "it has other arguments and defaults, among them an activation",
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


def own_name(module: str, name: str) -> Any:
    """What a name of a module, as ``"contrib.layers"``, stands for; None if it is not ours."""
    return _OWN.get(module, {}).get(name)


def why_refused(module: str, name: str) -> str:
    """Why a public function does not stand for the name of a module; "" where it may."""
    return "" if name in _EQUAL else _OTHER_FUNCTIONS.get(module, "")


def has_other_functions(module: str) -> bool:
    """Whether functions of a module, as ``"contrib.slim"``, differ from those of public names."""
    return module in _OTHER_FUNCTIONS


def holds_modules(module: str) -> bool:
    """Whether the names in a module, as ``"contrib"``, are those of modules."""
    parts = module.split(".")
    return len(parts) == 1 or (len(parts) == 2 and parts[0] in ("python", "core"))
