"""The wheel in a clean environment, with the oldest or with the newest NumPy."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

from wheel_contents import plugin_check_wheel_path, wheel_path

# What pip installs beside the wheel: numpy1 or numpy2.
PINS = pathlib.Path(f"tools/requirements/{os.environ['WHEEL_NUMPY']}.txt").absolute()
IS_OLDEST_NUMPY = PINS.stem == "numpy1"


def run(*command: str | pathlib.Path, cwd: pathlib.Path, **environment: str) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The programs of an environment into which pip installed the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    run("/usr/bin/python3", "-m", "venv", folder, cwd=folder)
    programs = folder / "bin"
    pip: list[str | pathlib.Path] = [
        programs / "python",
        "-m",
        "pip",
        "--disable-pip-version-check",
    ]
    run(*pip, "install", "--quiet", "--no-deps", "--require-hashes", "-r", PINS, cwd=folder)
    # Without an index: all that the wheel asks for is there.
    run(
        *pip,
        "install",
        "--quiet",
        "--no-index",
        "--find-links",
        plugin_check_wheel_path().parent,
        f"{wheel_path()}[plugin-check,cluster]",
        cwd=folder,
    )
    run(*pip, "check", cwd=folder)
    return programs


def test_example_runs(environment: pathlib.Path, tmp_path: pathlib.Path) -> None:
    printed = run(
        environment / "python",
        "-m",
        "examples.fashion_mnist",
        "--short",
        "--logdir",
        tmp_path / "logs",
        cwd=tmp_path,
        PYTHONPATH=os.getcwd(),
    )
    assert "test accuracy 0." in printed
    assert list((tmp_path / "logs").glob("events.out.tfevents.*"))


def test_command_lists_the_plugins_of_the_wheel(
    environment: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    plugins = json.loads(run(environment / "millstream", "plugins", "--json", cwd=tmp_path))
    assert "millstream_cpu" in {plugin["name"] for plugin in plugins}
    for plugin in plugins:
        assert plugin["path"].startswith(str(environment.parent))


def depends_on_numpy(test: pathlib.Path) -> bool:
    """Whether a file tests arrays: it imports NumPy, and no processes of its own are its subject.

    The others pass with NumPy 2 from the same wheel, and with Debian's NumPy 1.24 in the tree.
    """
    text = test.read_text()
    return "import numpy" in text and "import subprocess" not in text


def test_tests_of_the_package_pass(environment: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = pathlib.Path("python/millstream").absolute()
    assert not (folder / "__init__.py").exists()  # it is the installed package that is tested
    tests = sorted(folder.rglob("*_test.py"))
    if IS_OLDEST_NUMPY:
        tests = [test for test in tests if depends_on_numpy(test)]
    printed = run(
        environment / "python",
        "-B",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        *tests,
        cwd=tmp_path,
    )
    assert " passed" in printed
