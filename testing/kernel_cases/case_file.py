"""The file of cases that `millstream_plugin_check` reads (framework/plugin/check/case_file.cc).

It begins with `MAGIC` and goes on with the cases. Numbers are little-endian. A short text is its
size in a byte and its bytes.

- A case: the op, a byte of `RANDOM` or 0, the number of attributes in a byte and the attributes,
  the number of inputs in a byte and the inputs. Names are short texts.
- An attribute: its name, and its value as op specifications write values, as short texts.
- An input: the type's number, a byte of flags, the rank in a byte and, in 64 bits each, the sizes;
  then the number of bytes in 32 bits and the bytes. Strings are short texts, one after the other.
  A tensor of more than `PERIOD` elements has only the first `PERIOD`, when the others repeat them.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from testing.kernel_cases.draw import PERIOD, KernelCase
from testing.ops.support import number_types
from testing.ops.support.number_types import Array

MAGIC = b"MSCASES1"
RANDOM = 1
VARIABLE, CONSTANT = 1, 2


def spec_text(value: Any) -> str:
    """The value of an attribute as op specifications write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | bytes):
        content = value.encode() if isinstance(value, str) else value
        return '"' + "".join(f"\\{byte:03o}" for byte in content) + '"'
    if isinstance(value, list):
        return f"[{', '.join(spec_text(item) for item in value)}]"
    kind, content = value
    if kind == "type":
        return str(content)
    if kind == "shape":
        return "?" if content is None else str(list(content))
    raise ValueError(f"an attribute's value is of the kind {kind!r}")


def _text(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def _short_text(content: bytes) -> bytes:
    return struct.pack("<B", len(content)) + content


def _content(dtype: str, value: Array) -> bytes:
    flat = value.reshape(-1)
    if flat.size > PERIOD and np.array_equal(flat, np.resize(flat[:PERIOD], flat.size)):
        flat = flat[:PERIOD]
    if dtype == "string":
        return b"".join(_short_text(cell) for cell in flat)
    return flat.tobytes()


def encoded(kernel_case: KernelCase) -> bytes:
    """One case as it stands in the file."""
    case = kernel_case.case
    parts = [
        _short_text(case.op.encode()),
        struct.pack("<B", RANDOM if kernel_case.is_random else 0),
    ]
    parts.append(struct.pack("<B", len(case.attrs)))
    for name in case.attrs:
        parts += [_short_text(name.encode()), _short_text(spec_text(case.attr(name)).encode())]
    parts.append(struct.pack("<B", len(case.inputs)))
    for i, item in enumerate(case.inputs):
        value = case.array(i)
        flags = VARIABLE if item.source else CONSTANT if i in kernel_case.constants else 0
        dtype = case.inputs[item.same_as].dtype if item.same_as >= 0 else item.dtype
        parts.append(struct.pack("<BBB", number_types.NUMBERS[dtype], flags, value.ndim))
        parts.append(struct.pack(f"<{value.ndim}q", *value.shape))
        parts.append(_text(_content(dtype, value)))
    return b"".join(parts)
