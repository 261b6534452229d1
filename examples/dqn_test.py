"""The agent learns to balance, and the simulator follows the equations."""

from __future__ import annotations

import numpy as np
import pytest

import millstream as tf
from examples import cart_pole, dqn


def test_a_short_training_balances_longer_than_chance() -> None:
    tf.reset_default_graph()
    learned, chance = dqn.main(["--short"])
    assert chance < 30
    assert learned > 60


def test_a_push_from_rest_gives_the_accelerations_that_the_equations_give() -> None:
    # cos = 1, sin = 0: the pole's is -(F / M) / (l (4/3 - m / M)), the cart's (F - m l turn) / M.
    cart, turn = cart_pole.accelerations(np.zeros([1, 4]), np.array([10.0]))
    assert turn[0] == pytest.approx(-(10 / 1.1) / (0.5 * (4 / 3 - 0.1 / 1.1)))
    assert cart[0] == pytest.approx((10 - 0.05 * turn[0]) / 1.1)
    after = cart_pole.advance(np.zeros([1, 4]), np.array([1]))
    np.testing.assert_allclose(after[0], [0, 0.02 * cart[0], 0, 0.02 * turn[0]])


def test_the_simulator_is_the_same_in_a_mirror() -> None:
    random = np.random.RandomState(0)
    states, actions = random.uniform(-1, 1, (100, 4)), random.randint(0, 2, 100)
    mirrored = cart_pole.advance(-states, 1 - actions)
    np.testing.assert_allclose(mirrored, -cart_pole.advance(states, actions), rtol=1e-12)


def test_carts_fail_beyond_the_track_and_the_angle() -> None:
    states = np.zeros([5, 4])
    states[:, 0] = [0, 2.5, -2.5, 0, 0]
    states[:, 2] = [0.2, 0, 0, 0.22, -0.22]
    assert cart_pole.fallen(states).tolist() == [False, True, True, True, True]


def test_a_full_memory_forgets_the_oldest_transitions() -> None:
    memory = dqn.Replay(4, np.random.RandomState(0))
    for number in range(3):
        states = np.full([2, 4], number)
        memory.add(states, np.full(2, number), np.zeros(2), states + 1)
    states, actions, _, next_states = memory.batch(100)
    assert set(actions.tolist()) == {1, 2}
    np.testing.assert_array_equal(states[:, 0], actions)
    np.testing.assert_array_equal(next_states, states + 1)


def test_the_target_network_changes_by_copies_alone() -> None:
    tf.reset_default_graph()
    agent = dqn.Agent(steps=10)
    target = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "target")
    online = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "online")
    states = np.ones([8, 4])
    feed = {agent.states: states, agent.next_states: states}
    feed |= {agent.actions: np.zeros(8), agent.failed: np.ones(8)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(agent.copy)
        before = session.run(target)
        session.run(agent.train, feed)
        after, learned = session.run([target, online])
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
        assert any(not np.array_equal(x, y) for x, y in zip(after, learned, strict=True))
        session.run(agent.copy)
        copied = session.run(target)
    for one, other in zip(copied, learned, strict=True):
        np.testing.assert_array_equal(one, other)
