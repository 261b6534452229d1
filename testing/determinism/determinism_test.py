"""Trained twice, the same bits; with ``deterministic``, for any number of threads and of CPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import millstream as tf
from examples import fashion_mnist
from testing.ops.support.definitions import is_wanted
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.registry import large_cases, missing_large_cases

_CASES = [
    (ops, case, dtype)
    for ops, case in large_cases()
    if any(map(is_wanted, ops))
    for dtype in case.dtypes
]
_NAMES = [f"{ops[0]}-{dtype.name}" for ops, _, dtype in _CASES]


def config_of(threads: int, cpus: int = 1, deterministic: bool = True) -> tf.ConfigProto:
    """The config of a session."""
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, device_count={"CPU": cpus})
    config.experimental.deterministic = deterministic
    return config


def trained(name: str, steps: int, config: tf.ConfigProto, cpus: int = 1) -> dict[str, bytes]:
    """Every variable after some steps of an example, its layers on the CPUs in turn."""
    random = np.random.RandomState(3)
    with tf.Graph().as_default():
        model = fashion_mnist.Model(name, [f"/cpu:{number}" for number in range(cpus)])
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                feed = {
                    model.images: random.uniform(0, 1, [96, 784]).astype(np.float32),
                    model.classes: random.randint(0, 10, 96),
                }
                session.run(model.train, feed)
            variables = tf.global_variables()
            values = session.run(variables)
    pairs = zip(variables, values, strict=True)
    return {variable.name: np.asarray(value).tobytes() for variable, value in pairs}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "steps"), [("mlp", 12), ("lenet", 4)])
def test_trained_twice_a_model_has_the_same_bits(name: str, steps: int, threads: int) -> None:
    config = config_of(threads, deterministic=False)
    assert trained(name, steps, config) == trained(name, steps, config)


@pytest.mark.parametrize(("threads", "cpus"), [(2, 1), (4, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize(("name", "steps"), [("mlp", 12), ("lenet", 4)])
def test_deterministic_training_depends_on_neither_threads_nor_cpus(
    name: str, steps: int, threads: int, cpus: int
) -> None:
    expected = trained(name, steps, config_of(1))
    assert trained(name, steps, config_of(threads, cpus), cpus) == expected


def bits(fetches: Sequence[Any], feeds: dict[Any, Any], config: tf.ConfigProto) -> list[bytes]:
    """What a session computes of tensors, variables begun anew."""
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return [np.asarray(value).tobytes() for value in session.run(fetches, feeds)]


def flat(built: Any) -> list[Any]:
    """The tensors of nested lists."""
    if isinstance(built, (list, tuple)):
        return [tensor for part in built for tensor in flat(part)]
    return [built]


@pytest.mark.parametrize(("ops", "case", "dtype"), _CASES, ids=_NAMES)
def test_a_kernel_gives_the_same_bits_for_one_two_and_four_threads(
    ops: tuple[str, ...], case: LargeCase, dtype: tf.DType
) -> None:
    with tf.Graph().as_default():
        values = Values(dtype)
        fetches = flat(case.build(values))
        one = bits(fetches, values.feeds, config_of(1))
        for threads in (2, 4):
            several = bits(fetches, values.feeds, config_of(threads))
            for tensor, got, expected in zip(fetches, several, one, strict=True):
                assert got == expected, f"{tensor!r} of {ops}, {threads} threads"


def test_no_op_of_floating_point_numbers_is_left_out() -> None:
    assert not missing_large_cases()


def test_the_page_names_every_op_that_needs_the_option() -> None:
    with open("docs/determinism.md", encoding="utf-8") as file:
        page = file.read()
    names = set(re.findall(r"`(\w+)`", page))
    assert {"MatMul", "BatchMatMul", "BatchMatMulV2", "_FusedMatMul", "Conv2D"} <= names
