"""Variables go to the parameter server that has the least."""

from __future__ import annotations

import pytest

import millstream as tf

training = tf.contrib.training


def _tasks_of(sizes: list[int], count: int, use_resource: bool = True) -> list[str]:
    by_load = training.GreedyLoadBalancingStrategy(count, training.byte_size_load_fn)
    setter = tf.train.replica_device_setter(ps_tasks=count, ps_strategy=by_load)
    with tf.Graph().as_default(), tf.device(setter):
        variables = [tf.Variable(tf.zeros([size]), use_resource=use_resource) for size in sizes]
    return [variable.device.rpartition(":")[2] for variable in variables]


@pytest.mark.parametrize("use_resource", [True, False])
def test_each_variable_goes_where_the_least_is(use_resource: bool) -> None:
    assert _tasks_of([100, 10, 20, 60, 20], 2, use_resource) == ["0", "1", "1", "1", "1"]
    assert _tasks_of([5, 5, 5, 5], 3, use_resource) == ["0", "1", "2", "0"]


def test_the_load_is_in_bytes_of_all_elements() -> None:
    load = training.byte_size_load_fn
    assert load(tf.Variable(tf.zeros([3, 4], tf.float64)).op) == 96.0
    assert load(tf.Variable(tf.zeros([], tf.int64)).op) == 8.0
    assert load(tf.zeros([7], tf.uint8).op) == 7.0
    assert load(tf.placeholder(tf.float32, [None, 5]).op) == 4.0
    assert load(tf.Variable(["one", "two"]).op) == 2.0


def test_a_table_is_no_load() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [2]), 0)
    assert training.byte_size_load_fn(table.resource_handle.op) == 0.0


def test_an_operation_without_one_output_is_refused() -> None:
    with pytest.raises(ValueError, match="must have a single output, it has 2"):
        training.byte_size_load_fn(tf.split(tf.zeros([2]), 2)[0].op)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(TypeError, match="num_tasks"):
        training.GreedyLoadBalancingStrategy("two", training.byte_size_load_fn)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="load_fn"):
        training.GreedyLoadBalancingStrategy(2, None)  # type: ignore[arg-type]
