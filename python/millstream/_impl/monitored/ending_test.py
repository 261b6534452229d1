"""Programs that are ended: SIGTERM saves, and after SIGKILL training goes on with the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import millstream as tf

# A guard against hanging: a program takes a second or two.
_HANG_GUARD_SECONDS = 300


class Program:
    """A program that runs, and prints a line a step."""

    def __init__(self, text: str, *arguments: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", textwrap.dedent(text), *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
        )
        self._guard = threading.Timer(_HANG_GUARD_SECONDS, self._process.kill)
        self._guard.daemon = True
        self._guard.start()

    def read_until(self, *, lines: int = 0, line: str = "") -> list[str]:
        """The next lines: so many of them, or up to one."""
        assert self._process.stdout is not None
        found: list[str] = []
        while len(found) < lines or (line and line not in found):
            text = self._process.stdout.readline()
            assert text, found
            found.append(text.strip())
        return found

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> tuple[list[str], int]:
        """The lines that are left, and its exit status."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            lines = output.read().split("\n")[:-1]
        status = self._process.wait()
        self._guard.cancel()
        return lines, status


def _saved_step(folder: Path) -> int:
    return int(tf.train.load_variable(str(folder), "global_step"))


# ---- SIGTERM ----

_COUNTING = """
    import os
    import signal
    import sys
    import millstream as tf

    count = tf.train.get_or_create_global_step().assign_add(1)
    try:
        with tf.train.MonitoredTrainingSession(checkpoint_dir=sys.argv[1]) as session:
            while {condition}:
                print(session.run(count))
        print("after")
    finally:
        print("finally")
"""


@pytest.mark.parametrize(
    ("condition", "ending", "status"),
    [
        ("not session.should_stop()", ["after", "finally"], 0),
        ("True", ["finally"], 128 + signal.SIGTERM),
    ],
)
def test_sigterm_saves_and_ends(
    tmp_path: Path, condition: str, ending: list[str], status: int
) -> None:
    program = Program(_COUNTING.format(condition=condition), tmp_path)
    seen = program.read_until(lines=3)
    program.send(signal.SIGTERM)
    rest, returned = program.end()
    steps = [*seen, *rest[: -len(ending)]]
    assert rest[-len(ending) :] == ending
    assert returned == status
    assert steps == [str(number + 1) for number in range(len(steps))]
    assert _saved_step(tmp_path) == len(steps)


def test_a_step_that_was_about_to_begin_when_sigterm_came_runs(tmp_path: Path) -> None:
    signalled = "not session.should_stop() and not os.kill(os.getpid(), signal.SIGTERM)"
    assert Program(_COUNTING.format(condition=signalled), tmp_path).end() == (
        ["1", "after", "finally"],
        0,
    )
    assert _saved_step(tmp_path) == 1


def test_a_second_sigterm_ends_at_once(tmp_path: Path) -> None:
    program = Program(
        """
        import signal
        import millstream as tf

        class Slow(tf.train.SessionRunHook):
            def end(self, session):
                print("end")
                signal.pause()

        one = tf.constant(1.0)
        with tf.train.MonitoredSession(hooks=[Slow()]) as session:
            print("begin")
            while not session.should_stop():
                session.run(one)
        """
    )
    program.read_until(line="begin")
    program.send(signal.SIGTERM)
    program.read_until(line="end")
    program.send(signal.SIGTERM)
    assert program.end() == ([], -signal.SIGTERM)


@pytest.mark.parametrize(
    ("setting", "ending"),
    [
        ("", ([], -signal.SIGTERM)),  # the session is closed
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))", ([], 5)),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", (["ignored"], 0)),
    ],
)
def test_outside_of_sessions_and_with_a_handler_of_its_own_sigterm_is_as_ever(
    setting: str, ending: Any
) -> None:
    program = Program(
        f"""
        import os, signal, sys
        import millstream as tf

        {setting}
        one = tf.constant(1.0)
        with tf.train.MonitoredSession() as session:
            session.run(one)
            if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
                os.kill(os.getpid(), signal.SIGTERM)
                session.run(one)
                sys.exit(print("ignored"))
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
        """
    )
    assert program.end() == ending


def test_a_child_of_the_program_ends_as_ever() -> None:
    program = Program(
        """
        import os, signal
        import millstream as tf

        one = tf.constant(1.0)
        with tf.train.MonitoredSession() as session:
            session.run(one)
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(writing, b"x")
                signal.pause()
            os.read(reading, 1)
            os.kill(child, signal.SIGTERM)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            print(session.should_stop())
        """
    )
    assert program.end() == ([str(-signal.SIGTERM), "False"], 0)


def test_no_session_begins_after_sigterm() -> None:
    program = Program(
        """
        import os, signal
        import millstream as tf

        one = tf.constant(1.0)
        while True:
            with tf.train.MonitoredSession() as session:
                print("begin")
                os.kill(os.getpid(), signal.SIGTERM)
                while not session.should_stop():
                    session.run(one)
        """
    )
    assert program.end() == (["begin"], 128 + signal.SIGTERM)


def test_a_session_of_another_thread_is_ended_by_the_next_one_in_the_main_thread() -> None:
    program = Program(
        """
        import os, signal, threading
        import millstream as tf

        graph = tf.get_default_graph()
        one = tf.constant(1.0)

        def work():
            with graph.as_default(), tf.train.MonitoredSession() as session:
                begun.set()
                while not session.should_stop():
                    session.run(one)
            print("ended")

        begun = threading.Event()
        with tf.train.MonitoredSession() as session:
            thread = threading.Thread(target=work)
            thread.start()
            begun.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            thread.join()
        """
    )
    assert program.end() == (["ended"], 0)


# ---- SIGKILL ----

# Random numbers of each step come from its number. Weights begin as a seeded operation says, and
# are in the checkpoint afterwards; so are the accumulators of the optimizer.
_TRAINING = """
    import hashlib, sys
    import numpy as np
    import millstream as tf

    folder, last = sys.argv[1], int(sys.argv[2])
    tf.set_random_seed(5)
    step = tf.train.get_or_create_global_step()
    now = step.read_value()
    data = np.random.RandomState(0).randn(64, 8).astype(np.float32)
    x = tf.gather(data, tf.mod(now * 8 + tf.range(8, dtype=tf.int64), 64))
    kept = tf.random.stateless_categorical(tf.zeros([8, 2]), 8, seed=tf.stack([3, now]))
    w = tf.get_variable("w", [8, 4], initializer=tf.random_normal_initializer())
    b = tf.get_variable("b", [4], initializer=tf.zeros_initializer())
    y = tf.tanh(tf.matmul(x * tf.to_float(kept), w) + b)
    loss = tf.reduce_mean(tf.square(y - tf.slice(x, [0, 2], [8, 4])))
    train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)
    hooks = [tf.train.StopAtStepHook(last_step=last)]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=7
    ) as session:
        while not session.should_stop():
            print(session.run([step, train])[0])
    reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(folder))
    for name in sorted(reader.get_variable_to_shape_map()):
        print(name, hashlib.sha256(reader.get_tensor(name).tobytes()).hexdigest())
"""
_LAST = 60


def _values(lines: list[str]) -> list[str]:
    """The lines that say what the last checkpoint has."""
    return [line for line in lines if " " in line]


def test_training_after_sigkill_gives_the_same_bits(tmp_path: Path) -> None:
    whole, _ = Program(_TRAINING, tmp_path / "whole", _LAST).end()
    expected = _values(whole)
    assert len(expected) == 3 * 2 + 3  # two slots a weight, two powers and the step
    folder = tmp_path / "killed"
    for steps in (5, 19, 1):
        program = Program(_TRAINING, folder, _LAST)
        program.read_until(lines=steps)
        program.send(signal.SIGKILL)
        _, status = program.end()
        assert status == -signal.SIGKILL
    begun_at = _saved_step(folder)
    assert 0 < begun_at < _LAST
    lines, status = Program(_TRAINING, folder, _LAST).end()
    assert status == 0
    assert len(lines) - len(expected) == _LAST - begun_at
    assert _values(lines) == expected
