"""Plugins are found, listed and printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl.session.plugins import PluginDevice, PluginInfo
from millstream._impl.tools import command


def run(*arguments: str, status: int = 0, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with more variables in the environment."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done


def listed(**variables: str) -> dict[str, dict[str, Any]]:
    """What a fresh process lists, by name."""
    text = run("-m", "millstream", "plugins", "--json", status=0, **variables).stdout
    return {record["name"]: record for record in json.loads(text)}


@pytest.fixture
def entry_point(tmp_path: Path) -> Path:
    """A folder for Python's path with an installed package that names plugins."""
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[millstream.plugins]\nacme = acme_plugin:paths\n")
    return tmp_path


def test_the_cpu_plugin_is_ready_on_every_processor() -> None:
    found = listed()
    ready = [record for record in found.values() if record["state"] == "READY"]
    assert [record["family"] for record in ready] == ["cpu"]
    assert ready[0]["origin"] == "installed"
    assert ready[0]["kernels"] > 100
    assert [device["type"] for device in ready[0]["devices"]] == ["CPU"]
    assert ready[0]["devices"][0]["memory"] > 1 << 20
    # Its loops choose their instruction set, so its note needs none.
    assert ready[0]["name"] == "millstream_cpu"
    assert ready[0]["cpu"] == []


def test_plugins_are_chosen_by_name() -> None:
    assert listed(MILLSTREAM_PLUGINS="millstream_cpu")["millstream_cpu"]["state"] == "READY"
    assert listed(MILLSTREAM_PLUGINS="acme")["millstream_cpu"]["state"] == "DISABLED"


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_the_instruction_set_is_an_option(isa: str) -> None:
    found = listed(MILLSTREAM_PLUGIN_OPTIONS=f"millstream_cpu:isa={isa}")
    assert found["millstream_cpu"]["state"] == "READY"


def test_an_instruction_set_that_is_none_is_refused() -> None:
    found = listed(MILLSTREAM_PLUGIN_OPTIONS="millstream_cpu:isa=sse9")
    assert found["millstream_cpu"]["state"] == "FAILED"
    assert "isa" in found["millstream_cpu"]["text"]


def test_without_plugins_a_session_says_why() -> None:
    program = "import millstream as tf; tf.Session()"
    done = run("-c", program, status=1, MILLSTREAM_PLUGINS="none")
    assert "NotFoundError: no device of type CPU" in done.stderr
    assert "DISABLED at choose: plugin " in done.stderr
    assert 'MILLSTREAM_PLUGINS ("none")' in done.stderr


def test_who_asks_for_a_device_that_is_missing_hears_of_the_plugins_that_failed(
    tmp_path: Path,
) -> None:
    (tmp_path / "acme_gpu.so").write_text("text")
    program = """
import millstream as tf
with tf.device("/gpu:0"):
    value = tf.constant(1.0) + 2.0
tf.Session().run(value)
"""
    done = run("-c", program, status=1, MILLSTREAM_PLUGIN_PATH=str(tmp_path))
    error = done.stderr[done.stderr.rindex("InvalidArgumentError") :]
    assert "available devices are" in error
    assert "plugins that are not used: REJECTED at preflight: not a Millstream plugin" in error
    assert "acme_gpu.so" in error


def test_a_wrong_path_is_an_error_of_the_command() -> None:
    done = run("-m", "millstream", "plugins", status=1, MILLSTREAM_PLUGIN_PATH="/no/such/folder")
    assert "millstream: plugin path entry /no/such/folder does not exist" in done.stderr
    assert "READY" in done.stdout, "the others are listed all the same"


def test_a_plugin_to_begin_with_is_copied_into_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    done = run("-m", "millstream", "plugin-template", str(folder))
    assert done.stdout == f"{folder}/README.md says what is in it and how to build it.\n"
    assert '#include "millstream/plugin.hpp"' in (folder / "device.h").read_text()
    assert (folder / "package/acme_plugin/__init__.py").exists()
    (folder / "README.md").write_text("my own")
    done = run("-m", "millstream", "plugin-template", str(folder), status=1)
    assert done.stderr == f"millstream: {folder} cannot be made: File exists\n"
    assert (folder / "README.md").read_text() == "my own"


def test_entry_points_name_plugins(entry_point: Path) -> None:
    (entry_point / "acme_plugin.py").write_text(
        "import pathlib\ndef paths(): return [pathlib.Path(__file__).parent / 'lib']\n"
    )
    (entry_point / "lib").mkdir()
    (entry_point / "lib" / "broken.so").write_text("text")
    path = os.pathsep.join([str(entry_point), *sys.path])
    records = json.loads(run("-m", "millstream", "plugins", "--json", PYTHONPATH=path).stdout)
    broken = next(record for record in records if record["path"].endswith("lib/broken.so"))
    assert (broken["origin"], broken["state"]) == ("package", "REJECTED")


def test_an_entry_point_that_raises_is_listed_and_does_no_harm(entry_point: Path) -> None:
    (entry_point / "acme_plugin.py").write_text("def paths(): raise OSError('no licence')\n")
    path = os.pathsep.join([str(entry_point), *sys.path])
    program = "import millstream as tf; tf.Session(); print(tf.plugins.list_plugins()[0])"
    done = run("-c", program, PYTHONPATH=path)
    assert "entry point acme = acme_plugin:paths" in done.stdout
    assert "OSError: no licence" in done.stdout


def test_importing_asks_no_entry_point(entry_point: Path) -> None:
    (entry_point / "acme_plugin.py").write_text("raise SystemExit('imported')\n")
    path = os.pathsep.join([str(entry_point), *sys.path])
    assert run("-c", "import millstream", PYTHONPATH=path).stderr == ""


def test_a_plugin_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"absent\.so"):
        tf.plugins.load_plugin(tmp_path / "absent.so")


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="path: expected a string or path, got 3"):
        tf.plugins.load_plugin(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options: expected strings"):
        tf.plugins.load_plugin("x.so", {"level": 3})  # type: ignore[dict-item]


def test_shutdown_waits_for_sessions() -> None:
    program = """
import millstream as tf
session = tf.Session()
try:
    tf.plugins.shutdown()
except tf.errors.FailedPreconditionError as error:
    print("busy:", error.message)
del session
tf.plugins.shutdown()
print("done")
"""
    lines = run("-c", program).stdout.splitlines()
    assert lines[0].startswith("busy: plugin ")
    assert lines[-1] == "done"


def info(name: str, state: str, **fields: Any) -> PluginInfo:
    values: dict[str, Any] = {
        "path": f"/opt/millstream/plugins/lib{name}.so",
        "origin": "installed",
        "name": name,
        "family": name,
        "vendor": "Acme",
        "version": "1.0",
        "state": state,
        "stage": "done",
        "code": 0,
        "text": "",
        "kernels": 12,
        "devices": (),
        "built_abi": "0.1",
        "needed_abi": "0.1",
    }
    return PluginInfo(**{**values, **fields})


def test_the_table_says_what_and_why() -> None:
    device = PluginDevice("GPU", "Card", "Acme", "g1", 0, 1 << 30)
    text = (
        "plugin /opt/millstream/plugins/libbad.so crashed (SIGILL) while loading, and this sentence"
        " is long enough to be broken into two lines"
    )
    table = command.plugin_table(
        [
            info("acme", "READY", devices=(device, device), cpu=("AVX2", "FMA")),
            info("bad", "REJECTED", version="", kernels=0, stage="probe", code=10, text=text),
            info(
                "new",
                "READY",
                kernels_skipped=3,
                skipped=("kernel for op Later on CPU: op Later is unknown",) * 12,
                ties=("kernel A ties with B",),
            ),
        ],
        columns=80,
    )
    assert table.splitlines() == [
        "NAME  STATE     VERSION  ABI  KERNELS   DEVICES",
        "",
        "acme  READY     1.0      0.1  12        2 GPU",
        "  path   /opt/millstream/plugins/libacme.so",
        "  needs  AVX2, FMA",
        "",
        "bad   REJECTED  -        0.1  -         -",
        "  path   /opt/millstream/plugins/libbad.so",
        "  reason at probe: crashed (SIGILL) while loading, and this sentence is long",
        "         enough to be broken into two lines",
        "",
        "new   READY     1.0      0.1  12 of 15  -",
        "  path   /opt/millstream/plugins/libnew.so",
        *["  skip   kernel for op Later on CPU: op Later is unknown"] * 10,
        "  skip   and 2 more",
        "  tie    kernel A ties with B",
    ]


def test_the_table_of_nothing_is_a_sentence() -> None:
    assert command.plugin_table([], 80) == "No plugin was found."
