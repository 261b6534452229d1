"""Assertions on arrays, messages, errors and devices, for test cases."""

# ruff: noqa: PT009 (a test case of unittest calls its methods)

from __future__ import annotations

import re
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from millstream._impl.base import errors
from millstream._impl.base.device_spec import DeviceSpec
from millstream._impl.graph.modes import (
    GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER,
)
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.protos.message import Message
from millstream._impl.values import dtypes

_SHOWN = 20  # of the elements that differ


def _is_list_of_other_shapes(value: Any) -> bool:
    """Whether a list is no array: its items have several shapes, or are no values."""
    try:
        return bool(np.asarray(value).dtype == object)
    except ValueError:
        return True


class Assertions(unittest.TestCase):
    """What `TestCase` asserts; tensors are evaluated first."""

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in a nested structure."""
        raise NotImplementedError

    def _array(self, value: Any) -> Any:
        """The array of a tensor or value."""
        if isinstance(value, TensorLike):
            value = self.evaluate(value)
        return value if isinstance(value, np.ndarray) else np.asarray(value)

    def _check_shapes(self, a: Any, b: Any, msg: str | None) -> None:
        if a.shape != b.shape:
            self.fail(f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}".rstrip())

    def _fail_where(self, wrong: Any, a: Any, b: Any, what: str, msg: str | None) -> None:
        """Fails with the elements of two arrays at which `wrong` is true."""
        if not np.any(wrong):
            return
        where = np.argwhere(wrong)
        lines = [msg] if msg else []
        lines.append(f"{what} at {len(where)} of {wrong.size} elements")
        for index in map(tuple, where[:_SHOWN]):
            lines.append(f"  at {list(map(int, index))}: {a[index]!r} and {b[index]!r}")
        lines += ["  ..."] if len(where) > _SHOWN else []
        self.fail("\n".join(lines))

    # ---- Equal and close ----

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless two arrays have one shape and the same elements; NaN equals NaN."""
        first, second = self._array(a), self._array(b)
        self._check_shapes(first, second, msg)
        same = first == second
        if first.dtype.kind in "fc" and second.dtype.kind in "fc":
            same = same | (np.isnan(first) & np.isnan(second))
        wrong = np.logical_not(np.broadcast_to(same, first.shape))
        self._fail_where(wrong, first, second, "not equal", msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fail if `assertAllEqual` passes."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"The two values are equal at all elements. {msg or ''}".rstrip())

    def assertAllClose(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Fail unless ``abs(a - b) <= atol + rtol * abs(b)`` for all elements.

        Dictionaries, and lists that are no arrays, are compared item by item.

        Parameters
        ----------
        a, b
            Tensors, values, or nested structures of them.
        rtol, atol
            The tolerances.
        msg
            What the error says first.
        """
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
                self.fail(f"Can't compare a dictionary with something else: {a!r} and {b!r}")
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''}[{key!r}]")
        elif self._is_nested(a) or self._is_nested(b):
            self.assertEqual(len(a), len(b), msg)
            for index, (one, other) in enumerate(zip(a, b, strict=True)):
                self.assertAllClose(one, other, rtol, atol, f"{msg or ''}[{index}]")
        else:
            self._arrays_close(a, b, rtol, atol, msg)

    def _is_nested(self, value: Any) -> bool:
        if not isinstance(value, (list, tuple)):
            return False
        return _is_list_of_other_shapes([self._array(item) for item in value])

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str | None) -> None:
        first, second = self._array(a), self._array(b)
        self._check_shapes(first, second, msg)
        if dtypes.as_dtype(first.dtype) == dtypes.bfloat16:
            first = first.astype(np.float32)
        if dtypes.as_dtype(second.dtype) == dtypes.bfloat16:
            second = second.astype(np.float32)
        wrong = np.logical_not(np.isclose(first, second, rtol, atol, equal_nan=True))
        what = f"not close (rtol={rtol}, atol={atol})"
        self._fail_where(wrong, first, second, what, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:  # noqa: N802
        """Fail if `assertAllClose` passes."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("The two values are close at all elements")

    def assertAllCloseAccordingToType(  # noqa: N802
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """`assertAllClose` with the tolerances of the less precise type of two arrays.

        Parameters
        ----------
        a, b
            Tensors or values.
        rtol, atol, float_rtol, float_atol, half_rtol, half_atol, bfloat16_rtol, bfloat16_atol
            Tolerances, of float32, float16 and bfloat16 if one of the two has that type; the
            greatest of those that apply counts.
        msg
            What the error says first.
        """
        first, second = self._array(a), self._array(b)
        found = {dtypes.as_dtype(each.dtype) for each in (first, second)}
        if found & {dtypes.float32, dtypes.complex64}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if dtypes.float16 in found:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if dtypes.bfloat16 in found:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(first, second, rtol, atol, msg)

    def assertNear(  # noqa: N802
        self, f1: float, f2: float, err: float, msg: str | None = None
    ) -> None:
        """Fail unless two numbers differ by `err` at most."""
        if f1 != f2 and not abs(f1 - f2) <= err:
            self.fail(f"{f1:f} != {f2:f} +/- {err:f}{f' ({msg})' if msg else ''}")

    def assertArrayNear(  # noqa: N802
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fail unless the numbers of two lists differ by `err` at most, each."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(  # noqa: N802
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fail unless the Euclidean norm of the difference of two arrays is below `err`."""
        distance = np.linalg.norm(self._array(ndarray1) - self._array(ndarray2))
        if not distance < err:
            self.fail(f"the arrays differ by {distance}, expected less than {err}. {msg or ''}")

    def assertShapeEqual(  # noqa: N802
        self, np_array: Any, tf_tensor: Any, msg: str | None = None
    ) -> None:
        """Fail unless an array and a tensor have one static shape."""
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError(f"np_array must be a Numpy ndarray or Numpy scalar, got {np_array!r}")
        if not isinstance(tf_tensor, TensorLike):
            raise TypeError(f"tf_tensor must be a Tensor, got {tf_tensor!r}")
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    # ---- Ranges ----

    def _assert_each(self, a: Any, passed: Callable[[Any], Any], what: str) -> None:
        array = self._array(a)
        wrong = np.logical_not(np.broadcast_to(passed(array), array.shape))
        if np.any(wrong):
            count, shown = np.count_nonzero(wrong), array[wrong][:_SHOWN]
            self.fail(f"expected elements {what}; {count} are not: {shown}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are greater than a number."""
        self._assert_each(a, lambda array: array > comparison_target, f"> {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are less than a number."""
        self._assert_each(a, lambda array: array < comparison_target, f"< {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are a number or greater."""
        self._assert_each(a, lambda array: array >= comparison_target, f">= {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Fail unless all elements are a number or less."""
        self._assert_each(a, lambda array: array <= comparison_target, f"<= {comparison_target}")

    def assertAllInRange(  # noqa: N802
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fail unless all elements lie between two numbers.

        Parameters
        ----------
        target
            A tensor or value of numbers.
        lower_bound, upper_bound
            The numbers.
        open_lower_bound, open_upper_bound
            Whether the number itself is refused.
        """
        array = self._array(target)
        if array.dtype.kind not in "biufV":
            self.fail(f"expected numbers that can be ordered, got {array.dtype}")

        def passed(array: Any) -> Any:
            above = array > lower_bound if open_lower_bound else array >= lower_bound
            return above & (array < upper_bound if open_upper_bound else array <= upper_bound)

        start, end = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
        self._assert_each(array, passed, f"in {start}{lower_bound}, {upper_bound}{end}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:  # noqa: N802
        """Fail unless all elements are some of several values."""
        allowed = list(expected_set)
        self._assert_each(target, lambda array: np.isin(array, allowed), f"in {allowed}")

    def assertBetween(  # noqa: N802
        self, value: Any, minv: Any, maxv: Any, msg: str | None = None
    ) -> None:
        """Fail unless a value lies between two others or is one of them."""
        if not minv <= value <= maxv:
            self.fail(msg or f"{value!r} is not between {minv!r} and {maxv!r}")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:  # noqa: N802
        """Fail unless the array of a tensor or value has a dtype."""
        self.assertEqual(self._array(target).dtype, dtypes.as_dtype(expected_dtype).as_numpy_dtype)

    # ---- Containers and texts ----

    def assertContainsSubset(  # noqa: N802
        self, expected_subset: Any, actual_set: Any, msg: str | None = None
    ) -> None:
        """Fail unless a container has all items of another."""
        missing = set(expected_subset) - set(actual_set)
        if missing:
            self.fail(f"{actual_set!r} lacks {missing!r}. {msg or ''}".rstrip())

    def assertNoCommonElements(  # noqa: N802
        self, expected_seq: Any, actual_seq: Any, msg: str | None = None
    ) -> None:
        """Fail if two containers share an item."""
        common = set(expected_seq) & set(actual_seq)
        if common:
            self.fail(f"{common!r} are in both containers. {msg or ''}".rstrip())

    def assertStartsWith(  # noqa: N802
        self, actual: str, expected_start: str, msg: str | None = None
    ) -> None:
        """Fail unless a text starts with another."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}. {msg or ''}".rstrip())

    def assertEndsWith(  # noqa: N802
        self, actual: str, expected_end: str, msg: str | None = None
    ) -> None:
        """Fail unless a text ends with another."""
        if not actual.endswith(expected_end):
            self.fail(f"{actual!r} does not end with {expected_end!r}. {msg or ''}".rstrip())

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless a container has no item."""
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fail if a container has no item."""
        if not len(container):
            self.fail(msg or f"{container!r} is empty")

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:  # noqa: N802
        """Fail unless a container has so many items."""
        if len(container) != expected_len:
            self.fail(msg or f"{container!r} has {len(container)} items, expected {expected_len}")

    def assertItemsEqual(  # noqa: N802
        self, expected_seq: Any, actual_seq: Any, msg: str | None = None
    ) -> None:
        """Fail unless two containers have the same items in any order."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertSameElements(  # noqa: N802
        self, expected_seq: Any, actual_seq: Any, msg: str | None = None
    ) -> None:
        """Fail unless two containers have the same items, no matter how often."""
        self.assertCountEqual(set(expected_seq), set(actual_seq), msg)

    def assertSequenceAlmostEqual(  # noqa: N802
        self,
        expected_seq: Sequence[float],
        actual_seq: Sequence[float],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """`assertAlmostEqual` of the numbers of two sequences."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for one, other in zip(expected_seq, actual_seq, strict=True):
            if delta is None:
                self.assertAlmostEqual(one, other, places, msg)
            else:
                self.assertAlmostEqual(one, other, delta=delta, msg=msg)

    # ---- Messages ----

    def assertProtoEquals(  # noqa: N802
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:
        """Fail unless two messages are equal; the expected one may be text.

        Parameters
        ----------
        expected_message_maybe_ascii
            A message of the same type, or one in protobuf's text format.
        message
            The message.
        msg
            What the error says first.
        """
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)) and isinstance(message, Message):
            text = expected.decode() if isinstance(expected, bytes) else expected
            expected = type(message).from_text(text)
        if type(expected) is not type(message):
            self.fail(f"Can't compare protos of type {type(expected)} and {type(message)}.")
        if expected != message:
            self.assertMultiLineEqual(str(expected), str(message), msg)
            self.fail(msg or "the messages differ in unknown fields")

    def assertProtoEqualsVersion(  # noqa: N802
        self,
        expected: Any,
        actual: Any,
        producer: int = GRAPH_DEF_VERSION,
        min_consumer: int = GRAPH_DEF_VERSION_MIN_CONSUMER,
        msg: str | None = None,
    ) -> None:
        """`assertProtoEquals` of a ``GraphDef`` as text to which versions are added."""
        versions = f"versions {{ producer: {producer}"
        versions += f" min_consumer: {min_consumer} }}" if min_consumer else " }"
        self.assertProtoEquals(f"{versions}\n{expected}", actual, msg)

    # ---- Errors and devices ----

    @contextmanager
    def assertRaisesWithPredicateMatch(  # noqa: N802
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Fail unless a block raises an error of a type that passes a test.

        Parameters
        ----------
        exception_type
            The type.
        expected_err_re_or_predicate
            A function from the error to whether it passes, or a pattern that is searched for in its
            message and the name of its operation.
        """
        try:
            yield
        except Exception as error:
            if not isinstance(error, exception_type):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            if not _passes(error, expected_err_re_or_predicate):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{_type_name(exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:  # noqa: N802
        """`assertRaisesWithPredicateMatch` for errors of operations."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    # Old names, which Python's own class does not have any more.
    assertEquals = unittest.TestCase.assertEqual  # noqa: N815
    assertNotEquals = unittest.TestCase.assertNotEqual  # noqa: N815
    assertRaisesRegexp = unittest.TestCase.assertRaisesRegex  # noqa: N815
    assertRegexpMatches = unittest.TestCase.assertRegex  # noqa: N815

    def assertDeviceEqual(  # noqa: N802
        self, device1: Any, device2: Any, msg: str | None = None
    ) -> None:
        """Fail unless two names of devices are one, however they are written."""
        one, other = _device_name(device1), _device_name(device2)
        if one != other:
            self.fail(f"Devices {one} and {other} are not equal. {msg or ''}".rstrip())


def _passes(error: Exception, wanted: Any) -> bool:
    if callable(wanted):
        return bool(wanted(error))
    text = str(error)
    if isinstance(error, errors.OpError) and error.op is not None:
        text += f"\nCaused by: {error.op.name}"
    return re.search(wanted, text) is not None


def _type_name(types: Any) -> str:
    if isinstance(types, tuple):
        return " or ".join(each.__name__ for each in types)
    return str(types.__name__)


def _device_name(device: Any) -> str:
    return (
        str(DeviceSpec.from_string(device).to_string()) if isinstance(device, str) else str(device)
    )
