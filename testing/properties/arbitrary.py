"""Makes cases of any op from its definition alone: most are not legal, some are."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.source import HUGE, Source

_EDGE_INTS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 31, 64, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
_SMALL = 3
_SEEDS = ("seed", "seed2")
_MEMBERS = "group_size"


class _Maker:
    """The case in the making: attributes are chosen first, then inputs that go with them."""

    def __init__(self, op: Any, source: Source) -> None:
        self._op = op
        self._source = source
        self._types: dict[str, str] = {}
        self._lists: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._base = source.shape()
        self._case = Case(op.name)

    def make(self) -> Case:
        self._note_what_attributes_are_for()
        for attr in self._op.attr:
            self._add_attr(attr)
        for argument in self._op.input_arg:
            self._add_inputs(argument)
        for item in self._case.inputs:
            if item.value is not None and not item.source:
                item.huge = tuple(self._huge(size) for size in item.value.shape)
        return self._case

    def _huge(self, size: int) -> int:
        return self._source.pick((-1, 0, 1, *HUGE)) if self._source.chance(0.4) else size

    def _note_what_attributes_are_for(self) -> None:
        for argument in [*self._op.input_arg, *self._op.output_arg]:
            if argument.number_attr:
                self._counts[argument.number_attr] = self._source.integer(0, _SMALL)
                if self._source.chance(0.8):
                    self._counts[argument.number_attr] = self._source.integer(2, _SMALL)

    def _add_attr(self, attr: Any) -> None:
        if attr.HasField("default_value") and attr.name not in _SEEDS and self._source.chance(0.4):
            default = attr.default_value
            if attr.type == "type":
                self._types[attr.name] = number_types.NAMES[default.type][0]
            if attr.name not in self._counts:
                return
        self._case.attrs[attr.name] = self._attr_text(attr)

    def _attr_text(self, attr: Any) -> str:
        kind = attr.type
        if kind == "type":
            self._types[attr.name] = self._type(attr)
            return attr_text(("type", self._types[attr.name]))
        if kind == "list(type)":
            count = self._source.integer(0 if self._source.chance(0.1) else 1, _SMALL)
            self._lists[attr.name] = [self._type(attr) for _ in range(count)]
            return attr_text([("type", name) for name in self._lists[attr.name]])
        if attr.name in self._counts:
            return attr_text(self._counts[attr.name])
        if kind.startswith("list("):
            count = 4 if self._source.chance(0.6) else self._source.integer(0, 9)
            return attr_text([self._value(kind[5:-1], attr) for _ in range(count)])
        return attr_text(self._value(kind, attr))

    def _type(self, attr: Any) -> str:
        allowed = [number_types.NAMES[number][0] for number in attr.allowed_values.list.type]
        common = [name for name in ("float32", "int32") if not allowed or name in allowed]
        if common and self._source.chance(0.5):
            return self._source.pick(common)
        values = [name for name in allowed or number_types.VALUES if name in number_types.VALUES]
        if not values or self._source.chance(0.04):
            return self._source.pick(number_types.VALUES)
        return self._source.pick(values)

    def _value(self, kind: str, attr: Any) -> Any:
        source = self._source
        if attr.name in _SEEDS:
            return source.integer(1, 100)  # without seeds every step draws others
        if attr.name == _MEMBERS:
            return source.pick((1, 0, -1, -(2**63)))  # a larger group waits for others
        if kind == "int":
            return source.integer(0, _SMALL) if source.chance(0.7) else source.pick(_EDGE_INTS)
        if kind == "bool":
            return source.chance(0.5)
        if kind == "float":
            return source.pick((0.0, -1.5, 1e30))
        if kind == "string":
            allowed = list(attr.allowed_values.list.s)
            if allowed and source.chance(0.9):
                return bytes(source.pick(allowed))
            return source.pick((b"", b"SAME", b"loop", b"\xff", b"words that nobody knows"))
        if kind == "shape":
            return ("shape", source.pick((None, (), (2,), (0, 3), (2**40, 2**40), source.shape())))
        dtype = source.pick(("float32", "int32", "string", "uint8"))
        return ("tensor", (dtype, source.values(dtype, source.small_shape(0, 2))))

    def _add_inputs(self, argument: Any) -> None:
        if argument.type_list_attr:
            dtypes = self._lists.get(argument.type_list_attr, [])
        else:
            count = self._counts.get(argument.number_attr, 1) if argument.number_attr else 1
            fixed = number_types.NAMES[argument.type][0] if argument.type else ""
            dtypes = [fixed or self._types.get(argument.type_attr, "float32")] * count
        for dtype in dtypes:
            self._case.inputs.append(self._input(argument, dtype))

    def _input(self, argument: Any, dtype: str) -> Input:
        source = self._source
        if dtype == "resource" or argument.is_ref:
            inner = dtype if argument.is_ref else self._variable_type()
            value = None if source.chance(0.1) else source.values(inner, self._shape())
            return Input(inner, value, "reference" if argument.is_ref else "resource")
        same = [
            i
            for i, item in enumerate(self._case.inputs)
            if item.dtype == dtype and not item.source and item.same_as < 0
        ]
        if same and source.chance(0.2):
            return Input(dtype, None, "", source.pick(same))
        if dtype in number_types.NO_VALUES:
            dtype = "float32"
        return Input(dtype, self._input_value(dtype))

    def _variable_type(self) -> str:
        known = [name for name in self._types.values() if name not in number_types.NO_VALUES]
        return self._source.pick(known) if known else "float32"

    def _shape(self) -> tuple[int, ...]:
        return self._base if self._source.chance(0.5) else self._source.shape()

    def _input_value(self, dtype: str) -> Any:
        source = self._source
        if dtype not in ("int32", "int64"):
            return source.values(dtype, self._shape())
        draw = source.random.random()
        shape = self._shape() if draw < 0.3 else (source.integer(0, 4),) if draw < 0.8 else ()
        if source.chance(0.25) and shape:
            values = source.index_values(dtype, shape, 0, 4)
            flat = values.reshape(-1)
            if flat.size:
                flat[source.integer(0, flat.size - 1)] = _as(dtype, source.pick(HUGE))
            return values
        if source.chance(0.7):
            return source.index_values(dtype, shape, -1, 4)
        return source.values(dtype, shape)


def _as(dtype: str, value: int) -> int:
    return min(value, np.iinfo(dtype).max)


def arbitrary_case(op: Any, source: Source) -> Case:
    """A case of an op, from its OpDef message."""
    return _Maker(op, source).make()
