"""Modules: objects that own variables and other modules."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.ops import nest
from millstream._impl.variables.variables import Variable

# Where a word of a class's name begins.
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Searched:
    """What `submodules` finds, and what is searched for more: a module or a layer."""

    # The attributes that hold nothing of its own.
    _unsearched: tuple[str, ...] = ()

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules and layers in its attributes, then those in these."""
        return tuple(one for one in _owned_by(self) if isinstance(one, Searched))


@public("Module")
class Module(Searched):
    """An object that finds the variables and modules in its attributes.

    Parameters
    ----------
    name
        Its name, a Python identifier; by default the name of the class with words in small letters,
        ``my_layer`` for ``MyLayer``.

    Raises
    ------
    ValueError
        The name is no identifier.

    Examples
    --------
    >>> class Affine(tf.Module):
    ...     def __init__(self, name=None):
    ...         super().__init__(name=name)
    ...         self.w = tf.Variable([[2.0]], name="w")
    ...         self.b = tf.Variable([1.0], name="b")
    ...
    >>> [variable.op.name for variable in Affine().variables]
    ['b', 'w']
    """

    @takes()
    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _WORD.sub("_", type(self).__name__).lower()
        if not name.isidentifier():
            raise ValueError(
                f"name: {name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        self._scope_name = get_default_graph().scope_name(name)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """Its scope of names, for a ``with`` block; the same one each time."""
        return scopes.name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """Its variables, by the names of attributes, then those of the modules in it."""
        return tuple(one for one in _owned_by(self) if isinstance(one, Variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of `variables` that optimizers change."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Let a method run in the `name_scope` of its object.

        Parameters
        ----------
        method
            The method.
        """

        @functools.wraps(method)
        def in_scope(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return in_scope


def _owned_by(module: Searched) -> Iterator[Any]:
    """What the attributes of a module and of the modules in it hold, breadth first, each once."""
    queue: list[Any] = [module]
    seen = {id(module)}
    for one in queue:
        for attribute, value in sorted(vars(one).items()):
            if attribute in one._unsearched:
                continue
            for leaf in _leaves(value, attribute, one):
                # Layers and cells say which variables they have.
                has_variables = hasattr(leaf, "trainable_variables") and hasattr(leaf, "variables")
                inner = () if isinstance(leaf, Module) or not has_variables else leaf.variables
                for found in (leaf, *inner):
                    if id(found) in seen:
                        continue
                    seen.add(id(found))
                    if isinstance(found, Searched):
                        queue.append(found)
                    yield found


def _leaves(value: Any, attribute: str, owner: Any) -> list[Any]:
    try:
        return nest.flatten(value)
    except TypeError as error:
        raise ValueError(
            f"attribute {attribute!r} of {owner!r} cannot be searched: {error}"
        ) from None
