"""Texts, element by element."""

from __future__ import annotations

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public

string_join = public("string_join", "strings.join")(gen_ops.string_join)
