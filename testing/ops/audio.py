"""Audio as files."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

_ONE_THREAD = NotTested("one thread writes or reads the file")


def _file(rate: int, samples: Array) -> bytes:
    """A file of samples, integers, by Python's own module."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((samples.shape[1], 2, rate, len(samples), "NONE", ""))
        writer.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()


def _make_audio(source: Source, op: Any) -> Case:
    """Samples, of which some are out of range and some are nothing."""
    shape = [source.size(5), source.size(3)]
    if source.chance(0.05):
        shape = shape[:1]
    values = [source.pick((0.5, -0.25, 1.0, -1.0, 3.0, -np.inf, np.nan, 0.1)) for _ in range(20)]
    audio = np.resize(np.array(values, np.float32), shape)
    rate = np.array(source.pick((1, 8000, 44100, 0, -1)), np.int32)
    if source.chance(0.05):
        rate = rate[None]
    return Case(op.name, [Input("float32", audio), Input("int32", rate)], {})


def _encoded(case: Case) -> Outcome:
    audio, rate = case.array(0), case.array(1)
    refuse_unless(audio.ndim == 2, "audio")
    refuse_unless(rate.ndim == 0 and rate > 0, "sample_rate")
    refuse_unless(audio.size > 0, "audio")
    scaled = np.nan_to_num(audio * np.float32(32768), nan=0.0)
    # Halves are rounded away from zero.
    rounded = np.trunc(scaled + np.copysign(0.5, scaled))
    samples = np.clip(rounded, -32768, 32767).astype(np.int16)
    return [np.array(_file(int(rate), samples), object)]


def _make_file(source: Source, op: Any) -> Case:
    """Files, of which some are cut off or changed."""
    samples = np.resize(
        [source.integer(-32768, 32767) for _ in range(10)],
        [source.integer(1, 5), source.integer(1, 3)],
    )
    rate = source.pick((1, 8000, 44100))
    file = _file(rate, samples)
    spoilt = source.chance(0.3)
    if spoilt:
        file = source.pick((file[: source.integer(0, 43)], b"RIFX" + file[4:], b"", file[:-1]))
    contents = np.array(file, object)
    if source.chance(0.05):
        contents = contents[None]
    desired = [source.pick((-1, -1, 0, 1, 2, 4)) for _ in range(2)]
    if source.chance(0.05):
        desired[source.integer(0, 1)] = -2
    attrs = {
        "desired_channels": attr_text(desired[0]),
        "desired_samples": attr_text(desired[1]),
    }
    values = {"spoilt": spoilt, "rate": rate, "samples": samples}
    return Case(op.name, [Input("string", contents)], attrs, values)


def _decoded(case: Case) -> Outcome:
    for name in ("desired_channels", "desired_samples"):
        refuse_unless(case.attr(name) >= -1, name)
    refuse_unless(case.array(0).ndim == 0 and not case.values["spoilt"], "contents")
    samples = (case.values["samples"] / 32768).astype(np.float32)
    channels, length = case.attr("desired_channels"), case.attr("desired_samples")
    if channels >= 0:
        last = samples.shape[1] - 1
        samples = samples[:, [min(i, last) for i in range(channels)]]
    if length >= 0:
        missing = max(0, length - len(samples))
        samples = np.pad(samples, ((0, missing), (0, 0)))[:length]
    return [samples, np.array(case.values["rate"], np.int32)]


define_tests("EncodeWav", cases=_make_audio, reference=_encoded, determinism=_ONE_THREAD)
define_tests(
    "DecodeWav",
    cases=_make_file,
    reference=_decoded,
    determinism=_ONE_THREAD,
    exceptions={Property.STATIC_SHAPE: "the file says how much it holds"},
)
