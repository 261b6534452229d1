"""Optimizers: their arithmetic, slots and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def path(make: Callable[[], Any], steps: int = 3) -> list[float]:
    """The values of w under the loss w**2 / 2 from w = 1, whose gradient is w."""
    w = tf.Variable(1.0, name="w")
    train = make().minimize(tf.square(w) / 2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = []
        for _ in range(steps):
            session.run(train)
            values.append(float(session.run(w)))
    return values


def test_gradient_descent_follows_its_formula() -> None:
    found = path(lambda: tf.train.GradientDescentOptimizer(0.1))
    assert found == pytest.approx([0.9, 0.81, 0.729], rel=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_follows_its_formula(nesterov: bool) -> None:
    w, velocity, expected = 1.0, 0.0, []
    for _ in range(3):
        velocity = 0.9 * velocity + w
        w -= 0.1 * (w + 0.9 * velocity if nesterov else velocity)
        expected.append(w)
    found = path(lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=nesterov))
    assert found == pytest.approx(expected, rel=1e-5)


def test_adagrad_follows_its_formula() -> None:
    w, total, expected = 1.0, 0.1, []
    for _ in range(3):
        total += w * w
        w -= 0.1 * w / np.sqrt(total)
        expected.append(w)
    assert path(lambda: tf.train.AdagradOptimizer(0.1)) == pytest.approx(expected, rel=1e-5)


def test_adam_follows_its_formula() -> None:
    w, m, v, expected = 1.0, 0.0, 0.0, []
    for step in range(1, 4):
        m = 0.9 * m + 0.1 * w
        v = 0.999 * v + 0.001 * w * w
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        w -= rate * m / (np.sqrt(v) + 1e-8)
        expected.append(w)
    assert path(lambda: tf.train.AdamOptimizer(0.1)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("centered", [False, True])
def test_rms_prop_follows_its_formula(centered: bool) -> None:
    w, square, mean, velocity, expected = 1.0, 1.0, 0.0, 0.0, []
    for _ in range(3):
        square = 0.8 * square + 0.2 * w * w
        mean = 0.8 * mean + 0.2 * w
        spread = square - mean * mean if centered else square
        velocity = 0.5 * velocity + 0.1 * w / np.sqrt(spread + 0.01)
        w -= velocity
        expected.append(w)
    found = path(lambda: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 0.01, centered=centered))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("centered", [False, True])
def test_rms_prop_leaves_rows_without_a_gradient(centered: bool) -> None:
    table = tf.Variable(np.ones((4, 2), np.float32))
    optimizer = tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 0.01, centered=centered)
    train = optimizer.minimize(tf.reduce_sum(tf.gather(table, [2, 0, 2])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        values = session.run(table)
        squares = session.run(optimizer.get_slot(table, "rms"))
    # Row 2 is gathered twice, and has one gradient of 2.
    gradient = np.array([1, 0, 2, 0])
    square = np.where(gradient > 0, 0.8 + 0.2 * gradient**2, 1)
    mean = 0.2 * gradient if centered else 0
    np.testing.assert_allclose(squares, np.stack([square, square], 1), rtol=1e-6)
    expected = 1 - 0.1 * gradient / np.sqrt(square - mean**2 + 0.01)
    np.testing.assert_allclose(values, np.stack([expected, expected], 1), rtol=1e-6)


def test_rms_prop_has_the_slots_of_its_forms() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    plain = tf.train.RMSPropOptimizer(0.1)
    plain.minimize(tf.reduce_sum(w))
    assert plain.get_slot_names() == ["momentum", "rms"]
    centered = tf.train.RMSPropOptimizer(0.1, centered=True, name="Centered")
    centered.minimize(tf.reduce_sum(w))
    assert centered.get_slot_names() == ["mg", "momentum", "rms"]
    names = [variable.op.name for variable in tf.global_variables()]
    made = ["w/RMSProp", "w/RMSProp_1", "w/Centered", "w/Centered_1", "w/Centered_2"]
    assert names == ["w", *made]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(plain.get_slot(w, "rms")).tolist() == [1, 1]
        assert session.run(centered.get_slot(w, "mg")).tolist() == [0, 0]


def test_adadelta_follows_its_formula() -> None:
    w, square, updates, expected = 1.0, 0.0, 0.0, []
    for _ in range(3):
        square = 0.9 * square + 0.1 * w * w
        update = np.sqrt(updates + 0.01) / np.sqrt(square + 0.01) * w
        updates = 0.9 * updates + 0.1 * update * update
        w -= 0.5 * update
        expected.append(w)
    found = path(lambda: tf.train.AdadeltaOptimizer(0.5, 0.9, 0.01))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("l1", [0.0, 0.05, 5.0])
def test_proximal_steps_follow_their_formulas(l1: float) -> None:
    def proximal(value: float, rate: float) -> float:
        return float(np.sign(value) * max(abs(value) - rate * l1, 0.0) / (1 + rate * 0.2))

    w, expected = 1.0, []
    for _ in range(3):
        w = proximal(w - 0.1 * w, 0.1)
        expected.append(w)
    found = path(lambda: tf.train.ProximalGradientDescentOptimizer(0.1, l1, 0.2))
    assert found == pytest.approx(expected, rel=1e-5)
    w, total, expected = 1.0, 0.1, []
    for _ in range(3):
        total += w * w
        w = proximal(w - 0.1 / np.sqrt(total) * w, 0.1 / np.sqrt(total))
        expected.append(w)
    with tf.Graph().as_default():
        found = path(
            lambda: tf.train.ProximalAdagradOptimizer(
                0.1, l1_regularization_strength=l1, l2_regularization_strength=0.2
            )
        )
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("power", [-0.5, -0.6, 0.0])
def test_ftrl_follows_its_formula(power: float, shrinkage: float) -> None:
    w, total, linear, expected = 1.0, 0.2, 0.0, []
    for _ in range(3):
        before, total = total, total + w * w
        linear += w + 2 * shrinkage * w - (total**-power - before**-power) / 0.5 * w
        beyond = max(abs(linear) - 0.05, 0.0)
        w = -np.sign(linear) * beyond / (total**-power / 0.5 + 2 * 0.1)
        expected.append(w)
    found = path(
        lambda: tf.train.FtrlOptimizer(
            0.5, power, 0.2, 0.05, 0.1, l2_shrinkage_regularization_strength=shrinkage
        )
    )
    assert found == pytest.approx(expected, rel=1e-5)


def test_ftrl_names_its_slots_and_refuses_numbers_out_of_range() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    optimizer = tf.train.FtrlOptimizer(0.1, accum_name="sums", linear_name="lines")
    optimizer.minimize(tf.reduce_sum(w))
    assert optimizer.get_slot_names() == ["accum", "linear"]
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == ["w", "w/sums", "w/lines"]
    with pytest.raises(ValueError, match="learning_rate_power: expected a number of at most 0"):
        tf.train.FtrlOptimizer(0.1, learning_rate_power=0.5)
    with pytest.raises(ValueError, match="l1_regularization_strength: expected a number of at le"):
        tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0)


@pytest.mark.parametrize("l1", [0.0, 0.05, 5.0])
def test_adagrad_by_dual_averaging_follows_its_formula(l1: float) -> None:
    w, total, squares, expected = 1.0, 0.0, 0.1, []
    for step in range(1, 4):
        total, squares = total + w, squares + w * w
        beyond = max(abs(total) - l1 * step, 0.0)
        w = -0.5 * np.sign(total) * beyond / (np.sqrt(squares) + 0.5 * 0.2 * step)
        expected.append(w)
    variable = tf.Variable(1.0)
    step_count = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdagradDAOptimizer(0.5, step_count, 0.1, l1, 0.2)
    train = optimizer.minimize(tf.square(variable) / 2.0, step_count)
    assert optimizer.get_slot_names() == ["gradient_accumulator", "gradient_squared_accumulator"]
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
            found.append(float(session.run(variable)))
    assert found == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ValueError, match="expected a number above 0, got 0"):
        tf.train.AdagradDAOptimizer(0.1, step_count, 0.0)


_ROW_OPTIMIZERS: list[Callable[[], Any]] = [
    lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    lambda: tf.train.AdadeltaOptimizer(1.0),
    lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.1),
    lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.1),
    lambda: tf.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.01, 0.1),
    lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    lambda: tf.train.AdagradDAOptimizer(0.1, 2, 0.1, 0.01, 0.1),
]


@pytest.mark.parametrize("number", range(len(_ROW_OPTIMIZERS)))
def test_steps_on_rows_are_those_on_the_whole_and_leave_other_rows(number: int) -> None:
    rows = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    whole = tf.Variable([[1.0, 2.0], [5.0, 6.0]])
    gradient = tf.constant([[0.5, -1.0], [0.25, 2.0]])
    # Row 0 is named twice, by halves.
    parts = tf.constant([[0.25, -0.5], [0.25, 2.0], [0.25, -0.5]])
    slices = tf.IndexedSlices(parts, tf.constant([0, 2, 0]), tf.constant([3, 2]))
    optimizer = _ROW_OPTIMIZERS[number]()
    train = optimizer.apply_gradients([(slices, rows), (gradient, whole)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        found, expected = session.run([rows, whole])
    np.testing.assert_allclose(found[[0, 2]], expected, rtol=1e-6)
    np.testing.assert_array_equal(found[1], [3.0, 4.0])


@pytest.mark.parametrize("kind", [float, tf.constant])
def test_hyperparameters_may_be_functions(kind: Any) -> None:
    def given(value: float) -> Callable[[], Any]:
        return lambda: kind(value)

    for plain, by_function in (
        (
            lambda: tf.train.GradientDescentOptimizer(0.1),
            lambda: tf.train.GradientDescentOptimizer(given(0.1)),
        ),
        (
            lambda: tf.train.MomentumOptimizer(0.1, 0.9),
            lambda: tf.train.MomentumOptimizer(given(0.1), given(0.9)),
        ),
        (
            lambda: tf.train.AdagradOptimizer(0.1),
            lambda: tf.train.AdagradOptimizer(given(0.1)),
        ),
        (
            lambda: tf.train.AdamOptimizer(0.1, 0.8, 0.99, 1e-3),
            lambda: tf.train.AdamOptimizer(given(0.1), given(0.8), given(0.99), given(1e-3)),
        ),
        (
            lambda: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
            lambda: tf.train.RMSPropOptimizer(given(0.1), given(0.8), given(0.5), given(1e-3)),
        ),
        (
            lambda: tf.train.AdadeltaOptimizer(0.1, 0.8, 1e-3),
            lambda: tf.train.AdadeltaOptimizer(given(0.1), given(0.8), given(1e-3)),
        ),
        (
            lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.3),
            lambda: tf.train.ProximalGradientDescentOptimizer(given(0.1), given(0.2), given(0.3)),
        ),
        (
            lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.5, 0.2, 0.3),
            lambda: tf.train.ProximalAdagradOptimizer(given(0.1), 0.5, given(0.2), given(0.3)),
        ),
        (
            lambda: tf.train.FtrlOptimizer(0.1),
            lambda: tf.train.FtrlOptimizer(given(0.1)),
        ),
        (
            lambda: tf.train.AdagradDAOptimizer(0.1, 2, 0.1, 0.2, 0.3),
            lambda: tf.train.AdagradDAOptimizer(given(0.1), 2, 0.1, given(0.2), given(0.3)),
        ),
    ):
        assert path(by_function) == path(plain)


def trained_weights(make: Callable[[], Any], passes_without: list[str]) -> tuple[list[bytes], int]:
    """The weights of a perceptron after five steps, and how many kernels a step ran."""
    random = np.random.RandomState(3)
    with tf.Graph().as_default():
        value = tf.constant(random.uniform(-1, 1, [16, 20]).astype(np.float32))
        weights = []
        for width in (20, 30, 10):
            columns = int(value.shape[1])
            initial = random.uniform(-0.3, 0.3, [columns, width]).astype(np.float32)
            weights += [tf.Variable(initial), tf.Variable(np.zeros(width, np.float32))]
            value = tf.tanh(tf.matmul(value, weights[-2]) + weights[-1])
        train = make().minimize(tf.reduce_sum(tf.square(value - 0.25)))
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disabled_passes.extend(passes_without)
        metadata = tf.RunMetadata()
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(train, options=options, run_metadata=metadata)
            values = session.run(tf.global_variables())
    kernels = sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)
    return [value.tobytes() for value in values], kernels


# Adam's updates each read the powers of both decay rates.
@pytest.mark.parametrize(
    ("make", "saved"),
    [
        (lambda: tf.train.GradientDescentOptimizer(0.1), 5),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), 5),
        (lambda: tf.train.AdagradOptimizer(0.1), 5),
        (lambda: tf.train.AdamOptimizer(0.1), 15),
        (lambda: tf.train.RMSPropOptimizer(0.1), 5),
        (lambda: tf.train.RMSPropOptimizer(0.1, centered=True), 5),
        (lambda: tf.train.AdadeltaOptimizer(0.1), 5),
        (lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.1), 5),
        (lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.1), 5),
        (lambda: tf.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.01, 0.1), 5),
        (lambda: tf.train.AdagradDAOptimizer(0.1, 2, 0.1, 0.01, 0.1), 5),
    ],
)
def test_updates_in_one_batch_give_the_same_bits(make: Callable[[], Any], saved: int) -> None:
    alone, kernels_alone = trained_weights(make, ["batch_updates"])
    together, kernels = trained_weights(make, [])
    assert together == alone
    assert kernels == kernels_alone - saved


def test_slots_are_variables_beside_the_variable() -> None:
    w = tf.Variable([1.0, 2.0], name="w")
    optimizer = tf.train.AdamOptimizer()
    train = optimizer.minimize(tf.reduce_sum(w))
    assert train.name == "Adam"
    assert optimizer.get_slot_names() == ["m", "v"]
    slot = optimizer.get_slot(w, "v")
    assert slot is not None
    assert slot.op.name == "w/Adam_1"
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == ["w", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
    assert tf.trainable_variables() == [w]


def test_names_of_the_optimizers_variables_follow_the_scopes() -> None:
    with tf.variable_scope("vs"):
        with tf.name_scope("train"):
            w = tf.Variable(1.0, name="w")
            tf.train.AdamOptimizer().minimize(w * w)
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(w * w)
        tf.train.create_global_step()
    tf.train.AdagradOptimizer(0.1).minimize(w * w)
    assert [variable.op.name for variable in tf.global_variables()] == [
        "vs/train/w",
        "vs/train/beta1_power",
        "vs/train/beta2_power",
        "vs/vs/train/w/Adam",
        "vs/vs/train/w/Adam_1",
        "vs/vs/train/w/Momentum",
        "vs/global_step",
        "vs/train/w/Adagrad",
    ]


def test_global_step_counts_steps() -> None:
    w = tf.Variable(1.0)
    counter = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=counter)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([train, w])
        session.run(train)
        assert tf.train.global_step(session, counter) == 2


def test_rows_that_were_not_gathered_stay() -> None:
    table = tf.Variable(np.ones([4, 2], np.float32))
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1, 3]))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(table).tolist() == [[1, 1], [0, 0], [1, 1], [0.5, 0.5]]


def two_steps_on_rows(optimizer: Any) -> Any:
    """A table of ones after two steps, with gradients 2 and 3 in row 1, 1 and none in row 3."""
    table = tf.Variable(np.ones([4, 2], np.float32))
    rows = tf.placeholder(tf.int32, [3])
    train = optimizer.minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, rows)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {rows: [1, 1, 3]})
        session.run(train, {rows: [1, 1, 1]})
        return session.run(table)


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_of_rows_that_were_not_gathered_stays(nesterov: bool) -> None:
    found = two_steps_on_rows(tf.train.MomentumOptimizer(0.5, 0.5, use_nesterov=nesterov))
    # Row 1: velocities 2 and 4. Row 3: velocity 1 in the first step, none in the second.
    first, second, third = (3.0, 5.0, 1.5) if nesterov else (2.0, 4.0, 1.0)
    expected = [1.0, 1.0 - 0.5 * (first + second), 1.0, 1.0 - 0.5 * third]
    assert found.tolist() == [[row, row] for row in expected]


def test_adagrad_adds_up_repeated_rows_first() -> None:
    found = two_steps_on_rows(tf.train.AdagradOptimizer(0.5, initial_accumulator_value=1.0))
    row1 = 1 - 0.5 * (2 / np.sqrt(5) + 3 / np.sqrt(14))
    row3 = 1 - 0.5 * (1 / np.sqrt(2))
    expected = np.array([[1, 1], [row1, row1], [1, 1], [row3, row3]])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_unconnected_variables_have_no_gradient() -> None:
    w, other = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(w * 2.0)
    assert pairs[1] == (None, other)
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.minimize(w * 2.0, var_list=[other])


def test_constraint_holds_after_a_step() -> None:
    w = tf.Variable(1.0, constraint=lambda value: tf.maximum(value, 0.95))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert float(session.run(w)) == pytest.approx(0.95)


def test_global_step_must_be_a_variable() -> None:
    w = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for wrong in (3, tf.constant(0)):
        with pytest.raises(TypeError, match="global_step: expected a variable"):
            optimizer.minimize(w * 2.0, global_step=wrong)


def test_variables_to_train_come_in_any_collection() -> None:
    a, b = tf.Variable(2.0, name="a"), tf.Variable(3.0, name="b")
    named = {"second": b, "first": a}
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for given, wanted in [
        (named, [a, b]),
        (named.values(), [b, a]),
        ({a}, [a]),
        ((v for v in [b, a]), [b, a]),
        ([(a,), {"b": b}], [a, b]),
        (a, [a]),
    ]:
        pairs = optimizer.compute_gradients(a * b, var_list=given)
        assert [variable for _, variable in pairs] == wanted
    train = optimizer.minimize(a * b, var_list=named)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([a, b]) == pytest.approx([1.7, 2.8])
    with pytest.raises(TypeError, match="var_list: expected variables, got 'second'"):
        optimizer.compute_gradients(a * b, var_list=named.keys())


def test_a_variable_that_counts_is_left_alone() -> None:
    # Old programs make their global step without trainable=False.
    w, step = tf.Variable(2.0), tf.Variable(0, name="global_step")
    rate = tf.train.exponential_decay(0.5, step, 1, 0.5)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    pairs = optimizer.compute_gradients(w * w)
    assert [gradient is None for gradient, _ in pairs] == [False, True]
    train = optimizer.minimize(w * w, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([w, step]) == [0.0, 1]
