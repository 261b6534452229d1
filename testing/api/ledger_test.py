"""The page that lists the names of the API is what the package says."""

from __future__ import annotations

import re
from pathlib import Path

import millstream as tf
from millstream._impl.base import absent_ops
from testing.api import ledger


def test_the_page_is_up_to_date() -> None:
    written = Path(ledger.PAGE).read_text(encoding="utf-8")
    command = "./bazelw run //testing/api:write_ledger -- --update"
    assert written == ledger.page(), f"write it again: {command}"


def test_each_kind_of_name_is_found() -> None:
    there, absent, missing = ledger._sorted_out()[""]
    assert {"Session", "matmul", "GraphDef"} <= set(there)
    assert {"keras", "GradientTape"} <= set(absent)
    assert not set(there) & set(absent) | set(there) & set(missing)


def test_each_operation_is_there_or_absent_for_a_reason() -> None:
    assert len(ledger.raw_ops()) == 1201
    there, absent, missing = ledger._sorted_out()["raw_ops"]
    assert {"raw_ops.MatMul", "raw_ops.AssignVariableOp"} <= set(there)
    assert not missing
    assert absent == sorted(f"raw_ops.{name}" for name in absent_ops.reasons())


def test_an_operation_has_one_reason_that_names_operations_there_are() -> None:
    listed = [name for names in absent_ops.groups().values() for name in names]
    assert len(listed) == len(set(listed))
    for why, names in absent_ops.groups().items():
        assert list(names) == sorted(names), why
        assert not [name for name in names if hasattr(tf.raw_ops, name)], why
        for affix, place in (("Resource", "before"), ("V2", "behind"), ("V3", "behind")):
            if f"with {affix} {place} its name" in why:
                whole = [affix + name if place == "before" else name + affix for name in names]
                assert [name for name in whole if not hasattr(tf.raw_ops, name)] == [], why


def test_reasons_name_what_there_is() -> None:
    parts_of_names = {"Ref", "RefSelect", "Resource", "V2", "V3"}
    for why in absent_ops.groups():
        use = why.partition("use ")[2]
        names = set(re.findall(r"tf(?:\.\w+)+|\b[A-Z]\w+", use)) - parts_of_names
        full = [name.removeprefix("tf.") if "." in name else f"raw_ops.{name}" for name in names]
        assert [name for name in full if not ledger._is_there(name)] == [], why
        assert names or " its name" in use or use.startswith("a library of trees"), why
