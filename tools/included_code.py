#!/usr/bin/python3
"""Keeps the code in the guides the same as in the files that it comes from.

A line of a guide that says where code comes from stands before the code::

    <!-- code: device_plugins/template/device.cc [memory] -->
    ```cpp
    ...
    ```

The code is all that stands in the file between a comment ``[docs: memory]`` and the next
``[docs: end]``, or without a name the whole file. ``tools/included_code.py`` writes it into all
guides; ``--check`` prints which of them it would change.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDES = "docs/*.md"

_INCLUDED = re.compile(
    r"^<!-- code: (?P<file>\S+?)(?: \[(?P<part>[^]]+)\])? -->\n```(?P<language>\w*)\n.*?^```\n",
    re.DOTALL | re.MULTILINE,
)
_MARK = re.compile(r"\s*(?://|#|/\*) \[docs: (?P<name>[^]]+)\](?: \*/)?")


def part_of(text: str, part: str | None, file: str) -> str:
    """The marked part of a file's text, without marks of other parts; all of it for None."""
    lines: list[str] = []
    inside = part is None
    found = inside
    for line in text.splitlines():
        mark = _MARK.fullmatch(line)
        if mark is None:
            lines += [line] if inside else []
        elif part is not None:
            inside = mark["name"] == part or (inside and mark["name"] != "end")
            found = found or inside
    if not found:
        raise ValueError(f"{file} has no mark [docs: {part}]")
    return "\n".join(lines).strip("\n") + "\n"


def with_code(guide: str, root: pathlib.Path) -> str:
    """The text of a guide with the code of today."""

    def replaced(found: re.Match[str]) -> str:
        file, part = found["file"], found["part"]
        head = f"<!-- code: {file}{f' [{part}]' if part else ''} -->\n```{found['language']}\n"
        return f"{head}{part_of((root / file).read_text(encoding='utf-8'), part, file)}```\n"

    return _INCLUDED.sub(replaced, guide)


def main(arguments: list[str], root: pathlib.Path = ROOT) -> int:
    """Mend all guides, or say which have other code than the files; 1 when one has."""
    status = 0
    for path in sorted(root.glob(GUIDES)):
        text = path.read_text(encoding="utf-8")
        mended = with_code(text, root)
        if mended == text:
            continue
        if "--check" in arguments:
            print(f"{path.relative_to(root)}: its code is not that of the files it names")
            status = 1
        else:
            path.write_text(mended, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
