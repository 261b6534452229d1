"""Options of the command line, declared by modules and read as attributes of `FLAGS`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from millstream._impl.base.public import public
from millstream._impl.program.flag_checks import mark_flag_as_required
from millstream._impl.program.flag_values import FLAGS, Flag, FlagValues, Kind

_Parameters = ParamSpec("_Parameters")

# Names of the parameters in older programs.
_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _define(function: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Let a function of this module take old names of its parameters."""

    @functools.wraps(function)
    def define(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
        for old, new in _OLD_NAMES.items():
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
        function(*args, **kwargs)

    return define


def _declare(
    name: Any,
    default: Any,
    help: Any,  # noqa: A002  (the public name)
    kind: Kind,
    flag_values: Any,
    short_name: Any = None,
    required: bool = False,
    **_: Any,
) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"name: expected the name of an option, got {name!r}")
    if help is not None and not isinstance(help, str):
        raise TypeError(f"help: expected a text, got {help!r}")
    if not isinstance(flag_values, FlagValues):
        raise TypeError(f"flag_values: expected a tf.flags.FlagValues, got {flag_values!r}")
    try:
        flag = Flag(name, default, help or "", kind, short_name)
    except ValueError as error:
        error.args = (f"{error} (the default)",)
        raise
    flag_values.add(flag)
    if required:
        mark_flag_as_required(name, flag_values)


# ---- What a text stands for ----


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"expected a text, got {given!r}")
    return given


def _integer(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, str)):
        raise TypeError(f"expected an integer, got {given!r}")
    if isinstance(given, int):
        return given
    text = given.strip().lower()
    base = 16 if text.lstrip("+-").startswith("0x") else 8 if text.startswith("0o") else 10
    try:
        return int(text, base)
    except ValueError:
        raise ValueError("expected an integer") from None


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise TypeError(f"expected a number, got {given!r}")
    try:
        return float(given)
    except ValueError:
        raise ValueError("expected a number") from None


def _truth(given: Any) -> bool:
    if isinstance(given, str):
        if given.lower() in ("true", "t", "1"):
            return True
        if given.lower() in ("false", "f", "0"):
            return False
    elif isinstance(given, (bool, int, float)) and given in (0, 1):
        return bool(given)
    raise ValueError("Non-boolean argument to boolean flag")


def _within(
    parse: Callable[[Any], Any], what: str, lower_bound: Any, upper_bound: Any
) -> Callable[[Any], Any]:
    """Parse numbers between two bounds, which are allowed themselves; None is no bound."""

    def parse_within(given: Any) -> Any:
        value = parse(given)
        too_low = lower_bound is not None and value < lower_bound
        if too_low or (upper_bound is not None and value > upper_bound):
            low = "-inf" if lower_bound is None else lower_bound
            high = "inf" if upper_bound is None else upper_bound
            raise ValueError(f"{value} is not {what} in the range [{low}, {high}]")
        return value

    return parse_within


def _one_of(values: Sequence[str], case_sensitive: bool) -> Callable[[Any], str]:
    allowed = list(values)
    if not allowed or not all(isinstance(value, str) for value in allowed):
        raise ValueError(f"enum_values: expected a list of texts, got {values!r}")

    def parse(given: Any) -> str:
        text = _text(given)
        for value in allowed:
            if text == value or (not case_sensitive and text.lower() == value.lower()):
                return value
        raise ValueError(f"value should be one of <{'|'.join(allowed)}>")

    return parse


def _separated(separator: str | None) -> Callable[[Any], list[str]]:
    def parse(given: Any) -> list[str]:
        if isinstance(given, (list, tuple)):
            return list(given)
        text = _text(given)
        return [item.strip() for item in text.split(separator)] if text else []

    return parse


# ---- Declaring ----


@public("flags.DEFINE_string")
@_define
def DEFINE_string(  # noqa: N802
    name: str,
    default: str | None,
    help: str | None = "",  # noqa: A002
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Declare an option with a text.

    Parameters
    ----------
    name
        Its name, without dashes.
    default
        Its value when the command line does not give it; a text is read as on the command line.
    help
        What ``--help`` says of it.
    flag_values
        The options that it joins.
    args
        ``short_name``: a second name; ``required``: whether it must have a value.

    Raises
    ------
    TypeError
        An argument is of another type.
    DuplicateFlagError
        There is one of that name.
    IllegalFlagValueError
        The default is no value of the option.

    Examples
    --------
    >>> tf.flags.DEFINE_string("data_dir", "/tmp/data", "Where the data is.")
    >>> tf.flags.FLAGS(["prog", "--data_dir=here"])
    ['prog']
    >>> tf.flags.FLAGS.data_dir
    'here'
    """
    _declare(name, default, help, Kind("a string", _text), flag_values, **args)


@public("flags.DEFINE_integer")
@_define
def DEFINE_integer(  # noqa: N802
    name: str,
    default: int | str | None,
    help: str | None = "",  # noqa: A002
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Declare an option with an integer.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`.
    lower_bound, upper_bound
        The least and the greatest value.

    Examples
    --------
    >>> tf.flags.DEFINE_integer("steps", 100, "How many steps to train.")
    >>> tf.flags.FLAGS(["prog", "--steps=7"])
    ['prog']
    >>> tf.flags.FLAGS.steps
    7
    """
    _check_bounds(lower_bound, upper_bound)
    parse = _within(_integer, "an integer", lower_bound, upper_bound)
    _declare(name, default, help, Kind("an integer", parse), flag_values, **args)


@public("flags.DEFINE_float")
@_define
def DEFINE_float(  # noqa: N802
    name: str,
    default: float | str | None,
    help: str | None = "",  # noqa: A002
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Declare an option with a number.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`.
    lower_bound, upper_bound
        The least and the greatest value.

    Examples
    --------
    >>> tf.flags.DEFINE_float("rate", 0.1, "Rate of learning.")
    >>> tf.flags.FLAGS(["prog"])
    ['prog']
    >>> tf.flags.FLAGS.rate
    0.1
    """
    _check_bounds(lower_bound, upper_bound)
    parse = _within(_number, "a number", lower_bound, upper_bound)
    _declare(name, default, help, Kind("a number", parse), flag_values, **args)


def _check_bounds(lower_bound: Any, upper_bound: Any) -> None:
    for name, bound in (("lower_bound", lower_bound), ("upper_bound", upper_bound)):
        if bound is not None and not isinstance(bound, (int, float)):
            raise TypeError(f"{name}: expected a number, got {bound!r}")


@public("flags.DEFINE_boolean")
@_define
def DEFINE_boolean(  # noqa: N802
    name: str,
    default: bool | str | None,
    help: str | None = "",  # noqa: A002
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Declare an option that is true or false; alone it is true.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`; ``--noNAME`` makes it false.

    Examples
    --------
    >>> tf.flags.DEFINE_boolean("fast", True, "Whether to hurry.")
    >>> tf.flags.FLAGS(["prog", "--nofast"])
    ['prog']
    >>> tf.flags.FLAGS.fast
    False
    """
    kind = Kind("a boolean", _truth, is_switch=True)
    _declare(name, default, help, kind, flag_values, **args)


DEFINE_bool = public("flags.DEFINE_bool")(DEFINE_boolean)


@public("flags.DEFINE_enum")
@_define
def DEFINE_enum(  # noqa: N802
    name: str,
    default: str | None,
    enum_values: Sequence[str],
    help: str | None = "",  # noqa: A002
    flag_values: FlagValues = FLAGS,
    case_sensitive: bool = True,
    **args: Any,
) -> None:
    """Declare an option with one of several texts.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`.
    enum_values
        The texts.
    case_sensitive
        Whether capitals differ from small letters.

    Examples
    --------
    >>> tf.flags.DEFINE_enum("phase", "train", ["train", "test"], "What to do.")
    >>> tf.flags.FLAGS(["prog", "--phase=test"])
    ['prog']
    >>> tf.flags.FLAGS.phase
    'test'
    """
    if isinstance(enum_values, (str, bytes)) or not isinstance(enum_values, (list, tuple)):
        raise TypeError(f"enum_values: expected a list of texts, got {enum_values!r}")
    kind = Kind("|".join(map(str, enum_values)), _one_of(enum_values, case_sensitive))
    _declare(name, default, help, kind, flag_values, **args)


def _define_separated(
    public_name: str, separator: str | None, between: str, example: str
) -> Callable[..., None]:
    def define(
        name: str,
        default: Sequence[str] | str | None,
        help: str | None = "",  # noqa: A002
        flag_values: FlagValues = FLAGS,
        **args: Any,
    ) -> None:
        _declare(name, default, help, Kind("a list", _separated(separator)), flag_values, **args)

    define.__doc__ = f"""Declare an option with texts between {between}.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`; the default may be a list.

    Examples
    --------
    {example}
    """
    define.__name__ = define.__qualname__ = public_name
    return _define(define)


DEFINE_list = public("flags.DEFINE_list")(
    _define_separated(
        "DEFINE_list",
        ",",
        "commas",
        """>>> tf.flags.DEFINE_list("layers", ["64"], "Sizes of the layers.")
    >>> tf.flags.FLAGS(["prog", "--layers=128,64"])
    ['prog']
    >>> tf.flags.FLAGS.layers
    ['128', '64']""",
    )
)
DEFINE_spaceseplist = public("flags.DEFINE_spaceseplist")(
    _define_separated(
        "DEFINE_spaceseplist",
        None,
        "spaces",
        """>>> tf.flags.DEFINE_spaceseplist("words", None, "Words to look up.")
    >>> tf.flags.FLAGS(["prog", "--words=one two"])
    ['prog']
    >>> tf.flags.FLAGS.words
    ['one', 'two']""",
    )
)


@public("flags.DEFINE_multi_string")
@_define
def DEFINE_multi_string(  # noqa: N802
    name: str,
    default: Sequence[str] | str | None,
    help: str | None = "",  # noqa: A002
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Declare an option that may be given several times, each time with a text.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`; the default may be a list.

    Examples
    --------
    >>> tf.flags.DEFINE_multi_string("file", [], "Files to read.")
    >>> tf.flags.FLAGS(["prog", "--file=a", "--file=b"])
    ['prog']
    >>> tf.flags.FLAGS.file
    ['a', 'b']
    """
    kind = Kind("a string; repeat this option for a list", _text, repeated=True)
    _declare(name, default, help, kind, flag_values, **args)


@public("flags.DEFINE_multi_integer")
@_define
def DEFINE_multi_integer(  # noqa: N802
    name: str,
    default: Sequence[int] | int | None,
    help: str | None = "",  # noqa: A002
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
    **args: Any,
) -> None:
    """Declare an option that may be given several times, each time with an integer.

    Parameters
    ----------
    name, default, help, flag_values, args
        As for `DEFINE_string`; the default may be a list.
    lower_bound, upper_bound
        The least and the greatest value.

    Examples
    --------
    >>> tf.flags.DEFINE_multi_integer("size", [1], "Sizes.")
    >>> tf.flags.FLAGS(["prog", "--size=3", "--size=4"])
    ['prog']
    >>> tf.flags.FLAGS.size
    [3, 4]
    """
    _check_bounds(lower_bound, upper_bound)
    parse = _within(_integer, "an integer", lower_bound, upper_bound)
    kind = Kind("an integer; repeat this option for a list", parse, repeated=True)
    _declare(name, default, help, kind, flag_values, **args)
