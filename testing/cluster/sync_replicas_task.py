"""A task of synchronous training that does what its input says, for tests that disturb it.

The loss of a worker is gradient * (w + b), and the rate is 1. So each step lowers w and b by the
mean of the gradients that it took. Where all gradients are 1, both are the negative of the step,
and a step that was applied twice, in part or not at all is seen for ever. The global step, b and
the queue of tokens are on the first parameter server, w is on the second one. The commands:

    step G     take part in a step with the gradient G; "stepped" when the token has come
    until N    take part with the gradient 1 until the global step is N; "reached"
    read       "state STEP W B"
    counts     "counts APPLIED DROPPED" of the gradients of w
    save       save a checkpoint; "saved STEP"
    end        leave; "ended"
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import millstream as tf


def say(*words: Any) -> None:
    """Write a line at once."""
    print(*words, flush=True)


class Tell(tf.train.SessionRunHook):
    """Writes at which step a session begins, before it takes part."""

    def __init__(self, step: Any) -> None:
        self._step = step

    def after_create_session(self, session: Any, coord: Any) -> None:
        """The variables are initialized or restored."""
        say("begins", session.run(self._step))


class Replica:
    """A worker's graph, and its answers to commands.

    Parameters
    ----------
    task
        The worker.
    aggregate
        How many gradients a step takes.
    """

    def __init__(self, task: tf.cluster.Task, aggregate: int) -> None:
        with tf.device(task.device_setter()):
            self.step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
            b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
            self._gradient = tf.placeholder(tf.float32, [])
            self.optimizer = tf.train.SyncReplicasOptimizer(
                tf.train.GradientDescentOptimizer(1.0),
                aggregate,
                total_num_replicas=task.cluster.num_tasks("worker"),
            )
            loss = self._gradient * (w + b)
            self._train = self.optimizer.minimize(loss, global_step=self.step)
            self._counts = self.optimizer.gradient_counts()["w:0"]
        self._state = [self.step, w, b]
        self._saver = tf.train.Saver()

    def answer(self, session: Any, folder: str, command: str, argument: str) -> None:
        """Do what a command says, and write its result."""
        match command:
            case "step":
                session.run(self._train, {self._gradient: float(argument)})
                say("stepped")
            case "until":
                while session.run(self.step) < int(argument):
                    session.run(self._train, {self._gradient: 1.0})
                say("reached")
            case "read":
                say("state", *session.run(self._state))
            case "counts":
                say("counts", *session.run(self._counts))
            case "save":
                session.run_step_fn(lambda step_context: self._save(step_context, folder))
            case _:
                raise ValueError(f"no command: {command!r}")

    def _save(self, step_context: Any, folder: str) -> None:
        step = step_context.session.run(self.step)
        self._saver.save(step_context.session, f"{folder}/model", global_step=step)
        say("saved", step)


def main() -> int:
    """Be a task; the place in the cluster is in the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True, help="of checkpoints")
    parser.add_argument("--aggregate", type=int, required=True)
    parser.add_argument("--first-tokens", type=int, default=-1)
    args = parser.parse_args()
    task = tf.cluster.from_environment()
    task.start_server()
    if task.is_ps:
        say("serves")
        task.serve()
    replica = Replica(task, args.aggregate)
    hook = replica.optimizer.make_session_run_hook(task.is_chief, args.first_tokens)
    with tf.train.MonitoredTrainingSession(
        task.target,
        task.is_chief,
        checkpoint_dir=args.folder,
        hooks=[Tell(replica.step), hook],
        save_checkpoint_secs=None,
        save_checkpoint_steps=None,
        save_summaries_steps=None,
        save_summaries_secs=None,
        stop_grace_period_secs=1,  # the chief's queue runner waits for gradients
        config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{task.task_index}"]),
    ) as session:
        for line in sys.stdin:
            command, _, argument = line.strip().partition(" ")
            if command == "end":
                break
            replica.answer(session, args.folder, command, argument)
    say("ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
