"""Tables from keys to values."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_ON_A_TABLE = NotTested(
    "works on what other nodes put into a table: lookup_ops_test.py of the package compares it"
)
_REPLACED = NotTested("runs as the op on handles")
_KEEPS = NotTested("keeps elements, and computes nothing")

_TYPED = (
    *("InitializeTable", "LookupTableExport", "LookupTableFind", "LookupTableImport"),
    *("LookupTableInsert", "HashTable", "MutableHashTable", "MutableHashTableOfTensors"),
)
_OTHERS = ("InitializeTableFromTextFile", "LookupTableSize")

define_tests(
    [*(f"{name}V2" for name in _TYPED), "LookupTableRemoveV2"],
    reference=_ON_A_TABLE,
    determinism=_KEEPS,
)
define_tests(
    ["MutableDenseHashTableV2", "_MutableDenseHashTable"],
    reference=_ON_A_TABLE,
    determinism=_KEEPS,
)
define_tests("MutableDenseHashTable", reference=_REPLACED, determinism=_KEEPS)
define_tests([f"{name}V2" for name in _OTHERS], reference=_ON_A_TABLE)
define_tests(_TYPED, reference=_REPLACED, determinism=_KEEPS)
define_tests(_OTHERS, reference=_REPLACED)
