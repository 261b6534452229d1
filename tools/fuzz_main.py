"""Runs the fuzz targets of testing/fuzz by libFuzzer, with the address sanitizer.

    tools/fuzz --minutes 10 --out FOLDER                all targets, so many minutes together
    tools/fuzz --minutes 10 --out FOLDER --target feed  one of them

FOLDER/TARGET gets new inputs, FOLDER/crashes what crashed, took too long or too much memory. What
is found goes into testing/fuzz/corpus/TARGET under a name that begins with "found", once mended.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUZZ = ROOT / "testing/fuzz"
PLUGIN = "device_plugins/cpu/libmillstream_cpu.so"
# A little more than the corpus tests allow (testing/fuzz/limits.h): the sanitizer takes its part.
SECONDS_OF_ONE = 20
MEGABYTES = 1024


def targets() -> list[str]:
    """The names of all targets."""
    return re.findall(r'fuzz_target\(\s*name = "(\w+)"', (FUZZ / "BUILD").read_text())


def build(bazel: str, names: list[str], folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Builds the fuzzers; each by name. The CPU plugin is GCC's, and lies in `folder`."""
    plugin = folder / "libmillstream_cpu.so"
    subprocess.run([bazel, "build", "//device_plugins/cpu:millstream_cpu"], cwd=ROOT, check=True)
    plugin.unlink(missing_ok=True)
    plugin.write_bytes((ROOT / "bazel-bin" / PLUGIN).read_bytes())
    labels = [f"//testing/fuzz:{name}_fuzzer" for name in names]
    subprocess.run([bazel, "build", "--config=fuzz", *labels], cwd=ROOT, check=True)
    programs = (ROOT / "bazel-bin").resolve() / "testing/fuzz"
    return {name: programs / f"{name}_fuzzer" for name in names}


def run(name: str, program: pathlib.Path, folder: pathlib.Path, seconds: int) -> list[str]:
    """Fuzzes one target; a line of the table."""
    grown, crashes = folder / name, folder / "crashes"
    grown.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(parents=True, exist_ok=True)
    before = set(crashes.iterdir())
    log = folder / f"{name}.log"
    command = [
        str(program),
        str(grown),
        str(FUZZ / "corpus" / name),
        f"-max_total_time={seconds}",
        f"-artifact_prefix={crashes}/{name}-",
        f"-timeout={SECONDS_OF_ONE}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-malloc_limit_mb={MEGABYTES // 4}",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    environment = dict(os.environ, MILLSTREAM_PLUGIN_PATH=str(folder / "libmillstream_cpu.so"))
    with log.open("w") as out:
        status = subprocess.run(command, stdout=out, stderr=out, env=environment).returncode
    text = log.read_text(errors="replace")
    statistics = dict(re.findall(r"stat::(\w+):\s+(\d+)", text))
    found = sorted(path.name for path in set(crashes.iterdir()) - before)
    return [
        name,
        statistics.get("number_of_executed_units", "?"),
        statistics.get("average_exec_per_sec", "?"),
        statistics.get("new_units_added", "?"),
        statistics.get("peak_rss_mb", "?"),
        ", ".join(found) or ("none" if status == 0 else f"failed ({status}), see {log}"),
    ]


def print_table(rows: list[list[str]]) -> None:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def main() -> int:
    """1 when something was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, required=True, help="for all targets together")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the folder for all output")
    parser.add_argument("--target", choices=targets(), action="append", help="default: all")
    parser.add_argument("--bazel", default=str(ROOT / "bazelw"), help="what builds")
    options = parser.parse_args()
    names = options.target or targets()
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = build(options.bazel, names, folder)
    seconds = max(1, int(options.minutes * 60 / len(names)))
    rows = [["target", "executions", "a second", "new inputs", "MB", "found"]]
    for name in names:
        rows.append(run(name, programs[name], folder, seconds))
    print_table(rows)
    return int(any(row[-1] != "none" for row in rows[1:]))


if __name__ == "__main__":
    sys.exit(main())
