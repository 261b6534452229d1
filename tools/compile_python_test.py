"""What is compiled is loaded in place of the source."""

import importlib.util
import pathlib
import subprocess
import sys

import compile_python

PROGRAM = compile_python.__file__


def compiled_file(source: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(importlib.util.cache_from_source(str(source)))


def value_of(folder: pathlib.Path) -> str:
    """What the module of a folder has as VALUE, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", "import module; print(module.VALUE)"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_byte_code_is_loaded_without_a_look_at_the_source(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("VALUE = 'compiled'\n")
    compile_python.compile_files([(str(source), str(compiled_file(source)))])
    source.write_text("VALUE = 'changed since'\n")
    assert value_of(tmp_path) == "compiled"


def test_the_name_of_the_file_is_that_of_the_interpreter() -> None:
    # tools/python_bytecode.bzl writes it out.
    assert compiled_file(pathlib.Path("a.py")).name == "a.cpython-311.pyc"


def test_names_may_stand_in_a_file(tmp_path: pathlib.Path) -> None:
    sources = [tmp_path / "one.py", tmp_path / "two.py"]
    names = []
    for source in sources:
        source.write_text("VALUE = 1\n")
        names += [str(source), str(compiled_file(source))]
    listed = tmp_path / "names"
    listed.write_text("\n".join(names) + "\n")
    subprocess.run([sys.executable, PROGRAM, f"@{listed}"], check=True)
    assert all(compiled_file(source).exists() for source in sources)


def test_a_source_that_is_not_valid_is_named(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "wrong.py"
    source.write_text("def f(:\n")
    done = subprocess.run(
        [sys.executable, PROGRAM, str(source), str(tmp_path / "wrong.pyc")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert str(source) in done.stderr
    assert not (tmp_path / "wrong.pyc").exists()


def test_a_name_without_a_partner_is_refused(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM, str(tmp_path / "one.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "expected pairs of a source and a file to write, got 1 names" in done.stderr
