"""The options of a program: their values, and how a command line is read."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from millstream._impl.base.public import public


@public("flags.Error")
class Error(Exception):
    """Base of the errors of options.

    Examples
    --------
    >>> issubclass(tf.flags.UnrecognizedFlagError, tf.flags.Error)
    True
    """


@public("flags.DuplicateFlagError")
class DuplicateFlagError(Error):
    """An option is declared twice.

    Examples
    --------
    >>> tf.flags.DEFINE_integer("declared_twice", 1, "A number.")
    >>> tf.flags.DEFINE_integer("declared_twice", 1, "A number.")
    Traceback (most recent call last):
    millstream.flags.DuplicateFlagError: The flag 'declared_twice' is defined twice.
    """


@public("flags.IllegalFlagValueError")
class IllegalFlagValueError(Error, ValueError):
    """A text is no value of its option.

    Examples
    --------
    >>> tf.flags.DEFINE_integer("n_steps", "many", "A number.")
    Traceback (most recent call last):
    millstream.flags.IllegalFlagValueError: flag --n_steps=many: expected an integer (the default)
    """


@public("flags.ValidationError")
class ValidationError(IllegalFlagValueError):
    """A value does not pass the check of its option.

    Examples
    --------
    >>> issubclass(tf.flags.ValidationError, tf.flags.IllegalFlagValueError)
    True
    """


@public("flags.UnrecognizedFlagError")
class UnrecognizedFlagError(Error):
    """An option is not declared.

    Parameters
    ----------
    flagname
        Its name.
    flagvalue
        Its value.
    suggestions
        Names that are nearly the same.

    Examples
    --------
    >>> str(tf.flags.UnrecognizedFlagError("stesp", suggestions=["steps"]))
    "Unknown command line flag 'stesp'. Did you mean: steps ?"
    """

    def __init__(self, flagname: str, flagvalue: Any = "", suggestions: Any = None) -> None:
        self.flagname = flagname
        self.flagvalue = flagvalue
        hint = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag '{flagname}'{hint}")


class Kind(NamedTuple):
    """What an option holds.

    ``parse`` takes a text, or a value that a program gives, and raises ValueError or TypeError. A
    switch may stand without a value. The values of a `repeated` option are collected.
    """

    type_name: str
    parse: Callable[[Any], Any]
    is_switch: bool = False
    repeated: bool = False


class Flag:
    """An option: ``FLAGS["name"]``.

    Attributes
    ----------
    name, short_name, help
        Its names, without dashes, and its description.
    value, default
        Its value, and the one without a command line.
    present
        How often the command line had it.
    """

    def __init__(
        self, name: str, default: Any, about: str, kind: Kind, short_name: str | None = None
    ) -> None:
        self.name = name
        self.short_name = short_name
        self.help = about
        self.kind = kind
        self.present = 0
        self.checks: list[tuple[Callable[[Any], Any], str]] = []
        self.default: Any = None if default is None else self._of_default(default)
        self.value: Any = self.default

    @property
    def using_default_value(self) -> bool:
        """Whether the value is the default."""
        return self.present == 0 and bool(self.value == self.default)

    def parse(self, given: Any) -> None:
        """Take a value from a command line."""
        value = self.parsed(given)
        if self.kind.repeated:
            value = [*(self.value if self.present else []), value]
        self.value = value
        self.present += 1

    def parsed(self, given: Any) -> Any:
        """The value that a text stands for."""
        try:
            return self.kind.parse(given)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={given}: {error}") from None

    def _of_default(self, default: Any) -> Any:
        if not self.kind.repeated:
            return self.parsed(default)
        items = default if isinstance(default, (list, tuple)) else [default]
        return [self.parsed(item) for item in items]

    def unparse(self) -> None:
        """Take the default again."""
        self.value = self.default
        self.present = 0

    def set_default(self, default: Any) -> None:
        """Set the default, and the value where the command line has none."""
        self.default = None if default is None else self._of_default(default)
        if not self.present:
            self.value = self.default

    def check(self) -> None:
        """Raise ValidationError when a check of the value fails."""
        for function, message in self.checks:
            try:
                passed = function(self.value)
            except ValidationError as error:
                message, passed = str(error), False
            if not passed:
                raise ValidationError(f"flag --{self.name}={self.value}: {message}")

    def described(self) -> str:
        """Its part of the help: names, description and default."""
        names = f"--[no]{self.name}" if self.kind.is_switch else f"--{self.name}"
        short = f"-{self.short_name}," if self.short_name else ""
        default = "" if self.default is None else f"\n    (default: {self.default!r})"
        kind = "" if self.kind.is_switch else f"\n    ({self.kind.type_name})"
        return f"  {short}{names}: {self.help}{default}{kind}"


@public("flags.FlagValues")
class FlagValues:
    """The options of a program and their values, read as attributes.

    The command line is read at the first attribute, unless it was read before: by calling the
    object with a list of arguments, as `tf.app.run` does.

    Examples
    --------
    >>> options = tf.flags.FlagValues()
    >>> tf.flags.DEFINE_integer("steps", 100, "How many steps.", flag_values=options)
    >>> options(["prog", "--steps", "7", "file"])
    ['prog', 'file']
    >>> options.steps, options["steps"].default
    (7, 100)
    """

    def __init__(self) -> None:
        # Not by attribute: those are the options.
        self.__dict__.update(
            {"__flags": {}, "_is_parsed": False, "_gnu": False, "_validators": [], "_short": {}}
        )

    # ---- Declaring ----

    def add(self, flag: Flag) -> None:
        """Declare an option."""
        if flag.name in self or (flag.short_name and flag.short_name in self.__dict__["_short"]):
            raise DuplicateFlagError(f"The flag '{flag.name}' is defined twice.")
        self._flags()[flag.name] = flag
        if flag.short_name:
            self.__dict__["_short"][flag.short_name] = flag

    def add_validator(self, names: Sequence[str], check: Callable[[], None]) -> None:
        """Add a check that runs when the command line has been read and when a value is set.

        Parameters
        ----------
        names
            The options that it looks at.
        check
            The check, which raises ValidationError.
        """
        for name in names:
            self[name]  # an option that is not declared is an error now
        self.__dict__["_validators"].append((set(names), check))

    def set_default(self, name: str, value: Any) -> None:
        """Set the default of an option, and its value where the command line has none."""
        self[name].set_default(value)

    def _flags(self) -> dict[str, Flag]:
        flags: dict[str, Flag] = self.__dict__["__flags"]
        return flags

    # ---- Reading the command line ----

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Read a command line.

        Parameters
        ----------
        argv
            The program and its arguments. What follows the first one that is no option, or "--", is
            not read.
        known_only
            Whether options that are not declared are left, instead of an error.

        Returns
        -------
        list
            The program and what is left.

        Raises
        ------
        UnrecognizedFlagError
            An option is not declared.
        IllegalFlagValueError
            A value is none of its option, or is missing, or does not pass a check.
        """
        if isinstance(argv, (str, bytes)) or not argv:
            raise TypeError(f"argv: expected a list of the program and arguments, got {argv!r}")
        rest = self._read(list(argv[1:]), known_only)
        self.__dict__["_is_parsed"] = True
        self.validate_all_flags()
        return [argv[0], *rest]

    def _read(self, arguments: list[str], known_only: bool) -> list[str]:
        left: list[str] = []
        while arguments:
            argument = arguments.pop(0)
            if argument == "--":
                left += ["--"] if known_only else []
                break
            if not argument.startswith("-") or argument == "-":
                left.append(argument)
                if self.__dict__["_gnu"]:
                    continue
                break
            name, equals, value = argument.lstrip("-").partition("=")
            if not self._take(name, value if equals else None, arguments):
                if not known_only:
                    raise UnrecognizedFlagError(name, value, self._similar(name))
                left.append(argument)
        return left + arguments

    def _take(self, name: str, value: str | None, following: list[str]) -> bool:
        """Sets an option; False when there is none of that name."""
        flag = self._find(name)
        if flag is None and name.startswith("no"):
            flag = self._find(name[2:])
            if flag is not None and flag.kind.is_switch:
                if value is not None:
                    raise IllegalFlagValueError(f"flag --{name} takes no value, got {value!r}")
                flag.parse("false")
                return True
            flag = None
        if flag is None:
            return False
        if value is None and flag.kind.is_switch:
            value = "true"
        elif value is None:
            if not following:
                raise IllegalFlagValueError(f"Missing value for flag --{name}")
            value = following.pop(0)
        flag.parse(value)
        return True

    def _find(self, name: str) -> Flag | None:
        found: Flag | None = self._flags().get(name) or self.__dict__["_short"].get(name)
        return found

    def _similar(self, name: str) -> list[str]:
        switches = [f"no{flag.name}" for flag in self._flags().values() if flag.kind.is_switch]
        return difflib.get_close_matches(name, [*self, *switches], n=3)

    def validate_all_flags(self) -> None:
        """Run the checks of all options.

        Raises
        ------
        ValidationError
            One of them does not pass.
        """
        for flag in self._flags().values():
            flag.check()
        for _, check in self.__dict__["_validators"]:
            check()

    def is_parsed(self) -> bool:
        """Whether a command line was read."""
        return bool(self.__dict__["_is_parsed"])

    def mark_as_parsed(self) -> None:
        """Leave the values as they are: no command line will be read."""
        self.__dict__["_is_parsed"] = True

    def unparse_flags(self) -> None:
        """Take all defaults again; the next attribute reads the command line."""
        for flag in self._flags().values():
            flag.unparse()
        self.__dict__["_is_parsed"] = False

    def set_gnu_getopt(self, gnu_getopt: bool = True) -> None:
        """Say whether options may stand after arguments that are none.

        Parameters
        ----------
        gnu_getopt
            Whether they may.
        """
        self.__dict__["_gnu"] = bool(gnu_getopt)

    def is_gnu_getopt(self) -> bool:
        """Whether options may stand after arguments that are none."""
        return bool(self.__dict__["_gnu"])

    # ---- Values ----

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"no flag is called {name!r}")
        if not self.is_parsed():
            self(sys.argv)
        return self._flags()[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self:
            raise AttributeError(f"no flag is called {name!r}")
        flag = self._flags()[name]
        flag.value = value
        flag.check()
        for names, check in self.__dict__["_validators"]:
            if name in names:
                check()

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(f"no flag is called {name!r}")
        flag = self._flags().pop(name)
        self.__dict__["_short"].pop(flag.short_name, None)

    def __getitem__(self, name: str) -> Flag:
        if name not in self:
            raise KeyError(name)
        return self._flags()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._flags()

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags())

    def __len__(self) -> int:
        return len(self._flags())

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self])

    def __repr__(self) -> str:
        if not self.is_parsed():
            return "<tf.flags.FLAGS, not read yet>"
        return f"<tf.flags.FLAGS {self.flag_values_dict()}>"

    def flag_values_dict(self) -> dict[str, Any]:
        """The values by name."""
        return {name: flag.value for name, flag in self._flags().items()}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """The value of an option, or `default` where there is none of that name, or it is None.

        Parameters
        ----------
        name
            The option.
        default
            What is returned without one.
        """
        value = getattr(self, name) if name in self else None
        return default if value is None else value

    def flags_into_string(self) -> str:
        """The options that have values as lines of a command line."""
        lines = []
        for name, flag in sorted(self._flags().items()):
            if flag.kind.is_switch and flag.value is not None:
                lines.append(f"--{'' if flag.value else 'no'}{name}")
            elif flag.value is not None:
                values = flag.value if flag.kind.repeated else [flag.value]
                lines += [f"--{name}={_as_text(value)}" for value in values]
        return "".join(line + "\n" for line in lines)

    def get_help(self) -> str:
        """What ``--help`` says of the options."""
        return "\n".join(flag.described() for _, flag in sorted(self._flags().items()))


def _as_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


FLAGS = public("flags.FLAGS")(FlagValues())
