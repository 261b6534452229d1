"""What the rules of ``check_tree`` refuse."""

import pathlib

import pytest

import check_tree

# Joined here, so that this file passes the rules itself.
MARK = "TO" + "DO"
HOME = "/ho" + "me/somebody/data"


@pytest.fixture(autouse=True)
def root(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(check_tree, "ROOT", tmp_path)
    return tmp_path


def write(root: pathlib.Path, name: str, text: str) -> list[str]:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")
    return [name]


def test_a_file_over_the_size_limit_is_refused(root: pathlib.Path) -> None:
    assert check_tree.oversized_files(write(root, "a.bin", "x" * (1 << 20))) == []
    assert check_tree.oversized_files(write(root, "a.bin", "x" * ((1 << 20) + 1))) != []


def test_code_over_the_line_limit_is_refused_but_not_text(root: pathlib.Path) -> None:
    assert check_tree.long_files(write(root, "a.cc", "\n" * 800)) == []
    assert check_tree.long_files(write(root, "a.cc", "\n" * 801)) != []
    assert check_tree.long_files(write(root, "a.txt", "\n" * 801)) == []


def test_the_plugin_header_may_be_longer() -> None:
    assert check_tree.max_lines("framework/plugin/plugin.h") == 1200
    assert check_tree.max_lines("framework/plugin/frozen/v1.0/plugin.h") == 1200
    assert check_tree.max_lines("framework/plugin/loader.h") == 800
    assert check_tree.max_lines("core/plugin.h") == 800


def test_a_mark_needs_an_issue(root: pathlib.Path) -> None:
    assert check_tree.forbidden_text(write(root, "a.cc", f"// {MARK}(#12): later\n")) == []
    (problem,) = check_tree.forbidden_text(write(root, "a.cc", f"\n// {MARK}: later\n"))
    assert problem.startswith("a.cc:2:")


def test_a_path_of_one_machine_is_refused_but_not_a_relative_one(root: pathlib.Path) -> None:
    assert check_tree.forbidden_text(write(root, "a.py", f'x = "{HOME}"\n')) != []
    assert check_tree.forbidden_text(write(root, "a.py", f'x = "docs{HOME}"\n')) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("core/a_test.cc", "  EXPECT_LT(absl::Now() - start, absl::Seconds(1));"),
        ("core/a_fixture.h", "  const auto start = std::chrono::steady_clock::now();"),
        ("core/a_test.cc", "  std::this_thread::sleep_for(kPause);"),
        ("python/a_test.py", "    started = time.perf_counter()"),
        ("python/a_test.py", "    time.sleep(0.1)"),
    ],
)
def test_a_test_that_times_is_refused_and_names_its_line(
    root: pathlib.Path, name: str, line: str
) -> None:
    (problem,) = check_tree.timed_tests(write(root, name, f"\n{line}\n"))
    assert problem.startswith(f"{name}:2: ")
    program = name.replace("_test", "").replace("_fixture", "")
    assert check_tree.timed_tests(write(root, program, line)) == []


def test_a_test_may_time_for_a_reason_as_long_as_it_does(
    root: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_tree, "TIMED_TESTS", {"a_test.py": "polls"})
    assert check_tree.timed_tests(write(root, "python/a_test.py", "time.sleep(0.1)\n")) == []
    assert check_tree.timed_tests(write(root, "python/a_test.py", "pass\n")) != []


def test_golden_data_is_spared(root: pathlib.Path) -> None:
    names = write(root, "testdata/conformance/a.py", f'x = "{HOME}"  # {MARK}\n')
    assert check_tree.forbidden_text(names) == []


def test_a_released_header_keeps_its_guard(root: pathlib.Path) -> None:
    text = "#ifndef MILLSTREAM_X_H_\n#define MILLSTREAM_X_H_\n#endif\n"
    released = write(root, "framework/plugin/frozen/v1.0/plugin.h", text)
    assert check_tree.wrong_include_guards(released) == []
    assert check_tree.wrong_include_guards(write(root, "framework/plugin/frozen/x.h", text)) != []


def test_an_include_guard_follows_the_path(root: pathlib.Path) -> None:
    guard = "MILLSTREAM_CORE_GRAPH_H_"
    names = write(root, "core/graph.h", f"#ifndef {guard}\n#define {guard}\n#endif\n")
    assert check_tree.wrong_include_guards(names) == []
    names = write(root, "core/graph.h", "#pragma once\n")
    assert check_tree.wrong_include_guards(names) == [
        f"core/graph.h: expected the include guard {guard}"
    ]


@pytest.fixture
def rooms(root: pathlib.Path) -> pathlib.Path:
    write(root, "core/rooms.bzl", '_MAY_INCLUDE = {\n    "graph": [],\n    "plan": ["graph"],\n}\n')
    return root


def test_a_room_includes_what_its_table_says_and_tests_include_any(rooms: pathlib.Path) -> None:
    allowed = write(rooms, "core/plan/plan.cc", '#include "core/graph/graph.h"\n')
    assert check_tree.includes_across_rooms(allowed) == []
    test = write(rooms, "core/graph/graph_test.cc", '#include "core/plan/plan.h"\n')
    assert check_tree.includes_across_rooms(test) == []
    upward = write(rooms, "core/graph/graph.cc", '#include "core/plan/plan.h"\n')
    assert check_tree.includes_across_rooms(upward) == [
        "core/graph/graph.cc: room 'graph' may not include room 'plan'"
    ]


def test_the_readme_of_a_room_is_short_and_says_what_the_table_says(rooms: pathlib.Path) -> None:
    names = write(rooms, "core/graph/README.md", "# Graph\n\nMay include: no other room.\n")
    names += write(rooms, "core/plan/README.md", "# Plans\n\nMay include: `graph`.\n")
    assert check_tree.wrong_room_readmes(names) == []
    (missing,) = check_tree.wrong_room_readmes(names[:1])
    assert missing.startswith("core/plan/README.md: expected at most 10 lines")
    write(rooms, "core/plan/README.md", "# Plans\n\nMay include: no other room.\n")
    (wrong,) = check_tree.wrong_room_readmes(names)
    assert wrong.startswith("core/plan/README.md")
