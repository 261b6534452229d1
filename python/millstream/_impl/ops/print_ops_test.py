"""What steps print: by Print, by print, and into files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_print_passes_a_tensor_on_and_shows_others(
    session: tf.Session, capfd: pytest.CaptureFixture[str]
) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    printed = tf.Print(x, [tf.shape(x), x, "text"], message="values: ", first_n=1, summarize=2)
    assert (printed.op.type, printed.dtype, printed.shape.as_list()) == (
        "Print",
        tf.float32,
        [None],
    )
    for _ in range(2):
        assert session.run(printed, {x: [5.0, 6.0, 7.0]}).tolist() == [5.0, 6.0, 7.0]
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "values: [3][5 6...][text]\n")


def test_the_gradient_of_print_is_that_of_its_input(session: tf.Session) -> None:
    x, shown = tf.constant(3.0), tf.constant(4.0)
    gradients = tf.gradients(tf.Print(x * x, [shown]), [x, shown])
    assert gradients[1] is None
    assert session.run(gradients[0]) == 6.0


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        (lambda x: (x,), "[0 1 2 ... 7 8 9]"),
        (lambda x: ("x is", x[:2], 3, 0.5, None), "x is [0 1] 3 0.5 None"),
        (lambda x: ({"b": x[:2], "a": [x[0], "s"]},), "{'a': [0, 's'], 'b': [0 1]}"),
        (lambda x: ((x[0], x[1]), []), "(0, 1) []"),
        (lambda x: ("{}", x[:1], "{}{}4"), "{} [0] {}{}4"),
        (lambda _: (tf.constant("as it is"),), "as it is"),
        (lambda _: (tf.constant(["a"]), tf.constant("b")), '["a"] "b"'),
        (lambda _: (), ""),
    ],
)
def test_print_shows_tensors_where_values_hold_them(
    session: tf.Session, capfd: pytest.CaptureFixture[str], inputs: Any, line: str
) -> None:
    printing = tf.print(*inputs(tf.range(10)))
    assert printing.type == "PrintV2"
    session.run(printing)
    assert capfd.readouterr().err == line + "\n"


def test_print_takes_separators_ends_and_counts(
    session: tf.Session, capfd: pytest.CaptureFixture[str]
) -> None:
    x = tf.range(5)
    session.run(tf.print(x, "x", summarize=1, sep="|", end="!"))
    session.run(tf.print(x, summarize=-1, end=None))
    assert capfd.readouterr().err == "[0 ... 4]|x![0 1 2 3 4]"


@pytest.mark.parametrize(
    ("stream", "is_out", "text"),
    [
        (lambda: sys.stdout, True, "one\n"),
        (lambda: sys.stderr, False, "one\n"),
        (lambda: tf.logging.INFO, False, "INFO:one\n"),
        (lambda: tf.logging.warn, False, "WARNING:one\n"),
        (lambda: tf.logging.error, False, "ERROR:one\n"),
    ],
)
def test_print_writes_to_the_stream_that_is_named(
    session: tf.Session, capfd: pytest.CaptureFixture[str], stream: Any, is_out: bool, text: str
) -> None:
    session.run(tf.print("one", output_stream=stream()))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ((text, "") if is_out else ("", text))


def test_print_appends_to_a_file(session: tf.Session, tmp_path: Path) -> None:
    path = tmp_path / "printed"
    printing = tf.print(tf.constant(1), output_stream=f"file://{path}")
    for _ in range(2):
        session.run(printing)
    assert path.read_text() == "1\n1\n"


def test_print_refuses_what_is_no_stream() -> None:
    for stream in ("stdout", 77, open, object()):
        with pytest.raises(ValueError, match="output_stream: expected"):
            tf.print("one", output_stream=stream)


def test_a_text_is_made_of_tensors(session: tf.Session) -> None:
    x = tf.range(10)
    assert session.run(tf.strings.format("x {}", x, summarize=1)) == b"x [0 ... 9]"
    assert session.run(tf.strings.format("%s and %s", (1, "b"), placeholder="%s")) == b'1 and "b"'
    with pytest.raises(ValueError, match="got 1 placeholders in template and 2 inputs"):
        tf.strings.format("{}", [x, x])
