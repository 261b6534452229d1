"""Critical sections: one execution at a time, and errors of sections that wait for themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def _variable(session: tf.Session, value: float = 0.0) -> Any:
    variable = tf.Variable(value, use_resource=True)
    session.run(variable.initializer)
    return variable


def _increment(variable: Any) -> Callable[[], Any]:
    """Reads and then writes, so that two at a time lose one of the increments."""

    def increment() -> Any:
        value = variable.read_value()
        with tf.control_dependencies([value]):
            later = tf.py_func(lambda number: number, [value], tf.float32)
            later.set_shape([])
        return variable.assign(later + 1.0)

    return increment


def _on_threads(count: int, function: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=function) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_no_increment_is_lost(session: tf.Session) -> None:
    variable = _variable(session)
    section = tf.CriticalSection(name="section")
    assert section.name == "section"
    more = [section.execute(_increment(variable)) for _ in range(3)]

    def run() -> None:
        for _ in range(10):
            session.run(more)

    _on_threads(4, run)
    assert float(session.run(variable.read_value())) == 120.0


def test_sections_of_one_shared_name_are_one(session: tf.Session) -> None:
    variable = _variable(session)
    more = [tf.CriticalSection(shared_name="one").execute(_increment(variable)) for _ in range(2)]
    _on_threads(4, lambda: session.run(more))
    assert float(session.run(variable.read_value())) == 8.0


def test_results_have_the_structure_of_the_function(session: tf.Session) -> None:
    variable = _variable(session)
    section = tf.CriticalSection()
    result = section.execute(lambda: {"a": tf.constant(1.0), "b": [variable.assign(5.0).op, None]})
    found = session.run({"a": result["a"], "b": result["b"][0]})
    assert found == {"a": 1.0, "b": None}
    assert result["b"][1] is None
    assert section.execute(lambda: None) is None
    assert float(session.run(variable.read_value())) == 5.0


def test_an_error_leaves_the_section(session: tf.Session) -> None:
    section = tf.CriticalSection()
    x = tf.placeholder(tf.float32, [])
    checked = section.execute(lambda: tf.check_numerics(x, "no number"))
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: float("nan")})
        assert float(session.run(checked, {x: 2.0})) == 2.0


def test_a_section_in_branches_and_loops(session: tf.Session) -> None:
    variable = _variable(session)
    section = tf.CriticalSection()
    taken = tf.placeholder(tf.bool, [])
    chosen = tf.cond(
        taken,
        lambda: tf.identity(section.execute(lambda: variable.assign_add(1.0))),
        lambda: tf.constant(0.0),
    )
    assert float(session.run(chosen, {taken: True})) == 1.0
    assert float(session.run(chosen, {taken: False})) == 0.0

    def body(i: Any) -> Any:
        with tf.control_dependencies([section.execute(lambda: variable.assign_add(10.0))]):
            return i + 1

    session.run(tf.while_loop(lambda i: i < 5, body, [0]))
    assert float(session.run(variable.read_value())) == 51.0


def test_a_section_must_not_wait_for_itself(session: tf.Session) -> None:
    section = tf.CriticalSection(shared_name="s")
    again = tf.CriticalSection(shared_name="s")
    for other in (section, again):
        with pytest.raises(ValueError, match="attempts to directly access the CriticalSection"):
            section.execute(partial(other.execute, lambda: tf.constant(1.0)))
    with pytest.raises(ValueError, match="wait for itself"):
        section.execute(
            lambda: tf.cond(
                tf.constant(True),
                lambda: section.execute(lambda: tf.constant(1.0)),
                lambda: tf.constant(2.0),
            )
        )
    inner = tf.CriticalSection()
    nested = section.execute(lambda: inner.execute(lambda: tf.constant(3.0)))
    assert float(session.run(nested)) == 3.0


def test_a_resource_belongs_to_one_section(session: tf.Session) -> None:
    variable = _variable(session)
    first, second = tf.CriticalSection(), tf.CriticalSection()
    first.execute(lambda: variable.assign_add(1.0))
    first.execute(lambda: variable.assign_add(2.0))
    with pytest.raises(ValueError, match="requested exclusive resource access"):
        second.execute(lambda: variable.assign_add(1.0))
    with pytest.raises(ValueError, match="exclusive_resource_access=False"):
        second.execute(lambda: variable.assign_add(1.0), exclusive_resource_access=False)
    third, fourth = tf.CriticalSection(), tf.CriticalSection()
    other = _variable(session)
    for section in (third, fourth):
        section.execute(lambda: other.assign_add(1.0), exclusive_resource_access=False)


def test_what_the_constructor_refuses() -> None:
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.CriticalSection(shared_name="a", critical_section_def="b")
    with pytest.raises(ValueError, match="not supported"):
        tf.CriticalSection(critical_section_def="b")
