"""Hashes of strings and of other data."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

define_tests(
    ["StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong", "Fingerprint"],
    reference=NotTested("their bits are those of the golden cases"),
)
