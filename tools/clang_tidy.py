"""clang-tidy over C++ files; a clean file is not checked again until it or a header changes."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable

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
OUTSIDE = "device_plugins/template"


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


# Names that a file defines outside of functions, as they are formatted: two files that define the
# same one are not joined.
DEFINITION = re.compile(
    r"^(?:template <[^\n]*> )?(?:class|struct|union|enum(?: class)?) (\w+)"
    r"|^using (\w+) ="
    r"|^# *define (\w+)"
    r"|^TEST\w*\((\w+, \w+)\)"
    r"|^(?:constexpr|const|static|thread_local|std::atomic)[^;=({\n]* (\w+)(?:\[\w*\])?(?: =|\{|;)"
    r"|^[\w:](?:[^;=(){}\n]|\([^()\n]*\))*[ *&]([A-Z]*[a-z]\w*)\(",
    re.MULTILINE,
)
VARIABLE = 4  # of the alternatives
# Names of other namespaces that a file takes for its own.
USED = re.compile(r"^using (?:::)?(?:\w+::)+(\w+);", re.MULTILINE)
# Files joined at most. A group that is not clean is checked again in halves.
GROUP = 12


@dataclasses.dataclass
class _Group:
    """Files that one call checks, and the names by which they go with others or not.

    Parameters
    ----------
    members
        The files.
    defined
        What they define outside of functions.
    used
        Names of other namespaces that they take for their own outside of functions.
    variables
        Those defined that are variables: one of the same name in a function would hide them.
    words
        All names in the files.
    """

    members: list[str]
    defined: set[str]
    used: set[str]
    variables: set[str]
    words: set[str]

    @classmethod
    def of_file(cls, name: str) -> _Group:
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        found = DEFINITION.findall(text)
        return cls(
            [name],
            {next(filter(None, names)) for names in found},
            set(USED.findall(text)),
            {names[VARIABLE] for names in found if names[VARIABLE]},
            set(re.findall(r"\w+", text)),
        )

    def goes_with(self, other: _Group) -> bool:
        return (
            len(self.members) + len(other.members) <= GROUP
            and not self.defined & (other.defined | other.used)
            and not self.used & other.defined
            and not self.variables & other.words
            and not other.variables & self.words
        )

    def add(self, other: _Group) -> None:
        self.members += other.members
        self.defined |= other.defined
        self.used |= other.used
        self.variables |= other.variables
        self.words |= other.words


def _join(groups: list[_Group], place: Callable[[str], str]) -> list[_Group]:
    """Fewer groups: those whose files have one place are put together where they go together."""
    joined: list[_Group] = []
    for group in groups:
        for other in joined:
            if place(other.members[0]) == place(group.members[0]) and other.goes_with(group):
                other.add(group)
                break
        else:
            joined.append(group)
    return joined


def _folder(name: str) -> str:
    return str(pathlib.PurePath(name).parent)


def _part_of_tree(name: str) -> str:
    """The first folder of a name; plugins outside of the tree see other headers than all others."""
    return OUTSIDE if f"{name}/".startswith(f"{OUTSIDE}/") else pathlib.PurePath(name).parts[0]


def groups_of(names: list[str]) -> list[list[str]]:
    """The files in groups that one call checks, with no name defined twice and no variable hidden.

    Most of the time goes into what files include, and files of one folder include the same. What
    is left of a folder is joined with what is left of its neighbours. A few files are checked one
    by one, so that all processors have some.
    """
    groups = [_Group.of_file(name) for name in sorted(names)]
    if len(groups) >= GROUP:
        groups = _join(_join(groups, _folder), _part_of_tree)
    return [group.members for group in groups]


def joined_source(names: list[str]) -> str:
    """The files as one, in which the compiler still knows each line's file and number."""
    parts = []
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        parts.append(f'#line 1 "{name}"\n{text}\n')
    return "".join(parts)


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

    def run(path: str, group: list[str]) -> list[str] | None:
        folders = sorted({_folder(name) for name in group})
        is_outside = _part_of_tree(group[0]) == OUTSIDE
        done = subprocess.run(
            [
                *tool,
                "--quiet",
                f"--config-file={ROOT / '.clang-tidy'}",
                r"--header-filter=^(\./|" + re.escape(str(ROOT)) + "/)",
                path,
                "--",
                *flags,
                *[flag for folder in folders for flag in ("-iquote", folder)],
                *(installed if is_outside else []),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        return None if done.returncode == 0 else done.stdout.splitlines()

    def check_group(group: list[str]) -> list[str]:
        if len(group) == 1:
            said = run(group[0], group)
            if said is not None:
                return [f"{group[0]}: clang-tidy failed", *said]
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".cc", encoding="utf-8") as joined:
                joined.write(joined_source(group))
                joined.flush()
                said = run(joined.name, group)
            if said is not None:
                middle = len(group) // 2
                return check_group(group[:middle]) + check_group(group[middle:])
        for name in group:
            (stamps / sources.digest(name)).touch()
        return []

    unknown = [name for name in names if not (stamps / sources.digest(name)).exists()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(check_group, groups_of(unknown)) for line in lines]
