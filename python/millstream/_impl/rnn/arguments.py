"""What arguments of cells and networks may be, beside what other functions take."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.graph.arguments import TENSOR, Kind
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import nest
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.values.tensor_shape import TensorShape
from millstream._impl.variables.variable_scope import VariableScope
from millstream._impl.variables.variable_store import AUTO_REUSE


def _is_tensor(value: Any) -> bool:
    return TENSOR.accepts(value) or isinstance(value, TensorArray)


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer, TensorShape, TensorLike))


SCOPE = Kind(
    "a name or a VariableScope",
    lambda value: value is None or isinstance(value, (str, VariableScope)),
)
REUSE = Kind(
    "True, False, None or AUTO_REUSE",
    lambda value: value is None or isinstance(value, bool) or value == AUTO_REUSE,
)
STATE = Kind(
    "a tensor or a structure of tensors",
    lambda value: value is None or all(_is_tensor(leaf) for leaf in nest.flatten(value)),
)
SIZES = Kind(
    "a size or a structure of sizes",
    lambda value: value is None or all(_is_size(leaf) for leaf in nest.flatten(value)),
)
COUNT = Kind(
    "a positive integer or None",
    lambda value: value is None or (isinstance(value, (int, np.integer)) and int(value) > 0),
)
