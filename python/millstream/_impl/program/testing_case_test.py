"""Test cases: sessions, assertions, threads."""

# ruff: noqa: PT009, PT027 (the assertions are what is tested)

from __future__ import annotations

import collections
import os
import subprocess
import sys
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf

_HANG_GUARD_SECONDS = 100


@pytest.fixture
def case() -> Any:
    """A test case that has begun."""
    made = tf.test.TestCase("setUp")
    made.setUp()
    return made


def outcome(body: Callable[[Any], None]) -> unittest.TestResult:
    """The result of a test with this body."""

    class Test(tf.test.TestCase):
        def test_body(self) -> None:
            body(self)

    result = unittest.TestResult()
    Test("test_body").run(result)
    return result


NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "right", "wrong", "words"),
    [
        ("assertAllEqual", ([1, 2], np.array([1, 2])), ([1, 2], [1, 3]), "not equal at 1 of 2 ele"),
        ("assertAllEqual", ([1.0, NAN], [1.0, NAN]), ([1.0], [NAN]), "not equal"),
        (
            "assertAllEqual",
            ([[1]], [[1]]),
            ([1], [[1]]),
            r"Shape mismatch: expected \(1,\), got \(",
        ),
        ("assertAllEqual", ([b"a"], [b"a"]), ([b"a"], [b"b"]), "not equal"),
        ("assertNotAllEqual", ([1, 2], [1, 3]), ([1], [1]), "equal at all elements"),
        ("assertAllClose", ([1.0, 2.0], [1.0, 2.000001]), ([1.0], [1.0001]), "not close"),
        ("assertAllClose", ([NAN], [NAN]), ([1.0], [NAN]), "not close"),
        ("assertAllClose", (1.0, 1.0), ([1.0, 2.0], [1.0, 2.0, 3.0]), "Shape mismatch"),
        (
            "assertAllClose",
            ({"a": [1.0], "b": (2.0, [3.0, 4.0])}, {"a": [1.0], "b": (2.0, [3.0, 4.0])}),
            ({"a": [1.0], "b": (2.0, [3.0, 4.0])}, {"a": [1.0], "b": (2.0, [3.0, 5.0])}),
            r"\['b'\]\[1\]",
        ),
        ("assertAllClose", ({}, {}), ({"a": 1.0}, [1.0]), "Can't compare a dictionary"),
        ("assertNotAllClose", ([1.0], [2.0]), ([1.0], [1.0]), "close at all elements"),
        ("assertNear", (1.0, 1.1, 0.2), (1.0, 1.3, 0.2), r"1.000000 != 1.300000 \+/- 0.200000"),
        ("assertNear", (float("inf"), float("inf"), 0), (1.0, NAN, 9.0), "1.000000 != nan"),
        ("assertArrayNear", ([1, 2], [1, 2.1], 0.2), ([1, 2], [1, 2.3], 0.2), "2.000000 != 2.3"),
        (
            "assertNDArrayNear",
            (np.array([0.0, 0.0]), np.array([3.0, 4.0]), 5.1),
            (np.array([0.0, 0.0]), np.array([3.0, 4.0]), 5.0),
            "differ by 5.0, expected less than 5.0",
        ),
        ("assertAllGreater", ([2, 3], 1), ([1, 3], 1), r"> 1; 1 are not: \[1\]"),
        ("assertAllLess", ([2, 3], 4), ([2, 4], 4), r"< 4; 1 are not: \[4\]"),
        ("assertAllGreaterEqual", ([1, 3], 1), ([0, 3], 1), ">= 1"),
        ("assertAllLessEqual", ([1, 3], 3), ([1, 4], 3), "<= 3"),
        ("assertAllInRange", ([1, 3], 1, 3), ([1, 4], 1, 3), r"in \[1, 3\]; 1 are not: \[4\]"),
        ("assertAllInRange", ([2], 1, 3, True, True), ([1], 1, 3, True), r"in \(1, 3\]"),
        ("assertAllInRange", ([True], 0, 1), (["a"], 1, 3), "expected numbers that can be order"),
        ("assertAllInSet", ([1, 1], {1, 2}), ([3], [1, 2]), r"in \[1, 2\]"),
        ("assertBetween", (1, 1, 2), (3, 1, 2), "3 is not between 1 and 2"),
        ("assertStartsWith", ("abc", "ab"), ("abc", "b"), "'abc' does not start with 'b'"),
        ("assertEndsWith", ("abc", "bc"), ("abc", "b"), "'abc' does not end with 'b'"),
        ("assertContainsSubset", ([1], [1, 2]), ([1, 3], [1, 2]), r"\[1, 2\] lacks \{3\}"),
        ("assertNoCommonElements", ([1], [2]), ([1, 3], [3]), r"\{3\} are in both containers"),
        ("assertDTypeEqual", (np.zeros(1), "float64"), (np.zeros(1), tf.float32), "float64"),
        ("assertLen", ([1], 1), ([1], 2), "has 1 items, expected 2"),
        ("assertEmpty", ([],), ([1],), "has 1 items, expected 0"),
        ("assertNotEmpty", ([1],), ([],), "is empty"),
        ("assertItemsEqual", ([1, 2], [2, 1]), ([1, 1], [1]), "Element counts"),
        ("assertSameElements", ([1, 2], [2, 1, 1]), ([1], [2]), "Element counts"),
        ("assertSequenceAlmostEqual", ([1.0], [1.0 + 1e-9]), ([1.0], [1.1]), "within 7 places"),
        ("assertDeviceEqual", ("/cpu:0", "/device:CPU:0"), ("/cpu:0", "/cpu:1"), "not equal"),
        (
            "assertProtoEquals",
            ("name: 'a'", tf.NodeDef(name="a")),
            (tf.NodeDef(name="a"), tf.NodeDef(name="b")),
            '[-] name: "a"',
        ),
        ("assertProtoEquals", (b"", tf.NodeDef()), (tf.GraphDef(), tf.NodeDef()), "Can't compare"),
    ],
)
def test_assertions_pass_and_fail(
    case: Any, name: str, right: tuple[Any, ...], wrong: tuple[Any, ...], words: str
) -> None:
    getattr(case, name)(*right)
    with pytest.raises(AssertionError, match=words):
        getattr(case, name)(*wrong)


def test_named_tuples_are_compared_by_field(case: Any) -> None:
    pair = collections.namedtuple("pair", "one two")
    case.assertAllClose(pair([1.0], 2.0), pair([1.0], 2.0))
    with pytest.raises(AssertionError, match=r"\['two'\]"):
        case.assertAllClose(pair([1.0], 2.0), pair([1.0], 3.0))


@pytest.mark.parametrize(
    ("dtype", "near", "far"),
    [(np.float16, 1e-3, 1e-2), (np.float32, 1e-6, 1e-5), (np.float64, 1e-8, 1e-7)],
)
def test_tolerances_follow_the_type(case: Any, dtype: Any, near: float, far: float) -> None:
    ones = np.ones([2], dtype)
    options = {"rtol": 0.5e-8, "atol": 0.5e-8}
    case.assertAllCloseAccordingToType(ones, 1.0 + near * np.ones([2]), **options)
    with pytest.raises(AssertionError, match="not close"):
        case.assertAllCloseAccordingToType(ones, 1.0 + far * np.ones([2]), **options)


def test_shapes_are_those_of_tensors(case: Any) -> None:
    case.assertShapeEqual(np.ones([2, 3]), tf.ones([2, 3]))
    with pytest.raises(AssertionError, match=r"\[2\] != \[3\]"):
        case.assertShapeEqual(np.ones([2]), tf.ones([3]))
    with pytest.raises(TypeError, match="np_array must be a Numpy ndarray"):
        case.assertShapeEqual([1], tf.ones([1]))
    with pytest.raises(TypeError, match="tf_tensor must be a Tensor"):
        case.assertShapeEqual(np.ones([1]), [1])


def test_old_names_of_assertions_are_there(case: Any) -> None:
    case.assertEquals(1, 1)
    case.assertNotEquals(1, 2)
    case.assertRegexpMatches("abc", "b")
    with case.assertRaisesRegexp(ValueError, "b"):
        raise ValueError("abc")


def test_writes_of_python_and_of_the_runtime_are_captured(case: Any, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        with case.captureWritesToStream(stream) as captured:
            print("within", file=stream)
            os.write(stream.fileno(), b"below\n")
        print("after", file=stream)
    assert sorted(captured.contents().split()) == ["below", "within"]
    assert (tmp_path / "out").read_text() == "after\n"


def test_tensors_are_evaluated(case: Any) -> None:
    with case.session():
        case.assertAllEqual(tf.constant([1, 2]), tf.constant([1, 2]))
    case.assertAllClose(tf.constant([1.0]) * 2.0, [2.0])
    assert case.evaluate({"a": tf.constant(1)}) == {"a": 1}


def test_errors_of_operations_are_matched(case: Any) -> None:
    x = tf.placeholder(tf.float32, name="fed_never")
    with case.session(), case.assertRaisesOpError("fed_never"):
        (x + 1.0).eval()
    with case.assertRaisesWithPredicateMatch(ValueError, lambda e: "b" in str(e)):
        raise ValueError("abc")
    with (
        pytest.raises(AssertionError, match=r"KeyError.*: 'a'"),
        case.assertRaisesWithPredicateMatch(ValueError, "a"),
    ):
        raise KeyError("a")
    with (
        pytest.raises(AssertionError, match=r"ValueError.*: abc"),
        case.assertRaisesWithPredicateMatch(ValueError, "d"),
    ):
        raise ValueError("abc")
    with (
        pytest.raises(AssertionError, match="ValueError not raised"),
        case.assertRaisesWithPredicateMatch(ValueError, "d"),
    ):
        pass


def test_each_test_has_a_graph_and_the_same_random_numbers() -> None:
    seen = []

    def body(case: Any) -> None:
        with case.cached_session() as session:
            seen.append(session.run(tf.random_uniform([3], name="drawn")).tolist())
            assert tf.get_default_graph().get_operation_by_name("drawn")
        seen.append(np.random.rand())  # noqa: NPY002  (the seed is what is tested)

    assert outcome(body).wasSuccessful()
    assert outcome(body).wasSuccessful()
    assert seen[:2] == seen[2:]


def test_the_cached_session_is_one_and_keeps_variables() -> None:
    def body(case: Any) -> None:
        v = tf.Variable(3.0)
        with case.cached_session() as session:
            v.initializer.run()
        with case.test_session() as again:
            assert again is session
            assert v.eval() == 3.0
        with pytest.raises(ValueError, match="The graph used to get the cached session is diff"):
            case.cached_session(graph=tf.Graph()).__enter__()
        with case.session() as other:
            assert other is not session
        with case.session(graph=tf.Graph()) as of_graph:
            assert of_graph.graph is tf.get_default_graph()

    result = outcome(body)
    assert result.wasSuccessful(), result.errors


def test_sessions_say_where_operations_run() -> None:
    def body(case: Any) -> None:
        with case.session():
            assert tf.constant(1).device == "/device:CPU:0"
        with case.session(use_gpu=True):
            assert tf.constant(1).device == ""
        with case.session(force_gpu=True):
            assert tf.constant(1).device == "/device:GPU:0"

    result = outcome(body)
    assert result.wasSuccessful(), result.errors


def test_errors_of_checked_threads_fail_the_test() -> None:
    def fail() -> None:
        raise ValueError("lost")

    def joined(case: Any) -> None:
        thread = case.checkedThread(target=fail)
        thread.start()
        thread.join()

    def forgotten(case: Any) -> None:
        done = threading.Event()
        case.checkedThread(target=done.wait, args=(_HANG_GUARD_SECONDS,)).start()
        case.addCleanup(done.set)

    def right(case: Any) -> None:
        found: list[int] = []
        thread = case.checkedThread(target=found.append, args=(1,))
        thread.start()
        thread.join()
        assert not thread.is_alive()
        assert found == [1]

    assert "Error in checkedThread: ValueError('lost')" in outcome(joined).failures[0][1]
    assert "is still running" in outcome(forgotten).failures[0][1]
    assert outcome(right).wasSuccessful()


def test_folders_are_there(case: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TEST_TMPDIR", str(tmp_path))
    monkeypatch.setenv("TEST_SRCDIR", "/sources")
    assert tf.test.get_temp_dir() == str(tmp_path)
    own = case.get_temp_dir()
    assert os.path.dirname(own) == str(tmp_path)
    assert own == case.get_temp_dir()
    assert tf.test.test_src_dir_path("a/b") == "/sources/a/b"
    monkeypatch.delenv("TEST_TMPDIR")
    assert os.path.isdir(tf.test.get_temp_dir())


def test_graphs_are_compared_by_node() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0, name="x")
        before = graph.as_graph_def()
        tf.identity(x, name="y")
        after = graph.as_graph_def()
    turned = tf.GraphDef(node=list(reversed(after.node)))
    tf.test.assert_equal_graph_def(turned, after)
    with pytest.raises(AssertionError, match="The node 'y' is expected and missing"):
        tf.test.assert_equal_graph_def(before, after)
    with pytest.raises(AssertionError, match="The node 'y' is not expected"):
        tf.test.assert_equal_graph_def(after, before)
    turned.node[0].op = "Other"
    with pytest.raises(AssertionError, match="The node 'y' differs"):
        tf.test.assert_equal_graph_def(turned, after)
    with pytest.raises(TypeError, match=r"Expected tf.GraphDef for actual, got str"):
        tf.test.assert_equal_graph_def("a", after)


PROGRAM = """
import millstream as tf
class SumTest(tf.test.TestCase):
    def testRight(self):
        with self.test_session():
            self.assertAllEqual((tf.constant(1) + 2).eval(), 3)
    def testWrong(self):
        self.assertAllEqual(self.evaluate(tf.constant(1)), 2)
tf.test.main()
"""


@pytest.mark.parametrize(("name", "status"), [("testRight", 0), ("testWrong", 1)])
def test_a_program_of_tests_says_by_its_status_whether_they_passed(name: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"SumTest.{name}"],
        env={"PYTHONPATH": ":".join(os.path.abspath(entry) for entry in sys.path)},
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "Ran 1 test" in done.stderr


def test_devices_are_those_of_plugins() -> None:
    assert not tf.test.is_gpu_available(cuda_only=True)
    assert tf.test.is_gpu_available() == (tf.test.gpu_device_name() != "")
    facts = (tf.test.is_built_with_cuda, tf.test.is_built_with_rocm)
    assert [fact() for fact in (*facts, tf.test.is_built_with_gpu_support)] == [False] * 3
