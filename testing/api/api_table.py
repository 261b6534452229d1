"""The parameters of functions in the 1.15 API, and those of the package, in one form.

``signatures.txt`` has a function, a class or a method a line, as ``nn.relu(features, name=None)``.
Methods have no ``self``; ``{A,B}.f(x)`` stands for one in each class; ``...`` is a default that is
an object. ``differences.txt`` has the intended differences: a pattern of names and the reason.
"""

from __future__ import annotations

import ast
import enum
import fnmatch
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import millstream as tf

_FOLDER = Path("testing/api")
# A default of the table that is an object without a name.
_ANY = "..."


class Signature(NamedTuple):
    """The parameters of a function: names, defaults as text or None, and whether there are more.

    Parameters
    ----------
    names, defaults
        Of the parameters that can be given by position.
    takes_positions, takes_names
        Whether it has ``*args``, ``**kwargs``.
    """

    names: tuple[str, ...]
    defaults: tuple[str | None, ...]
    takes_positions: bool
    takes_names: bool

    def __str__(self) -> str:
        parts = [
            name if default is None else f"{name}={default}"
            for name, default in zip(self.names, self.defaults, strict=True)
        ]
        parts += ["*args"] * self.takes_positions + ["**kwargs"] * self.takes_names
        return f"({', '.join(parts)})"


# What the list of symbols says of functions that are wrapped.
_UNKNOWN = Signature((), (), True, True)


def _expanded(name: str) -> Iterator[str]:
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    if found is None:
        yield name
        return
    before, choices, after = found.groups()
    for choice in choices.split(","):
        yield f"{before}{choice}{after}"


def _parsed(parameters: str) -> Signature:
    call = ast.parse(f"lambda {parameters}: 0", mode="eval").body
    assert isinstance(call, ast.Lambda)
    found = call.args
    required = len(found.args) - len(found.defaults)
    return Signature(
        tuple(one.arg for one in found.args),
        (None,) * required + tuple(map(ast.unparse, found.defaults)),
        found.vararg is not None,
        found.kwarg is not None,
    )


def wanted() -> dict[str, Signature]:
    """The signatures of the 1.15 API by full names, as ``"nn.relu"``."""
    found = {}
    for line in (_FOLDER / "signatures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, _, parameters = line.rstrip().removesuffix(")").partition("(")
        for one in _expanded(name):
            found[one] = _parsed(parameters)
    return found


def differences() -> dict[str, str]:
    """The reasons for intended differences by patterns of names."""
    lines = (_FOLDER / "differences.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {pattern: reason for pattern, _, reason in pairs}


def pattern_of(name: str, patterns: Iterable[str]) -> str | None:
    """The first pattern that a name matches."""
    return next((one for one in patterns if fnmatch.fnmatchcase(name, one)), None)


def value_of(name: str) -> Any:
    """What a full name stands for in the package.

    Raises
    ------
    AttributeError
        It is not there.
    """
    value: Any = tf
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _text(value: Any) -> str:
    """A default as the table writes it."""
    if isinstance(value, tf.DType):
        return value.name
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        value = list(value)
    return value.__name__ if inspect.isfunction(value) else repr(value)


def own_signature(value: Any) -> Signature:
    """The signature of a function or method, or of a class' initializer, without ``self``."""
    function = value.__init__ if inspect.isclass(value) else value
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name == "self":
        del parameters[0]
    kinds = [one.kind for one in parameters]
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return Signature(
        tuple(one.name for one in named),
        tuple(None if one.default is one.empty else _text(one.default) for one in named),
        inspect.Parameter.VAR_POSITIONAL in kinds,
        inspect.Parameter.VAR_KEYWORD in kinds,
    )


def agrees(own: Signature, want: Signature) -> bool:
    """Whether each call that fits the API's signature fits our own, and means the same.

    Our own may have further parameters behind the API's, with defaults. A name "_" of the API says
    that the parameter is not used.
    """
    if want == _UNKNOWN:
        return True
    count = len(want.names)
    if len(own.names) < count or None in own.defaults[count:]:
        return False
    pairs = zip(own.names, want.names, strict=False)
    if any(expected not in (name, "_") for name, expected in pairs):
        return False
    for have, expected in zip(own.defaults, want.defaults, strict=False):
        if expected == _ANY:
            if have is None:
                return False
        elif have != expected:
            return False
    return (own.takes_positions or not want.takes_positions) and (
        own.takes_names or not want.takes_names
    )


def compare(table: Mapping[str, Signature]) -> tuple[dict[str, str], list[str]]:
    """What differs from a table, by names, and the names that are not there."""
    different = {}
    absent = []
    for name, want in table.items():
        try:
            own = own_signature(value_of(name))
        except AttributeError:
            absent.append(name)
            continue
        if not agrees(own, want):
            different[name] = f"{name}{own}, and 1.15 has {want}"
    return different, absent
