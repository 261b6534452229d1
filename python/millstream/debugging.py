"""Checks under their second names, ``tf.debugging``, and sessions that stop at the first NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.ops.check_ops import (
    Assert,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_rank,
    assert_rank_at_least,
    check_numerics,
)
from millstream._impl.ops.check_ops import verify_tensor_all_finite as assert_all_finite
from millstream._impl.ops.type_checks import (
    assert_integer,
    assert_proper_iterable,
    assert_same_float_dtype,
    assert_scalar,
    assert_type,
    is_numeric_tensor,
)
from millstream._impl.session.numeric_checks import disable_check_numerics, enable_check_numerics
from millstream._impl.session.numeric_replay import replay

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "enable_check_numerics",
    "is_numeric_tensor",
    "replay",
]

if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
