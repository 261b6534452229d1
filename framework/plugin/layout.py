"""The layout of everything in plugin.h, as text: ``layout.golden.txt``.

The header's text says which structs, fields, constants and types there are; a C program made from
it says how large they are and where they stand. ``python3 framework/plugin/layout.py`` prints the
layout, ``--update`` writes it to the golden file and its digest to the newest entry of
``CHANGELOG.md``.
"""

import argparse
import dataclasses
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.PurePath("framework/plugin")
HEADER = FOLDER / "plugin.h"
GOLDEN = FOLDER / "layout.golden.txt"
CHANGELOG = FOLDER / "CHANGELOG.md"

# Not part of the layout: the version, and what depends on how a file is compiled.
_UNLISTED_CONSTANTS = {
    "MS_ABI_MAJOR",
    "MS_ABI_MINOR",
    "MS_BUILT_MINOR",
    "MS_BUILT_SANITIZER",
    "MS_PLUGIN_EXPORT",
    "MS_TARGET_MINOR",
}


@dataclasses.dataclass(frozen=True)
class Field:
    """One field: its name, and its whole declaration with single spaces."""

    name: str
    declaration: str


@dataclasses.dataclass(frozen=True)
class Header:
    """What plugin.h declares, in its order."""

    version: str
    constants: list[str]
    typedefs: list[str]
    structs: dict[str, list[Field]]


def _field(declaration: str) -> Field:
    function = re.search(r"\(\*(\w+)\)\(", declaration)
    plain = re.search(r"(\w+)(?:\[\w+\])?$", declaration)
    match = function or plain
    if match is None:
        raise ValueError(f"no field name in {declaration!r}")
    return Field(match.group(1), declaration)


def parse(text: str) -> Header:
    """Read the header's text.

    Parameters
    ----------
    text
        The whole of plugin.h.
    """
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    macros = dict(re.findall(r"^#define (\w+)[ \t]+(\S.*?)[ \t]*$", text, flags=re.MULTILINE))
    version = f"{macros['MS_ABI_MAJOR']}.{macros['MS_ABI_MINOR']}"
    constants = [name for name in macros if name not in _UNLISTED_CONSTANTS]
    code = " ".join(re.sub(r"^#.*$", "", text, flags=re.MULTILINE).split())
    structs = {
        name: [_field(part.strip()) for part in body.split(";") if part.strip()]
        for name, body in re.findall(r"struct (MS_\w+) \{(.*?)\}", code)
    }
    bodiless = re.sub(r"\{.*?\}", "", code)
    typedefs = [
        declaration
        for declaration in re.findall(r"typedef ([^;{}]+);", bodiless)
        if not declaration.startswith("struct")
    ]
    return Header(version, constants, typedefs, structs)


def c_program(header: Header) -> str:
    """Make the program, valid C99 and C++11, that prints what only a compiler knows."""
    lines = [
        "#include <stdio.h>",
        f'#include "{HEADER}"',
        "#define PRINT_NUMBER(name) \\",
        '  printf("constant " #name " = %llu\\n", (unsigned long long)(name))',
        '#define PRINT_TEXT(name) printf("constant " #name " = \\"%s\\"\\n", name)',
    ]
    for name, fields in header.structs.items():
        # A char before a thing shows how the thing is aligned.
        lines.append(f"struct A_{name} {{ char c; {name} t; }};")
        for field in fields:
            lines.append(f"struct A_{name}_{field.name} {{ char c; {field.declaration}; }};")
    lines.append("int main(void) {")
    for constant in header.constants:
        kind = "TEXT" if constant.endswith(("_API", "_NAME", "_OWNER")) else "NUMBER"
        lines.append(f"  PRINT_{kind}({constant});")
    for name, fields in header.structs.items():
        lines.append(
            f'  printf("struct {name} size %zu align %zu\\n", sizeof({name}), '
            f"offsetof(struct A_{name}, t));"
        )
        for field in fields:
            lines.append(
                f'  printf("  %zu size %zu align %zu: {field.declaration}\\n", '
                f"offsetof({name}, {field.name}), sizeof((({name}*)0)->{field.name}), "
                f"offsetof(struct A_{name}_{field.name}, {field.name}));"
            )
    lines += ["  return 0;", "}", ""]
    return "\n".join(lines)


def measure(root: pathlib.Path, compiler: Sequence[str], language: str = "c") -> str:
    """Compile and run the program: the layout as text.

    Parameters
    ----------
    root
        The folder in which ``framework/plugin/plugin.h`` stands.
    compiler
        The command, with options.
    language
        The compiler's word for the language: ``c`` or ``c++``.
    """
    header = parse((root / HEADER).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        program = pathlib.Path(folder) / "layout"
        source.write_text(c_program(header), encoding="utf-8")
        command = [*compiler, "-x", language, f"-I{root}", str(source), "-o", str(program)]
        subprocess.run(command, check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    typedefs = "".join(f"typedef {typedef}\n" for typedef in header.typedefs)
    return f"ABI {header.version}\n{typedefs}{printed}"


def digest(layout: str) -> str:
    """Name the layout by twelve digits, which the changelog repeats."""
    return hashlib.sha256(layout.encode()).hexdigest()[:12]


def _update_changelog(path: pathlib.Path, layout: str) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(r"Layout `[0-9a-f]{12}`", f"Layout `{digest(layout)}`", text, count=1),
        encoding="utf-8",
    )


def main() -> int:
    """Print the layout, or write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the golden file")
    arguments = parser.parse_args()
    layout = measure(ROOT, ["gcc", "-std=c99"])
    if arguments.update:
        (ROOT / GOLDEN).write_text(layout, encoding="utf-8")
        _update_changelog(ROOT / CHANGELOG, layout)
    else:
        print(layout, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
