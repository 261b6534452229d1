"""Functions of the program that make variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_creator_sees_all_arguments_and_changes_them() -> None:
    seen: list[dict[str, Any]] = []

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        seen.append(kwargs)
        return next_creator(**{**kwargs, "name": "other"})

    with tf.variable_creator_scope(creator):
        variable = tf.Variable([1.0], trainable=False, name="given")
    assert variable.name == "other:0"
    assert not variable.trainable
    assert seen[0]["initial_value"] == [1.0]
    assert set(seen[0]) == {
        "initial_value", "trainable", "collections", "validate_shape", "caching_device", "name",
        "variable_def", "dtype", "expected_shape", "import_scope", "constraint", "use_resource",
        "synchronization", "aggregation", "shape",
    }  # fmt: skip
    assert tf.Variable(1.0, name="given").name == "given:0"


def test_the_innermost_creator_is_called_first() -> None:
    calls = []

    def creator(word: str) -> Any:
        def make(next_creator: Any, **kwargs: Any) -> Any:
            calls.append(word)
            return next_creator(**kwargs)

        return make

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        tf.get_variable("v", [2])
        assert calls == ["inner", "outer"]
        with tf.Graph().as_default():
            tf.Variable(1.0)
    assert calls == ["inner", "outer"]


def test_a_creator_may_return_another_variable() -> None:
    known = tf.Variable(1.0)
    with tf.variable_creator_scope(lambda next_creator, **kwargs: known):
        assert tf.Variable(2.0) is known
    assert tf.global_variables() == [known]


def test_layers_and_optimizers_make_theirs_so_too() -> None:
    names = []

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        made = next_creator(**kwargs)
        names.append(made.op.name)
        return made

    with tf.variable_creator_scope(creator):
        loss = tf.reduce_sum(tf.layers.dense(tf.ones([1, 2]), 3, use_bias=False))
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    assert names == ["dense/kernel", "dense/kernel/Momentum"]


def test_a_creator_ends_with_its_block() -> None:
    def failing(next_creator: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no variables here")

    with pytest.raises(RuntimeError, match="no variables"), tf.variable_creator_scope(failing):
        tf.Variable(1.0)
    tf.Variable(1.0)
