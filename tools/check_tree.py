"""Rules for every file that no other tool knows: sizes, marks left behind, paths of one machine.

Run by ``tools/lint``; alone, it prints what it finds.
"""

import ast
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_BYTES = 1 << 20
MAX_LINES = 800
CODE_SUFFIXES = {".bzl", ".c", ".cc", ".cu", ".h", ".hpp", ".proto", ".py", ".pyi"}
# Data is compared bit for bit, not written by us; its size is held to the limit all the same.
DATA = ("testdata/conformance/",)
# The plugin ABI is one header, which includes nothing of ours; it is mostly comments, and still has
# an end. A version that is frozen is a copy of it.
ONE_HEADER = "plugin.h"
MAX_LINES_OF_ONE_HEADER = 1200
FROZEN = "framework/plugin/frozen/v"

# Which room of core/ may include which.
ROOMS = "core/rooms.bzl"
ROOM_TABLE = "_MAY_INCLUDE"
MAX_ROOM_README_LINES = 10
TEST_SUFFIXES = ("_test.cc", "_fixture.cc", "_fixture.h", "/random_program.cc", "/random_program.h")

FORBIDDEN = [
    (
        re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\):)"),
        "a mark without its issue, as in NAME(#12):",
    ),
    (re.compile(r"(?<![\w.$}*/-])/(?:home|root|work|farm)/[A-Za-z]"), "a path of one machine"),
    (re.compile(r"\.\./shared\b"), "a path outside the repository"),
    (
        re.compile(r"(?:deb|security)\.debian\.(?:org|net)|pypi\.org|pythonhosted\."),
        "the host of a package registry",
    ),
]
# Tests that sleep or read a clock, by the file's own name, with the reason. A test waits for an
# event (framework/testing/hang_guard.h), and counts instead of timing; benchmarks time.
TIMED_TESTS = {
    "bad_network_test.py": "polls a cable for bytes, with a guard against hanging",
    "device_stream_test.cc": "polls a device for an event",
    "dynamic_fixture.cc": "gives one execution too many the time to begin",
    "event_writer_test.py": "polls a file for an event, with a guard against hanging",
    "exit_test.py": "lets threads get into their steps; any moment will do",
    "fault_test.cc": "lets threads get into their waits; any moment will do",
    "first_runs_test.cc": "lets the time of a step pass while its compilation stands still",
    "interruption_test.py": "sends signals at moments of which any will do; guards against hanging",
    "master_loss_test.py": "polls a log for a line, with a guard against hanging",
    "plugin_probe_test.py": "polls the table of processes for an event",
    "processes_test.py": "lets a server be late; nothing is asserted of the time",
    "session_test.py": "sends a signal at a moment of which any will do; a guard against hanging",
    "session_threads_test.cc": "lets the time of a step pass while the step stands still",
    "simulation_test.cc": "reads a virtual clock",
    "state_test.py": "closes sessions at moments of which any will do, again and again",
    "steady_time_test.cc": "reads a clock that it has set",
    "step_scheduler_test.cc": "polls a flag",
    "thread_team_test.cc": "lets workers fall asleep; nothing is asserted of it",
}
TIMES = re.compile(
    r"\b(?:(?:steady|system|high_resolution)_clock\b|clock_gettime\(|clock\(\)|absl::Now\(|"
    r"(?:perf_counter|monotonic|process_time)(?:_ns)?\(|time\.time(?:_ns)?\(|"
    r"sleep_for\(|sleep_until\(|SleepFor\(|u?sleep\()"
)

# The lines above, in which the words stand for themselves.
SELF = "tools/check_tree.py"


def tree_files() -> list[str]:
    """Paths of the files that are tracked or would be, from the root, that exist."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted(name for name in set(listing.split("\0")) if name and (ROOT / name).is_file())


def is_data(name: str) -> bool:
    """Whether the file is golden data, which the rules for text spare."""
    return name.startswith(DATA)


def text_of(name: str) -> str:
    """Content of a text file; nothing for a binary one."""
    content = (ROOT / name).read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def oversized_files(names: list[str]) -> list[str]:
    """Files too large for a repository."""
    sizes = {name: (ROOT / name).stat().st_size for name in names}
    return [
        f"{name}: {size} bytes, the limit is {MAX_BYTES}"
        for name, size in sizes.items()
        if size > MAX_BYTES
    ]


def long_files(names: list[str]) -> list[str]:
    """Code files that hold more than one idea, by their length."""
    code = [name for name in names if pathlib.PurePath(name).suffix in CODE_SUFFIXES]
    lengths = {name: text_of(name).count("\n") for name in code if not is_data(name)}
    return [
        f"{name}: {length} lines, the limit is {max_lines(name)}"
        for name, length in lengths.items()
        if length > max_lines(name)
    ]


def max_lines(name: str) -> int:
    """How long the file may be."""
    path = pathlib.PurePath(name)
    is_header = path.name == ONE_HEADER and path.parts[:2] == ("framework", "plugin")
    return MAX_LINES_OF_ONE_HEADER if is_header else MAX_LINES


def forbidden_text(names: list[str]) -> list[str]:
    """Lines with something that does not belong into the tree."""
    return [
        f"{name}:{number}: {found.group()!r} is {meaning}"
        for name in names
        if not is_data(name) and name != SELF
        for number, line in enumerate(text_of(name).splitlines(), start=1)
        for pattern, meaning in FORBIDDEN
        if (found := pattern.search(line))
    ]


def wrong_include_guards(names: list[str]) -> list[str]:
    """Headers without the guard that their path gives; released ones keep theirs."""
    problems = []
    for name in names:
        if is_data(name) or pathlib.PurePath(name).suffix not in {".h", ".hpp"}:
            continue
        if name.startswith(FROZEN):
            continue
        guard = "MILLSTREAM_" + re.sub(r"\W", "_", name).upper() + "_"
        if f"#ifndef {guard}\n#define {guard}\n" not in text_of(name):
            problems.append(f"{name}: expected the include guard {guard}")
    return problems


def timed_tests(names: list[str]) -> list[str]:
    """Tests that sleep or read a clock without a reason, and reasons that nothing needs."""
    problems = []
    for name in names:
        path = pathlib.PurePath(name)
        if is_data(name) or not re.search(r"_(?:test|fixture)$", path.stem):
            continue
        if path.suffix not in CODE_SUFFIXES or name.startswith("tools/"):
            continue
        lines = enumerate(text_of(name).splitlines(), start=1)
        found = [number for number, line in lines if TIMES.search(line)]
        if found and path.name not in TIMED_TESTS:
            problems.append(f"{name}:{found[0]}: tests wait for events and count: they do not time")
        if not found and path.name in TIMED_TESTS:
            problems.append(f"{name}: does not time: take it out of TIMED_TESTS in {SELF}")
    return problems


def room_table() -> dict[str, list[str]]:
    """The rooms of core/ and what each may include, as core/rooms.bzl gives it to Bazel."""
    source = ast.parse((ROOT / ROOMS).read_text())
    for statement in source.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == ROOM_TABLE:
            table: dict[str, list[str]] = ast.literal_eval(statement.value)
            return table
    raise ValueError(f"{ROOMS}: no {ROOM_TABLE}")


def includes_across_rooms(names: list[str]) -> list[str]:
    """Files of core/ that include a room which theirs may not; Bazel sees direct dependencies only.

    Tests may include any room.
    """
    table = room_table()
    problems = []
    for name in names:
        room = pathlib.PurePath(name).parent.name
        if not re.fullmatch(r"core/\w+/\w+\.(?:cc|h)", name) or room not in table:
            continue
        if name.endswith(TEST_SUFFIXES):
            continue
        for included in re.findall(r'#include "core/(\w+)/', text_of(name)):
            if included != room and included not in table[room]:
                problems.append(f"{name}: room '{room}' may not include room '{included}'")
    return problems


def wrong_room_readmes(names: list[str]) -> list[str]:
    """Rooms whose README is missing, is too long, or says otherwise than core/rooms.bzl."""
    problems = []
    for room, included in room_table().items():
        name = f"core/{room}/README.md"
        said = ", ".join(f"`{other}`" for other in included) or "no other room"
        lines = text_of(name).splitlines() if name in names else []
        if not lines or lines[-1] != f"May include: {said}." or len(lines) > MAX_ROOM_README_LINES:
            problems.append(
                f"{name}: expected at most {MAX_ROOM_README_LINES} lines, the last one "
                f"'May include: {said}.'"
            )
    return problems


RULES: dict[str, Callable[[list[str]], list[str]]] = {
    "file sizes": oversized_files,
    "file lengths": long_files,
    "forbidden text": forbidden_text,
    "include guards": wrong_include_guards,
    "tests that time": timed_tests,
    "rooms of core": includes_across_rooms,
    "READMEs of rooms": wrong_room_readmes,
}


def main() -> int:
    """Print every finding; 1 when there is one."""
    names = tree_files()
    problems = [problem for rule in RULES.values() for problem in rule(names)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
