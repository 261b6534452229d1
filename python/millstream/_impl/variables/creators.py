"""Functions of the program that make variables, or change how they are made."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.graph.default_graph import get_default_graph


class _Stacks(threading.local):
    """The functions by graph, the outermost first."""

    def __init__(self) -> None:
        self.of: weakref.WeakKeyDictionary[Any, list[Callable[..., Any]]] = (
            weakref.WeakKeyDictionary()
        )


_STACKS = _Stacks()


@public("variable_creator_scope")
@contextmanager
@takes(variable_creator=FUNCTION)
def variable_creator_scope(variable_creator: Any) -> Iterator[None]:
    """A block in which a function makes the variables of the default graph.

    Parameters
    ----------
    variable_creator
        A function of ``next_creator`` and of the arguments of `tf.Variable` by name. It returns a
        variable, often what ``next_creator`` makes of the arguments, changed or not. The function
        of the innermost block is called first.

    Examples
    --------
    >>> def frozen(next_creator, **kwargs):
    ...     return next_creator(**{**kwargs, "trainable": False})
    >>> with tf.variable_creator_scope(frozen):
    ...     v = tf.get_variable("v", [2])
    >>> v.trainable
    False
    """
    stack = _STACKS.of.setdefault(get_default_graph(), [])
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.remove(variable_creator)


class MadeByCreators(type):
    """The class of a class whose objects are made by the functions of the blocks around."""

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        # Of the class, as `inspect` would find it without `__call__` below.
        of_init = inspect.signature(inspect.getattr_static(cls, "__init__"))
        cls.__signature__ = of_init.replace(parameters=list(of_init.parameters.values())[1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """An object, as the functions make it."""
        make: Any = super().__call__
        stack = _STACKS.of.get(get_default_graph()) if _STACKS.of else None
        if not stack:
            return make(*args, **kwargs)
        arguments = cls.__signature__.bind(*args, **kwargs)
        arguments.apply_defaults()
        for creator in stack:
            make = _made_by(creator, make)
        return make(**arguments.arguments)


def _made_by(creator: Callable[..., Any], next_creator: Any) -> Callable[..., Any]:
    def make(**kwargs: Any) -> Any:
        return creator(next_creator, **kwargs)

    return make
