"""The API ledger: which names of the 1.15 API are there, absent for a reason, or missing so far."""

from __future__ import annotations

import textwrap
from typing import Any

import millstream as tf
from millstream._impl.base import absent_names
from millstream._impl.names import api_names

PAGE = "docs/api.md"
_HEAD = """# The 1.15 API, name by name

What each public module of the 1.15 API has here. Names are there with the parameters and defaults
of 1.15 (`testing/api/signatures_test.py` compares them) or are absent for a reason. The rest is not
there yet. `./bazelw run //testing/api:write_ledger -- --update` writes this page.

`tf.raw_ops` has a function for each registered operation but those on references, such as `Assign`
and `ApplyAdam`: they come with imported graphs alone, and run as the operations on resources that
take their place. `millstream check program.py` lists the names that a program uses and that are not
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


def _sorted_out() -> dict[str, tuple[list[str], list[str], list[str]]]:
    """By module: the full names that are there, those that are absent, those that are missing."""
    found = {}
    for module, names in sorted(api_names.all_names().items()):
        lists: tuple[list[str], list[str], list[str]] = ([], [], [])
        for name in sorted(f"{module}.{one}".lstrip(".") for one in names):
            if _is_there(name):
                lists[0].append(name)
            else:
                lists[1 if absent_names.reason_of(name) else 2].append(name)
        found[module] = lists
    return found


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
    lines += ["", "## Not there yet", ""]
    for module, (_, _, missing) in modules.items():
        if missing:
            text = " ".join(f"`{name.rpartition('.')[2]}`" for name in missing)
            title = f"`tf.{module}`".replace("tf.`", "tf`")
            lines += textwrap.wrap(
                f"- {title}: {text}",
                120,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines) + "\n"
