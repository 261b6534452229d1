"""Libraries of the system that a wheel carries, as auditwheel has it.

Two libraries of one soname cannot be in one process, however they are loaded: the second to come
gets the first. So each library that is carried gets a name with a hash of its contents, which no
other package's library has. Those that other packages are known to carry, in other versions and
open for everybody, get symbols of their own as well.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess

from wheels import elf, symbols

# What every system has that the wheel's tag names. Reference: PEP 600, and auditwheel's policy for
# it: the C library in parts, the loader, and the two run-time libraries of the compiler.
PROVIDED = frozenset(
    {
        "ld-linux-x86-64.so.2",
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "librt.so.1",
        "libstdc++.so.6",
    }
)

# Newest symbols that the tag manylinux_2_34 allows (the same policy).
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}

# Packages of headers whose code is in our own libraries.
COMPILED_IN = frozenset({"libxbyak-dev"})

# Parts of the names of Protobuf's, oneDNN's and RE2's symbols, and what the wheel has instead.
# (Debian's Abseil has a namespace of its own; the others' symbols have versions.)
SYMBOLS = {b"google": b"millst", b"dnnl": b"msdn", b"3re2": b"3mr2"}


def closure(objects: list[pathlib.Path]) -> dict[str, pathlib.Path]:
    """The libraries that the objects need, those needed in turn included, by soname.

    Raises
    ------
    FileNotFoundError
        The machine lacks one.
    """
    found: dict[str, pathlib.Path] = {}
    waiting = list(objects)
    while waiting:
        current = waiting.pop()
        for name in elf.needed(current):
            if name in PROVIDED or name in found:
                continue
            if name not in elf.system_libraries():
                raise FileNotFoundError(f"{current} needs {name}, which is not on this machine")
            found[name] = elf.system_libraries()[name].resolve()
            waiting.append(found[name])
    return found


def _hashed_name(name: str, path: pathlib.Path) -> str:
    stem, dot, rest = name.partition(".so")
    return f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}{dot}{rest}"


def _check_versions(path: pathlib.Path) -> None:
    for name, version in elf.symbol_versions(path):
        if name in NEWEST and version > NEWEST[name]:
            text = ".".join(str(part) for part in version)
            raise RuntimeError(f"{path} needs {name}_{text}, newer than the wheel's tag allows")


def carry(objects: list[pathlib.Path], folder: pathlib.Path) -> list[pathlib.Path]:
    """Put the libraries that the objects need into a folder, and point all at each other.

    Parameters
    ----------
    objects
        Shared objects and programs, which are changed in place.
    folder
        Where the libraries go. Objects and folder keep their places relative to each other.

    Returns
    -------
    list
        The system's files that were copied.
    """
    libraries = closure(objects)
    renamed = {name: _hashed_name(name, path) for name, path in libraries.items()}
    folder.mkdir(parents=True)
    for name, path in libraries.items():
        copy = folder / renamed[name]
        shutil.copyfile(path, copy)
        _check_versions(copy)
        symbols.rename(copy, SYMBOLS)
        elf.patch(copy, renamed=renamed, run_path="$ORIGIN", new_soname=renamed[name])
    for path in objects:
        _check_versions(path)
        elf.strip(path)
        symbols.rename(path, SYMBOLS)
        relative = os.path.relpath(folder, path.parent)
        elf.patch(path, renamed=renamed, run_path=f"$ORIGIN/{relative}")
    return sorted(libraries.values())


def _owner(path: pathlib.Path) -> str:
    # A file below /usr/lib may be known below /lib, of which that is the newer place.
    for name in [str(path), str(path).removeprefix("/usr")]:
        done = subprocess.run(
            ["dpkg-query", "--search", name], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout.partition(":")[0]
    raise FileNotFoundError(f"no Debian package has {path}")


def licenses(libraries: list[pathlib.Path]) -> dict[str, bytes]:
    """The texts under which libraries and what is compiled in are given away, by Debian package."""
    owners = sorted({*COMPILED_IN, *(_owner(path) for path in libraries)})
    return {
        owner: pathlib.Path("/usr/share/doc", owner, "copyright").read_bytes() for owner in owners
    }
