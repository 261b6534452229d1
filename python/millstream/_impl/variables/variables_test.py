"""Variables: state between steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_follow_the_variable() -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.name == "w:0"
    assert v.op.name == "w"
    assert v.initial_value.name == "w/initial_value:0"
    assert tf.Variable(0).name == "Variable:0"
    assert tf.Variable(0, name="w").name == "w_1:0"


def test_the_value_after_a_write_has_the_name_of_the_write(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    written = [
        tf.assign(v, [3.0, 4.0], name="set"),
        tf.assign_add(v, [1.0, 1.0]),
        tf.scatter_update(v, [0], [7.0], name="rows"),
        v[1:].assign([9.0], name="slice"),
        tf.assign(v[:1], [6.0], name="part"),
    ]
    names = ["set:0", "AssignAdd:0", "rows:0", "slice:0", "part:0"]
    assert [value.name for value in written] == names
    with tf.Session() as session:
        session.run(v.initializer)
        session.run("set")
        assert session.run(v).tolist() == [3.0, 4.0]
        assert session.run("AssignAdd:0").tolist() == [4.0, 5.0]
        assert session.run("rows:0").tolist() == [7.0, 5.0]
        assert session.run("slice:0").tolist() == [7.0, 9.0]
        assert session.run("part:0").tolist() == [6.0, 9.0]


def test_a_variable_is_made_with_all_its_operations(graph: tf.Graph) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    names = [operation.name for operation in graph.get_operations()]
    assert names == ["w/initial_value", "w", "w/Assign", "w/read"]
    graph.finalize()
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(w).tolist() == [1.0, 2.0]
        assert session.run("w/read:0").tolist() == [1.0, 2.0]
        assert w.eval().tolist() == [1.0, 2.0]


def test_value_stays_between_steps_and_apart_between_sessions() -> None:
    v = tf.Variable(1.0)
    bump = v.assign_add(2.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        assert one.run(bump) == 3.0
        assert one.run(bump) == 5.0
        assert two.run(v) == 1.0


def test_assign_gives_the_value_after_the_write() -> None:
    v = tf.Variable([1.0, 2.0])
    changed = tf.assign_sub(v, [1.0, 1.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(changed).tolist() == [0.0, 1.0]
        session.run(changed.op)
        assert session.run(v).tolist() == [-1.0, 0.0]


def test_assign_checks_shapes_when_built() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="expected the variable's shape"):
        v.assign([1.0, 2.0, 3.0])


def test_assign_without_validation_takes_any_shape() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    doubled, size = v * 2.0, tf.size(v)
    assert doubled.shape.as_list() == [2]
    same = tf.assign(v, [3.0, 4.0], validate_shape=False)
    assert same.shape.as_list() == [2]
    fed = tf.placeholder(tf.float32)
    changed = tf.assign(v, fed, validate_shape=False)
    assert [v.shape.ndims, doubled.shape.ndims, changed.shape.ndims] == [None, None, None]
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([doubled, size])[0].tolist() == [2.0, 4.0]
        assert session.run(changed, {fed: [[5.0], [6.0], [7.0]]}).tolist() == [[5.0], [6.0], [7.0]]
        assert session.run(v).tolist() == [[5.0], [6.0], [7.0]]
        found = session.run([doubled, size])
        assert (found[0].tolist(), found[1]) == ([[10.0], [12.0], [14.0]], 3)
        assert session.run(same).tolist() == [3.0, 4.0]


def test_assign_without_validation_must_be_known_before_a_step_uses_the_shape() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    loose = tf.Variable([1.0, 2.0], validate_shape=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"a step has used.*\n.*'v'"):
            tf.assign(v, [1.0], validate_shape=False)
        assert session.run(tf.assign(v, [3.0, 4.0], validate_shape=False)).tolist() == [3.0, 4.0]
        assert session.run(tf.assign(loose, [1.0], validate_shape=False)).tolist() == [1.0]


def test_operators_and_slices_read_the_variable() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v[1:] * 2.0 - v[0]).tolist() == [3.0, 5.0]
        assert session.run(10.0 / v).tolist() == pytest.approx([10.0, 5.0, 10.0 / 3.0])
        assert session.run(np.float32(1) + v).tolist() == [2.0, 3.0, 4.0]


def test_reads_inside_control_dependencies_see_the_write() -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v + 0.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(after) == 5.0


def test_load_and_eval_use_the_session() -> None:
    v = tf.Variable([1.0])
    with tf.Session():
        v.load([4.0])
        assert v.eval().tolist() == [4.0]


def test_collections_hold_variables_in_order() -> None:
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a]


def test_initializer_function_and_dtype() -> None:
    v = tf.Variable(lambda: tf.ones([2]), dtype=tf.float32)
    w = tf.Variable(1, dtype=tf.float64)
    assert v.shape.as_list() == [2]
    assert w.dtype == tf.float64
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_the_shape_must_be_known_unless_told_otherwise() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    with pytest.raises(ValueError, match="initial_value: its shape must be known"):
        tf.Variable(x)
    assert tf.Variable(x, validate_shape=False).shape.ndims is None
    assert tf.Variable(x, shape=[None, 2]).shape.as_list() == [None, 2]


def test_is_initialized_says_so() -> None:
    v = tf.Variable(1.0)
    known = tf.is_variable_initialized(v)
    with tf.Session() as session:
        assert not session.run(known)
        session.run(tf.global_variables_initializer())
        assert session.run(known)


def test_initialized_value_is_the_value_once_there_is_one() -> None:
    w = tf.Variable([2.0, 3.0], name="w")
    ten_times = tf.Variable(w.initialized_value() * 10.0)
    same = tf.Variable(w)
    with tf.Session() as session:
        session.run([ten_times.initializer, same.initializer])
        assert session.run(ten_times).tolist() == [20.0, 30.0]
        session.run(w.assign([7.0, 8.0]))
        session.run([ten_times.initializer, same.initializer])
        assert session.run(ten_times).tolist() == [70.0, 80.0]
        assert session.run(same).tolist() == [7.0, 8.0]


def test_a_copy_of_a_random_variable_has_its_value() -> None:
    w = tf.Variable(tf.random_uniform([4]))
    copy = tf.Variable(w.initialized_value())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(copy.initializer)
        assert session.run(copy).tolist() == session.run(w).tolist()


# ---- By name ----


def test_the_tensor_of_a_variable_is_its_value(graph: tf.Graph) -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    y = w * w
    tensor = graph.get_tensor_by_name("w:0")
    assert tensor is graph.get_tensor_by_name(w.name)
    assert tensor.dtype == tf.float32
    assert tensor.shape.as_list() == [2]
    assert tensor.op is w.op
    with tf.control_dependencies([w.assign([5.0, 6.0])]):
        after = tensor * 3.0
    values = [tensor, tensor * 3.0, tensor[1], tf.reduce_sum(tensor), tf.identity(tensor)]
    with tf.Session() as session:
        session.run(w.initializer)
        found = [value.tolist() for value in session.run(values)]
        assert found == [[1.0, 2.0], [3.0, 6.0], 2.0, 3.0, [1.0, 2.0]]
        for name in ("w:0", "w/read:0"):
            (gradient,) = tf.gradients(y, graph.get_tensor_by_name(name))
            assert session.run(gradient).tolist() == [2.0, 4.0]
        assert session.run(after).tolist() == [15.0, 18.0]
        assert session.run(tf.assign(tensor, [3.0, 4.0])).tolist() == [3.0, 4.0]


def test_an_imported_graph_has_variables_by_name(graph: tf.Graph) -> None:
    w = tf.Variable(2.0, name="w")
    tf.multiply(w, 10.0, name="y")
    definition = graph.as_graph_def()
    with tf.Graph().as_default() as other, tf.Session() as session:
        tf.import_graph_def(definition, name="old")
        session.run("old/w/Assign")
        tensor = other.get_tensor_by_name("old/w:0")
        assert session.run([tensor, tensor * 3.0, "old/w:0"]) == [2.0, 6.0, 2.0]
        for key in (tensor, "old/w:0", "old/w/read:0"):
            assert session.run(["old/y:0", tensor], {key: 5.0}) == [50.0, 5.0]


# ---- Feeds ----


def test_a_fed_variable_has_the_value_wherever_it_is_read(graph: tf.Graph) -> None:
    w = tf.Variable(2.0, name="w")
    y = w * 10.0
    x = tf.placeholder(tf.float32)
    total = x + y + w
    keys = [w, w.handle, "w:0", "w/read:0", graph.get_tensor_by_name("w:0")]
    with tf.Session() as session:
        for key in keys:
            assert session.run([y, w, "w:0", w.read_value()], {key: 5.0}) == [50.0, 5.0, 5.0, 5.0]
        session.run(w.initializer)
        assert session.run(total, {x: 1.0, w: 5.0}) == 56.0
        assert session.run(total, {w: 5.0, x: 1.0}) == 56.0
        assert session.make_callable(total, [w, x])(6.0, 1.0) == 67.0
        assert session.run(w) == 2.0


def test_what_changes_or_examines_a_fed_variable_is_refused() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w))
    refused = [train, w.assign_add([1.0, 1.0]), w.initializer, tf.is_variable_initialized(w)]
    with tf.Session() as session:
        session.run(w.initializer)
        for fetch in (*refused, w.sparse_read([0])):
            with pytest.raises(tf.errors.InvalidArgumentError, match="a value is fed for it"):
                session.run(fetch, {w: [5.0, 6.0]})
        assert session.run(w).tolist() == [1.0, 2.0]


def test_what_is_fed_must_fit_the_variable() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    with tf.Session() as session:
        with pytest.raises(
            ValueError, match=r"shape \(3,\) for Tensor 'w:0', which has shape \(2,\)"
        ):
            session.run(w, {w: [1.0, 2.0, 3.0]})
        with pytest.raises(
            ValueError, match="the value for 'w:0' is not compatible with Tensor type"
        ):
            session.run(w, {w: ["a", "b"]})


def test_what_an_assignment_gives_can_be_assigned_to() -> None:
    v = tf.Variable(1.0)
    twice = tf.assign_add(v.assign_add(1.0), 1.0)
    replaced = tf.assign(tf.assign_sub(twice, 5.0), 7.0)
    rows = tf.Variable([1.0, 2.0])
    changed = tf.assign_add(
        rows.scatter_add(tf.IndexedSlices(tf.constant([10.0]), tf.constant([1]))), [1.0, 1.0]
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(twice) == 3.0
        assert session.run(v) == 3.0
        assert session.run(replaced) == 7.0
        assert session.run(changed).tolist() == [2.0, 13.0]
    for not_written in (v.value(), tf.constant(1.0)):
        with pytest.raises(TypeError, match="ref: expected a variable"):
            tf.assign_add(not_written, 1.0)


def test_scatter_sub_subtracts_from_rows() -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.IndexedSlices(tf.constant([[1.0, 1.0], [0.5, 0.5]]), tf.constant([1, 1]))
    changed = v.scatter_sub(rows)
    of_lists = v.scatter_sub(tf.IndexedSlices([[1.0, 1.0]], [0]))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(changed).tolist() == [[1.0, 2.0], [1.5, 2.5]]
        assert session.run(of_lists).tolist() == [[0.0, 1.0], [1.5, 2.5]]
    with pytest.raises(TypeError, match=r"expected tf\.IndexedSlices"):
        v.scatter_sub(tf.constant([1.0]))


def test_set_shape_holds_for_later_reads(graph: tf.Graph) -> None:
    v = tf.Variable(tf.placeholder(tf.float32), validate_shape=False, name="v")
    assert v.shape.ndims is None
    v.set_shape([2, None])
    v.set_shape([None, 3])
    for read in (v, v.value(), v * 2.0, v.graph_element, graph.get_tensor_by_name("v:0")):
        assert read.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="incompatible"):
        v.set_shape([3, 3])


def test_messages_name_variables_of_a_graph(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v", trainable=False)
    with tf.name_scope("inner"):
        w = tf.Variable(3.0, name="w")
    message = v.to_proto()
    assert (message.variable_name, message.initializer_name) == ("v:0", "v/Assign")
    assert (message.snapshot_name, message.trainable) == ("v/read:0", False)
    assert message.is_resource
    assert w.to_proto("inner").variable_name == "w:0"
    assert v.to_proto("inner") is None
    data = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(data, name="copy")
        found = tf.Variable.from_proto(message, import_scope="copy")
        assert (found.name, found.dtype, found.trainable) == ("copy/v:0", tf.float32, False)
        assert found.initial_value.name == "copy/v/initial_value:0"
        session.run(found.initializer)
        assert session.run(found.assign_add([1.0, 1.0])).tolist() == [2.0, 3.0]
        assert session.run(found).tolist() == [2.0, 3.0]
        with pytest.raises(KeyError, match="'v'"):
            tf.Variable.from_proto(message)
    message.variable_name = "v/read:0"
    with pytest.raises(ValueError, match="expected the name of a VarHandleOp"):
        tf.Variable.from_proto(message)


def test_one_initializer_initializes_a_chain_of_variables() -> None:
    u = tf.Variable(tf.random_normal([3]), name="u")
    v = tf.Variable(u * 2.0, name="v")
    w = tf.Variable(tf.concat([v, u], 0) + 1.0, name="w")
    row = tf.Variable(tf.gather(w, [3]), name="row")
    copied = tf.Variable(w, name="copied")
    initializer = tf.global_variables_initializer()
    for _ in range(5):
        with tf.Session() as session:
            session.run(initializer)
            found = session.run([u, v, w, row, copied])
            np.testing.assert_allclose(found[1], found[0] * 2.0)
            np.testing.assert_allclose(found[2], np.concatenate([found[1], found[0]]) + 1.0)
            np.testing.assert_allclose(found[3], found[2][3:4])
            np.testing.assert_allclose(found[4], found[2])
    assert v.initial_value.name == "mul:0"


def test_initial_values_read_variables_that_have_a_value() -> None:
    v = tf.Variable(1.0)
    w = tf.Variable(v + 1.0)
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(w) == 2.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)
        v.load(5.0, session)
        session.run(w.initializer)
        assert session.run(w) == 6.0


def test_initial_values_of_many_operations() -> None:
    value = tf.Variable(0.0).value()
    for _ in range(1500):
        value = value + 1.0
    v = tf.Variable(value)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v) == 1500.0


def test_an_initial_value_that_changes_a_variable_does_so() -> None:
    v = tf.Variable(1.0)
    w = tf.Variable(v.assign(5.0))
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run([v, w]) == [5.0, 5.0]


def test_no_variables_need_no_check() -> None:
    assert tf.assert_variables_initialized() is None
    assert tf.assert_variables_initialized([]) is None
    tf.Variable(1.0)
    assert tf.assert_variables_initialized() is not None


def test_variables_without_elements_need_no_initializer() -> None:
    v = tf.get_variable("v", [0, 2])
    w = tf.Variable(tf.zeros([3, 0]))
    with tf.Session() as session:
        assert session.run(v).shape == (0, 2)
        assert session.run(v + 1.0).shape == (0, 2)
        assert session.run(w.assign_add(tf.zeros([3, 0]))).shape == (3, 0)
        assert session.run(tf.is_variable_initialized(v))
        session.run(tf.assert_variables_initialized())
        session.run(tf.global_variables_initializer())
        assert session.run([v, w])[1].shape == (3, 0)


def test_assignments_stand_beside_their_variable() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable([1.0, 2.0], name="v")
    free = tf.Variable([1.0, 2.0], name="free")
    one = tf.constant([1.0, 1.0])
    with tf.device("/job:worker/task:7"):
        rows = tf.IndexedSlices(one, tf.constant([0, 1]))
        for written in (
            v.assign(one),
            v.assign_add(one),
            tf.assign_sub(v, one),
            v.scatter_add(rows),
            v.assign_add(one, read_value=False),
        ):
            operation = written if isinstance(written, tf.Operation) else written.op
            for each in (operation, *operation.control_inputs):
                assert each.device == "/job:ps", each
                assert each.colocation_groups() == [b"loc:@v"], each
        assert free.assign_add(one).device == ""
        assert v.value().device == "/job:ps"
        assert tf.identity(v).device == "/job:worker/task:7"
    assert v.initializer.colocation_groups() == [b"loc:@v"]


def test_optimizers_stand_beside_what_they_update() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    with tf.device("/job:worker/task:7"):
        train = optimizer.minimize(v * v)
    (update,) = train.control_inputs
    assert update.device == "/job:ps"
    slot = optimizer.get_slot(v, "momentum")
    assert slot is not None
    assert slot.device == "/job:ps"


def test_a_caching_device_keeps_one_copy_of_the_value() -> None:
    with tf.device("/job:worker"):
        v = tf.Variable([1.0, 2.0], name="v", caching_device="/task:3")
    assert v.device == "/job:worker"
    assert v.value().device == "/job:worker/task:3"
    assert v.value() is v.value()
    doubled = v * 2.0
    assert doubled.op.inputs[0] is v.value()
    assert v.read_value().device == "/job:worker"
    assert v.assign_add([1.0, 1.0]).device == "/job:worker"
    named = tf.Variable(1.0, caching_device=lambda op: "/job:" + op.type.lower())
    assert named.value().device == "/job:identity"


def test_a_variable_with_a_caching_device_is_trained_and_read() -> None:
    v = tf.Variable([1.0, 2.0], caching_device="/cpu:0")
    train = tf.train.GradientDescentOptimizer(0.5).minimize(v * v)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.value()).tolist() == [1.0, 2.0]
        session.run(train)
        assert session.run([v, v.value()])[1].tolist() == [0.0, 0.0]
        assert session.run(v.assign([3.0, 4.0])).tolist() == [3.0, 4.0]
