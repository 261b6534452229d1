"""Options of programs: how a command line is read."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import millstream as tf


@pytest.fixture
def options() -> Any:
    """Options of a program: one of each kind."""
    flags = tf.flags
    made = flags.FlagValues()
    flags.DEFINE_string("name", "x", "A text.", flag_values=made, short_name="n")
    flags.DEFINE_integer("count", 1, "A number.", 0, 10, flag_values=made)
    flags.DEFINE_float("rate", 1, "A number.", flag_values=made)
    flags.DEFINE_boolean("fast", False, "A switch.", flag_values=made)
    flags.DEFINE_enum("phase", "train", ["train", "test"], "One of two.", flag_values=made)
    flags.DEFINE_list("layers", "64,32", "Sizes.", flag_values=made)
    flags.DEFINE_multi_integer("size", 5, "Sizes.", flag_values=made)
    return made


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        ([], "name", "x"),
        (["--name=a=b"], "name", "a=b"),
        (["--name", "b"], "name", "b"),
        (["-name", "b"], "name", "b"),
        (["-n", "b"], "name", "b"),
        (["--name="], "name", ""),
        (["--name=a", "--name=b"], "name", "b"),
        (["--count=7"], "count", 7),
        (["--count", "0x7"], "count", 7),
        (["--rate=2e-3"], "rate", 0.002),
        ([], "rate", 1.0),
        (["--fast"], "fast", True),
        (["--fast=True"], "fast", True),
        (["--fast=0"], "fast", False),
        (["--fast", "--nofast"], "fast", False),
        (["--phase=test"], "phase", "test"),
        ([], "layers", ["64", "32"]),
        (["--layers=a, b"], "layers", ["a", "b"]),
        (["--layers="], "layers", []),
        ([], "size", [5]),
        (["--size=1", "--size=2"], "size", [1, 2]),
    ],
)
def test_values_are_read(options: Any, arguments: list[str], name: str, expected: Any) -> None:
    assert options(["prog", *arguments]) == ["prog"]
    found = getattr(options, name)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--count=a"], "flag --count=a: expected an integer"),
        (["--count=11"], r"flag --count=11: 11 is not an integer in the range \[0, 10\]"),
        (["--rate=a"], "flag --rate=a: expected a number"),
        (["--fast=maybe"], "flag --fast=maybe: Non-boolean argument to boolean flag"),
        (["--nofast=1"], "flag --nofast takes no value"),
        (["--phase=both"], r"flag --phase=both: value should be one of <train\|test>"),
        (["--count"], "Missing value for flag --count"),
    ],
)
def test_wrong_values_are_errors(options: Any, arguments: list[str], words: str) -> None:
    with pytest.raises(tf.flags.IllegalFlagValueError, match=words):
        options(["prog", *arguments])


def test_what_is_no_option_ends_the_options(options: Any) -> None:
    assert options(["prog", "--fast", "file", "--count=3"]) == ["prog", "file", "--count=3"]
    assert options(["prog", "--fast", "--", "--count=3"]) == ["prog", "--count=3"]
    assert (options.fast, options.count) == (True, 1)
    options.set_gnu_getopt()
    assert options(["prog", "file", "--count=3", "-"]) == ["prog", "file", "-"]
    assert options.count == 3


def test_unknown_options_are_errors_or_left(options: Any) -> None:
    with pytest.raises(tf.flags.UnrecognizedFlagError) as caught:
        options(["prog", "--cuont=3"])
    assert str(caught.value) == "Unknown command line flag 'cuont'. Did you mean: count ?"
    left = options(["prog", "--other=1", "--count=3", "-z"], known_only=True)
    assert left == ["prog", "--other=1", "-z"]
    assert options.count == 3
    with pytest.raises(tf.flags.UnrecognizedFlagError, match="'name_nope'"):
        options(["prog", "--name_nope"])


def test_the_first_attribute_reads_the_command_line(
    options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["prog", "--count=4"])
    assert not options.is_parsed()
    assert options.count == 4
    assert options.is_parsed()
    monkeypatch.setattr(sys, "argv", ["prog", "--count=5"])
    assert options.count == 4
    options.unparse_flags()
    assert options.count == 5
    with pytest.raises(AttributeError, match="no flag is called 'nope'"):
        _ = options.nope


def test_values_can_be_set(options: Any) -> None:
    options.mark_as_parsed()
    options.count = 9
    assert (options.count, options["count"].default) == (9, 1)
    options.set_default("name", "y")
    assert (options.name, options["name"].default) == ("y", "y")
    with pytest.raises(AttributeError, match="no flag is called 'nope'"):
        options.nope = 1
    assert options.flag_values_dict()["count"] == 9
    assert "--count=9\n--nofast\n--layers=64,32\n" in options.flags_into_string()
    assert sorted(options) == sorted(options.__flags)
    del options.count
    assert "count" not in options
    assert len(options) == 6


def test_an_option_is_declared_once(options: Any) -> None:
    with pytest.raises(tf.flags.DuplicateFlagError, match="The flag 'count' is defined twice"):
        tf.flags.DEFINE_string("count", "", "", flag_values=options)


def test_declarations_take_old_names_of_arguments() -> None:
    made = tf.flags.FlagValues()
    define: Any = tf.flags.DEFINE_integer
    define(flag_name="old", default_value=3, docstring="A number.", flag_values=made)
    assert (made["old"].value, made["old"].help) == (3, "A number.")


@pytest.mark.parametrize(
    ("define", "default"),
    [
        (tf.flags.DEFINE_string, 3),
        (tf.flags.DEFINE_integer, 0.5),
        (tf.flags.DEFINE_integer, "a"),
        (tf.flags.DEFINE_float, "a"),
        (tf.flags.DEFINE_boolean, "maybe"),
    ],
)
def test_defaults_are_values_of_the_option(define: Any, default: Any) -> None:
    with pytest.raises(tf.flags.IllegalFlagValueError, match=r"flag --wrong=.*\(the default\)"):
        define("wrong", default, "")
    assert "wrong" not in tf.flags.FLAGS


def test_checks_run_after_reading_and_setting(options: Any) -> None:
    tf.flags.register_validator("count", lambda n: n != 3, "not three", options)
    options(["prog", "--count=2"])
    for act in (lambda: options(["prog", "--count=3"]), lambda: setattr(options, "count", 3)):
        with pytest.raises(tf.flags.ValidationError, match="flag --count=3: not three"):
            act()
    with pytest.raises(KeyError, match="nope"):
        tf.flags.register_validator("nope", bool, "", options)


def test_options_may_be_required_or_exclude_each_other(options: Any) -> None:
    tf.flags.DEFINE_string("first", None, "", flag_values=options)
    tf.flags.DEFINE_string("second", None, "", flag_values=options, required=True)
    with pytest.raises(tf.flags.ValidationError, match="--second must have a value other than"):
        options(["prog"])
    tf.flags.mark_flags_as_mutual_exclusive(["first", "second"], flag_values=options)
    assert options(["prog", "--second=2"]) == ["prog"]
    with pytest.raises(tf.flags.ValidationError, match="flags first, second: at most one must"):
        options(["prog", "--first=1", "--second=2"])


def test_a_program_gets_what_is_left_and_ends_with_its_result() -> None:
    tf.flags.DEFINE_integer("of_flags_test", 1, "A number of the test.")
    seen: list[Any] = []

    def main(argv: Any) -> int:
        seen.append((argv, tf.flags.FLAGS.of_flags_test))
        return 3

    with pytest.raises(SystemExit) as caught:
        tf.app.run(main, argv=["prog", "--of_flags_test=2", "--unknown", "file"])
    assert caught.value.code == 3
    assert seen == [(["prog", "--unknown", "file"], 2)]


def test_a_program_says_what_is_wrong_and_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tf.flags.DEFINE_integer("of_help_test", 17, "A number of the test.")
    with pytest.raises(SystemExit) as caught:
        tf.app.run(print, argv=["prog", "--of_help_test=a"])
    assert caught.value.code == 1
    error = capsys.readouterr().err
    assert "FATAL Flags parsing error:\n  flag --of_help_test=a: expected an integer" in error
    with pytest.raises(SystemExit) as caught:
        tf.app.run(print, argv=["prog", "--help"])
    assert caught.value.code == 1
    text = capsys.readouterr().out
    assert "--of_help_test: A number of the test.\n    (default: 17)" in text
