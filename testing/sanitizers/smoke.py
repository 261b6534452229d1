"""What a sanitizer looks at while Python runs the runtime: a little of everything, once.

Trains a net on the CPU and on two simulated devices, saves its variables and restores them, runs a
loop, strings, random numbers and an imported graph, provokes errors, closes sessions while steps
run. Checks results, prints one line. tools/sanitize runs it with the sanitizer's runtime preloaded.
"""

from __future__ import annotations

import pathlib
import tempfile
import threading

import numpy as np

import millstream as tf
from millstream import _runtime

PLUGIN = pathlib.Path("device_plugins/sim/libmillstream_sim.so")
STEPS = 30
THREADS = 4


def train(device: str) -> float:
    """Train a small net with its variables on `device`; return the last loss."""
    numbers = np.random.default_rng(7)
    images = numbers.normal(size=(32, 12)).astype(np.float32)
    labels = np.argmax(images[:, :3], axis=1).astype(np.int64)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 12])
        y = tf.placeholder(tf.int64, [None])
        with tf.device(device):
            w1 = tf.Variable(numbers.normal(size=(12, 16)).astype(np.float32) / 4)
            w2 = tf.Variable(numbers.normal(size=(16, 3)).astype(np.float32) / 4)
            logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
        step = tf.train.AdamOptimizer(0.05).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            fed = {x: images, y: labels}
            first = session.run(loss, fed)
            for size in range(STEPS):
                session.run(step, {x: images[: 2 + size % 31], y: labels[: 2 + size % 31]})
                session.run(step, fed)
            last = session.run(loss, fed)
    if not last < first / 2:
        raise AssertionError(f"{device}: the loss went from {first} to {last}")
    return float(last)


LOOP = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "limit" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "enter" op: "Enter" input: "x"
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "frame_name" value { s: "loop" } } }
node { name: "enter_limit" op: "Enter" input: "limit"
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "frame_name" value { s: "loop" } }
  attr { key: "is_constant" value { b: true } } }
node { name: "merge" op: "Merge" input: "enter" input: "next"
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } }
node { name: "less" op: "Less" input: "merge" input: "enter_limit"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "cond" op: "LoopCond" input: "less" }
node { name: "switch" op: "Switch" input: "merge" input: "cond"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "twice" op: "Add" input: "switch:1" input: "switch:1"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "next" op: "NextIteration" input: "twice" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "exit" op: "Exit" input: "switch" attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 27 }
"""


def loops_and_strings() -> None:
    """Run control flow, strings and random numbers."""
    with tf.Graph().as_default():
        loop = tf.GraphDef.FromString(_runtime.message_parse_text("GraphDef", LOOP))
        tf.import_graph_def(loop, name="")
        words = tf.constant([b"a", b"bc", b"\xff" * 1000])
        random = tf.random_uniform([100], seed=1)
        with tf.Session() as session:
            if session.run("exit:0", {"x:0": 3.0, "limit:0": 1000.0}) != 3 * 2**9:
                raise AssertionError("the loop's value")
            if session.run(tf.identity(words)).tolist() != [b"a", b"bc", b"\xff" * 1000]:
                raise AssertionError("the strings")
            if not 0 <= session.run(random).min() <= session.run(random).max() < 1:
                raise AssertionError("the random numbers")


def errors_and_imports() -> None:
    """Fail in ways that users do, and import what was exported."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.matmul(x, tf.constant([[1.0], [2.0]]), name="y")
        exported = graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(exported, name="")
        with tf.Session() as session:
            if session.run("y:0", {"x:0": [[1, 1]]}).tolist() != [[3.0]]:
                raise AssertionError("the imported graph")
            for fed in ({}, {"x:0": [[1, 1, 1]]}):
                try:
                    session.run("y:0", fed)
                except (tf.errors.OpError, ValueError):
                    continue
                raise AssertionError(f"{fed} was accepted")


def close_while_steps_run() -> None:
    """Let threads run steps of a session that is closed."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 64])
        y = x
        for _ in range(10):
            y = tf.tanh(tf.matmul(y, x))
        session = tf.Session()
        ready = threading.Barrier(THREADS + 1)

        def run() -> None:
            value = np.ones((64, 64), np.float32)
            session.run(y, {x: value})
            ready.wait()
            try:
                while True:
                    session.run(y, {x: value})
            except (tf.errors.OpError, RuntimeError):
                pass

        threads = [threading.Thread(target=run) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        ready.wait()
        session.close()
        for thread in threads:
            thread.join()


def save_and_restore() -> None:
    """Write a graph to a file and read it again."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
        tf.train.write_graph(graph.as_graph_def(), folder, "graph.pb", as_text=False)
        again = tf.GraphDef()
        again.ParseFromString((pathlib.Path(folder) / "graph.pb").read_bytes())
        if [node.name for node in again.node] != ["one"]:
            raise AssertionError("the graph's file")


def main() -> None:
    """Run all of it."""
    tf.plugins.load_plugin(PLUGIN.resolve(), {"devices": "2", "delay_us": "50"})
    losses = [train(device) for device in ("/cpu:0", "/device:SIM:0", "/device:SIM:1")]
    loops_and_strings()
    errors_and_imports()
    save_and_restore()
    close_while_steps_run()
    print("smoke: losses", *(f"{loss:.4f}" for loss in losses))


if __name__ == "__main__":
    main()
