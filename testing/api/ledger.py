"""The API ledger: which names of the 1.15 API are there, absent for a reason, or missing so far."""

from __future__ import annotations

import csv
import textwrap
from pathlib import Path
from typing import Any

import millstream as tf
from millstream._impl.base import absent_names, absent_ops
from millstream._impl.names import api_names

PAGE = "docs/api.md"
_OPS = Path("testdata/conformance/ops/ops.tsv")
# Operations of 1.15 that are not in its raw_ops.
_INNER_OPS = """
Copy CopyHost DebugIdentity DebugNanCount DebugNumericSummary HostConst KMC2ChainInitialization
KmeansPlusPlusInitialization NearestNeighbors NegTrain RemoteFusedGraphExecute Rpc Skipgram
TensorForestCreateTreeVariable TensorForestTreeDeserialize TensorForestTreeIsInitializedOp
TensorForestTreePredict TensorForestTreeResourceHandleOp TensorForestTreeSerialize
TensorForestTreeSize TryRpc
"""
_HEAD = """# The 1.15 API, name by name

What each public module of the 1.15 API has here. Names are there with the parameters and defaults
of 1.15 (`testing/api/signatures_test.py` compares them) or are absent for a reason. The rest is not
there yet. `./bazelw run //testing/api:write_ledger -- --update` writes this page.

`tf.raw_ops` has a function for each registered operation but those on references, such as `Assign`
and `ApplyAdam`: they come with imported graphs alone, and run as the operations on resources that
take their place. [Below](#operations-of-tfraw_ops-that-are-absent) are the operations that it does
not have. `millstream check program.py` lists the names that a program uses and that are not
there.
"""


def _is_there(name: str) -> bool:
    value: Any = tf
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def raw_ops() -> list[str]:
    """The names in 1.15's ``raw_ops``."""
    with _OPS.open(encoding="utf-8") as lines:
        names = {row["op"] for row in csv.DictReader(lines, delimiter="\t")}
    return sorted(names - set(_INNER_OPS.split()))


def _sorted_out() -> dict[str, tuple[list[str], list[str], list[str]]]:
    """By module: the full names that are there, those that are absent, those that are missing."""
    found = {}
    all_names = {**api_names.all_names(), "raw_ops": raw_ops()}
    for module, names in sorted(all_names.items()):
        lists: tuple[list[str], list[str], list[str]] = ([], [], [])
        for name in sorted(f"{module}.{one}".lstrip(".") for one in names):
            if _is_there(name):
                lists[0].append(name)
            else:
                lists[1 if absent_names.reason_of(name) else 2].append(name)
        found[module] = lists
    return found


def _wrapped(first: str, texts: list[str]) -> list[str]:
    """Lines of a list's item that begins with `first`."""
    return textwrap.wrap(
        " ".join(texts),
        120,
        initial_indent=first,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def page() -> str:
    """The text of the page."""
    modules = _sorted_out()
    lines = [_HEAD, "| module | names | there | absent | not there yet |", "|---|---|---|---|---|"]
    totals = [0, 0, 0]
    for module, lists in modules.items():
        counts = [len(one) for one in lists]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        title = f"`tf.{module}`".replace("tf.`", "tf`")
        lines.append(f"| {title} | {sum(counts)} | " + " | ".join(map(str, counts)) + " |")
    lines.append(f"| all | {sum(totals)} | " + " | ".join(map(str, totals)) + " |")
    lines += ["", "## Absent, and what to use", ""]
    lines += [f"- `tf.{name}`: {why}." for name, why in sorted(absent_names.reasons().items())]
    lines += ["", "## Operations of `tf.raw_ops` that are absent", ""]
    for why, ops in sorted(absent_ops.groups().items()):
        lines += [f"- {why}:", *_wrapped("  ", [f"`{op}`" for op in ops])]
    lines += ["", "## Not there yet", ""]
    for module, (_, _, missing) in modules.items():
        if missing:
            title = f"`tf.{module}`".replace("tf.`", "tf`")
            texts = [f"`{name.rpartition('.')[2]}`" for name in missing]
            lines += _wrapped(f"- {title}: ", texts)
    return "\n".join(lines) + "\n"
