"""What a step learns of the machine: which files there are, what they hold, the time of day."""

from __future__ import annotations

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public

read_file = public("read_file", "io.read_file")(gen_ops.read_file)
write_file = public("write_file", "io.write_file")(gen_ops.write_file)
matching_files = public("matching_files", "io.matching_files")(gen_ops.matching_files)

timestamp = public("timestamp")(gen_ops.timestamp)
