"""Sparse tensors in maps, and ragged tensors in variants."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, Property, define_tests

_KEEPS = NotTested("keeps elements, and computes nothing")

define_tests(
    ["AddManySparseToTensorsMap", "AddSparseToTensorsMap", "TakeManySparseFromTensorsMap"],
    reference=NotTested(
        "works on what other nodes put into a map: sparse_maps_test.py of the package compares it"
    ),
)
define_tests(
    "RaggedTensorToVariant",
    reference=NotTested(
        "a variant is no array: ragged_variants_test.py of the package compares what comes out"
    ),
    determinism=_KEEPS,
)
define_tests(
    "RaggedTensorFromVariant",
    reference=NotTested(
        "a variant is no array: ragged_variants_test.py of the package compares what comes out"
    ),
    determinism=_KEEPS,
    exceptions={
        Property.NAMED_ARGUMENT: "no random case has a ragged tensor: the error is about its type"
    },
)
