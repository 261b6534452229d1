"""The public modules hold public names and nothing else."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import unittest.mock
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import millstream as tf
from millstream._impl.names import api_names

# What is run as ``python -m`` is no module of names.
_PROGRAMS = {"as_tensorflow", "doctor"}


def public_modules() -> list[ModuleType]:
    """The package and all modules in it but for the implementation, the tests and programs."""
    names = [
        info.name
        for info in pkgutil.walk_packages(tf.__path__, "millstream.")
        if "._" not in info.name
        and not info.name.endswith("_test")
        and info.name.partition(".")[2] not in {*_PROGRAMS, "public_names"}
    ]
    return [tf, *map(importlib.import_module, names)]


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_every_attribute_is_a_declared_name(module: ModuleType) -> None:
    declared = set(module.__all__)
    found = {name for name in vars(module) if not name.startswith("_")}
    assert found - declared <= (_PROGRAMS | {"public_names"} if module is tf else set())
    for name in declared:
        value = getattr(module, name)
        if inspect.ismodule(value) and value is not unittest.mock:
            assert value.__name__.startswith("millstream")
            assert "._" not in value.__name__
    assert declared <= set(dir(module))


@pytest.mark.parametrize(
    "name",
    [
        *("session", "graph", "arguments", "fetches", "operation", "gen_ops", "math_ops"),
        *("math.TYPE_CHECKING", "math.annotations", "errors.CLASS", "errors.Any", "errors.make"),
        *("nn.activations", "train.optimizer", "summary.crc32c", "flags.sys", "logging.takes"),
    ],
)
def test_modules_of_the_implementation_are_no_attributes(name: str) -> None:
    path, _, last = name.rpartition(".")
    with pytest.raises(AttributeError):
        getattr(getattr(tf, path) if path else tf, last)


def test_modules_stand_for_modules_of_the_api_only() -> None:
    api = api_names.all_names()
    for module in public_modules():
        path = module.__name__.partition(".")[2]
        for name in set(module.__all__) & set(api.get(path, ())):
            inner = f"{path}.{name}" if path else name
            value = getattr(module, name)
            if inspect.ismodule(value) and value is not unittest.mock:
                # The list of names leaves out what is in raw_ops.
                assert inner in api or name in {"flags", "raw_ops"}


@pytest.mark.parametrize(
    ("value", "module"),
    [
        (tf.Session, "millstream"),
        (tf.matmul, "millstream"),
        (tf.nn.relu6, "millstream.nn"),
        (tf.errors.OpError, "millstream.errors"),
        (tf.errors.NotFoundError, "millstream.errors"),
        (tf.train.AdamOptimizer, "millstream.train"),
    ],
)
def test_functions_and_classes_show_their_public_module(value: Any, module: str) -> None:
    assert value.__module__ == module
    assert pickle.loads(pickle.dumps(value)) is value


def test_a_second_name_of_a_module_can_be_imported() -> None:
    assert importlib.import_module("millstream.compat.v1") is tf
    assert importlib.import_module("millstream.app.flags") is tf.flags
    assert tf.compat.v1 is tf


def test_stubs_stand_beside_the_modules() -> None:
    for module in public_modules():
        assert module.__file__ is not None
        assert Path(module.__file__).with_suffix(".pyi").is_file()


def test_raw_ops_hold_each_op_and_no_other() -> None:
    raw_ops: Any = tf.raw_ops
    names = set(raw_ops.__all__)
    assert {"MatMul", "Conv2D", "VarHandleOp"} <= names
    assert not [name for name in names if name.startswith("_")]
    assert "ApplyAdam" not in names  # it works on a reference
    product = raw_ops.MatMul(a=[[2.0]], b=[[3.0]], transpose_b=True)
    assert product.op.type == "MatMul"
    with tf.Session() as session:
        assert session.run(product).tolist() == [[6.0]]


def test_raw_ops_have_the_parameters_of_the_api() -> None:
    raw_ops: Any = tf.raw_ops
    x, is_first = [[1.0, 2.0]], [True, False]
    with tf.Session() as session:
        assert session.run(raw_ops.Sum(input=x, axis=1)).tolist() == [3.0]
        assert not session.run(raw_ops.All(input=is_first, axis=0))
        assert session.run(raw_ops.Squeeze(input=x, axis=[0])).tolist() == [1.0, 2.0]
        assert session.run(raw_ops.ExpandDims(input=x, axis=0)).shape == (1, 1, 2)
        parts = session.run(raw_ops.Split(axis=1, value=x, num_split=2))
        assert [part.tolist() for part in parts] == [[[1.0]], [[2.0]]]
        chosen = raw_ops.Select(condition=is_first, x=[1, 2], y=[3, 4])
        assert session.run(chosen).tolist() == [1, 4]
        assert session.run(raw_ops.Where(condition=is_first)).tolist() == [[0]]
        levels = raw_ops.QuantizeV2(input=[0.5], min_range=0.0, max_range=1.0, T=tf.quint8)
        assert session.run(list(levels[1:])) == [0.0, 1.0]
