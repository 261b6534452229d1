"""Bad input gives a typed error that names the node and what was expected, and hurts nothing."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def check_usable(session: tf.Session, graph: tf.Graph) -> None:
    """A session that saw an error still computes."""
    with graph.as_default():
        assert session.run(tf.constant(2.0) * 3.0) == 6.0


def test_feed_of_wrong_dtype_names_tensor_and_dtype(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        with pytest.raises(ValueError, match=r"'x:0' is not compatible with Tensor type float32"):
            session.run(x, {x: ["a", "b"]})
        with pytest.raises(TypeError, match=r"'x:0'"):
            session.run(x, {x: {"no": "number"}})
        check_usable(session, graph)


def test_feed_of_wrong_shape_names_both_shapes(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.Session() as session:
        step = session.make_callable(x + 1.0, [x])
        for run in (lambda value: session.run(x + 1.0, {x: value}), step):
            with pytest.raises(ValueError, match=r"shape \(2, 4\) for Tensor 'x:0'.*\(\?, 3\)"):
                run(np.ones([2, 4], np.float32))
            with pytest.raises(ValueError, match=r"shape \(3,\) for Tensor 'x:0'"):
                run(np.ones([3], np.float32))
        check_usable(session, graph)


def test_fed_tensor_must_be_a_value_and_key_a_tensor() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as session:
        with pytest.raises(TypeError, match=r"'x:0'"):
            session.run(x, {x: tf.constant(1.0)})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            session.run(x, {"nobody:0": 1.0})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            session.run(x, {3: 1.0})
        with pytest.raises(ValueError, match="None"):
            session.run(x, {x: None})


def test_fed_integer_must_fit_the_dtype(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.int32, name="x")
    small = tf.placeholder(tf.uint8, name="small")
    with tf.Session() as session:
        for value in (2**31, [1, -(2**40)], 2**70):
            with pytest.raises(TypeError, match=r"'x:0'.*does not fit int32"):
                session.run(x, {x: value})
        with pytest.raises(TypeError, match=r"'small:0'.*does not fit uint8"):
            session.run(small, {small: -1})
        assert session.run(x, {x: -(2**31)}) == -(2**31)
        check_usable(session, graph)


def test_probability_to_keep_is_named_as_it_was_given() -> None:
    for wrong in (0.0, 2.0):
        with pytest.raises(ValueError, match=rf"keep_prob: .* got {wrong}"):
            tf.nn.dropout(tf.ones([4]), wrong)


def test_value_that_no_dtype_fits_is_named() -> None:
    with pytest.raises(TypeError, match="fits no integer dtype"):
        tf.constant(2**70)
    with pytest.raises(TypeError, match=r"expected numbers or texts, got .*object"):
        tf.constant([object()])


def test_a_wrong_item_is_told_by_its_arguments_name() -> None:
    makers: list[Any] = [tf.zeros, tf.ones, lambda dims: tf.placeholder(tf.float32, dims)]
    for make in makers:
        with pytest.raises(ValueError, match=r"^shape: a dimension is not negative, got -1$"):
            make([-1])
        with pytest.raises(TypeError, match=r"^shape: a dimension is a number or None, got 'a'$"):
            make(["a"])
    with pytest.raises(ValueError, match=r"^dims: a dimension is not negative"):
        tf.TensorShape([-1])
    with pytest.raises(ValueError, match=r"^value: a dimension is not negative"):
        tf.Dimension(-1)
    with pytest.raises(TypeError, match=r"^minval: expected float32, got 'a'$"):
        tf.random_uniform([2], minval="a")
    with pytest.raises(TypeError, match=r"^maxval: expected float32, got 'a'$"):
        tf.random_uniform([2], maxval="a")
    for name in ("mean", "stddev"):
        with pytest.raises(TypeError, match=f"^{name}: expected float32, got 'a'$"):
            tf.random_normal([2], **{name: "a"})
    with pytest.raises(TypeError, match=r"^start: expected a number, got 'a'$"):
        tf.range("a", 3)
    with pytest.raises(TypeError, match=r"^limit: expected a number, got 'a'$"):
        tf.range("a")
    with pytest.raises(TypeError, match=r"^initial_value: expected a string, got 1"):
        tf.Variable([1, "a"])


def test_unfed_placeholder_names_it_and_the_users_line(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(x * 2.0)
        assert caught.value.op is x.op
        assert caught.value.node_def.name == "x"
        assert caught.value.error_code == tf.errors.INVALID_ARGUMENT
        assert "bad_input_test.py" in caught.value.message
        check_usable(session, graph)


def test_fetch_of_unknown_name(graph: tf.Graph) -> None:
    tf.constant(1.0, name="c")
    with tf.Session() as session:
        with pytest.raises(ValueError, match="nobody"):
            session.run("nobody:0")
        with pytest.raises(ValueError, match="1 outputs"):
            session.run("c:3")
        with pytest.raises(TypeError, match="fetches"):
            session.run(None)
        with pytest.raises(TypeError, match=r"3\.5"):
            session.run([3.5])
        check_usable(session, graph)


def test_incompatible_shapes_at_build_name_the_node() -> None:
    with pytest.raises(ValueError, match="product"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), name="product")
    with pytest.raises(ValueError, match="total"):
        tf.add(tf.ones([2]), tf.ones([3]), name="total")


def test_incompatible_shapes_at_run_name_the_node(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.add(x, [1.0, 2.0], name="total")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y, {x: [1.0, 2.0, 3.0]})
        assert caught.value.op is y.op
        assert session.run(y, {x: [1.0, 1.0]}).tolist() == [2.0, 3.0]


def test_mismatched_dtypes_at_build_are_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"int32.*float32"):
        tf.matmul(tf.ones([1, 1]), tf.ones([1, 1], tf.int32))


def test_unknown_op_is_named() -> None:
    message = tf.GraphDef()
    message.node.add(name="a", op="FlyToTheMoon")
    message.node.add(name="b", op="ComeBack")
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)FlyToTheMoon.*ComeBack|ComeBack.*Fly"):
        tf.import_graph_def(message)
    with pytest.raises(tf.errors.NotFoundError, match="FlyToTheMoon"):
        tf.get_default_graph().create_op("FlyToTheMoon", [])


def test_missing_or_ill_typed_attribute_is_named(graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match="dtype"):
        graph.create_op("Placeholder", [])
    with pytest.raises(ValueError, match="dtype"):
        graph.create_op("Placeholder", [], attrs={"dtype": tf.AttrValue(i=3)})
    with pytest.raises(TypeError):
        tf.placeholder(None)
    with pytest.raises(ValueError, match="padding"):
        tf.nn.max_pool(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "OTHER")


def test_missing_kernel_lists_those_there_are(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.int32, [2, 2], name="x")
    y = tf.reshape(x, [4])
    gathered = tf.gather(tf.acos(y), [0], name="gathered")
    with tf.Session() as session:
        with pytest.raises(tf.errors.OpError) as caught:
            session.run(gathered, {x: np.zeros([2, 2], np.int32)})
        assert caught.value.op is not None
        assert "kernel" in caught.value.message
        assert "float" in caught.value.message
        check_usable(session, graph)


def test_file_that_is_no_plugin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "libnothing.so"
    path.write_text("just text")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an ELF file") as caught:
        tf.plugins.load_plugin(path)
    assert str(path) in caught.value.message


def test_a_terabyte_fails_the_step_and_not_the_process(graph: tf.Graph) -> None:
    rows = tf.placeholder(tf.int32, [], name="rows")
    huge = tf.fill(tf.stack([rows, rows]), 1.0, name="huge")
    with tf.Session() as session:
        with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
            session.run(huge, {rows: 512 * 1024})
        assert caught.value.op.name == "huge"
        assert session.run(huge, {rows: 2}).shape == (2, 2)
        check_usable(session, graph)


def test_truncated_graph_says_how_many_bytes(graph: tf.Graph) -> None:
    tf.constant(np.arange(100.0), name="c")
    data = graph.as_graph_def().SerializeToString()
    for size in (1, len(data) // 2, len(data) - 1):
        with tf.Graph().as_default() as other:
            with pytest.raises(ValueError, match=str(size)):
                tf.import_graph_def(data[:size])
            assert other.get_operations() == []


def test_uninitialized_variable_is_a_failed_precondition(graph: tf.Graph) -> None:
    v = tf.Variable(1.0, name="v")
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            session.run(v)
        session.run(v.initializer)
        assert session.run(v) == 1.0


def test_closed_session_and_finished_graph_refuse(graph: tf.Graph) -> None:
    c = tf.constant(1.0)
    session = tf.Session()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(c)
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2.0)


def test_damaged_message_is_a_decode_error() -> None:
    with pytest.raises(tf.protos.message.DecodeError, match="GraphDef"):
        tf.GraphDef.FromString(struct.pack("<BB", 0x0A, 0x7F))
    with pytest.raises(tf.protos.message.DecodeError, match="2:9"):
        tf.GraphDef.from_text("node { name: 'a' }\nnonsense")
