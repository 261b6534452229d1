"""Loops that become their iterations: recurrent networks, and their gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

STEPS, BATCH, INPUTS, UNITS = 5, 2, 3, 4


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _session(*disabled: str) -> tf.Session:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return session


def _ops_of(session: tf.Session, fetches: Any, feeds: Any = None) -> Counter[str]:
    """Return how many nodes of each op a step runs."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    return Counter(label.split(" = ")[1].split("(")[0] for label in labels)


def _network(steps: int = STEPS) -> list[Any]:
    """Return the loss of a recurrent network, and its gradients."""
    random = np.random.RandomState(3)
    x = tf.Variable(random.randn(steps, BATCH, INPUTS).astype(np.float32))
    weights = tf.Variable(random.randn(INPUTS + UNITS, UNITS).astype(np.float32))
    inputs = tf.TensorArray(tf.float32, steps).unstack(x)

    def body(t: Any, state: Any, outputs: Any) -> tuple[Any, ...]:
        state = tf.tanh(tf.matmul(tf.concat([inputs.read(t), state], 1), weights))
        return t + 1, state, outputs.write(t, state)

    start = [0, tf.zeros([BATCH, UNITS]), tf.TensorArray(tf.float32, steps)]
    outputs = tf.while_loop(lambda t, *_: t < steps, body, start)[2].stack()
    loss = tf.reduce_sum(outputs * outputs)
    return [loss, *tf.gradients(loss, [x, weights])]


def test_a_network_and_its_gradient_become_iterations() -> None:
    fetches = _network()
    with _session("raise_loops") as plain, _session() as session:
        for actual, expected in zip(session.run(fetches), plain.run(fetches), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
        ops = _ops_of(session, fetches)
    assert not ops.keys() & {"_Loop", "TensorListPushBack", "TensorListPopBack"}
    assert ops["Tanh"] == STEPS


def test_switches_keep_loops() -> None:
    fetches = _network()
    with _session("unroll_loops") as session:
        ops = _ops_of(session, fetches)
    assert ops["_Loop"] == 2
    assert ops["TensorListPopBack"] > 0


def test_loops_of_many_iterations_stay() -> None:
    fetches = _network(65)
    with _session() as session:
        assert _ops_of(session, fetches)["_Loop"] == 2


def test_second_order_gradients_are_the_same() -> None:
    _, gradient, _ = _network()
    x = tf.trainable_variables()[0]
    second = tf.gradients(tf.reduce_sum(gradient * gradient), [x])
    with _session("raise_loops") as plain, _session() as session:
        np.testing.assert_allclose(session.run(second), plain.run(second), rtol=1e-4, atol=1e-4)


def _check_steps_share_products(fetches: Any, products: int, feeds: Any = None) -> None:
    """Check that a loop became iterations, whose products of inputs became so many ones."""
    with _session("raise_loops") as plain, _session() as session:
        found, wanted = session.run(fetches, feeds), plain.run(fetches, feeds)
        for actual, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
        ops = _ops_of(session, fetches, feeds)
    assert not ops.keys() & {"_Loop", "TensorArrayReadV3"}
    assert ops["_JoinedMatMul"] == products
    # One of each variable.
    assert ops["ReadVariableOp"] == len(tf.global_variables())


# Cells, and how many matrices of weights each has for its input and its state.
_CELLS = pytest.mark.parametrize(
    ("cell", "products"),
    [
        (tf.nn.rnn_cell.BasicRNNCell, 1),
        (tf.nn.rnn_cell.BasicLSTMCell, 1),
        (tf.nn.rnn_cell.LSTMCell, 1),
        (tf.nn.rnn_cell.GRUCell, 2),
    ],
)


@_CELLS
def test_the_steps_of_dynamic_rnn_share_products(cell: Any, products: int) -> None:
    tf.set_random_seed(1)
    x = tf.Variable(np.random.RandomState(5).randn(BATCH, STEPS, INPUTS).astype(np.float32))
    outputs, state = tf.nn.dynamic_rnn(cell(UNITS), x, dtype=tf.float32)
    _check_steps_share_products([outputs, *tf.nest.flatten(state)], products)
    # Backward as well: the gradients of the inputs.
    gradients = tf.gradients(outputs, tf.trainable_variables())
    _check_steps_share_products([outputs, *gradients], 2 * products)


# One sequence that has all steps, none that has, and none that has any.
@pytest.mark.parametrize("lengths", [[STEPS, 2], [1, 3], [0, 0]])
@_CELLS
def test_the_steps_of_sequences_of_several_lengths_share_products(
    cell: Any, products: int, lengths: list[int]
) -> None:
    tf.set_random_seed(1)
    x = tf.Variable(np.random.RandomState(5).randn(BATCH, STEPS, INPUTS).astype(np.float32))
    given = tf.placeholder(tf.int32, [BATCH])
    outputs, state = tf.nn.dynamic_rnn(cell(UNITS), x, given, dtype=tf.float32)
    feeds = {given: lengths}
    _check_steps_share_products([outputs, *tf.nest.flatten(state)], products, feeds)
    gradients = tf.gradients(outputs, tf.trainable_variables())
    _check_steps_share_products([outputs, *gradients], 2 * products, feeds)


@pytest.mark.parametrize("lengths", [None, [5, 4, 3, 2, 1, 0, 5, 5]])
def test_the_steps_of_a_batch_share_the_strips_of_their_weights(lengths: Any) -> None:
    batch, units = 8, 16
    tf.set_random_seed(1)
    x = tf.Variable(np.random.RandomState(5).randn(batch, STEPS, INPUTS).astype(np.float32))
    cell = tf.nn.rnn_cell.BasicLSTMCell(units)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    fetches = [outputs, *tf.gradients(outputs, tf.trainable_variables())]
    with _session("raise_loops") as plain, _session() as session:
        for actual, expected in zip(session.run(fetches), plain.run(fetches), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
        ops = _ops_of(session, fetches)
    # The weights of the state forward, and transposed backward. Nothing reads the gradient of the
    # first state.
    assert ops["_WeightStrips"] == 2
    assert ops["_StripMatMul"] >= 2 * STEPS - 1
    assert ops["_PartMatMul"] == 0


def test_the_steps_of_a_frozen_network_have_one_matrix_of_weights() -> None:
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(16), x, dtype=tf.float32)
    feeds = {x: np.random.RandomState(5).randn(BATCH, STEPS, INPUTS).astype(np.float32)}
    with _session() as session:
        wanted = session.run(outputs, feeds)
        frozen = tf.graph_util.convert_variables_to_constants(
            session, session.graph.as_graph_def(), [outputs.op.name]
        )
    imported = tf.import_graph_def(frozen, {x.name: x}, [outputs.name])
    assert imported is not None
    (result,) = imported
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(result, feeds), wanted, rtol=1e-5, atol=1e-5)
        ops = _ops_of(session, result, feeds)
    assert ops["_JoinedMatMul"] == 1
    # All steps, of which the first one has a constant state before it.
    assert ops["_LstmSteps"] == 1
    assert ops["_LstmStep"] == ops["_PartMatMul"] == 0


class _Embedding(tf.nn.rnn_cell.BasicRNNCell):
    """A cell that looks its inputs up, which fails where they are no rows of the table."""

    def call(self, inputs: Any, state: Any) -> Any:
        table = tf.constant(np.random.RandomState(5).randn(7, INPUTS).astype(np.float32))
        return super().call(tf.gather(table, tf.cast(tf.squeeze(inputs, 1), tf.int32)), state)

    def build(self, inputs_shape: Any) -> None:
        super().build(tf.TensorShape([None, INPUTS]))


def test_a_step_that_could_fail_runs_for_the_longest_sequence_alone() -> None:
    ids = np.array([[1, 2, 3, -1, -1], [4, 5, 6, -1, -1]], np.float32)
    x = tf.constant(ids[:, :, np.newaxis])
    given = tf.placeholder(tf.int32, [BATCH])
    outputs, _ = tf.nn.dynamic_rnn(_Embedding(UNITS), x, given, dtype=tf.float32)
    with _session() as session:
        found = session.run(outputs, {given: [2, 3]})
        ops = _ops_of(session, outputs, {given: [2, 3]})
    assert ops["_Loop"] == 1
    assert np.abs(found[1, 2]).min() > 0
    assert not found[:, 3:].any()


class _Share(tf.nn.rnn_cell.BasicRNNCell):
    """A cell that divides its inputs by their sum, which is 0 behind the end of a sequence."""

    def call(self, inputs: Any, state: Any) -> Any:
        return super().call(inputs / tf.reduce_sum(inputs, 1, keepdims=True), state)


def test_a_step_with_a_pole_runs_for_the_longest_sequence_alone() -> None:
    ends = np.ones((BATCH, STEPS, INPUTS), np.float32)
    ends[:, 2:] = 0
    x = tf.constant(ends)
    given = tf.placeholder(tf.int32, [BATCH])
    outputs, _ = tf.nn.dynamic_rnn(_Share(UNITS), x, given, dtype=tf.float32)
    gradients = tf.gradients(outputs, [x, *tf.trainable_variables()])
    with _session() as session:
        for gradient in session.run(gradients, {given: [2] * BATCH}):
            assert np.isfinite(gradient).all()


def test_cells_of_raw_operations_share_products() -> None:
    random = np.random.RandomState(3)
    x, of_inputs, of_states, bias = (
        tf.Variable(random.randn(*shape).astype(np.float32))
        for shape in ((STEPS, 1, UNITS), (UNITS, UNITS), (UNITS, UNITS), (UNITS,))
    )
    inputs = tf.TensorArray(tf.float32, STEPS).unstack(x)

    def body(t: Any, state: Any, outputs: Any) -> tuple[Any, ...]:
        sums = tf.matmul(inputs.read(t), of_inputs) + tf.matmul(state, of_states) + bias
        state = tf.sigmoid(sums) * tf.tanh(sums)
        return t + 1, state, outputs.write(t, state)

    start = [0, tf.zeros([1, UNITS]), tf.TensorArray(tf.float32, STEPS)]
    outputs = tf.while_loop(lambda t, *_: t < STEPS, body, start)[2].stack()
    _check_steps_share_products([outputs], 1)
    gradients = tf.gradients(outputs, [x, of_inputs, of_states, bias])
    _check_steps_share_products([outputs, *gradients], 2)


@pytest.mark.parametrize("batch", [BATCH, None])
def test_static_shapes_of_placeholders_tell_the_iterations(batch: int | None) -> None:
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [batch, STEPS, INPUTS])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(UNITS), x, dtype=tf.float32)
    feeds = {x: np.random.RandomState(5).randn(BATCH, STEPS, INPUTS).astype(np.float32)}
    _check_steps_share_products([outputs], 1, feeds)
    gradients = tf.gradients(outputs, [x, *tf.trainable_variables()])
    _check_steps_share_products([outputs, *gradients], 2, feeds)


def test_cells_without_a_bias_share_products() -> None:
    fetches = _network()
    _check_steps_share_products(fetches[:1], 1)
    _check_steps_share_products(fetches, 2)
