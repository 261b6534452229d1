"""Servers of one process, and sessions on them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses


def _servers(count: int) -> list[Any]:
    """The tasks of a new cluster."""
    cluster = tf.train.ClusterSpec({"worker": free_addresses(count)})
    return [tf.train.Server(cluster, "worker", i) for i in range(count)]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


def test_a_step_runs_in_both_tasks_and_feeds_reach_them() -> None:
    servers = _servers(2)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/job:worker/task:1"):
            square = x * x
        with tf.device("/job:worker/task:0"):
            y = tf.reduce_sum(square) + x
        for server in servers:
            with tf.Session(server.target) as sess:
                assert sess.sess_str == server.target
                assert sess.run(y, {x: [1.0, 2.0]}).tolist() == [6.0, 7.0]
                assert sess.run([y, square], {x: np.ones(3)})[1].tolist() == [1.0] * 3
                names = [device.name for device in sess.list_devices()]
                assert [name.partition("/task:")[2][0] for name in names][:2] in (
                    ["0", "1"],
                    ["1", "0"],
                )


def test_variables_outlive_sessions_until_they_are_reset() -> None:
    target = _servers(1)[0].target
    with tf.Graph().as_default():
        with tf.container("kept"):
            variable = tf.Variable(1.0)
        add = tf.assign_add(variable, 2.0)
        with tf.Session(target) as sess:
            sess.run(variable.initializer)
            sess.run(add)
        with tf.Session(target) as sess:
            assert sess.run(add) == 5.0
        tf.Session.reset(target, ["other"])
        with tf.Session(target) as sess:
            assert sess.run(variable) == 5.0
        tf.Session.reset(target, ["kept"])
        with tf.Session(target) as sess, pytest.raises(tf.errors.FailedPreconditionError):
            sess.run(variable)


def test_a_loop_runs_over_two_tasks() -> None:
    servers = _servers(2)
    with tf.Graph().as_default():

        def body(i: Any, total: Any) -> Any:
            with tf.device("/job:worker/task:1"):
                return i + 1, total + tf.cast(i, tf.float32)

        with tf.device("/job:worker/task:0"):
            _, total = tf.while_loop(lambda i, _: i < 10, body, [0, 0.0])
        with tf.Session(servers[0].target) as sess:
            assert sess.run(total) == 45.0


def test_a_run_in_parts_runs_over_two_tasks() -> None:
    servers = _servers(2)
    with tf.Graph().as_default():
        a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
        with tf.device("/job:worker/task:1"):
            count = tf.Variable(0.0)
            first = tf.assign_add(count, a)
        with tf.device("/job:worker/task:0"):
            second = first * b
        with tf.Session(servers[0].target) as sess:
            sess.run(count.initializer)
            handle = sess.partial_run_setup([first, second], [a, b])
            assert sess.partial_run(handle, first, {a: 2.0}) == 2.0
            assert sess.partial_run(handle, second, {b: 5.0}) == 10.0
            assert sess.run(count) == 2.0


def test_the_branches_of_a_conditional_run_in_two_tasks() -> None:
    servers = _servers(3)
    with tf.Graph().as_default():
        chooses = tf.placeholder(tf.bool, [])
        with tf.device("/job:worker/task:1"):
            v = tf.Variable([1.0, 2.0], use_resource=True)
            w = tf.Variable([5.0, 6.0], use_resource=True)

        def product() -> Any:
            with tf.device("/job:worker/task:1"):
                return v * 3.0

        def change() -> Any:
            with tf.device("/job:worker/task:2"):
                return tf.assign_add(w, [1.0, 1.0]) + 0.0

        chosen = tf.cond(chooses, product, change)
        (gradient,) = tf.gradients(chosen, v)
        with tf.Session(servers[0].target) as sess:
            sess.run([v.initializer, w.initializer])
            got = sess.run([chosen, gradient], {chooses: True})
            assert [one.tolist() for one in got] == [[3.0, 6.0], [3.0, 3.0]]
            assert sess.run(w).tolist() == [5.0, 6.0]  # the other branch did not run
            got = sess.run([chosen, gradient], {chooses: False})
            assert [one.tolist() for one in got] == [[6.0, 7.0], [0.0, 0.0]]
            assert sess.run(w).tolist() == [6.0, 7.0]


# A function of x whose nodes are in two tasks: x^2 + x. It is called, and is a branch of an If.
_FUNCTION = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
node {
  name: "call"
  op: "PartitionedCall"
  input: "x"
  attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "f" value { func { name: "polynomial" } } }
}
node {
  name: "choice"
  op: "If"
  input: "p"
  input: "x"
  attr { key: "Tcond" value { type: DT_BOOL } }
  attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "then_branch" value { func { name: "polynomial" } } }
  attr { key: "else_branch" value { func { name: "negative" } } }
}
library {
  function {
    signature {
      name: "polynomial"
      input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "z" type: DT_FLOAT }
    }
    node_def {
      name: "square"
      op: "Square"
      input: "x"
      device: "/job:worker/task:1"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    node_def {
      name: "sum"
      op: "AddV2"
      input: "square:y:0"
      input: "x"
      device: "/job:worker/task:2"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    ret { key: "z" value: "sum:z:0" }
  }
  function {
    signature {
      name: "negative"
      input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "z" type: DT_FLOAT }
    }
    node_def {
      name: "y"
      op: "Neg"
      input: "x"
      device: "/job:worker/task:1"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    ret { key: "z" value: "y:y:0" }
  }
}
"""


def _devices_of(sess: Any, fetch: Any, feeds: Any, op: str) -> set[str]:
    """The tasks in which a step ran nodes of an op."""
    report = tf.RunMetadata()
    sess.run(fetch, feeds, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), report)
    return {
        device.device.partition("/device")[0]
        for device in report.step_stats.dev_stats
        for node in device.node_stats
        if node.node_name.endswith(op)
    }


def test_the_nodes_of_a_function_run_in_two_tasks() -> None:
    servers = _servers(3)
    with tf.Graph().as_default():
        definition = tf.protos.text_format.Parse(_FUNCTION, tf.GraphDef())
        names = ["x:0", "p:0", "call:0", "choice:0"]
        found = tf.import_graph_def(definition, return_elements=names, name="")
        assert found is not None
        x, p, call, choice = found
        (gradient,) = tf.gradients(call, x)
        with tf.Session(servers[0].target) as sess:
            assert sess.run([call, gradient], {x: 3.0}) == [12.0, 7.0]
            assert sess.run(choice, {x: 3.0, p: True}) == 12.0
            assert sess.run(choice, {x: 3.0, p: False}) == -3.0
            feeds = {x: 3.0, p: True}
            for fetch in (call, choice):
                task = "/job:worker/replica:0/task:"
                assert _devices_of(sess, fetch, feeds, "/square") == {f"{task}1"}
                assert _devices_of(sess, fetch, feeds, "/sum") == {f"{task}2"}


# Calls a function of x in task 1: twice x.
_REMOTE_CALL = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node {
  name: "target"
  op: "Const"
  attr { key: "dtype" value { type: DT_STRING } }
  attr {
    key: "value"
    value {
      tensor { dtype: DT_STRING tensor_shape { } string_val: "/job:worker/task:1/device:CPU:0" }
    }
  }
}
node {
  name: "y"
  op: "RemoteCall"
  input: "target"
  input: "x"
  attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "f" value { func { name: "twice" } } }
}
library {
  function {
    signature {
      name: "twice"
      input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "z" type: DT_FLOAT }
    }
    node_def {
      name: "sum"
      op: "AddV2"
      input: "x"
      input: "x"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    ret { key: "z" value: "sum:z:0" }
  }
}
"""


def test_a_remote_call_runs_in_the_task_that_it_names() -> None:
    servers = _servers(2)
    with tf.Graph().as_default():
        definition = tf.protos.text_format.Parse(_REMOTE_CALL, tf.GraphDef())
        tf.import_graph_def(definition, name="in")
        x, y = (tf.get_default_graph().get_tensor_by_name(f"in/{name}:0") for name in "xy")
        with tf.Session(servers[0].target) as sess:
            assert sess.run(y, {x: 4.0}) == 8.0
        alone = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        refused = pytest.raises(tf.errors.InvalidArgumentError, match="task:1")
        with tf.Session(servers[0].target, config=alone) as sess, refused:
            sess.run(y, {x: 4.0})


def test_the_time_limit_and_closing_end_a_step() -> None:
    server = _servers(1)[0]
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
        element = queue.dequeue()
        sess = tf.Session(server.target)
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(element, options=tf.RunOptions(timeout_in_ms=50))

        begun = threading.Event()

        def begin() -> int:
            begun.set()
            return 0

        begins = tf.py_func(begin, [], tf.int64)

        def close() -> None:
            begun.wait()
            sess.close()

        closer = threading.Thread(target=close)
        closer.start()
        with pytest.raises(tf.errors.CancelledError):
            sess.run([element, begins])
        closer.join()


def test_wrong_targets_and_tasks_are_refused() -> None:
    for target in ("local", "http://x:1", "grpc://nowhere"):
        with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
            tf.Session(target, graph=tf.Graph())
    with pytest.raises(tf.errors.InvalidArgumentError, match="not defined in job"):
        tf.train.Server({"worker": ["localhost:0"]}, "worker", 3)
    with pytest.raises(ValueError, match="job_name"):
        tf.train.Server({"a": ["localhost:0"], "b": ["localhost:0"]})
    with pytest.raises(ValueError, match="protocol"):
        tf.train.Server({"a": ["localhost:0"]}, protocol="carrier pigeon")
    for address in ("localhost:99999", "far:65536"):  # also where others may not reach it
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"address {address} has the port"):
            tf.train.Server({"a": ["localhost:0"], "b": [address]}, "a", 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="the address x:99999 has the port"):
        tf.Session("grpc://x:99999", graph=tf.Graph())
    server = tf.train.Server({"a": ["localhost:0"]})
    assert (server.server_def.job_name, server.server_def.task_index) == ("a", 0)
    taken = server.target.removeprefix("grpc://")
    with pytest.raises(tf.errors.UnavailableError, match="in use"):
        tf.train.Server({"a": [taken]})
