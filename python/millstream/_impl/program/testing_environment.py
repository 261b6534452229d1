"""Where tests run: folders, devices, and the program that runs them."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock as _mock

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, TEXT, takes
from millstream._impl.program import app
from millstream._impl.session import plugins

mock = public("test.mock")(_mock)


@functools.cache
def _made_folder() -> str:
    folder = tempfile.mkdtemp(prefix="millstream_test_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@public("test.get_temp_dir")
def get_temp_dir() -> str:
    """A folder for files of tests: ``TEST_TMPDIR``, or one that is removed when the program ends.

    Examples
    --------
    >>> import os
    >>> os.path.isdir(tf.test.get_temp_dir())
    True
    """
    return os.environ.get("TEST_TMPDIR") or _made_folder()


@public("test.test_src_dir_path")
@takes(relative_path=TEXT)
def test_src_dir_path(relative_path: str) -> str:
    """The path of a file of the sources: below ``TEST_SRCDIR``, by default the current folder.

    Parameters
    ----------
    relative_path
        The path below it.

    Examples
    --------
    >>> tf.test.test_src_dir_path("data/words.txt").endswith("data/words.txt")
    True
    """
    return os.path.join(os.environ.get("TEST_SRCDIR") or os.getcwd(), relative_path)


def _gpu_names() -> list[str]:
    """Names of the devices of type GPU that plugins found."""
    found = [info for info in plugins.list_plugins() if info.state == "READY"]
    count = sum(device.type == "GPU" for info in found for device in info.devices)
    return [f"/device:GPU:{index}" for index in range(count)]


@public("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether a plugin has found a device of the type GPU.

    Parameters
    ----------
    cuda_only
        Whether it must be one that CUDA programs, of which there is none.
    min_cuda_compute_capability
        Not used.

    Examples
    --------
    >>> tf.test.is_gpu_available(cuda_only=True)
    False
    """
    return bool(_gpu_names()) and not cuda_only


@public("test.gpu_device_name")
def gpu_device_name() -> str:
    """The name of the first device of the type GPU, or "".

    Examples
    --------
    >>> bool(tf.test.gpu_device_name()) == tf.test.is_gpu_available()
    True
    """
    return next(iter(_gpu_names()), "")


@public("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Whether CUDA is compiled in: never, devices come with plugins.

    Examples
    --------
    >>> tf.test.is_built_with_cuda()
    False
    """
    return False


@public("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Whether ROCm is compiled in: never, devices come with plugins.

    Examples
    --------
    >>> tf.test.is_built_with_rocm()
    False
    """
    return False


@public("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Whether CUDA or ROCm is compiled in: never, devices come with plugins.

    Examples
    --------
    >>> tf.test.is_built_with_gpu_support()
    False
    """
    return False


@public("test.main")
@takes(argv=LIST)
def main(argv: Any = None) -> None:
    """Run the tests of the program, and exit with 0 if all passed and 1 otherwise.

    Options that are declared are read first; see `tf.app.run`. With ``--benchmarks=REGEX`` the
    benchmarks that it finds run instead; see `tf.test.Benchmark`.

    Parameters
    ----------
    argv
        The command line, by default the program's.

    Examples
    --------
    >>> tf.test.main(["prog", "NoSuchTest"])  # doctest: +SKIP
    """
    from millstream._impl.program import testing_benchmark  # lazy: one option alone needs it

    given = sys.argv if argv is None else list(argv)
    pattern = testing_benchmark.pattern_of(given)
    if pattern is not None:
        left = testing_benchmark.without_pattern(given)
        app.run(lambda _: testing_benchmark.run_benchmarks(pattern), left)

    def run_tests(left: Any) -> None:
        unittest.main(module="__main__", argv=list(left))

    app.run(run_tests, argv)
