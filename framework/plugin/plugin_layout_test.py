"""What crosses the plugin ABI lies where the golden file says."""

import itertools
import pathlib
import re
import shutil

import pytest

from framework.plugin import layout

ROOT = pathlib.Path.cwd()
UPDATE = "python3 framework/plugin/layout.py --update, and say in CHANGELOG.md what changed"


@pytest.fixture(scope="module")
def golden() -> str:
    return (ROOT / layout.GOLDEN).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("compiler", "language"),
    [
        (["gcc", "-std=c99"], "c"),
        (["gcc", "-std=c99", "-fshort-enums"], "c"),
        (["g++", "-std=c++11"], "c++"),
        (["g++", "-std=c++17"], "c++"),
        (["g++", "-std=c++20", "-fshort-enums"], "c++"),
        (["clang", "-std=c99"], "c"),
    ],
    ids=" ".join,
)
def test_every_compiler_lays_it_out_as_the_golden_file_says(
    golden: str, compiler: list[str], language: str
) -> None:
    if compiler[0] == "clang" and shutil.which("clang") is None:
        pytest.skip("clang is not installed; gcc's layout is checked")
    assert layout.measure(ROOT, compiler, language) == golden, UPDATE


def test_no_struct_has_a_hole_or_an_odd_size(golden: str) -> None:
    structs = re.findall(r"^struct (\w+) size (\d+) .*\n((?:  .*\n)+)", golden, flags=re.MULTILINE)
    assert len(structs) > 20
    for name, size, body in structs:
        fields = [
            (int(offset), int(length))
            for offset, length in re.findall(r"^  (\d+) size (\d+) ", body, flags=re.MULTILINE)
        ]
        ends = [0, *(offset + length for offset, length in fields)]
        starts = [*(offset for offset, _ in fields), int(size)]
        assert ends == starts, f"{name} has a hole, or a field that the generator did not see"
        assert int(size) % 8 == 0, name


def test_growable_structs_and_tables_begin_with_their_head(golden: str) -> None:
    heads = re.findall(r"^struct (\w+) .*\n  0 .*: (MS_Head|MS_Table) head$", golden, re.MULTILINE)
    kinds = dict(heads)
    assert kinds["MS_Frame"] == "MS_Head"
    apis = [name for name, _ in re.findall(r"^struct (MS_\w+Api) (size)", golden, re.MULTILINE)]
    assert len(apis) >= 9
    assert all(kinds.get(name) == "MS_Table" for name in apis)


def test_constants_of_one_kind_differ(golden: str) -> None:
    constants = re.findall(r"^constant (MS_[A-Z]+)(_\w+) = (\d+)$", golden, re.MULTILINE)
    # Kinds that are named by their first word; data types and status codes have none.
    for kind in ("MS_ATTR", "MS_VIEW", "MS_KERNEL", "MS_FRAME", "MS_CPU", "MS_SANITIZER", "MS_LOG"):
        values = [value for prefix, _, value in constants if prefix == kind]
        assert values, kind
        pairs = itertools.combinations(values, 2)
        assert all(a != b for a, b in pairs), kind


def test_the_changelog_tells_of_this_layout(golden: str) -> None:
    changelog = (ROOT / layout.CHANGELOG).read_text(encoding="utf-8")
    version = golden.splitlines()[0].removeprefix("ABI ")
    newest = re.search(r"^## (\S+)\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == version
    assert f"Layout `{layout.digest(golden)}`" in newest.group(2), UPDATE


def test_the_generator_reads_every_kind_of_field() -> None:
    header = layout.parse(
        "#define MS_ABI_MAJOR 3\n#define MS_ABI_MINOR 4\n#define MS_X 5u /* x */\n"
        "typedef uint32_t MS_Kind;\n"
        "typedef struct MS_A {\n  const MS_Str* const* p;\n  char text[32]; /* t; */\n"
        "  void (*run)(void (*fn)(void* user),\n    void* user);\n} MS_A;\n"
    )
    assert header.version == "3.4"
    assert header.constants == ["MS_X"]
    assert header.typedefs == ["uint32_t MS_Kind"]
    assert [field.name for field in header.structs["MS_A"]] == ["p", "text", "run"]
