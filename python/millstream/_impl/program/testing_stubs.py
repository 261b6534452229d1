"""Attributes that a test replaces and gives back."""

from __future__ import annotations

import inspect
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TEXT, takes


@public("test.StubOutForTesting")
class StubOutForTesting:
    """Replaces attributes of modules, classes and objects, and gives them back.

    It gives back what it replaced when it is deleted, and at the end of a ``with`` block.

    Examples
    --------
    >>> import math
    >>> with tf.test.StubOutForTesting() as stubs:
    ...     stubs.Set(math, "sqrt", lambda x: -1.0)
    ...     math.sqrt(4.0)
    -1.0
    >>> math.sqrt(4.0)
    2.0
    """

    def __init__(self) -> None:
        # Each with the owner, what it held under the name, and the name.
        self._set: list[tuple[Any, Any, str]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __del__(self) -> None:
        self.CleanUp()

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *error: object) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:  # noqa: N802  (the name that programs know)
        """Give back everything."""
        self.SmartUnsetAll()
        self.UnsetAll()

    @takes(attr_name=TEXT)
    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:  # noqa: N802
        """Replace an attribute where it is defined.

        Parameters
        ----------
        obj
            A module, a class or an object. An attribute that an object has of its class is replaced
            in the class; one that a class inherits is replaced in the class itself.
        attr_name
            The name.
        new_attr
            What replaces it.

        Raises
        ------
        AttributeError
            There is no such attribute.
        """
        if inspect.ismodule(obj) or (not inspect.isclass(obj) and attr_name in vars(obj)):
            owner, found = obj, getattr(obj, attr_name)
        else:
            owner = obj if inspect.isclass(obj) else type(obj)
            found = None
            for each in reversed(owner.__mro__):
                found = vars(each).get(attr_name, found)
            if found is None:
                raise AttributeError(f"attr_name: Attribute {attr_name!r} not found in {obj!r}")
            found = vars(owner).get(attr_name, inspect.getattr_static(owner, attr_name))
        self._smart.append((owner, attr_name, found))
        setattr(owner, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:  # noqa: N802
        """Give back what `SmartSet` replaced, the last first."""
        while self._smart:
            setattr(*self._smart.pop())

    @takes(child_name=TEXT)
    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:  # noqa: N802
        """Replace an attribute of just this object.

        Parameters
        ----------
        parent
            A module, a class or an object.
        child_name
            The name of an attribute that it has.
        new_child
            What replaces it.
        """
        # A static method is no function where it is kept.
        old = vars(parent).get(child_name, getattr(parent, child_name))
        self._set.append((parent, old, child_name))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:  # noqa: N802
        """Give back what `Set` replaced, the last first."""
        while self._set:
            parent, old, name = self._set.pop()
            setattr(parent, name, old)
