"""Applying an op: converts arguments, settles types, adds the node."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from millstream._impl.base import error_text, source_location
from millstream._impl.graph.convert import convert_argument, graph_of
from millstream._impl.graph.tensor_like import TensorLike, described
from millstream._impl.values import dtypes, tensor_shape, values

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.op_info import Argument, Attribute, OpInfo
    from millstream._impl.graph.operation import Operation, Tensor
    from millstream._impl.values.dtypes import DType

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# Ops that work on the elements of their first input, and so on those of a ragged tensor.
_OF_FIRST = (
    "Abs Acos Acosh AsString Asin Asinh Atan Atanh Ceil CheckNumerics Cos Cosh DecodeBase64 "
    "DecodeCompressed Digamma EncodeBase64 Erf Erfc Exp Expm1 Floor Identity Inv Invert IsFinite "
    "IsInf IsNan Lgamma Log Log1p "
    "LogicalNot Neg OnesLike Reciprocal RegexFullMatch RegexReplace Relu Rint Round Rsqrt "
    "Sigmoid Sign Sin Sinh Sqrt Square StaticRegexFullMatch StaticRegexReplace StringLength "
    "StringLower StringStrip StringToHashBucket StringToHashBucketFast "
    "StringToHashBucketStrong StringToNumber StringUpper Substr Tan Tanh UnicodeScript "
    "UnicodeTranscode ZerosLike"
)
# Ops that work on the elements of inputs which are broadcast to one shape.
_OF_ALL = (
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan Equal FloorDiv FloorMod "
    "Greater GreaterEqual LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul "
    "MulNoNan NextAfter NotEqual Pow RealDiv RightShift SquaredDifference StringJoin Sub "
    "TruncateDiv TruncateMod Xdivy Xlogy"
)
_IS_OF_ALL = {
    **dict.fromkeys(_OF_FIRST.split(), False),
    **dict.fromkeys(_OF_ALL.split(), True),
}


def apply(info: OpInfo, arguments: tuple[Any, ...], attributes: tuple[Any, ...], name: Any) -> Any:
    """Add a node of the op to the graph of its arguments.

    Parameters
    ----------
    info
        The op.
    arguments
        What each input argument gets: a tensor or what becomes one, a list for a variadic one.
    attributes
        Values of ``info.parameters``; None leaves one to its default or to the arguments' types.
    name
        Name of the node, by default the op's.

    Returns
    -------
    Any
        The result: the operation when the op has no outputs, a tensor, a list of tensors for a
        variadic output, a named tuple of those when there are several.

    Raises
    ------
    TypeError
        An argument has a dtype that the op does not take there.
    ValueError
        Arguments are of several graphs, or the op refuses their shapes or its attributes.
    """
    is_of_all = _IS_OF_ALL.get(info.name)
    if is_of_all is not None:
        rows = ragged_among(arguments if is_of_all else arguments[:1], info.inputs[0].is_list)
        if rows is not None:

            def of_flat(*flat: Any) -> Any:
                return apply(info, flat, attributes, name)

            return rows._of_elements(of_flat, arguments, is_of_all)
    graph = graph_of(arguments)
    full_name = graph.op_name(name or info.name)
    types = _explicit_types(info, attributes)
    inputs: list[Tensor] = []
    counts: list[int] = []
    if info.inputs:
        _note_types(info, arguments, types)
        try:
            for spec, argument in zip(info.inputs, arguments, strict=True):
                before = len(inputs)
                _convert(graph, info, full_name, spec, argument, types, inputs)
                counts.append(len(inputs) - before)
        except _WrongTypeError as error:
            raise _described(error, info, full_name, arguments) from None
    attrs = _attrs(info, attributes)
    operation = graph.add(info.name, full_name, inputs, counts, attrs)
    return result_of(info, operation, attributes, counts)


def _explicit_types(info: OpInfo, attributes: tuple[Any, ...]) -> dict[str, DType]:
    types: dict[str, DType] = {}
    for attribute, value in zip(info.parameters, attributes, strict=True):
        if attribute.kind == "t" and value is not None:
            types[attribute.name] = _type_of(info, attribute, value)
    return types


def _type_of(info: OpInfo, attribute: Attribute, value: Any) -> DType:
    try:
        return dtypes.as_dtype(value)
    except TypeError as error:
        raise TypeError(f"{info.name}: attribute {attribute.name!r}: {error}") from None


def _note_types(info: OpInfo, arguments: tuple[Any, ...], types: dict[str, DType]) -> None:
    """Notes the type attributes that tensors among the arguments settle."""
    for spec, argument in zip(info.inputs, arguments, strict=True):
        attr = spec.type_attr
        if not attr or attr in types:
            continue
        if isinstance(argument, TensorLike):
            types[attr] = argument.dtype.base_dtype
        elif spec.number_attr and isinstance(argument, (list, tuple)):
            for item in argument:
                if isinstance(item, TensorLike):
                    types[attr] = item.dtype.base_dtype
                    break


def _convert(
    graph: Graph,
    info: OpInfo,
    full_name: str,
    spec: Argument,
    argument: Any,
    types: dict[str, DType],
    inputs: list[Tensor],
) -> None:
    """Appends the tensors of one argument."""
    if not spec.is_list:
        inputs.append(_convert_one(graph, info, full_name, spec, spec.name, argument, types))
        return
    if not isinstance(argument, (list, tuple)):
        raise TypeError(
            f"{info.name}: argument {spec.name!r}: expected a list of tensors, got {argument!r}"
        )
    for index, item in enumerate(argument):
        item_name = f"{spec.name}_{index}"
        inputs.append(_convert_one(graph, info, full_name, spec, item_name, item, types))


def _convert_one(
    graph: Graph,
    info: OpInfo,
    full_name: str,
    spec: Argument,
    value_name: str,
    value: Any,
    types: dict[str, DType],
) -> Tensor:
    wanted = spec.dtype or types.get(spec.type_attr)
    if isinstance(value, TensorLike):
        if wanted is not None and value.dtype.base_dtype != wanted:
            raise _mismatch(info, spec, value.dtype, wanted)
        if value.is_tensor:
            tensor = value.as_tensor()
        else:
            with graph.enter_scope(full_name + "/"):
                tensor = value.as_tensor()
    else:
        tensor = _convert_value(graph, info, full_name, spec, value_name, value, wanted)
    if wanted is None and spec.type_attr:
        types[spec.type_attr] = tensor.dtype
    attribute = info.attrs.get(spec.type_attr)
    if attribute is not None and attribute.allowed:
        _check_allowed(info, spec, tensor.dtype, attribute)
    return tensor


def _convert_value(
    graph: Graph,
    info: OpInfo,
    full_name: str,
    spec: Argument,
    value_name: str,
    value: Any,
    wanted: DType | None,
) -> Tensor:
    attribute = info.attrs.get(spec.type_attr)
    preferred = attribute.default_type if attribute is not None and wanted is None else None
    with graph.enter_scope(full_name + "/"):
        try:
            return convert_argument(graph, value, wanted, value_name, preferred)
        except TypeError as error:
            raise TypeError(_of_argument(info, spec, error)) from None
        except ValueError as error:
            raise ValueError(_of_argument(info, spec, error)) from None


def _of_argument(info: OpInfo, spec: Argument, error: Exception) -> str:
    return f"{info.name}: argument {spec.name!r}: {str(error).removeprefix('value: ')}"


class _WrongTypeError(TypeError):
    """A tensor of a dtype that the op does not take there; `hint` says what to do."""

    def __init__(self, cause: str, hint: str) -> None:
        super().__init__(cause)
        self.hint = hint


def _described(
    error: _WrongTypeError, info: OpInfo, full_name: str, arguments: tuple[Any, ...]
) -> TypeError:
    inputs = [described(argument) for argument in arguments]
    source = source_location.current()
    return TypeError(
        error_text.of_node(str(error), full_name, info.name, source, inputs, error.hint)
    )


def _mismatch(info: OpInfo, spec: Argument, got: DType, wanted: DType) -> _WrongTypeError:
    if spec.dtype is not None:
        return _WrongTypeError(
            f"{info.name}: argument {spec.name!r}: expected {wanted.name}, got {got.name}",
            f"tf.cast({spec.name}, tf.{wanted.name}) converts it",
        )
    others = [other.name for other in info.inputs if other.type_attr == spec.type_attr]
    to_float = got.is_floating and not wanted.is_floating and len(others) > 1
    cast = (others[0], got) if to_float and others[0] != spec.name else (spec.name, wanted)
    return _WrongTypeError(
        f"{info.name}: argument {spec.name!r} has type {got.name}, which does not match type "
        f"{wanted.name} (arguments {', '.join(others)} have one type)",
        f"no dtype is converted by itself; tf.cast({cast[0]}, tf.{cast[1].name}) does it",
    )


def _check_allowed(info: OpInfo, spec: Argument, dtype: DType, attribute: Attribute) -> None:
    if dtype.as_datatype_enum in attribute.allowed:
        return
    names = ", ".join(dtypes.of_number(number).name for number in sorted(attribute.allowed))
    raise _WrongTypeError(
        f"{info.name}: argument {spec.name!r} has type {dtype.name}; allowed are {names}",
        "tf.cast converts it, or give the values another dtype where they are made",
    )


def _attrs(info: OpInfo, attributes: tuple[Any, ...]) -> list[tuple[str, str, Any]]:
    attrs = []
    for attribute, value in zip(info.parameters, attributes, strict=True):
        if value is not None:
            attrs.append((attribute.name, attribute.kind, _wire(info, attribute, value)))
    return attrs


def _wire(info: OpInfo, attribute: Attribute, value: Any) -> Any:
    """An attribute's value as the extension takes it; TypeError names the attribute."""
    try:
        return wire_attr(attribute.kind, value)
    except (TypeError, ValueError) as error:
        kind = type(error)
        raise kind(f"{info.name}: attribute {attribute.name!r}: {error}") from None


def wire_attr(kind: str, value: Any) -> Any:
    """The value of an attribute of the extension's `kind`.

    Raises
    ------
    TypeError, ValueError
        The value is not of that kind.
    """
    if kind.isupper():
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"expected a list, got {value!r}")
        return [wire_attr(kind.lower(), item) for item in value]
    if kind == "i":
        if not hasattr(value, "__index__") or isinstance(value, bool):
            raise TypeError(f"expected an integer, got {value!r}")
        return int(value)
    if kind == "f":
        return float(value)
    if kind == "b":
        if type(value).__name__ not in ("bool", "bool_") and value not in (0, 1):
            raise TypeError(f"expected a truth value, got {value!r}")
        return bool(value)
    if kind == "s":
        return values.as_bytes(value)
    if kind == "t":
        return dtypes.as_dtype(value).as_datatype_enum
    if kind == "h":
        return tensor_shape.to_wire(value)
    if kind == "v":
        array = values.to_array(value)
        dtype = dtypes.string if array.dtype.kind == "O" else dtypes.as_dtype(array.dtype)
        return values.wire_value(array, dtype)
    return value


def result_of(
    info: OpInfo, operation: Operation, attributes: tuple[Any, ...], counts: list[int]
) -> Any:
    """What applying an op gives for the node that it made: the node itself without outputs."""
    outputs = operation.outputs
    if not outputs:
        return operation
    if info.result is None:
        return list(outputs) if info.outputs[0].is_list else outputs[0]
    parts: list[Any] = []
    position = 0
    for output in info.outputs:
        if not output.is_list:
            parts.append(outputs[position])
            position += 1
            continue
        size = _list_size(info, output, attributes, counts)
        parts.append(list(outputs[position : position + size]))
        position += size
    return info.result(*parts)


def _list_size(
    info: OpInfo, output: Argument, attributes: tuple[Any, ...], counts: list[int]
) -> int:
    """How many tensors a variadic output has."""
    for attribute, value in zip(info.parameters, attributes, strict=True):
        if attribute.name == output.number_attr:
            return int(value)
        if attribute.name == output.list_attr:
            return len(value)
    for spec, count in zip(info.inputs, counts, strict=True):
        if output.number_attr and spec.number_attr == output.number_attr:
            return count
        if output.list_attr and spec.list_attr == output.list_attr:
            return count
    raise AssertionError(f"nothing says how many tensors {info.name}.{output.name} has")


# ---- Ragged tensors among the arguments of functions of tensors ----


def ragged_among(arguments: Iterable[Any], in_lists: bool = False) -> Any:
    """The first ragged tensor among arguments, None if there is none.

    Parameters
    ----------
    arguments
        What is looked at.
    in_lists
        Look at the items of lists, too.
    """
    for argument in arguments:
        if hasattr(argument, "with_flat_values"):
            return argument
        if in_lists and isinstance(argument, (list, tuple)):
            found = ragged_among(argument)
            if found is not None:
                return found
    return None


# What `set_ragged_functions` was given last.
_ragged_functions: list[Callable[[], Callable[..., Any]]] = []


def set_ragged_functions(load: Callable[[], Callable[..., Any]]) -> None:
    """Say what the functions of `for_ragged` do with ragged tensors.

    Parameters
    ----------
    load
        Gives the function that is called then, with the key of `for_ragged`, the function for
        tensors, its positional arguments and its named ones. It runs in each call with a ragged
        tensor and in no other, so that it may import what only these need.
    """
    _ragged_functions[:] = [load]


def for_ragged(
    key: str, in_lists: bool = False
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a function of tensors take ragged ones.

    Parameters
    ----------
    key
        Which function it is for the one of `set_ragged_functions`.
    in_lists
        Whether lists that are arguments may hold them.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def choosing(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            ragged = ragged_among(args, in_lists)
            if ragged is None and kwargs:
                ragged = ragged_among(kwargs.values(), in_lists)
            if ragged is None:
                return function(*args, **kwargs)
            (load,) = _ragged_functions
            result: _Result = load()(key, function, args, kwargs)
            return result

        return choosing

    return decorate
