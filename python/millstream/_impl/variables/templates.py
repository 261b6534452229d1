"""Functions that share their variables between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.variables.variable_scope import VariableScope, variable_scope
from millstream._impl.variables.variable_store import AUTO_REUSE


class Template:
    """A function that makes its variables in the first call and shares them in later ones.

    Parameters
    ----------
    name, function
        Name of the scope, and the function.
    unique_name
        The scope's name if it is not to be made unique.
    custom_getter
        A function that gets the variables through the getter it is given.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], unique_name: str | None, custom_getter: Any
    ) -> None:
        self._label = name
        self._function = function
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._scope: VariableScope | None = None
        self._graph: Graph | None = None
        self._has_begun = False
        self._was_called = False

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables; None before there is one."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """The scope of the variables: the property `variable_scope`."""
        return self._scope

    @property
    def name(self) -> str:
        """Name of the scope of the variables, or what it will start with."""
        return self._label if self._scope is None else self._scope.name

    @property
    def variables(self) -> list[Any]:
        """Its variables, as far as they are made."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Those that optimizers change."""
        return [] if self._scope is None else self._scope.trainable_variables()

    def open_scope(self) -> None:
        """Make the scope of variables now, not in the first call."""
        with self._new_scope(auxiliary_name_scope=False) as scope:
            self._keep(scope)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in the scope.

        Raises
        ------
        ValueError
            A variable is new in a call that is not the first, or the call is in another graph.
        """
        if self._scope is not None and self._graph is not get_default_graph():
            raise ValueError(f"The template {self.name!r} has its variables in another graph")
        # A first call may fail after it made variables, or call the template itself. Variables that
        # are there before it are another's.
        reuse = True if self._was_called else AUTO_REUSE if self._has_begun else None
        self._has_begun = True
        scope = variable_scope(self._scope, reuse=reuse) if self._scope else self._new_scope()
        with scope as inner:
            if self._scope is None:
                self._keep(inner)
            result = self._function(*args, **kwargs)
        self._was_called = True
        return result

    def _new_scope(self, auxiliary_name_scope: bool = True) -> Any:
        return variable_scope(
            self._unique_name,
            self._label,
            custom_getter=self._custom_getter,
            auxiliary_name_scope=auxiliary_name_scope,
        )

    def _keep(self, scope: VariableScope) -> None:
        self._scope, self._graph = scope, get_default_graph()

    def __repr__(self) -> str:
        return f"<template {self.name!r} of {self._function!r}>"


@public("make_template")
@takes(name_=TEXT, func_=FUNCTION, unique_name_=TEXT, custom_getter_=FUNCTION)
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function that makes its variables in the first call and shares them in later ones.

    Parameters
    ----------
    name_
        Name of the scope of the variables, made unique.
    func_
        The function, which makes variables by `get_variable`.
    create_scope_now_
        Whether the scope is opened now, not in the first call, so that its name depends on the
        order of templates and not of calls.
    unique_name_
        The scope's name, which is not made unique.
    custom_getter_
        A function that gets the variables through the getter it is given.
    kwargs
        Arguments that each call gives to the function.

    Examples
    --------
    >>> scale = tf.make_template("scale", lambda x: x * tf.get_variable("factor", []))
    >>> first, second = scale(1.0), scale(2.0)
    >>> [v.op.name for v in tf.trainable_variables()]
    ['scale/factor']
    """

    def bound(*args: Any, **more: Any) -> Any:
        return func_(*args, **{**kwargs, **more})

    template = Template(name_, bound if kwargs else func_, unique_name_, custom_getter_)
    if create_scope_now_:
        template.open_scope()
    return template
