"""Variables in parts, and the functions that say into how many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.variables.save_slices import place_beside


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def counts(partitioner: Any, shape: Any, dtype: tf.DType = tf.float32) -> Any:
    """What a partitioner gives."""
    return partitioner(shape=tf.TensorShape(shape), dtype=dtype)


TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)


@pytest.mark.parametrize(
    ("partitioner", "shape", "dtype", "expected"),
    [
        (tf.fixed_size_partitioner(3), [10, 2], tf.float32, [3, 1]),
        (tf.fixed_size_partitioner(3, axis=1), [10, 2], tf.float32, [1, 2]),
        (tf.fixed_size_partitioner(3, axis=-1), [10, 7], tf.float32, [1, 3]),
        # 10 rows of 8 bytes: 3 in 24 bytes; 2 of a string of 16 bytes twice in 64; 4 in 24 at most.
        (tf.variable_axis_size_partitioner(24), [10, 2], tf.float32, [4, 1]),
        (tf.variable_axis_size_partitioner(24), [10, 2], tf.float64, [10, 1]),
        (tf.variable_axis_size_partitioner(1), [10, 2], tf.float32, [10, 1]),
        (tf.variable_axis_size_partitioner(64), [10, 2], tf.string, [5, 1]),
        (tf.variable_axis_size_partitioner(24, max_shards=2), [10, 2], tf.float32, [2, 1]),
        (tf.variable_axis_size_partitioner(1000), [10, 2], tf.float32, [1, 1]),
        # 80 bytes in all.
        (tf.min_max_variable_partitioner(9, min_slice_size=20), [10, 2], tf.float32, [4, 1]),
        (tf.min_max_variable_partitioner(9, min_slice_size=21), [10, 2], tf.float32, [4, 1]),
        (tf.min_max_variable_partitioner(3, min_slice_size=20), [10, 2], tf.float32, [3, 1]),
        (tf.min_max_variable_partitioner(99, 1, 1), [10, 2], tf.float32, [1, 2]),
        (tf.min_max_variable_partitioner(99), [10, 2], tf.float32, [1, 1]),
    ],
)
def test_partitioners_count_parts(
    partitioner: Any, shape: list[int], dtype: tf.DType, expected: list[int]
) -> None:
    assert counts(partitioner, shape, dtype) == expected


def test_partitioners_refuse_numbers_below_1_and_shapes_that_they_cannot_cut() -> None:
    with pytest.raises(ValueError, match="num_shards: must be positive, got 0"):
        tf.fixed_size_partitioner(0)
    with pytest.raises(ValueError, match="must be positive, got 0 and 16"):
        tf.variable_axis_size_partitioner(0)
    with pytest.raises(ValueError, match="max_shards: must be positive, got 0"):
        tf.variable_axis_size_partitioner(1, max_shards=0)
    with pytest.raises(ValueError, match="must be positive, got 1, -1 and 16"):
        tf.min_max_variable_partitioner(min_slice_size=-1)
    with pytest.raises(ValueError, match=r"axis: expected a dimension of the shape \[3\], got 1"):
        counts(tf.fixed_size_partitioner(2, axis=1), [3])
    with pytest.raises(ValueError, match="shape: expected a fully defined one"):
        counts(tf.fixed_size_partitioner(2), [None, 3])


def test_parts_are_variables_and_stand_for_the_whole(session: tf.Session) -> None:
    whole = tf.get_variable("table", initializer=TABLE, partitioner=tf.fixed_size_partitioner(4))
    assert (whole.name, whole.dtype, whole.shape.as_list()) == ("table", tf.float32, [10, 2])
    assert len(whole) == 4
    assert [part.shape.as_list()[0] for part in whole] == [3, 3, 2, 2]
    assert [part.op.name for part in whole] == [f"table/part_{i}" for i in range(4)]
    assert tf.trainable_variables() == list(whole)
    tf.global_variables_initializer().run()
    np.testing.assert_array_equal(session.run(tf.convert_to_tensor(whole)), TABLE)
    product = tf.matmul(whole, [[1.0], [1.0]])
    np.testing.assert_array_equal(product.eval(), TABLE.sum(1, keepdims=True))
    session.run(whole.assign_add(TABLE))
    session.run([whole.assign_sub(np.ones([10, 2]), read_value=False)])
    np.testing.assert_array_equal(session.run(whole.as_tensor()), 2 * TABLE - 1)
    session.run(whole.assign(TABLE))
    np.testing.assert_array_equal(session.run(whole.as_tensor()), TABLE)
    with pytest.raises(ValueError, match=r"value: expected the shape \(10, 2\) of table"):
        whole.assign(TABLE[:5])


def test_slots_and_averages_of_parts_are_saved_beside_the_whole(
    session: tf.Session, tmp_path: Path
) -> None:
    def model(count: int) -> tuple[Any, Any, Any]:
        whole = tf.get_variable(
            "table", initializer=TABLE, partitioner=tf.fixed_size_partitioner(count)
        )
        optimizer = tf.train.AdamOptimizer(0.1)
        train = optimizer.minimize(tf.reduce_sum(tf.square(tf.convert_to_tensor(whole))))
        average = tf.train.ExponentialMovingAverage(0.9)
        return train, average.apply(list(whole)), [optimizer.get_slot(one, "m") for one in whole]

    train, move, moments = model(4)
    session.run(tf.global_variables_initializer())
    session.run([train, move])
    path = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert path is not None
    shapes = dict(tf.train.list_variables(path))
    names = ["table", "table/Adam", "table/Adam_1", "table/ExponentialMovingAverage"]
    assert sorted(shapes) == ["beta1_power", "beta2_power", *names]
    assert all(shapes[name] == [10, 2] for name in names)
    expected = np.concatenate(session.run(moments))
    np.testing.assert_array_equal(tf.train.load_variable(path, "table/Adam"), expected)
    with tf.Graph().as_default(), tf.Session() as other:
        fewer = model(2)[2]
        tf.train.Saver().restore(other, path)
        np.testing.assert_array_equal(np.concatenate(other.run(fewer)), expected)


def test_slots_in_scopes_are_saved_by_their_own_names(session: tf.Session, tmp_path: Path) -> None:
    whole = tf.get_variable("w", initializer=TABLE, partitioner=tf.fixed_size_partitioner(2))
    loss = tf.reduce_sum(tf.square(tf.convert_to_tensor(whole)))
    slots = []
    for scope, rate in (("first", 0.1), ("second", 0.2)):
        with tf.variable_scope(scope):
            optimizer = tf.train.MomentumOptimizer(rate, 0.9)
            slots.append((optimizer.minimize(loss), optimizer))
    session.run(tf.global_variables_initializer())
    for train, _ in slots:
        session.run(train)
    path = str(tmp_path / "model")
    tf.train.Saver().save(session, path)
    for (_, optimizer), scope in zip(slots, ("first", "second"), strict=True):
        values = [session.run(optimizer.get_slot(part, "momentum")) for part in whole]
        saved = tf.train.load_variable(path, f"{scope}/w/Momentum")
        np.testing.assert_array_equal(saved, np.concatenate(values))


def test_what_has_another_shape_than_a_part_is_saved_by_itself() -> None:
    parts = tf.fixed_size_partitioner(2)
    part = list(tf.get_variable("w", initializer=TABLE, partitioner=parts))[1]
    for value, name in (([4.0, 4.0], "w/part_1/columns"), (TABLE[:5], "other")):
        kept = tf.Variable(value, name=name)
        place_beside(kept, part)
        assert kept._get_save_slice_info() is None


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_reach_the_parts(session: tf.Session, axis: int) -> None:
    cut = tf.fixed_size_partitioner(2, axis)
    whole = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer(), partitioner=cut)
    factor = tf.constant(TABLE[:3])
    loss = tf.reduce_sum(whole.as_tensor() * factor)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    tf.global_variables_initializer().run()
    train.run()
    np.testing.assert_array_equal(session.run(tf.identity(whole)), 1 - TABLE[:3])


def test_initializers_know_where_a_part_lies(session: tf.Session) -> None:
    seen = []

    def rows(shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        seen.append((partition_info.full_shape, partition_info.var_offset, list(shape)))
        first = partition_info.var_offset[0]
        return tf.constant(TABLE[first : first + shape[0]])

    cut = tf.fixed_size_partitioner(3)
    whole = tf.get_variable("table", [10, 2], initializer=rows, partitioner=cut)
    assert seen == [
        ([10, 2], [0, 0], [4, 2]),
        ([10, 2], [4, 0], [3, 2]),
        ([10, 2], [7, 0], [3, 2]),
    ]
    tf.global_variables_initializer().run()
    np.testing.assert_array_equal(session.run(tf.identity(whole)), TABLE)


def test_random_values_have_the_scale_of_the_whole(session: tf.Session) -> None:
    cut = tf.fixed_size_partitioner(100)
    whole = tf.get_variable("w", [1000, 1], partitioner=cut)
    tf.global_variables_initializer().run()
    limit = np.sqrt(6.0 / 1001)  # Glorot's, of 1000 inputs and one output
    found = np.abs(session.run(tf.identity(whole)))
    assert 0.9 * limit < found.max() <= limit


def test_scopes_hand_a_partitioner_down_and_scalars_stay_whole() -> None:
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        parts = tf.get_variable("parts", [4])
        scalar = tf.get_variable("scalar", [])
        with tf.variable_scope("one", partitioner=tf.fixed_size_partitioner(1)):
            one = tf.get_variable("v", [4])
    assert [part.op.name for part in parts] == ["s/parts/part_0", "s/parts/part_1"]
    assert isinstance(scalar, tf.Variable)
    assert [part.op.name for part in one] == ["s/one/v/part_0"]


def test_layers_have_their_weights_in_parts(session: tf.Session) -> None:
    x = np.ones([2, 5], np.float32)
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        layer = tf.layers.Dense(3, kernel_initializer=tf.ones_initializer(), name="dense")
        y = layer(x)
    assert [v.op.name for v in layer.trainable_weights] == [
        f"s/dense/{name}/part_{i}" for name in ("kernel", "bias") for i in range(2)
    ]
    tf.global_variables_initializer().run()
    np.testing.assert_array_equal(session.run(y), np.full([2, 3], 5.0))


def test_parts_are_shared_like_variables() -> None:
    two, three = tf.fixed_size_partitioner(2), tf.fixed_size_partitioner(3)
    whole = tf.get_variable("v", [6], partitioner=two)
    tf.get_variable("plain", [6])
    with pytest.raises(ValueError, match="Partitioned variable with name v already exists"):
        tf.get_variable("v", [6], partitioner=two)
    with pytest.raises(ValueError, match="a partitioned version of the variable was found: v/p"):
        tf.get_variable("v", [6])
    with pytest.raises(ValueError, match="an unpartitioned version of the variable was found"):
        tf.get_variable("plain", [6], partitioner=two)
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("v", [6], partitioner=two) is whole
        assert tf.get_variable("v", [6]) is whole
        assert tf.get_variable("v") is whole
        with pytest.raises(ValueError, match=r"the partitions \[3\] were asked for and it has \[2"):
            tf.get_variable("v", [6], partitioner=three)
        with pytest.raises(ValueError, match="the shape"):
            tf.get_variable("v", [7], partitioner=two)
        with pytest.raises(ValueError, match="the dtype float64 was asked for"):
            tf.get_variable("v", [6], tf.float64, partitioner=two)
        with pytest.raises(ValueError, match="PartitionedVariable w does not exist"):
            tf.get_variable("w", [6], partitioner=two)
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        made = tf.get_variable("w", [6], partitioner=two)
        assert tf.get_variable("w", [6], partitioner=two) is made


@pytest.mark.parametrize(
    ("partitioner", "words"),
    [
        (3, "partitioner: expected a callable, got 3"),
        (lambda shape, dtype: 2, "partitioner: expected a list of numbers for v, got 2"),
        (lambda shape, dtype: [2], r"partitioner: expected 2 numbers for v of shape \[4, 4\]"),
        (lambda shape, dtype: [0, 1], "partitioner: expected positive numbers for v"),
        (lambda shape, dtype: [2, 2], "can only slice a variable along one dimension"),
    ],
)
def test_what_a_partitioner_gives_is_checked(partitioner: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.get_variable("v", [4, 4], partitioner=partitioner)


def test_parts_need_a_known_shape_of_some_rank() -> None:
    two = tf.fixed_size_partitioner(2)
    with pytest.raises(ValueError, match=r"new partitioned variable \(v\) must be fully defined"):
        tf.get_variable("v", partitioner=two)
    with pytest.raises(ValueError, match="must have rank at least 1: v is a scalar"):
        tf.get_variable("v", initializer=1.0, partitioner=two)


def test_parts_say_where_they_lie_and_keep_that_in_messages() -> None:
    cut = tf.fixed_size_partitioner(2)
    _, second = tf.get_variable("v", [5, 2], partitioner=cut)
    assert second._get_save_slice_info().spec == "5 2 3,2:0,2"
    message = second.to_proto()
    assert message.save_slice_info_def.full_name == "v"
    again = tf.Variable.from_proto(message)
    place = again._get_save_slice_info()
    assert place is not None
    assert place.spec == "5 2 3,2:0,2"
    assert tf.Variable(1.0)._get_save_slice_info() is None


def test_getters_are_given_the_partitioner() -> None:
    given = {}

    def getter(inner: Any, name: str, **arguments: Any) -> Any:
        given.update(arguments)
        return inner(name, **arguments)

    cut = tf.fixed_size_partitioner(2)
    with tf.variable_scope("s", custom_getter=getter, partitioner=cut):
        assert len(tf.get_variable("v", [4])) == 2
    assert given["partitioner"] is cut
    assert {"shape", "dtype", "use_resource", "synchronization", "aggregation"} <= set(given)


def test_parts_are_a_list() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        value = np.arange(10.0, dtype=np.float32).reshape(2, 5)
        parts = tf.create_partitioned_variables([2, 5], [1, 2], value)
        more = tf.create_partitioned_variables([3], [3], tf.ones_initializer(), trainable=False)
        session.run(tf.global_variables_initializer())
        assert [part.name for part in parts] == [
            "PartitionedVariable/part_0:0",
            "PartitionedVariable/part_1:0",
        ]
        assert more[2].name == "PartitionedVariable_1/part_2:0"
        assert [part.shape.as_list() for part in parts] == [[2, 3], [2, 2]]
        np.testing.assert_array_equal(np.concatenate(session.run(parts), 1), value)
        assert tf.trainable_variables() == parts
        again = tf.create_partitioned_variables(
            [2, 5], [1, 2], tf.zeros_initializer(), name="PartitionedVariable", reuse=True
        )
        assert again == parts


def test_parts_of_a_list_go_with_the_shape() -> None:
    zeros = tf.zeros_initializer()
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must have the same length"):
            tf.create_partitioned_variables([2, 2], [1], zeros)
        with pytest.raises(ValueError, match="rank at least 1"):
            tf.create_partitioned_variables([], [], zeros)
        with pytest.raises(ValueError, match="can only slice a variable along one dimension"):
            tf.create_partitioned_variables([2, 2], [2, 2], zeros)
