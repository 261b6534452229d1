"""Ops of strings by regular expressions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from testing.ops.strings import each_string, random_texts, strings_input
from testing.ops.support.case import Case, attr_text
from testing.ops.support.reference import Outcome, refuse_unless
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_PIECES = (b"a", b"b", b"ab", b"12", b" ", b"-", b"", b"word", b"\xc3\xa9")
# Expressions that both libraries understand alike, for texts of valid UTF-8.
_PATTERNS = ("a", "a+", "[0-9]+", "(a)(b)", "^a|b$", "x*", "(\\w+) (\\w+)", ".", "é", "a|bb", "")
_BAD = ("(", "*", "[a", "a)", "(?P<n")


def _make(source: Source, op: Any) -> Case:
    texts = random_texts(source, source.small_shape(0, 3, 3), _PIECES)
    pattern = source.pick(_PATTERNS) if source.chance(0.93) else source.pick(_BAD)
    groups = 0 if pattern in _BAD else re.compile(pattern).groups
    rewrite = source.pick(("", "#", "<\\0>", "\\\\", "\\1" if groups else "x"))
    if groups == 0 and source.chance(0.04):
        rewrite = "\\2"
    values = {"pattern": pattern, "rewrite": rewrite, "all": source.chance(0.6), "scalars": True}
    case = Case(op.name, [texts], {}, values)
    given = [pattern, rewrite] if "Replace" in op.name else [pattern]
    if op.name.startswith("Static"):
        names = ("pattern", "rewrite")[: len(given)]
        case.attrs |= dict(zip(names, map(attr_text, given), strict=True))
    else:
        values["scalars"] = source.chance(0.96)
        shape = () if values["scalars"] else (1,)
        case.inputs += [strings_input([text.encode()], shape) for text in given]
    if "Replace" in op.name:
        case.attrs["replace_global"] = attr_text(values["all"])
    return case


def _check(case: Case) -> re.Pattern[str]:
    refuse_unless(case.values["scalars"], "pattern")
    refuse_unless(case.values["pattern"] not in _BAD, "pattern")
    return re.compile(case.values["pattern"], re.ASCII)


def _replace(case: Case) -> Outcome:
    pattern, rewrite = _check(case), case.values["rewrite"]
    refuse_unless(rewrite != "\\2" or pattern.groups >= 2, "rewrite")

    def put(match: re.Match[str]) -> str:
        return re.sub(
            r"\\(.)",
            lambda part: "\\" if part[1] == "\\" else match[int(part[1])] or "",
            rewrite,
        )

    def change(text: bytes) -> bytes:
        return _replaced(pattern, put, text.decode(), case.values["all"]).encode()

    return [each_string(case.array(0), change)]


def _replaced(pattern: re.Pattern[str], put: Any, text: str, all_of_them: bool) -> str:
    """As RE2: an empty match directly after another match does not count."""
    result, at, last = "", 0, -1
    while at <= len(text):
        match = pattern.search(text, at)
        if match is None:
            break
        if match.end() == match.start() == last:
            result += text[at : at + 1]
            at += 1
            last = -1
            continue
        result += text[at : match.start()] + put(match)
        at = last = match.end()
        if not all_of_them:
            break
        if match.end() == match.start():
            result += text[at : at + 1]
            at += 1
    return result + text[at:]


def _full_match(case: Case) -> Outcome:
    pattern = _check(case)

    def matches(text: bytes) -> bool:
        return pattern.fullmatch(text.decode()) is not None

    return [each_string(case.array(0), matches, np.dtype(np.bool_))]


define_tests(["RegexReplace", "StaticRegexReplace"], cases=_make, reference=_replace)
define_tests(["RegexFullMatch", "StaticRegexFullMatch"], cases=_make, reference=_full_match)
