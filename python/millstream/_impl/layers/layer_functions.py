"""Functions that make a layer and apply it once."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.layers.layer import Layer, snake_case

_ORDERS = {1: "size", 2: "height, width", 3: "depth, height, width"}


def layer_function(layer: type[Layer], example: str, outcome: str) -> Callable[..., Any]:
    """The function of a layer of sequences, images or volumes; it has the layer's parameters.

    Parameters
    ----------
    layer
        Its class, with the number of its ``dimensions``.
    example
        The arguments of a call, and what is done with its result.
    outcome
        What that prints.
    """
    dimensions: int = layer.dimensions  # type: ignore[attr-defined]
    # Neither self nor kwargs. The layer itself refuses arguments of a wrong kind.
    given = list(inspect.signature(layer.__init__).parameters.values())[1:-1]
    parameters = [
        inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(_for_each_dimension(parameter, dimensions) for parameter in given),
    ]
    has_variables = any(parameter.name == "trainable" for parameter in given)
    if has_variables:
        reuse = inspect.Parameter("reuse", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        parameters.append(reuse)
    signature = inspect.Signature(parameters)

    @takes(inputs=TENSOR)
    def function(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            arguments = signature.bind(inputs, *args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        del arguments["inputs"]
        if has_variables:
            arguments["_reuse"] = arguments.pop("reuse", None)
            arguments["_scope"] = arguments.get("name")
        return layer(**arguments)(inputs)

    function.__name__ = function.__qualname__ = snake_case(layer.__name__)
    function.__module__ = layer.__module__
    function.__doc__ = _text(layer, signature, f"{function.__name__}({example}", outcome)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _for_each_dimension(parameter: inspect.Parameter, dimensions: int) -> inspect.Parameter:
    """The parameter whose default is written for each dimension, as the 1.15 API has it."""
    if parameter.name not in ("strides", "dilation_rate") or parameter.default != 1:
        return parameter
    return parameter.replace(default=1 if dimensions == 1 else (1,) * dimensions)


def _text(layer: type[Layer], signature: inspect.Signature, call: str, outcome: str) -> str:
    """The docstring of the function of a layer."""
    summary = (layer.__doc__ or "").partition("\n")[0].rstrip(".")
    own = ("inputs", "name", "reuse")
    names = ", ".join(name for name in signature.parameters if name not in own)
    indent = " " * 4
    listed = textwrap.fill(names, 96, initial_indent=indent, subsequent_indent=indent).lstrip()
    order = _ORDERS[layer.dimensions]  # type: ignore[attr-defined]
    name = "Name of the scope."
    if "reuse" in signature.parameters:
        name = """Name of the scope of the variables.
    reuse
        Whether these exist already, from an earlier call with that name."""
    return f"""{summary}; see `{layer.__name__}`.

    Parameters
    ----------
    inputs
        Shape [batch, {order}, channels], or in the order of `data_format`.
    {listed}
        As for `{layer.__name__}`.
    name
        {name}

    Examples
    --------
    >>> tf.layers.{call}
    {outcome}
    """
