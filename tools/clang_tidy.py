"""clang-tidy over C++ files; a clean file is not checked again until it or a header changes."""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from check_tree import ROOT

# What GCC does not know, or says too often: annotations of who holds which lock, names that hide
# others, and integers that lose bits. Lost fractions are left to GCC: literals of float32 are
# written as doubles. GCC also says what is deprecated: clang says it of the bodies of the standard
# library's templates.
WARNINGS = [
    "-Wthread-safety",
    "-Wshadow",
    "-Wshorten-64-to-32",
    "-Wimplicit-int-conversion",
    "-Wunused",
    "-Wno-deprecated-declarations",
]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class _Sources:
    """Digests of files together with all that they include from this repository."""

    def __init__(self, salt: bytes, protos: bytes) -> None:
        self._salt = salt
        self._protos = protos
        self._includes: dict[str, list[str]] = {}

    def digest(self, name: str) -> str:
        """A name for the file's content, that of its headers, and the settings."""
        state = hashlib.sha256(self._salt)
        for member in sorted(self._closure(name)):
            state.update(member.encode() + b"\0" + (ROOT / member).read_bytes())
        # Generated headers stand for any of the .proto files.
        if any(
            include.endswith(".pb.h") for m in self._closure(name) for include in self._direct(m)
        ):
            state.update(self._protos)
        return state.hexdigest()

    def _direct(self, name: str) -> list[str]:
        if name not in self._includes:
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            self._includes[name] = INCLUDE.findall(text)
        return self._includes[name]

    def _closure(self, name: str) -> set[str]:
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            folder = str(pathlib.PurePath(current).parent)
            for include in self._direct(current):
                places = (include, f"{folder}/{include}", in_tree(include))
                waiting += [place for place in places if (ROOT / place).is_file()]
        return seen


# Sources that include our headers by the names that they have when installed.
OUTSIDE = "device_plugins/template/"


def in_tree(include: str) -> str:
    """Where a header lies that a plugin outside of the tree includes as it is installed."""
    return re.sub(r"^millstream/(\w+\.h(?:pp)?)$", r"framework/plugin/\1", include)


def _installed_headers(cache: pathlib.Path) -> pathlib.Path:
    """A folder in which plugins find the headers by the names that they have when installed."""
    folder = cache / "installed-headers"
    (folder / "millstream").mkdir(parents=True, exist_ok=True)
    for header in (ROOT / "framework/plugin").iterdir():
        if header.suffix in (".h", ".hpp"):
            text = f'#include "{header.relative_to(ROOT)}"\n'
            (folder / "millstream" / header.name).write_text(text, encoding="utf-8")
    return folder


def _gcc_headers(cache: pathlib.Path) -> pathlib.Path:
    """A folder with those of GCC's own headers that clang lacks; its others are not for clang."""
    folder = cache / "gcc-headers"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("omp.h", "sanitizer"):
        command = ["gcc", f"-print-file-name=include/{name}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(done.stdout.strip())
    return folder


def _generate_messages(protos: list[str], digest: str, cache: pathlib.Path) -> pathlib.Path:
    """The folder with the C++ headers of the .proto files, made anew when one of them changes."""
    folder = cache / f"messages-{digest[:16]}"
    if folder.exists() or not protos:
        return folder
    for old in cache.glob("messages-*"):
        shutil.rmtree(old, ignore_errors=True)
    scratch = pathlib.Path(tempfile.mkdtemp(dir=cache))
    subprocess.run(
        [str(ROOT / "tools/generate_messages"), str(ROOT), str(scratch / "millstream"), *protos],
        check=True,
    )
    scratch.rename(folder)
    return folder


def check(tool: list[str], names: list[str], protos: list[str], cache: pathlib.Path) -> list[str]:
    """What clang-tidy says of the files, as lines.

    Parameters
    ----------
    tool
        The command of clang-tidy. Another one checks all files again.
    names
        C++ source files, from the root.
    protos
        All .proto files of the tree: sources include what they generate.
    cache
        The folder for generated headers and for the marks of clean files.
    """
    stamps = cache / "clang-tidy"
    stamps.mkdir(parents=True, exist_ok=True)
    proto_state = hashlib.sha256((ROOT / "tools/generate_messages").read_bytes())
    for proto in protos:
        proto_state.update(proto.encode() + b"\0" + (ROOT / proto).read_bytes())
    messages = _generate_messages(protos, proto_state.hexdigest(), cache)
    flags = ["-std=c++17", *WARNINGS, "-iquote", "."]
    flags += ["-isystem", "/usr/include/eigen3", "-isystem", "/usr/include/python3.11"]
    # The folders of what is generated have other names when a .proto file changes.
    salt = (ROOT / ".clang-tidy").read_bytes() + repr((tool, flags)).encode()
    flags += ["-isystem", str(messages), "-isystem", str(_gcc_headers(cache))]
    installed = ["-isystem", str(_installed_headers(cache))]
    sources = _Sources(salt, proto_state.digest())

    def check_one(name: str) -> list[str]:
        stamp = stamps / sources.digest(name)
        if stamp.exists():
            return []
        done = subprocess.run(
            [
                *tool,
                "--quiet",
                r"--header-filter=^(\./|" + re.escape(str(ROOT)) + "/)",
                name,
                "--",
                *flags,
                *(installed if name.startswith(OUTSIDE) else []),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            stamp.touch()
            return []
        return [f"{name}: clang-tidy failed", *done.stdout.splitlines()]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(check_one, names) for line in lines]
