"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import millstream as tf

MODULES = [
    info.name
    for info in pkgutil.walk_packages(tf.__path__, "millstream.")
    if not info.name.endswith(("_test", "._runtime"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module_run(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    with tf.Graph().as_default():
        assert doctest.testmod(module).failed == 0


def test_some_examples_exist() -> None:
    finder = doctest.DocTestFinder()
    count = sum(
        bool(test.examples)
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
    )
    assert count >= 15
