"""Audio as files."""

from __future__ import annotations

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public

decode_wav = public("audio.decode_wav")(gen_ops.decode_wav)
encode_wav = public("audio.encode_wav")(gen_ops.encode_wav)
