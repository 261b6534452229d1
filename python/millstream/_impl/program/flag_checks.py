"""Checks of options: validators, options that must be given, options that exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.program.flag_values import FLAGS, FlagValues, ValidationError


@public("flags.register_validator")
def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Check the value of an option when the command line has been read, and when it is set.

    Parameters
    ----------
    flag_name
        The option.
    checker
        A function from its value to whether it is allowed; it may raise ValidationError.
    message
        What the error says.
    flag_values
        The options that it is one of.

    Raises
    ------
    KeyError
        There is no such option.

    Examples
    --------
    >>> options = tf.flags.FlagValues()
    >>> tf.flags.DEFINE_integer("even", 2, "A number.", flag_values=options)
    >>> tf.flags.register_validator("even", lambda n: n % 2 == 0, "must be even", options)
    >>> options(["prog", "--even=3"])
    Traceback (most recent call last):
    millstream.flags.ValidationError: flag --even=3: must be even
    """
    if not isinstance(flag_name, str):
        raise TypeError(f"flag_name: expected the name of an option, got {flag_name!r}")
    if not callable(checker):
        raise TypeError(f"checker: expected a function, got {checker!r}")
    if not isinstance(message, str):
        raise TypeError(f"message: expected a text, got {message!r}")
    if not isinstance(flag_values, FlagValues):
        raise TypeError(f"flag_values: expected a tf.flags.FlagValues, got {flag_values!r}")
    flag_values[flag_name].checks.append((checker, message))


@public("flags.mark_flag_as_required")
def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Let an option be an error that has no value when the command line has been read.

    Parameters
    ----------
    flag_name
        The option.
    flag_values
        The options that it is one of.

    Examples
    --------
    >>> options = tf.flags.FlagValues()
    >>> tf.flags.DEFINE_string("to", None, "A folder.", flag_values=options)
    >>> tf.flags.mark_flag_as_required("to", options)
    >>> options(["prog"])
    Traceback (most recent call last):
    millstream.flags.ValidationError: flag --to=None: Flag --to must have a value other than None.
    """
    message = f"Flag --{flag_name} must have a value other than None."
    register_validator(flag_name, lambda value: value is not None, message, flag_values)


@public("flags.mark_flags_as_required")
def mark_flags_as_required(flag_names: Sequence[str], flag_values: FlagValues = FLAGS) -> None:
    """`mark_flag_as_required` of several options.

    Parameters
    ----------
    flag_names
        The options.
    flag_values
        The options that they are some of.

    Examples
    --------
    >>> options = tf.flags.FlagValues()
    >>> tf.flags.DEFINE_string("source", "here", "A folder.", flag_values=options)
    >>> tf.flags.mark_flags_as_required(["source"], options)
    >>> options(["prog"])
    ['prog']
    """
    if not isinstance(flag_names, (list, tuple)):
        raise TypeError(f"flag_names: expected a list of names, got {flag_names!r}")
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


@public("flags.mark_flags_as_mutual_exclusive")
def mark_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Let it be an error when more than one of several options has a value that is not None.

    Parameters
    ----------
    flag_names
        The options.
    required
        Whether one of them must have a value.
    flag_values
        The options that they are some of.

    Examples
    --------
    >>> options = tf.flags.FlagValues()
    >>> tf.flags.DEFINE_string("one", None, "A text.", flag_values=options)
    >>> tf.flags.DEFINE_string("other", None, "A text.", flag_values=options)
    >>> tf.flags.mark_flags_as_mutual_exclusive(["one", "other"], flag_values=options)
    >>> options(["prog", "--one=1", "--other=2"])
    Traceback (most recent call last):
    millstream.flags.ValidationError: flags one, other: at most one must have a value, 2 have
    """
    if not isinstance(flag_names, (list, tuple)):
        raise TypeError(f"flag_names: expected a list of names, got {flag_names!r}")
    if not isinstance(flag_values, FlagValues):
        raise TypeError(f"flag_values: expected a tf.flags.FlagValues, got {flag_values!r}")

    def check() -> None:
        count = sum(flag_values[name].value is not None for name in flag_names)
        if count > 1 or (required and count == 0):
            wanted = "exactly" if required else "at most"
            verb = "has" if count == 1 else "have"
            raise ValidationError(
                f"flags {', '.join(flag_names)}: {wanted} one must have a value, {count} {verb}"
            )

    flag_values.add_validator(flag_names, check)
