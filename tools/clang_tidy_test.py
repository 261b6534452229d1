"""Files are joined for clang-tidy, and what it says is said of the file alone."""

import pathlib

import pytest

import clang_tidy


@pytest.fixture
def root(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A small tree, and a clang-tidy that dislikes the word BAD; it writes down its calls."""
    for folder in ("core", "kernels", "tools", "framework/plugin", "cache"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".clang-tidy").write_text("")
    (tmp_path / "tools/generate_messages").write_text("")
    tool = tmp_path / "clang-tidy"
    tool.write_text(
        """#!/bin/bash
echo "$@" >> arguments
for argument; do [[ $argument = *.cc ]] && file=$argument; done
cat "$file" >> calls
echo "-- end of call" >> calls
! grep -n BAD "$file"
"""
    )
    tool.chmod(0o755)
    monkeypatch.setattr(clang_tidy, "ROOT", tmp_path)
    return tmp_path


def write(root: pathlib.Path, texts: dict[str, str]) -> list[str]:
    """Write the files, and return their names."""
    for name, text in texts.items():
        (root / name).write_text(text)
    return list(texts)


def check(root: pathlib.Path, names: list[str]) -> tuple[list[str], int]:
    """What is said of the files, and how many calls that takes."""
    (root / "calls").write_text("")
    said = clang_tidy.check([str(root / "clang-tidy")], names, [], root / "cache")
    return said, (root / "calls").read_text().count("-- end of call")


def test_files_of_a_folder_are_joined(root: pathlib.Path) -> None:
    names = write(root, {f"core/file{i}.cc": f"int Function{i}() {{}}\n" for i in range(24)})
    names += write(root, {"kernels/a.cc": "int A() {}\n"})
    groups = clang_tidy.groups_of(names)
    assert sorted(map(len, groups)) == [1, 12, 12]
    assert sorted(name for group in groups for name in group) == sorted(names)
    assert check(root, names) == ([], 3)
    assert check(root, names) == ([], 0)


def test_what_is_left_of_folders_is_joined(root: pathlib.Path) -> None:
    folders = ["core/graph", "core/plan", "device_plugins/sim", "device_plugins/template"]
    for folder in folders:
        (root / folder).mkdir(parents=True)
    texts = {f"core/plan/file{i}.cc": f"int Function{i}() {{}}\n" for i in range(13)}
    texts |= {f"{folder}/a.cc": f"int A{i}() {{}}\n" for i, folder in enumerate(folders)}
    names = write(root, texts)
    assert sorted(clang_tidy.groups_of(names), key=len) == [
        ["device_plugins/sim/a.cc"],
        ["device_plugins/template/a.cc"],
        ["core/graph/a.cc", "core/plan/file8.cc", "core/plan/file9.cc"],
        sorted(name for name in names if name.startswith("core/plan/"))[:-2],
    ]
    assert check(root, names) == ([], 4)
    calls = (root / "arguments").read_text()
    assert "-iquote core/graph -iquote core/plan" in calls


def test_a_few_files_are_checked_one_by_one(root: pathlib.Path) -> None:
    names = write(root, {f"core/file{i}.cc": "" for i in range(3)})
    assert check(root, names) == ([], 3)


@pytest.mark.parametrize(
    "definition",
    [
        "class Name final : public Base {\n};",
        "struct Name;",
        "enum class Name { kOne };",
        "using Name = int;",
        "#define Name 1",
        "constexpr int Name = 3;",
        "const char* const Name[] = {};",
        "int Name(std::vector<int> (*one)(), int two) {",
        "template <typename T>\nStatusOr<T> Name(T value) {",
    ],
)
def test_files_that_define_the_same_name_are_not_joined(
    root: pathlib.Path, definition: str
) -> None:
    texts = {f"core/file{i}.cc": f"int Function{i}() {{}}\n" for i in range(10)}
    names = write(root, texts | {f"core/{i}.cc": definition for i in "ab"})
    assert ["core/b.cc"] in clang_tidy.groups_of(names)


def test_files_that_would_hide_a_variable_are_not_joined(root: pathlib.Path) -> None:
    texts = {f"core/file{i}.cc": f"int Function{i}() {{}}\n" for i in range(10)}
    texts["core/hides.cc"] = "int Hides() {\n  int length = 1;\n}\n"
    texts["core/variable.cc"] = "const Registered length = Register();\n"
    assert ["core/variable.cc"] in clang_tidy.groups_of(write(root, texts))


def test_files_of_which_one_takes_a_name_that_another_defines_are_not_joined(
    root: pathlib.Path,
) -> None:
    texts = {f"core/file{i}.cc": f"int Function{i}() {{}}\n" for i in range(10)}
    texts["core/takes.cc"] = "using other::Sizes;\n"
    texts["core/defines.cc"] = "struct Sizes {\n};\n"
    assert ["core/takes.cc"] in clang_tidy.groups_of(write(root, texts))


def test_what_two_files_use_does_not_part_them(root: pathlib.Path) -> None:
    text = (
        'using testing::Each;\nMILLSTREAM_OP("A");\nvoid Class::Method() {\n  return Call();\n}\n'
    )
    names = write(root, {f"core/file{i}.cc": text for i in range(12)})
    assert len(clang_tidy.groups_of(names)) == 1


def test_only_the_file_with_a_fault_is_named(root: pathlib.Path) -> None:
    texts = {f"core/file{i}.cc": f"int Function{i};\n" for i in range(12)}
    names = write(root, texts | {"core/file7.cc": "int x;\nint BAD;\n"})
    said, _ = check(root, names)
    assert said == ["core/file7.cc: clang-tidy failed", "2:int BAD;"]
    assert check(root, names) == (said, 1)


def test_lines_keep_their_files_and_numbers(root: pathlib.Path) -> None:
    names = write(root, {"core/a.cc": "int a;", "core/b.cc": "int b;\n"})
    expected = '#line 1 "core/a.cc"\nint a;\n#line 1 "core/b.cc"\nint b;\n\n'
    assert clang_tidy.joined_source(names) == expected


def test_only_plugins_outside_of_the_tree_see_installed_headers(root: pathlib.Path) -> None:
    for folder in ("device_plugins/template/c", "device_plugins/sim"):
        (root / folder).mkdir(parents=True)
    names = write(
        root,
        {
            "device_plugins/template/a.cc": "",
            "device_plugins/template/c/b.cc": "",
            "device_plugins/sim/d.cc": "",
        },
    )
    assert check(root, names) == ([], 3)
    calls = (root / "arguments").read_text().splitlines()
    seeing = [call for call in calls if "installed-headers" in call]
    assert [any(name in call for call in seeing) for name in names] == [True, True, False]
