"""Processes that are killed while they save leave the last complete checkpoint."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import millstream as tf

# Saves for ever: all variables have the number of the save. Each save that is complete is printed.
_PROGRAM = """
import sys
import millstream as tf

prefix, numbered, options = sys.argv[1], sys.argv[2] == "numbered", eval(sys.argv[3])
value = tf.placeholder(tf.float32, [])
variables = [tf.Variable(tf.zeros([size]), name=f"v{size}") for size in (1, 3000, 100000)]
assigned = [v.assign(tf.fill(v.shape, value)) for v in variables]
saver = tf.train.Saver(max_to_keep=1, **options)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for number in range(int(sys.argv[4]), 10**9):
        sess.run(assigned, {value: number})
        saver.save(sess, prefix, number if numbered else None, write_meta_graph=False)
        if not options.get("asynchronous"):
            print(number, flush=True)
"""
_ROUNDS = 3


def _killed(prefix: str, how: str, options: str, first: int, seconds: float) -> int:
    """Run it for so long after its first save; the number of the last complete one."""
    arguments = [sys.executable, "-c", _PROGRAM, prefix, how, options, str(first)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        folder = os.path.dirname(prefix)
        while tf.train.latest_checkpoint(folder) is None and process.poll() is None:
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()
        printed = process.stdout.read().splitlines()
    assert process.returncode == -9, "the program ended by itself"
    return int(printed[-1]) if printed else first - 1


@pytest.mark.parametrize("how", ["numbered", "one_name"])
@pytest.mark.parametrize("options", ["{}", '{"asynchronous": True}'])
def test_the_last_complete_checkpoint_is_there(tmp_path: Path, how: str, options: str) -> None:
    seconds = random.Random(24)
    complete = 0
    for _ in range(_ROUNDS):
        printed = _killed(
            str(tmp_path / "model"), how, options, complete + 1, seconds.uniform(0.0, 0.3)
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
        assert found in (max(printed, complete), printed + 1) or options != "{}"
        assert found >= complete
        complete = found
