"""Summaries, which are messages for TensorBoard."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, Property, define_tests

_MESSAGE = NotTested("gives a message: python/millstream/_impl/summary compares what is in it")
_ONE_THREAD = NotTested("one thread writes the message")

define_tests(
    ["AudioSummary", "AudioSummaryV2", "ImageSummary", "ScalarSummary"],
    reference=_MESSAGE,
    determinism=_ONE_THREAD,
)
define_tests(
    "HistogramSummary",
    reference=_MESSAGE,
    determinism=_ONE_THREAD,
    exceptions={Property.NAMED_ARGUMENT: "the error is in words that programs know"},
)
define_tests(["MergeSummary", "TensorSummary", "TensorSummaryV2"], reference=_MESSAGE)
define_tests(
    "Timestamp",
    reference=NotTested("gives the time of day, which its documentation's example compares"),
)
