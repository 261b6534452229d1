"""Shared objects and programs: what they need and offer, and changes. By binutils and patchelf."""

from __future__ import annotations

import functools
import pathlib
import re
import subprocess

from wheels import library_names


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _dynamic(path: pathlib.Path, tag: str) -> list[str]:
    """Values of a tag of the dynamic section."""
    text = _output("objdump", "-p", str(path))
    return re.findall(rf"^ +{tag} +(\S+)$", text, re.MULTILINE)


def is_elf(path: pathlib.Path) -> bool:
    """Whether it is a program or a shared object."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path: pathlib.Path) -> list[str]:
    """Sonames of the libraries that it is linked to."""
    return _dynamic(path, "NEEDED")


def soname(path: pathlib.Path) -> str | None:
    """The name that others need it by."""
    return next(iter(_dynamic(path, "SONAME")), None)


def run_path(path: pathlib.Path) -> list[str]:
    """Where its libraries are looked for first."""
    found = _dynamic(path, "RUNPATH") + _dynamic(path, "RPATH")
    return [folder for value in found for folder in value.split(":")]


def exported(path: pathlib.Path) -> list[str]:
    """Names of the symbols that it defines for others."""
    text = _output("nm", "--dynamic", "--defined-only", "--format=posix", str(path))
    return [line.split()[0].partition("@")[0] for line in text.splitlines()]


def symbol_versions(path: pathlib.Path) -> set[tuple[str, tuple[int, ...]]]:
    """Versions of others' symbols that it needs, as ``("GLIBC", (2, 34))``."""
    text = _output("objdump", "-p", str(path))
    references = text.partition("Version References:")[2]
    return {
        (name, tuple(int(part) for part in version.split(".")))
        for name, version in re.findall(r"\b([A-Z]+)_(\d+(?:\.\d+)+)$", references, re.MULTILINE)
    }


@functools.cache
def system_libraries() -> dict[str, pathlib.Path]:
    """The machine's own shared libraries, by soname."""
    text = _output("/sbin/ldconfig", "-p")
    found = re.findall(r"^\s+(\S+) \(libc6,x86-64[^)]*\) => (\S+)$", text, re.MULTILINE)
    # The first of a name is the one that the loader takes.
    return {name: pathlib.Path(path) for name, path in reversed(found)}


def strip(path: pathlib.Path) -> None:
    """Remove what loading does not need. Before `patch`: not every strip understands its work."""
    _output("strip", "--strip-unneeded", str(path))


def patch(
    path: pathlib.Path,
    *,
    renamed: dict[str, str],
    run_path: str,
    new_soname: str | None = None,
) -> None:
    """Change how it finds others, and how others name it.

    Parameters
    ----------
    path
        The shared object.
    renamed
        New sonames of libraries that it needs, by the old ones.
    run_path
        Where those are, relative to ``$ORIGIN``, its own folder. One that needs none of them gets
        none.
    new_soname
        Its own new name.
    """
    names = [renamed[old] for old in needed(path) if old in renamed]
    if new_soname is not None:
        names.append(new_soname)
    if names:
        text = library_names.joined(run_path, names)
        _output("patchelf", "--set-rpath", text, str(path))
        library_names.point_at(path, text, renamed, new_soname)
    elif _dynamic(path, "RUNPATH"):
        _output("patchelf", "--remove-rpath", str(path))
