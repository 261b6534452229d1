"""Building graphs: names, scopes, look-up, collections, data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_are_made_unique_within_scopes() -> None:
    with tf.name_scope("outer") as scope:
        first = tf.constant(1, name="x")
        second = tf.constant(1, name="x")
    with tf.name_scope("outer"):
        third = tf.constant(1, name="x")
    with tf.name_scope(scope):
        fourth = tf.constant(1, name="x")
    names = [tensor.op.name for tensor in (first, second, third, fourth)]
    assert names == ["outer/x", "outer/x_1", "outer_1/x", "outer/x_2"]


def test_elements_are_found_by_name(graph: tf.Graph) -> None:
    x = tf.constant(1.0, name="x")
    assert graph.get_tensor_by_name("x:0") is x
    assert graph.get_operation_by_name("x") is x.op
    assert graph.as_graph_element(x) is x
    with pytest.raises(KeyError):
        graph.get_operation_by_name("nobody")
    with pytest.raises(ValueError, match="name of a tensor"):
        graph.get_tensor_by_name("x")


def test_tensors_of_two_graphs_do_not_mix() -> None:
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        y = tf.constant(1.0)
    with pytest.raises(ValueError, match="same graph"):
        tf.add(x, y)


def test_control_dependencies_reach_what_is_made_inside(graph: tf.Graph) -> None:
    gate = tf.no_op(name="gate")
    outside = tf.constant(1.0)
    with tf.control_dependencies([gate]):
        inside = tf.identity(outside)
        after = tf.identity(inside)
        with tf.control_dependencies(None):
            free = tf.identity(outside)
    assert inside.op.control_inputs == [gate]
    assert after.op.control_inputs == []  # its input waits already
    assert free.op.control_inputs == []


def test_group_stands_where_its_inputs_stand() -> None:
    with tf.device("/task:0"):
        a, b = tf.no_op(), tf.constant(1.0)
    with tf.device("/task:1"):
        c = tf.constant(2.0)
    one = tf.group(a, b, name="one")
    assert (one.name, one.device) == ("one", "/task:0")
    assert one.control_inputs == [a, b.op]
    root = tf.group(c, a, name="root")
    assert (root.name, root.device) == ("root", "")
    parts = [(part.name, part.device, part.control_inputs) for part in root.control_inputs]
    assert parts == [("root/NoOp", "/task:0", [a]), ("root/NoOp_1", "/task:1", [c.op])]


def test_a_tuple_leaves_its_tensors_where_they_are() -> None:
    with tf.Graph().as_default():
        with tf.device("/task:0"):
            a = tf.constant(1.0, name="a")
            rows = tf.IndexedSlices(tf.ones([1, 2], name="rows"), tf.constant([0]))
        with tf.device("/task:1"):
            b = tf.constant(1.0, name="b")
            first, second, slices, nothing = tf.tuple([a, b, rows, None])
        assert nothing is None
        made = [first, second, slices.values]
        assert [one.device for one in made] == ["/task:0", "/task:1", "/task:0"]
        groups = [[b"loc:@a"], [b"loc:@b"], [b"loc:@rows"]]
        assert [one.op.colocation_groups() for one in made] == groups
        names = ["control_dependency", "control_dependency_1", "control_dependency_2"]
        assert [one.op.name for one in made] == [f"tuple/{name}" for name in names]
        gate = first.op.control_inputs[0]
        assert gate.name == "tuple/group_deps"
        assert all(one.op.control_inputs == [gate] for one in made)


def test_group_waits_for_all() -> None:
    a, b = tf.no_op(), tf.constant(1.0)
    both = tf.group(a, [b], name="both")
    assert both.type == "NoOp"
    assert set(both.control_inputs) == {a, b.op}


def test_device_scopes_merge() -> None:
    with tf.device("/job:worker"), tf.device("/task:3/cpu:0"):
        inner = tf.constant(1.0)
        with tf.device(None):
            free = tf.constant(1.0)
        with tf.colocate_with(free.op):
            beside = tf.constant(1.0)
    assert inner.device == "/job:worker/task:3/device:CPU:0"
    assert free.device == ""
    assert beside.op.colocation_groups() == [b"loc:@Const_1"]
    with pytest.raises(ValueError, match="nonsense"), tf.device("/nonsense:1"):
        pass


def test_device_functions_see_the_operation() -> None:
    def choose(op: tf.Operation) -> str:
        return "/device:CPU:0" if op.type == "Const" else ""

    with tf.device(choose):
        c = tf.constant(1.0)
        assert c.device == "/device:CPU:0"
        assert tf.negative(c).device == ""


def test_graph_survives_its_message(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    tf.reduce_sum(x * 2.0, 1, name="total")
    message = graph.as_graph_def()
    with tf.Graph().as_default() as other:
        found = tf.import_graph_def(message, return_elements=["x", "total:0"], name="again")
        assert found is not None
        x2, total = found
        assert x2.name == "again/x"
        assert total.shape.as_list() == [None]
        with tf.Session() as session:
            assert session.run(total, {"again/x:0": [[1.0, 2.0]]}).tolist() == [6.0]
    with tf.Graph().as_default() as same:
        tf.import_graph_def(message, name="")
        assert same.as_graph_def() == message
    assert other is not same


def test_import_replaces_mapped_inputs(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.identity(x, name="y")
    message = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(message, {"x:0": tf.constant(4.0)}, ["y:0"]) or []
        assert session.run(y) == 4.0


def test_an_import_that_is_refused_adds_nothing_and_takes_no_name(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.identity(x, name="y")
    message = graph.as_graph_def()
    data = message.SerializeToString()
    mapped: dict[str, Any] = {"x:0": 4.0}
    wrong: list[Any] = [1]
    with tf.Graph().as_default() as other:
        for refused in (message, data):
            with pytest.raises(ValueError, match="the graph has no operation 'missing'"):
                tf.import_graph_def(refused, mapped, ["y", "missing"])
        with pytest.raises(TypeError, match="return_elements: expected names, got 1"):
            tf.import_graph_def(message, mapped, wrong)
        with pytest.raises(ValueError, match="is no tensor"):
            tf.import_graph_def(message, return_elements=["y:7"])
        with pytest.raises(ValueError, match="bytes"):
            tf.import_graph_def(data[:-1])
        assert other.get_operations() == []
        found = tf.import_graph_def(data, mapped, ["y:0", "y", "x"]) or []
        assert [element.name for element in found] == ["import/y:0", "import/y", "import/x"]
        tf.import_graph_def(data)
        assert other.find_operation("import_1/y") is not None


def test_collections_are_filtered_by_scope(graph: tf.Graph) -> None:
    with tf.name_scope("a"):
        first = tf.constant(1)
    tf.add_to_collection("things", first)
    tf.add_to_collection("things", tf.constant(1))
    assert tf.get_collection("things", "a/") == [first]
    assert len(graph.get_collection("things")) == 2


def test_attributes_are_read_back() -> None:
    product = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), transpose_b=True)
    assert product.op.get_attr("transpose_b") is True
    assert product.op.get_attr("T") == tf.float32
    with pytest.raises(ValueError, match="nothing"):
        product.op.get_attr("nothing")


def test_every_node_knows_the_users_line() -> None:
    assert "graph_test.py" in tf.constant(1).op.source


def test_consumers_are_the_operations_that_take_a_tensor() -> None:
    x = tf.constant(1.0)
    y = tf.identity(x)
    assert x.consumers() == [y.op]
    assert y.op.inputs == (x,)


def test_static_shape_is_narrowed_and_never_contradicted() -> None:
    x = tf.placeholder(tf.float32)
    x.set_shape([None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="incompatible"):
        x.set_shape([4, 3])


def test_create_op_gives_each_argument_its_tensors() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = tf.constant([1.0]), tf.constant([2.0])
        assert session.run(graph.create_op("Neg", [x]).outputs[0]).tolist() == [-1.0]
        assert session.run(graph.create_op("Sub", [x, y], name="sub").outputs[0]).tolist() == [-1.0]
        parts = graph.create_op("ConcatV2", [x, y, tf.constant(0)])
        assert session.run(parts.outputs[0]).tolist() == [1.0, 2.0]
        packed = graph.create_op("Pack", [x, y], attrs={"N": tf.AttrValue(i=2)})
        assert session.run(packed.outputs[0]).tolist() == [[1.0], [2.0]]
        with pytest.raises(ValueError, match="one_too_many"):
            graph.create_op("Neg", [x, y], name="one_too_many")
        with pytest.raises(ValueError, match="none_at_all"):
            graph.create_op("Neg", [], name="none_at_all")


def test_control_inputs_may_be_variables_and_come_in_any_collection() -> None:
    v = tf.Variable(1, name="v")
    first = tf.constant(1, name="first")
    slices = tf.IndexedSlices(tf.constant([1.0], name="rows"), tf.constant([0]))
    for given, wanted in [
        ([v], ["v"]),
        ({"first": first}.values(), ["first"]),
        ([slices], ["rows"]),
        ([tf.get_default_graph().get_tensor_by_name("v:0")], ["v"]),
    ]:
        with tf.control_dependencies(given):
            x = tf.constant(2)
        assert [operation.name for operation in x.op.control_inputs] == wanted
    with tf.control_dependencies([v]), tf.Session() as session:
        assert session.run(tf.constant(2)) == 2  # v is not read
    for wrong in (first, "first"):
        with pytest.raises(TypeError, match="control_inputs: expected a list"):
            tf.control_dependencies(wrong)


def test_gradients_of_ops_are_those_of_others_within_a_block(graph: tf.Graph) -> None:
    x = tf.constant([1.5, 2.5])
    with graph.gradient_override_map({"Floor": "Identity"}):
        as_identity = tf.floor(x)
        with graph.gradient_override_map({"Floor": "Neg"}):
            as_neg = tf.floor(x)
        again = tf.floor(x)
    assert as_neg.op.get_attr("_gradient_op_type") == b"Neg"
    assert tf.gradients(tf.floor(x), x) == [None]
    with tf.Session() as session:
        for y, wanted in [(as_identity, 1.0), (as_neg, -1.0), (again, 1.0)]:
            assert session.run(tf.gradients(y, x)[0]).tolist() == [wanted, wanted]


def test_gradient_override_map_takes_names_by_names(graph: tf.Graph) -> None:
    for wrong in (3, {3: "Identity"}, {"Floor": 3}):
        with (
            pytest.raises(TypeError, match="op_type_map: expected a dictionary"),
            graph.gradient_override_map(wrong),
        ):
            pass
