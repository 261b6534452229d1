"""Gradient functions in Python: what they get, what they may return, and what is refused."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _with_gradient(function: Callable[..., Any], op: str, make: Callable[[], Any]) -> Any:
    """What `make` gives; its operations of the op have the function as their gradient."""
    name = f"GradientFunctionsTest{next(_numbers)}"
    assert tf.RegisterGradient(name)(function) is function
    with tf.get_default_graph().gradient_override_map({op: name}):
        return make()


def test_a_function_gets_the_operation_and_the_gradients_of_its_outputs() -> None:
    seen: list[tf.Operation] = []

    def gradient(op: tf.Operation, *dys: Any) -> Any:
        seen.append(op)
        assert len(dys) == len(op.outputs) == 2
        assert dys[1].eval().tolist() == [0.0, 0.0], "nothing depends on it"
        return tf.stack(dys) * float(op.get_attr("num"))

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    first, _ = _with_gradient(gradient, "Unpack", lambda: tf.unstack(x))
    (dx,) = tf.gradients(first, x, tf.constant([5.0, 6.0]))
    assert dx.eval().tolist() == [[10.0, 12.0], [0.0, 0.0]]
    assert seen == [first.op]
    assert seen[0].inputs[0] is x


def test_outputs_that_are_no_numbers_of_a_slope_have_no_gradient() -> None:
    def gradient(op: tf.Operation, values: tf.Tensor, indices: Any) -> list[Any]:
        assert indices is None
        assert op.outputs[1].dtype is tf.int32
        return [tf.ones_like(op.inputs[0]) * values[0], None]

    x = tf.constant([1.0, 3.0, 2.0])
    top = _with_gradient(gradient, "TopKV2", lambda: tf.nn.top_k(x, 1))
    assert tf.gradients(top.values * 4.0, x)[0].eval().tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("dense_shape", [None, [3, 1]])
def test_rows_may_come_in_and_go_out(session: tf.Session, dense_shape: Any) -> None:
    def gradient(op: tf.Operation, dy: Any) -> Any:
        assert isinstance(dy, tf.IndexedSlices)
        return tf.IndexedSlices(dy.values * 2.0, dy.indices, dense_shape)

    table = tf.constant([[1.0], [2.0], [3.0]])
    same = _with_gradient(gradient, "Identity", lambda: tf.identity(table))
    rows = tf.gather(same, [2, 2])
    (dx,) = tf.gradients(rows, table)
    assert isinstance(dx, tf.IndexedSlices)
    assert tf.convert_to_tensor(dx).eval().tolist() == [[0.0], [0.0], [4.0]]
    both = tf.convert_to_tensor(tf.gradients([rows, table * 3.0], table)[0])
    assert both.eval().tolist() == [[3.0], [3.0], [7.0]], "rows and a tensor are added up"


def test_a_value_becomes_a_tensor_of_the_inputs_type_and_shape() -> None:
    x = tf.placeholder(tf.float64, [2])
    y = _with_gradient(lambda op, dy: np.array([1.0, 2.0]), "Floor", lambda: tf.floor(x))
    (dx,) = tf.gradients(y, x)
    assert dx.dtype is tf.float64
    unknown = tf.placeholder(tf.float64)
    y = _with_gradient(lambda op, dy: unknown, "Floor", lambda: tf.floor(x))
    assert unknown.shape.ndims is None
    assert tf.gradients(y, x)[0].shape.as_list() == [2]
    assert unknown.shape.as_list() == [2], "a gradient has the shape of its input"


def test_none_ends_the_way() -> None:
    x = tf.constant(1.0)
    y = _with_gradient(lambda op, dy: None, "Floor", lambda: tf.floor(x))
    assert tf.gradients(y, x) == [None]
    assert tf.gradients(y + x, x)[0].eval() == 1.0


def test_second_derivatives_go_through_what_a_function_adds() -> None:
    x = tf.constant(2.0)
    cube = _with_gradient(
        lambda op, dy: dy * 3.0 * tf.square(op.inputs[0]), "Floor", lambda: tf.floor(x)
    )
    (first,) = tf.gradients(cube, x)
    (second,) = tf.gradients(first, x)
    assert (first.eval(), second.eval()) == (12.0, 12.0)


def test_a_function_may_compute_gradients_itself() -> None:
    x = tf.constant(3.0)

    def gradient(op: tf.Operation, dy: tf.Tensor) -> Any:
        at = tf.identity(op.inputs[0])
        return dy * tf.gradients(at * at, at)[0]

    y = _with_gradient(gradient, "Floor", lambda: tf.floor(x))
    assert tf.gradients(y, x)[0].eval() == 6.0


def test_new_operations_stand_where_those_of_the_runtime_stand() -> None:
    with tf.device("/cpu:0"), tf.name_scope("forward"):
        x = tf.constant(1.0)
        y = _with_gradient(lambda op, dy: tf.exp(dy, name="own"), "Floor", lambda: tf.floor(x))
    with tf.name_scope("outer"), tf.control_dependencies([y]), tf.device("/cpu:1"):
        (plain,) = tf.gradients(y, x)
        (beside,) = tf.gradients(y, x, name="back", colocate_gradients_with_ops=True)
    assert plain.op.name == "outer/gradients/forward/Floor_grad/own"
    assert (plain.op.control_inputs, plain.device) == ([y.op], "/device:CPU:1")
    assert plain.op.colocation_groups() == [b"loc:@" + plain.op.name.encode()]
    assert beside.op.name == "outer/back/forward/Floor_grad/own"
    assert (beside.op.control_inputs, beside.device) == ([y.op], y.device)
    assert beside.op.colocation_groups() == [b"loc:@forward/Floor"]


def test_a_function_may_choose_devices() -> None:
    x = tf.constant(1.0)

    def gradient(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
        with tf.device("/cpu:2"):
            there = tf.exp(dy)
        with tf.device(None):
            anywhere = tf.exp(there)
        return tf.exp(anywhere)

    y = _with_gradient(gradient, "Floor", lambda: tf.floor(x))
    with tf.device("/cpu:1"):
        (dx,) = tf.gradients(y, x)
    anywhere = dx.op.inputs[0]
    assert (dx.device, anywhere.device) == ("/device:CPU:1", "")
    assert anywhere.op.inputs[0].device == "/device:CPU:2"


def test_the_users_line_is_that_in_the_function() -> None:
    x = tf.constant(1.0)

    def gradient(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
        return tf.exp(dy)

    y = _with_gradient(gradient, "Floor", lambda: tf.floor(x))
    assert tf.gradients(y, x)[0].op.source.endswith(" in gradient")


class _OwnError(Exception):
    """An error that only this file knows."""


def test_an_exception_comes_out_as_it_is() -> None:
    def gradient(op: tf.Operation, dy: tf.Tensor) -> None:
        raise _OwnError("no slope")

    x = tf.constant(1.0)
    y = _with_gradient(gradient, "Floor", lambda: tf.floor(x))
    with pytest.raises(_OwnError, match=r"^no slope$") as caught:
        tf.gradients(y, x)
    assert caught.traceback[-1].name == "gradient"
    assert tf.gradients(x * x, x)[0].eval() == 2.0, "the graph stays usable"


def test_what_a_function_must_not_return_is_refused() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.Graph().as_default():
        foreign = tf.constant([1.0, 2.0])
    for returned, message in (
        ([x, x], r"Num gradients 2 generated for op 'Floor.* do not match num inputs 1"),
        (tf.constant([1.0]), "Incompatible shapes between op input and calculated input gradient"),
        (foreign, "of another graph"),
    ):
        y = _with_gradient(lambda op, dy, returned=returned: returned, "Floor", lambda: tf.floor(x))
        with pytest.raises(ValueError, match=message):
            tf.gradients(y, x)
    y = _with_gradient(lambda op, dy: "text", "Floor", lambda: tf.floor(x))
    with pytest.raises((TypeError, ValueError)):
        tf.gradients(y, x)


def test_a_function_may_wait_for_another_thread_that_adds_operations() -> None:
    x = tf.constant(1.0)
    graph = tf.get_default_graph()
    made: list[tf.Tensor] = []

    def add() -> None:
        with graph.as_default():
            made.append(tf.constant(4.0, name="elsewhere"))

    def gradient(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
        thread = threading.Thread(target=add)
        thread.start()
        thread.join(timeout=60.0)
        return dy * made[0]

    y = _with_gradient(gradient, "Floor", lambda: tf.floor(x))
    assert tf.gradients(y, x)[0].eval() == 4.0
    names = [operation.name for operation in graph.get_operations()]
    assert len(names) == len(set(names))
    assert all(graph.get_operation_by_name(name).name == name for name in names)


def test_a_name_has_one_function() -> None:
    tf.RegisterGradient("GradientFunctionsTestOnce")(lambda op, dy: dy)
    for name in ("GradientFunctionsTestOnce", "Square", "Shape"):
        with pytest.raises(KeyError, match=f"Registering two gradient with name '{name}'"):
            tf.RegisterGradient(name)(lambda op, dy: dy)
        with pytest.raises(KeyError, match=f"Registering two gradient with name '{name}'"):
            tf.NotDifferentiable(name)


def test_what_is_not_differentiable_counts_as_a_constant() -> None:
    tf.NoGradient("GradientFunctionsTestConstant")
    x = tf.constant(2.0)
    with tf.get_default_graph().gradient_override_map({"Square": "GradientFunctionsTestConstant"}):
        y = tf.square(x)
    assert tf.gradients(y, x) == [None]
    assert tf.NoGradient is tf.NotDifferentiable


def test_a_name_without_function_is_a_lookup_error() -> None:
    x = tf.constant(2.0)
    with tf.get_default_graph().gradient_override_map({"Tanh": "NotRegistered"}):
        y = tf.tanh(x)
    with pytest.raises(LookupError, match=r"no gradient function .* op NotRegistered") as caught:
        tf.gradients(y, x)
    assert "node 'Tanh'" in str(caught.value)
    assert tf.gradients(tf.tanh(x), x)[0].eval() > 0.0, "outside of the block, it has its own"


def test_maps_are_nested_and_name_an_op_or_a_function() -> None:
    tf.RegisterGradient("GradientFunctionsTestOuter")(lambda op, dy: dy * 3.0)
    x, graph = tf.constant(2.0), tf.get_default_graph()
    with graph.gradient_override_map({"Floor": "GradientFunctionsTestOuter", "Ceil": "Identity"}):
        with graph.gradient_override_map({"Floor": "Identity"}):
            inner = tf.floor(x)
        outer, other = tf.floor(x), tf.ceil(x)
    found = [tf.gradients(y, x)[0] for y in (inner, outer, other, tf.floor(x))]
    assert [None if dx is None else float(dx.eval()) for dx in found] == [1.0, 3.0, 1.0, None]


def test_an_imported_graph_keeps_its_functions_names() -> None:
    tf.RegisterGradient("GradientFunctionsTestImported")(lambda op, dy: dy * 5.0)
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.get_default_graph().gradient_override_map({"Floor": "GradientFunctionsTestImported"}):
        tf.floor(x, name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant(2.0)
        imported = tf.import_graph_def(graph_def, {"x": x}, ["y:0"])
        assert imported is not None
        (y,) = imported
        assert tf.gradients(y, x)[0].eval() == 5.0
