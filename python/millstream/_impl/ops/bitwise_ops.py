"""Integers as bits, element by element."""

from __future__ import annotations

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public

bitwise_and = public("bitwise.bitwise_and")(gen_ops.bitwise_and)
bitwise_or = public("bitwise.bitwise_or")(gen_ops.bitwise_or)
bitwise_xor = public("bitwise.bitwise_xor")(gen_ops.bitwise_xor)
invert = public("bitwise.invert")(gen_ops.invert)
left_shift = public("bitwise.left_shift")(gen_ops.left_shift)
right_shift = public("bitwise.right_shift")(gen_ops.right_shift)
