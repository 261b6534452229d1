"""What public modules do when they are asked for a name that they do not hold.

Message classes and inner modules are made then. For any other name there is an error, which says
the nearest name there is, or, for a name of the 1.15 API, that it is not there yet or why it never
will be.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from millstream import _runtime
from millstream._impl import protos


class MissingNameError(AttributeError):
    """A module has no attribute of that name.

    What it says is found only when it is asked for: ``hasattr`` and imports raise it as well.

    Parameters
    ----------
    module_name
        Full name of the module.
    missing
        The name.
    """

    def __init__(self, module_name: str, missing: str) -> None:
        super().__init__(name=missing)
        self._module_name = module_name
        self._missing = missing

    def __str__(self) -> str:
        from millstream._impl.base import absent_names  # lazy: only an error needs the reasons
        from millstream._impl.names import api_names  # lazy: only an error needs 2,500 names

        path = self._module_name.partition(".")[2]
        reason = absent_names.reason_of(f"{path}.{self._missing}".lstrip("."))
        # The names of raw_ops are in no list but that of the absent ones.
        if self._missing in api_names.names_of(path) or (path == "raw_ops" and reason):
            return (
                f"{self._module_name}.{self._missing} is a name of the 1.15 API that Millstream "
                f"{_runtime.version()} does not have{': ' + reason if reason else ' yet'}"
            )
        said = f"module {self._module_name!r} has no attribute {self._missing!r}"
        names = [name for name in dir(sys.modules[self._module_name]) if name[:1] != "_"]
        near = difflib.get_close_matches(self._missing, names, 1)
        return f"{said}; the nearest name is {near[0]!r}" if near else said


def namespace(
    module_name: str,
    messages: Collection[str] = (),
    modules: Collection[str] = (),
    lazy: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a public module.

    Parameters
    ----------
    module_name
        Its full name.
    messages
        Names of the message classes that are attributes of it, made when first used.
    modules
        Names of the public modules in it, imported when first used.
    lazy
        Further names in it, each with its module and its name there, which is imported when the
        name is first used.
    """
    places = lazy or {}

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name in modules:
            full = f"{module_name}.{name}"
            return importlib.import_module(full)  # by name: the generated module says which
        if name in places:
            module, attribute = places[name]
            holder = importlib.import_module(module)  # by name: the generated module says which
            found = getattr(holder, attribute)
        elif name in messages:
            found = protos.message_class(name)
        else:
            raise MissingNameError(module_name, name)
        setattr(sys.modules[module_name], name, found)
        return found

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[module_name]), *messages, *modules, *places})

    return __getattr__, __dir__
