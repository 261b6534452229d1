"""What the package knows of an op: its signature, in the form that applying it needs."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType

# The extension's letter for each type of attribute.
_KINDS = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "t",
    "shape": "h",
    "tensor": "v",
    "func": "p",
}
_KINDS.update({f"list({name})": kind.upper() for name, kind in list(_KINDS.items())})


class Argument:
    """One argument or result.

    Attributes
    ----------
    dtype
        Its fixed dtype, or None.
    type_attr, number_attr, list_attr
        Attributes that say its type, how many tensors it has, and the types of each; or "".
    """

    __slots__ = ("dtype", "list_attr", "name", "number_attr", "type_attr")

    def __init__(self, spec: tuple[str, int, str, str, str]) -> None:
        self.name, number, self.type_attr, self.number_attr, self.list_attr = spec
        self.dtype: DType | None = dtypes.of_number(number) if number else None

    @property
    def is_list(self) -> bool:
        """Whether it may have any number of tensors."""
        return bool(self.number_attr or self.list_attr)


class Attribute:
    """An attribute that the caller may give.

    Attributes
    ----------
    kind
        The extension's letter for its type.
    default_type
        Default of a type attribute, or None.
    allowed
        Types that it may be, empty for all.
    """

    __slots__ = ("allowed", "default_type", "kind", "name")

    def __init__(self, spec: tuple[str, str, Any, tuple[int, ...]]) -> None:
        self.name, type_name, default, allowed = spec
        self.kind = _KINDS[type_name]
        self.allowed = frozenset(allowed)
        self.default_type: DType | None = None
        if self.kind == "t" and default is not None:
            self.default_type = dtypes.of_number(default)


class OpInfo:
    """Signature of an op.

    Parameters
    ----------
    name
        Name of the op.
    inputs, outputs
        (name, dtype number or 0, type attribute, number attribute, list attribute) of each.
    attrs
        (name, type, default of a type or None, allowed type numbers) of each.
    parameters
        The attributes that the wrapper takes, in its order.
    """

    __slots__ = ("attrs", "inputs", "name", "outputs", "parameters", "result")

    def __init__(
        self,
        name: str,
        inputs: tuple[Any, ...],
        outputs: tuple[Any, ...],
        attrs: tuple[Any, ...],
        parameters: tuple[str, ...],
    ) -> None:
        self.name = name
        self.inputs = [Argument(spec) for spec in inputs]
        self.outputs = [Argument(spec) for spec in outputs]
        self.attrs = {spec[0]: Attribute(spec) for spec in attrs}
        self.parameters = [self.attrs[parameter] for parameter in parameters]
        self.result: Any = None
        if len(outputs) > 1:
            fields = [output.name for output in self.outputs]
            self.result = namedtuple(name, fields)  # type: ignore[misc]


class OpTable:
    """The ops by name, each read from its literal when it is first used."""

    def __init__(self, literals: dict[str, tuple[Any, ...]]) -> None:
        self._literals = literals
        self._infos: dict[str, OpInfo] = {}

    def __getitem__(self, name: str) -> OpInfo:
        info = self._infos.get(name)
        if info is None:
            info = OpInfo(name, *self._literals[name])
            self._infos[name] = info
        return info

    def __contains__(self, name: str) -> bool:
        return name in self._literals

    def names(self) -> list[str]:
        """Names of all ops."""
        return sorted(self._literals)
