"""Random numbers under their second names, ``tf.random``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._impl.graph.random_seed import get_seed, set_random_seed
from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.ops.random_ops import random_normal as normal
from millstream._impl.ops.random_ops import random_uniform as uniform
from millstream._impl.ops.random_ops import truncated_normal

__all__ = ["get_seed", "normal", "set_random_seed", "truncated_normal", "uniform"]

if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
