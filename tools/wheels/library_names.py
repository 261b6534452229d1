"""New names for the libraries that a shared object needs, and for itself.

patchelf writes another copy of all strings, those of the symbols included, behind the file each
time that it changes names: three times in Protobuf's library, which grows by a half. Here it does
so once: it is given a run path that holds all new names as well, and what refers to names is then
pointed at their places in it.

Reference: System V ABI, chapter 5 (the dynamic section), and the Linux Standard Base (versions).
"""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Iterator, Mapping

# Ends a name within the run path that patchelf writes; it becomes the zero byte that no argument of
# a program can have.
SEPARATOR = "\x01"

_SECTION = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC_ENTRY = struct.Struct("<qQ")  # tag, value
_VERSIONS_NEEDED = struct.Struct("<HHIII")  # version, count, file, aux, next

_DYNAMIC, _VERNEED = 6, 0x6FFFFFFE  # kinds of sections
_NEEDED, _SONAME = 1, 14  # tags of the dynamic section


def joined(run_path: str, names: list[str]) -> str:
    """The run path to give to patchelf: the real one, and behind it the names."""
    return SEPARATOR.join([run_path, *names])


def point_at(
    path: pathlib.Path, text: str, renamed: Mapping[str, str], new_soname: str | None
) -> None:
    """Let everything that refers to a library refer to its new name.

    Parameters
    ----------
    path
        The shared object, whose run path is `text`; changed in place.
    text
        What `joined` gave.
    renamed
        New names of libraries, by the old ones.
    new_soname
        Its own new name.

    Raises
    ------
    ValueError
        The run path is not where it should be, or a name is not in it.
    """
    data = bytearray(path.read_bytes())
    _Names(data, text).change(renamed, new_soname)
    path.write_bytes(data)


class _Names:
    """The references to names in an ELF file, to change in place."""

    def __init__(self, data: bytearray, text: str) -> None:
        self._data = data
        sections = list(_sections(data))
        (self._dynamic,) = [section for section in sections if section[1] == _DYNAMIC]
        self._versions = [section for section in sections if section[1] == _VERNEED]
        self._strings: int = sections[self._dynamic[6]][4]
        size: int = sections[self._dynamic[6]][5]
        encoded = text.encode()
        start = data.find(encoded, self._strings, self._strings + size)
        if start < 0:
            raise ValueError(f"the run path {text!r} is not among the strings")
        data[start : start + len(encoded)] = encoded.replace(SEPARATOR.encode(), b"\0")
        self._places = {}
        for name in text.split(SEPARATOR):
            self._places[name] = start - self._strings
            start += len(name.encode()) + 1

    def change(self, renamed: Mapping[str, str], new_soname: str | None) -> None:
        """Point at the new names."""
        for start in range(
            self._dynamic[4], self._dynamic[4] + self._dynamic[5], _DYNAMIC_ENTRY.size
        ):
            tag, value = _DYNAMIC_ENTRY.unpack_from(self._data, start)
            if tag == 0:
                break
            if tag == _SONAME and new_soname is not None:
                value = self._place(new_soname)
            elif tag == _NEEDED and self._name(value) in renamed:
                value = self._place(renamed[self._name(value)])
            _DYNAMIC_ENTRY.pack_into(self._data, start, tag, value)
        for section in self._versions:
            self._change_versions(section[4], section[7], renamed)

    def _change_versions(self, start: int, count: int, renamed: Mapping[str, str]) -> None:
        for _ in range(count):
            version, entries, file, aux, step = _VERSIONS_NEEDED.unpack_from(self._data, start)
            if self._name(file) in renamed:
                file = self._place(renamed[self._name(file)])
            _VERSIONS_NEEDED.pack_into(self._data, start, version, entries, file, aux, step)
            start += step

    def _name(self, offset: int) -> str:
        start = self._strings + offset
        return self._data[start : self._data.index(b"\0", start)].decode()

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise ValueError(f"{name!r} is not in the run path")
        return self._places[name]


# name, kind, flags, address, offset, size, link, info, alignment, entry size
def _sections(data: bytearray) -> Iterator[tuple[int, ...]]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("expected a little-endian ELF file of 64 bits")
    (start,) = struct.unpack_from("<Q", data, 0x28)
    (count,) = struct.unpack_from("<H", data, 0x3C)
    for index in range(count):
        yield _SECTION.unpack_from(data, start + index * _SECTION.size)
