"""A plugin finds the headers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import millstream as tf


def test_the_folders_are_those_of_the_package() -> None:
    package = Path(str(tf.__file__)).absolute().parent
    assert tf.sysconfig.get_lib() == str(package)
    assert (Path(tf.sysconfig.get_include()) / "millstream/plugin.h").is_file()
    assert (tf.sysconfig.CXX11_ABI_FLAG, tf.sysconfig.MONOLITHIC_BUILD) == (1, 0)


def test_the_header_compiles_with_the_flags(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "probe.c"
    source.write_text('#include "millstream/plugin.h"\nint main(void) { return 0; }\n')
    flags = [*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags()]
    command = [compiler, str(source), "-fsyntax-only", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
