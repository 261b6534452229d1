"""Modules find what their attributes hold."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf


class Inner(tf.Module):
    """Has a variable that is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(1.0, trainable=False, name="v")


class MyOuterModule(tf.Module):
    """Has variables in lists, and a module in a dictionary."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self.weights = [tf.Variable(2.0, name="b"), tf.Variable(3.0, name="a")]
        self.parts = {"inner": Inner()}
        self.again = self.weights[0]

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        return tf.add(x, self.weights[0], name="sum")


def test_variables_are_found_once_and_those_of_inner_modules_last() -> None:
    with tf.Graph().as_default():
        module = MyOuterModule()
        assert [one.op.name for one in module.variables] == ["b", "a", "v"]
        assert [one.op.name for one in module.trainable_variables] == ["b", "a"]
        assert module.submodules == (module.parts["inner"],)


def test_names_are_those_of_classes_or_given() -> None:
    with tf.Graph().as_default():
        assert MyOuterModule().name == "my_outer_module"
        assert MyOuterModule("other").name == "other"
        with pytest.raises(ValueError, match="is not a valid module name"):
            MyOuterModule("a b")


def test_a_method_runs_in_the_scope_of_its_module() -> None:
    with tf.Graph().as_default():
        module = MyOuterModule("m")
        assert module(1.0).op.name == "m/sum"
        with module.name_scope:
            assert tf.constant(1).op.name == "m/Const"


def test_attributes_that_cannot_be_searched_are_an_error() -> None:
    with tf.Graph().as_default():
        module = tf.Module("m")
        module.mixed = {1: 2, "a": 3}  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="attribute 'mixed'"):
            module.variables  # noqa: B018


def test_variables_of_layers_are_those_of_their_module() -> None:
    with tf.Graph().as_default():
        module = tf.Module("m")
        module.layer = tf.layers.Dense(2)  # type: ignore[attr-defined]

        def names() -> list[str]:
            return [variable.op.name for variable in module.variables]

        assert names() == []
        module.layer(tf.ones([1, 3]))  # type: ignore[attr-defined]
        assert names() == ["dense/kernel", "dense/bias"]
