"""Checks of types, ranks and shapes while the graph is built; switches between versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_types_are_asserted_while_the_graph_is_built() -> None:
    x = tf.constant(1.0, name="x")
    with pytest.raises(TypeError, match=r"loss  tensor: expected int32, got float32 of .*'x:0'"):
        tf.assert_type(x, tf.int32, message="loss")
    with pytest.raises(TypeError, match="Expected an integer type for x"):
        tf.assert_integer(x)
    with pytest.raises(ValueError, match="expected a scalar"):
        tf.assert_scalar(tf.placeholder(tf.float32))
    for wrong in (x, "text", b"bytes", {"a": 1}, 3):
        with pytest.raises(TypeError, match="values: expected argument to be"):
            tf.assert_proper_iterable(wrong)


def test_float_dtypes_must_agree() -> None:
    single, double, whole = tf.constant(1.0), tf.constant(1.0, tf.float64), tf.constant(1)
    assert tf.assert_same_float_dtype() == tf.float32
    assert tf.assert_same_float_dtype([None, double]) == tf.float64
    with pytest.raises(ValueError, match="expected float32, got float64"):
        tf.assert_same_float_dtype([single, double])
    with pytest.raises(ValueError, match="expected floating-point"):
        tf.assert_same_float_dtype([whole])


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ([3, 1], [2], [3, 2]),
        ([None, 2], [3, 1], [3, 2]),
        ([None], [1], [None]),
        ([None], [None], [None]),
        ([], [4], [4]),
    ],
)
def test_static_shapes_broadcast(
    one: list[int | None], other: list[int | None], both: list[int | None]
) -> None:
    for a, b in ((one, other), (other, one)):
        assert tf.broadcast_static_shape(tf.TensorShape(a), tf.TensorShape(b)).as_list() == both


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\) do not broadcast"):
        tf.broadcast_static_shape([2], [3])
    assert tf.broadcast_static_shape(tf.TensorShape(None), [3]).ndims is None
    with pytest.raises(IndexError):
        tf.dimension_at_index(tf.TensorShape([2]), 3)
    assert tf.dimension_at_index(tf.TensorShape(None), 3).value is None
    assert tf.dimension_value(None) is None


def test_scopes_make_and_find_their_variables() -> None:
    with tf.variable_scope("layer") as scope:
        pass
    v = scope.get_variable("v", [2])
    assert v.name == "layer/v:0"
    assert scope.get_variable("v", [2], reuse=True) is v
    with pytest.raises(ValueError, match="already exists"):
        scope.get_variable("v", [2])
    with tf.variable_op_scope([v], None, "part") as part:
        assert part.name == "part"


def test_tables_are_initialized_with_their_collection() -> None:
    table = tf.no_op(name="table")
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, table)
    assert tf.tables_initializer().control_inputs == [table]


def test_versions_are_declared() -> None:
    assert tf.VERSION == tf.version.VERSION == tf.__version__
    assert tf.version.GRAPH_DEF_VERSION == tf.GRAPH_DEF_VERSION
    assert tf.GRAPH_DEF_VERSION_MIN_CONSUMER == 0


def test_ops_are_defined_by_messages() -> None:
    definition = tf.no_op().op_def
    assert (definition.name, len(definition.input_arg)) == ("NoOp", 0)
    definition = tf.add(1.0, 2.0).op.op_def
    assert [argument.name for argument in definition.input_arg] == ["x", "y"]


def test_messages_are_logged_as_often_as_asked(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    for step in range(5):
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 2, step)
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 1, step)
        tf.logging.log_if(tf.logging.INFO, "last %d", step == 4, step)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["every 0", "first 0", "every 2", "every 4", "last 4"]
