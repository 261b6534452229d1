"""Writes core/session/public_kernels.txt with an installed TensorFlow, which no test needs.

    python3 testing/conformance/list_public_kernels.py

The list has the element types of TensorFlow's kernel registrations for CPUs, for each type
attribute that all registrations of an op limit, and of these types those that the op's definition
allows (framework/ops/signatures.golden.txt). Attributes of one set of types share a line.
"""

from __future__ import annotations

import importlib
import re
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_SIGNATURES = _ROOT / "framework/ops/signatures.golden.txt"
_LIST = _ROOT / "core/session/public_kernels.txt"
_ATTRIBUTE = re.compile(r"(\w+): (?:list\()?type\)?(?: in \{([^}]*)\})?")
_SHORT = {"float32": "float", "float64": "double", "float16": "half"}
# All types, by the names of signatures, in the order of the list.
_RANK = [
    "half",
    "bfloat16",
    "float",
    "double",
    "complex64",
    "complex128",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "string",
    "qint8",
    "quint8",
    "qint16",
    "quint16",
    "qint32",
    "resource",
    "variant",
]


def allowed_types() -> dict[tuple[str, str], set[str]]:
    """The types that definitions allow, by op and attribute; internal ops are left out."""
    found = {}
    for line in _SIGNATURES.read_text().splitlines():
        op, attributes = line.split("(", 1)[0], line.partition(" [")[2]
        if op.startswith("_"):
            continue
        for name, types in _ATTRIBUTE.findall(attributes):
            found[op, name] = set(types.split(", ")) if types else set(_RANK)
    return found


def registered_types(op: str, attribute: str) -> set[str] | None:
    """The types of the op's kernels for CPUs; None where one takes any type, or there is none."""
    tf: Any = importlib.import_module("tensorflow")
    kernels: Any = importlib.import_module("tensorflow.python.framework.kernels")
    found: set[str] = set()
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type != "CPU":
            continue
        limits = [one for one in kernel.constraint if one.name == attribute]
        if not limits:
            return None
        for number in limits[0].allowed_values.list.type:
            name = tf.dtypes.as_dtype(number).name
            found.add(_SHORT.get(name, name))
    return found or None


def main() -> None:
    """Write the list."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (op, attribute), allowed in sorted(allowed_types().items()):
        types = registered_types(op, attribute)
        if types is not None and types & allowed:
            groups[tuple(name for name in _RANK if name in types & allowed)].append(
                f"{op}.{attribute}"
            )
    version = importlib.import_module("tensorflow").__version__
    lines = [
        f"# Element types that kernels of TensorFlow {version} for CPUs are registered for.",
        "# Written by testing/conformance/list_public_kernels.py, which says what is in it.",
    ]
    for names, attributes in sorted(groups.items()):
        lines.append("")
        lines += textwrap.wrap(
            f"{' '.join(names)}: {' '.join(attributes)}", 100, subsequent_indent="    "
        )
    _LIST.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
