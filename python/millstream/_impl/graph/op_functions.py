"""Functions for ops that came while the program runs, like those of gen_ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from millstream._impl.base import op_source
from millstream._impl.graph.apply_op import apply
from millstream._impl.graph.op_info import OpInfo


def function_of(op: dict[str, Any]) -> Callable[..., Any]:
    """The function that applies an op.

    Parameters
    ----------
    op
        The op as the extension describes it. Its names are identifiers and its defaults literals:
        they become Python source.
    """
    head, body = op_source.call(op, "_info")
    namespace = {"_apply": apply, "_info": OpInfo(op["name"], *op_source.literal(op))}
    # Of this file, so that the line that an error names is the user's.
    exec(compile(f"{head}\n    {body}\n", __file__, "exec"), namespace)
    function: Any = namespace[op_source.snake_case(op["name"])]
    function.__doc__ = "\n".join(op_source.doc_lines(op))
    function.__module__ = __name__
    return function


def module_of(name: str, ops: Iterable[dict[str, Any]]) -> ModuleType:
    """A module with a function for each op.

    Parameters
    ----------
    name
        The module's.
    ops
        Each as for `function_of`.
    """
    functions = {op["name"]: function_of(op) for op in ops}
    module = ModuleType(name, f"The ops {', '.join(functions)}." if functions else "No ops.")
    for function in functions.values():
        setattr(module, function.__name__, function)
    return module
