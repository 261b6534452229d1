"""Processes that are killed while they save leave the last complete checkpoint."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import millstream as tf

# Saves until a thread has counted so far, and kills the process. All variables have the number of
# the save. Each save that is complete is printed.
_PROGRAM = """
import os, signal, sys, threading
import millstream as tf

prefix, numbered, options = sys.argv[1], sys.argv[2] == "numbered", eval(sys.argv[3])
first, count = int(sys.argv[4]), int(sys.argv[5])


def count_and_kill():
    for _ in range(count):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


value = tf.placeholder(tf.float32, [])
variables = [tf.Variable(tf.zeros([size]), name=f"v{size}") for size in (1, 3000, 100000)]
assigned = [v.assign(tf.fill(v.shape, value)) for v in variables]
saver = tf.train.Saver(max_to_keep=1, **options)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for number in range(first, 10**9):
        sess.run(assigned, {value: number})
        saver.save(sess, prefix, number if numbered else None, write_meta_graph=False)
        if number == first:
            saver.wait()
        if number == first or not options:
            print(number, flush=True)
        if number == first:
            threading.Thread(target=count_and_kill).start()
"""
_ROUNDS = 3


def _killed(prefix: str, how: str, options: str, first: int, count: int) -> int:
    """Run it; the number of the last save that is known to be complete."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, prefix, how, options, str(first), str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == -9, "the program ended by itself"
    return int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("how", ["numbered", "one_name"])
@pytest.mark.parametrize("options", ["{}", '{"asynchronous": True}'])
def test_the_last_complete_checkpoint_is_there(tmp_path: Path, how: str, options: str) -> None:
    random_numbers = random.Random(24)
    first = 1
    for _ in range(_ROUNDS):
        complete = _killed(
            str(tmp_path / "model"), how, options, first, random_numbers.randrange(5_000_000)
        )
        path = tf.train.latest_checkpoint(str(tmp_path))
        assert path is not None
        values = {
            float(number)
            for name, _ in tf.train.list_variables(path)
            for number in np.unique(tf.train.load_variable(path, name))
        }
        assert len(values) == 1, "the checkpoint mixes two saves"
        found = int(values.pop())
        assert found >= complete
        assert found <= complete + 1 or options != "{}"
        first = found + 1
