"""The page that lists the names of the API is what the package says."""

from __future__ import annotations

from pathlib import Path

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
