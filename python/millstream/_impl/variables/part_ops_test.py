"""Rows and slices of variables that change, counters, and what is not initialized."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a default session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _made(value: object, dtype: tf.DType = tf.float32) -> tf.Variable:
    variable = tf.Variable(value, dtype=dtype)
    variable.initializer.run()
    return variable


_KINDS = {
    "update": [[1.0, 2.0], [9.0, 9.0]],
    "add": [[1.0, 2.0], [11.0, 16.0]],
    "sub": [[1.0, 2.0], [-5.0, -8.0]],
    "mul": [[1.0, 2.0], [-27.0, 108.0]],
    "div": [[1.0, 2.0], [3.0 / -1.0 / 9.0, 4.0 / 3.0 / 9.0]],
    "min": [[1.0, 2.0], [-1.0, 3.0]],
    "max": [[1.0, 2.0], [9.0, 9.0]],
}


@pytest.mark.parametrize("kind", _KINDS)
def test_rows_change_in_the_order_of_their_updates(kind: str) -> None:
    indices, updates = [1, 1], [[-1.0, 3.0], [9.0, 9.0]]
    by_function = _made([[1.0, 2.0], [3.0, 4.0]])
    changed = getattr(tf, f"scatter_{kind}")(by_function, indices, updates)
    np.testing.assert_allclose(changed.eval(), _KINDS[kind], rtol=1e-6)
    by_method = _made([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.IndexedSlices(tf.constant(updates), tf.constant(indices))
    np.testing.assert_allclose(
        getattr(by_method, f"scatter_{kind}")(rows).eval(), _KINDS[kind], rtol=1e-6
    )
    assert by_function.eval().tolist() == by_method.eval().tolist()


def test_updates_may_be_a_scalar_and_indices_of_any_shape() -> None:
    v = _made([1.0, 2.0, 3.0])
    assert tf.scatter_add(v, [[0, 2], [2, 2]], 10.0).eval().tolist() == [11.0, 2.0, 33.0]
    assert tf.scatter_update(v, 1, 7.0).eval().tolist() == [11.0, 7.0, 33.0]


def test_strings_are_replaced() -> None:
    v = _made(["a", "b", "c"], tf.string)
    assert tf.scatter_update(v, [0, 2], ["x", "yy"]).eval().tolist() == [b"x", b"b", b"yy"]


def test_updates_that_follow_each_other_run_in_that_order(session: tf.Session) -> None:
    v = _made([1.0, 2.0])
    last = tf.scatter_mul(tf.scatter_add(v.assign([5.0, 6.0]), [0], [1.0]), [0], [2.0])
    assert session.run(last).tolist() == [12.0, 6.0]


def test_an_index_outside_is_named() -> None:
    v = _made([[1.0, 2.0]])
    for refused in (
        tf.scatter_update(v, [[0, 7]], [[[1.0, 1.0], [1.0, 1.0]]]),
        tf.scatter_nd_add(v, [[0, 7]], [1.0]),
        tf.gather_nd(v, [[0, 7]]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0,1\] = 7 is not in"):
            refused.eval()
    assert v.eval().tolist() == [[1.0, 2.0]]


def test_what_is_no_variable_or_does_not_fit_is_refused() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="ref: expected a variable"):
        tf.scatter_add(tf.constant([1.0]), [0], [1.0])
    with pytest.raises(ValueError, match="'updates' of ResourceScatterAdd"):
        tf.scatter_add(v, [0, 1], [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"sparse_delta: expected tf\.IndexedSlices"):
        v.scatter_max([1.0, 2.0])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tf.scatter_nd_update, [[1.0, 7.0], [20.0, 4.0]]),
        (tf.scatter_nd_add, [[1.0, 19.0], [23.0, 4.0]]),
        (tf.scatter_nd_sub, [[1.0, -15.0], [-17.0, 4.0]]),
    ],
)
def test_elements_change_by_index_vectors(
    function: Callable[..., tf.Tensor], expected: list[list[float]]
) -> None:
    indices, updates = [[0, 1], [1, 0], [0, 1]], [10.0, 20.0, 7.0]
    v = _made([[1.0, 2.0], [3.0, 4.0]])
    assert function(v, indices, updates).eval().tolist() == expected
    same = _made([[1.0, 2.0], [3.0, 4.0]])
    assert getattr(same, function.__name__)(indices, updates).eval().tolist() == expected


def test_slices_are_read_without_the_whole(session: tf.Session) -> None:
    v = _made([[1.0, 2.0], [3.0, 4.0]])
    read = v.gather_nd([[1], [0]])
    assert read.op.type == "ResourceGatherNd"
    assert tf.gather_nd(v, [[1], [0]]).op.type == "ResourceGatherNd"
    assert session.run(read).tolist() == [[3.0, 4.0], [1.0, 2.0]]
    (of_rows,) = tf.gradients(read, [v])
    assert session.run(tf.convert_to_tensor(of_rows)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_batches_of_slices_are_replaced() -> None:
    v = _made([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], tf.int32)
    updates = [[[10, 11]], [[12, 13]]]
    expected = [[[1, 2], [10, 11]], [[12, 13], [7, 8]]]
    assert tf.batch_scatter_update(v, [[1], [0]], updates).eval().tolist() == expected
    v.initializer.run()
    rows = tf.IndexedSlices(tf.constant(updates), tf.constant([[1], [0]]))
    assert v.batch_scatter_update(rows).eval().tolist() == expected
    with pytest.raises(ValueError, match="its rank must be known"):
        tf.batch_scatter_update(v, tf.placeholder(tf.int32), updates)


def test_a_slice_of_a_variable_is_assigned_to(session: tf.Session) -> None:
    v = _made([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert session.run(v[0, 1:].assign([20.0, 30.0]))[0].tolist() == [1.0, 20.0, 30.0]
    assert session.run(v[:, ::-2].assign([[7.0, 8.0], [9.0, 10.0]])).tolist() == [
        [8.0, 20.0, 7.0],
        [10.0, 5.0, 9.0],
    ]
    assert session.run(v[1, tf.constant(0)].assign(0.0))[1].tolist() == [0.0, 5.0, 9.0]
    part = tf.strided_slice(v, [0, 0], [1, 1], var=v)
    assert session.run(part).tolist() == [[8.0]]
    written = part.assign([[-1.0]])  # type: ignore[attr-defined]
    assert session.run(written).tolist()[0] == [-1.0, 20.0, 7.0]
    assert part.op.outputs[0] is part
    with pytest.raises(ValueError, match="'value' of ResourceStridedSliceAssign"):
        v[0].assign([1.0])
    assert not hasattr(tf.constant([1.0])[0], "assign")


def test_a_counter_ends_at_its_limit(session: tf.Session) -> None:
    v = _made(3, tf.int64)
    count = v.count_up_to(5)
    assert [int(session.run(count)) for _ in range(2)] == [3, 4]
    for ended in (count, tf.count_up_to(v, 5, name="counted")):
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 5"):
            session.run(ended)
    assert v.eval() == 5


def test_variables_without_a_value_are_reported(session: tf.Session) -> None:
    first = tf.Variable(1.0, name="first")
    second = tf.get_local_variable("second", initializer=2)
    missing, checked = tf.report_uninitialized_variables(), tf.assert_variables_initialized()
    assert missing.op.name.startswith("report_uninitialized_variables")
    assert session.run(missing).tolist() == [b"first", b"second"]
    session.run(first.initializer)
    assert session.run(missing).tolist() == [b"second"]
    assert checked is not None
    with pytest.raises(tf.errors.FailedPreconditionError, match="second"):
        session.run(checked)
    session.run(second.initializer)
    assert session.run(missing).tolist() == []
    session.run(checked)
    assert tf.report_uninitialized_variables([]).eval().tolist() == []


def test_aggregations_have_their_first_name_too() -> None:
    kinds = tf.VariableAggregation
    assert kinds["ONLY_FIRST_TOWER"] is kinds.ONLY_FIRST_REPLICA
    on_read = tf.VariableSynchronization.ON_READ
    assert not tf.Variable(1.0, synchronization=on_read).trainable
    with pytest.raises(ValueError, match="ON_READ"):
        tf.Variable(1.0, trainable=True, synchronization=on_read)
