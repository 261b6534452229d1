"""Learn to balance a pole by a deep Q-network.

The algorithm is that of V. Mnih et al., "Human-level control through deep reinforcement learning"
(Nature 518, 2015): a replay memory, a target network that assign ops copy now and then, random
actions that become rare. The simulator (``cart_pole``) is outside the graph, as in the OSDI '16
paper on TensorFlow, section 2.1: each step feeds states and fetches values of actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import millstream as tf
from examples import cart_pole
from examples.command_line import progress_bar, training_parser

STEPS = 15_000
SHORT_STEPS = 3000
CARTS = 8  # which run side by side
BATCH = 128
MEMORY = 50_000
WARM_UP = 1000  # transitions in the memory before learning starts
DISCOUNT = 0.99
COPY_EVERY = 200
SCALES = [1.0 / cart_pole.TRACK_END, 0.5, 1.0 / cart_pole.LARGEST_ANGLE, 0.5]
LONGEST_EPISODE = 200


class Replay:
    """The last transitions, and random batches of them."""

    def __init__(self, size: int, random: np.random.RandomState) -> None:
        self.random = random
        self.count = 0
        self.states = np.zeros([size, cart_pole.MEASURES], np.float32)
        self.actions = np.zeros([size], np.int32)
        self.failed = np.zeros([size], np.float32)
        self.next_states = np.zeros([size, cart_pole.MEASURES], np.float32)

    def arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        """Return the four columns of the memory."""
        return self.states, self.actions, self.failed, self.next_states

    def add(self, *transitions: npt.NDArray[np.generic]) -> None:
        """Keep transitions, in the place of the oldest when the memory is full."""
        rows = (self.count + np.arange(len(transitions[0]))) % len(self.states)
        for column, values in zip(self.arrays(), transitions, strict=True):
            column[rows] = values
        self.count += len(rows)

    def batch(self, size: int) -> tuple[npt.NDArray[np.generic], ...]:
        """Return random transitions."""
        rows = self.random.randint(0, min(self.count, len(self.states)), size)
        return tuple(column[rows] for column in self.arrays())


def values_of_actions(states: tf.Tensor, scope: str) -> Any:
    """Return a network's estimates of the rewards to come, one a row and action."""
    with tf.variable_scope(scope):
        states = states * np.array(SCALES, np.float32)
        hidden = tf.layers.dense(states, 64, activation=tf.nn.relu)
        hidden = tf.layers.dense(hidden, 64, activation=tf.nn.relu)
        return tf.layers.dense(hidden, cart_pole.ACTIONS)


class Agent:
    """The graph: which action is best, and how the network learns."""

    def __init__(self, steps: int) -> None:
        self.states = tf.placeholder(tf.float32, [None, cart_pole.MEASURES], name="states")
        self.actions = tf.placeholder(tf.int32, [None], name="actions")
        self.failed = tf.placeholder(tf.float32, [None], name="failed")
        self.next_states = tf.placeholder(
            tf.float32, [None, cart_pole.MEASURES], name="next_states"
        )
        values = values_of_actions(self.states, "online")
        next_values = values_of_actions(self.next_states, "target")
        online = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "online")
        target = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "target")
        pairs = zip(target, online, strict=True)
        self.copy = tf.group(*[tf.assign(old, new) for old, new in pairs])
        self.best = tf.argmax(values, axis=1)
        chosen = tf.reduce_sum(values * tf.one_hot(self.actions, cart_pole.ACTIONS), axis=1)
        # The signal to learn from is that of 1983: minus one at a failure, else zero.
        later = DISCOUNT * tf.reduce_max(next_values, axis=1)
        goals = (1.0 - self.failed) * later - self.failed
        self.loss = tf.losses.huber_loss(goals, chosen)
        step = tf.train.create_global_step()
        rate = tf.train.polynomial_decay(1e-3, step, steps, 1e-5)
        optimizer = tf.train.AdamOptimizer(rate)
        self.train = optimizer.minimize(self.loss, global_step=step, var_list=online)


def train(session: tf.Session, agent: Agent, steps: int, random: np.random.RandomState) -> None:
    """Act and learn in turns, with a progress bar."""
    best = session.make_callable(agent.best, feed_list=[agent.states])
    feeds = [agent.states, agent.actions, agent.failed, agent.next_states]
    learn = session.make_callable(agent.train, feed_list=feeds)
    copy = session.make_callable(agent.copy)
    memory = Replay(MEMORY, random)
    states, ages = cart_pole.start(CARTS, random), np.zeros(CARTS)
    lengths = [0.0]
    copy()
    with progress_bar(steps) as bar:
        for step in range(steps):
            dice = random.uniform(size=CARTS) < max(0.1, 1.0 - 4.0 * step / steps)
            actions = np.where(dice, random.randint(0, cart_pole.ACTIONS, CARTS), best(states))
            next_states = cart_pole.advance(states, actions)
            failed = cart_pole.fallen(next_states)
            memory.add(states, actions, failed, next_states)
            ages += 1
            over = failed | (ages == LONGEST_EPISODE)
            lengths.extend(ages[over])
            fresh = cart_pole.start(CARTS, random)
            states, ages = np.where(over[:, None], fresh, next_states), np.where(over, 0, ages)
            if memory.count > WARM_UP:
                learn(*memory.batch(BATCH))
            if step % COPY_EVERY == 0:
                copy()
                bar.set_postfix(episode=f"{np.mean(lengths[-20:]):.0f}", refresh=False)
            bar.update()


def mean_reward(
    choose: Callable[[cart_pole.Floats], npt.NDArray[np.int64]],
    episodes: int,
    random: np.random.RandomState,
) -> float:
    """Return for how many intervals a pole stands, up to LONGEST_EPISODE, on average."""
    states, standing = cart_pole.start(episodes, random), np.ones(episodes, bool)
    rewards = np.zeros(episodes)
    for _ in range(LONGEST_EPISODE):
        states = cart_pole.advance(states, choose(states))
        standing &= ~cart_pole.fallen(states)
        rewards += standing
    return float(rewards.mean())


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    """Train, report and return the mean rewards of the network's and of random actions."""
    parser = training_parser(__doc__, "of network, simulator and dice")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    random = np.random.RandomState(args.seed)
    tf.set_random_seed(args.seed)
    agent = Agent(steps)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        train(session, agent, steps, random)
        best = session.make_callable(agent.best, feed_list=[agent.states])
        learned = mean_reward(best, 100, random)
    dice = mean_reward(lambda s: random.randint(0, cart_pole.ACTIONS, len(s)), 100, random)
    print(f"mean reward of 100 episodes: {learned:.1f} after {steps} steps, {dice:.1f} by chance")
    return learned, dice


if __name__ == "__main__":
    main()
