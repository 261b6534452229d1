"""Which files there are."""

from __future__ import annotations

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public

matching_files = public("matching_files", "io.matching_files")(gen_ops.matching_files)
