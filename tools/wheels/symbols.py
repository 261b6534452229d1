"""New names for the symbols of shared objects.

A library's own soname does not keep its symbols apart from another version's: when a package opens
its libraries for everybody (RTLD_GLOBAL, as TensorFlow does), the loader finds their symbols first,
also for libraries that come later and bring their own. So libraries that others carry in other
versions get symbols that only this wheel has. Name and replacement are of one length, so that
everything stays where it is; only the hash table, and with it the order of the symbols, changes.

Reference: System V ABI, chapter 5, and binutils for the hash table of GNU.
"""

from __future__ import annotations

import dataclasses
import pathlib
import struct

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_RELOCATION = struct.Struct("<QQq")  # offset, symbol and type, addend

_RELA, _DYNSYM, _GNU_HASH, _VERSYM = 4, 11, 0x6FFFFFF6, 0x6FFFFFFF


@dataclasses.dataclass
class _Section:
    index: int
    kind: int
    offset: int
    size: int
    link: int


def _sections(data: bytearray) -> list[_Section]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("expected a little-endian ELF file of 64 bits")
    (start,) = struct.unpack_from("<Q", data, 0x28)
    (count,) = struct.unpack_from("<H", data, 0x3C)
    sections = []
    for index in range(count):
        fields = _SECTION.unpack_from(data, start + index * _SECTION.size)
        sections.append(_Section(index, fields[1], fields[4], fields[5], fields[6]))
    return sections


def _only(sections: list[_Section], kind: int) -> _Section:
    (found,) = [section for section in sections if section.kind == kind]
    return found


def _hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


class _Symbols:
    """The dynamic symbols of an ELF file, to change in place."""

    def __init__(self, data: bytearray) -> None:
        self._data = data
        self._sections = _sections(data)
        self._table = _only(self._sections, _DYNSYM)
        self._strings = self._sections[self._table.link].offset
        self._count = self._table.size // _SYMBOL.size

    def _symbol_offset(self, index: int) -> int:
        return self._table.offset + index * _SYMBOL.size

    def _name_offset(self, index: int) -> int:
        (offset,) = struct.unpack_from("<I", self._data, self._symbol_offset(index))
        return self._strings + int(offset)

    def _name(self, index: int) -> bytes:
        start = self._name_offset(index)
        return bytes(self._data[start : self._data.index(b"\0", start)])

    def replace(self, replacements: dict[bytes, bytes]) -> None:
        """Replace parts of all names."""

        def replaced(name: bytes) -> bytes:
            for old, new in replacements.items():
                name = name.replace(old, new)
            return name

        expected = [replaced(self._name(index)) for index in range(self._count)]
        if expected == [self._name(index) for index in range(self._count)]:
            return
        for index, name in enumerate(expected):
            start = self._name_offset(index)
            self._data[start : start + len(name)] = name
        # Names share their ends, so a change of one may have changed another.
        for index, name in enumerate(expected):
            if self._name(index) != name:
                raise ValueError(f"symbol {name!r} shares a part of another name that changes")
        self._order_by_hash(expected)

    def _order_by_hash(self, names: list[bytes]) -> None:
        """Write the hash table for the names as they are now, and put the symbols in its order."""
        table = _only(self._sections, _GNU_HASH)
        buckets, first, words, shift = struct.unpack_from("<4I", self._data, table.offset)
        hashes = {index: _hash(names[index]) for index in range(first, self._count)}
        order = sorted(hashes, key=lambda index: hashes[index] % buckets)

        bloom = [0] * words
        starts = [0] * buckets
        chain = []
        for position, index in enumerate(order):
            value = hashes[index]
            bloom[value // 64 % words] |= 1 << value % 64 | 1 << (value >> shift) % 64
            bucket = value % buckets
            starts[bucket] = starts[bucket] or first + position
            last = position + 1 == len(order) or hashes[order[position + 1]] % buckets != bucket
            chain.append(value & ~1 | last)
        packed = struct.pack(f"<{words}Q{buckets}I{len(chain)}I", *bloom, *starts, *chain)
        if 16 + len(packed) != table.size:
            raise ValueError("the hash table is not of the size that its head says")
        self._data[table.offset + 16 : table.offset + table.size] = packed
        self._reorder([*range(first), *order])

    def _reorder(self, order: list[int]) -> None:
        """Put symbol order[i] in place i, and tell all who know symbols by their place."""
        self._permute(self._table.offset, _SYMBOL.size, order)
        place = {index: position for position, index in enumerate(order)}
        for section in self._sections:
            if section.kind == _VERSYM:  # there is none where no symbol has a version
                self._permute(section.offset, 2, order)
            if section.kind != _RELA or section.link != self._table.index:
                continue
            for start in range(section.offset, section.offset + section.size, _RELOCATION.size):
                offset, info, addend = _RELOCATION.unpack_from(self._data, start)
                info = place[info >> 32] << 32 | info & 0xFFFFFFFF
                _RELOCATION.pack_into(self._data, start, offset, info, addend)

    def _permute(self, start: int, size: int, order: list[int]) -> None:
        old = bytes(self._data[start : start + size * len(order)])
        entries = [old[index * size : (index + 1) * size] for index in order]
        self._data[start : start + len(old)] = b"".join(entries)


def rename(path: pathlib.Path, replacements: dict[bytes, bytes]) -> None:
    """Replace parts of the names of all dynamic symbols of a shared object.

    Before patchelf changes it: its sections must be where the linker put them.

    Parameters
    ----------
    path
        The shared object, changed in place.
    replacements
        What to replace by what of the same length.

    Raises
    ------
    ValueError
        The lengths differ, or the file is not laid out as the linker does.
    """
    for old, new in replacements.items():
        if len(old) != len(new):
            raise ValueError(f"{old!r} and {new!r} differ in length")
    data = bytearray(path.read_bytes())
    _Symbols(data).replace(replacements)
    path.write_bytes(data)
