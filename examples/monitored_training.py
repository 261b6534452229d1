"""Train in a session that saves as it goes: ended at any step, it goes on from its last checkpoint.

A network of two layers learns the sine of a sum. Run the program with ``--folder``, end it by
Ctrl-C, ``kill`` or ``kill -9``, and run it again: the weights at the end are the same bits as
without the interruption, since each step's rows follow from its number.
"""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

import numpy as np

import millstream as tf
from examples.command_line import progress_bar, training_parser, user_path

STEPS = 20_000
SHORT_STEPS = 2_000
ROWS = 4096
BATCH = 64


def build(seed: int) -> tuple[Any, Any]:
    """Build the graph; return the loss and the training step."""
    values = np.random.RandomState(seed).uniform(-1, 1, [ROWS, 3]).astype(np.float32)
    tf.set_random_seed(seed)
    # [docs: graph]
    step = tf.train.get_or_create_global_step()
    rows = tf.mod(step * BATCH + tf.range(BATCH, dtype=tf.int64), ROWS)
    x = tf.gather(values, rows)
    hidden = tf.layers.dense(x, 32, tf.nn.tanh)
    wrong = tf.layers.dense(hidden, 1) - tf.sin(tf.reduce_sum(x, 1, keepdims=True))
    loss = tf.reduce_mean(tf.square(wrong))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss, global_step=step)
    # [docs: end]
    tf.summary.scalar("loss", loss)
    return loss, train


def train_until(folder: pathlib.Path, last_step: int, seed: int) -> float:
    """Train from the last checkpoint of a folder to a step; return the last loss."""
    loss, train = build(seed)
    value = float("nan")
    bar = progress_bar(last_step)
    # [docs: session]
    hooks = [tf.train.StopAtStepHook(last_step=last_step), tf.train.NanTensorHook(loss)]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(folder), hooks=hooks, save_checkpoint_steps=1000
    ) as session:
        while not session.should_stop():
            step, value, _ = session.run([tf.train.get_global_step(), loss, train])
            bar.update(step - bar.n)
    # [docs: end]
    bar.close()
    return float(value)


def main(argv: list[str] | None = None) -> float:
    """Run the program; return the last loss."""
    parser = training_parser(__doc__, "the rows and first weights")
    parser.add_argument(
        "--folder", type=user_path, help="where checkpoints are, by default a new one"
    )
    args = parser.parse_args(argv)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    folder = args.folder or pathlib.Path(tempfile.mkdtemp(prefix="millstream_monitored_"))
    loss = train_until(folder, steps, args.seed)
    print(f"loss {loss:.6f}; checkpoints in {folder}")
    return loss


if __name__ == "__main__":
    main()
