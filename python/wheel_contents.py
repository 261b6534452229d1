"""The wheels that the build made, for the tests of them."""

from __future__ import annotations

import pathlib
import zipfile

from wheels import elf


def wheel_path() -> pathlib.Path:
    """The wheel among the test's data."""
    (path,) = pathlib.Path("python").glob("millstream-*.whl")
    return path.absolute()


def plugin_check_wheel_path() -> pathlib.Path:
    """The wheel of the program that checks plugins."""
    (path,) = pathlib.Path("python").glob("millstream_plugin_check-*.whl")
    return path.absolute()


def cluster_wheel_path() -> pathlib.Path:
    """The wheel of the library that connects processes."""
    (path,) = pathlib.Path("python").glob("millstream_cluster-*.whl")
    return path.absolute()


def unpack(folder: pathlib.Path, wheel: pathlib.Path | None = None) -> pathlib.Path:
    """Unpack a wheel, by default the package's, into a folder that can stand on Python's path."""
    with zipfile.ZipFile(wheel or wheel_path()) as archive:
        archive.extractall(folder)
    return folder


def elf_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """All shared objects and programs below the folder of an unpacked wheel."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and elf.is_elf(path))
