"""The counters of a task over HTTP."""

from __future__ import annotations

import logging
import re
import urllib.error
import urllib.request
from typing import Any

import pytest

import millstream as tf
from millstream._impl.cluster import server as server_module
from millstream._impl.cluster.metrics import metrics_text
from millstream._impl.cluster.status import Accumulator, TaskStatus, Traffic

# A line of the format: a name, labels with escaped texts, and a number.
_SAMPLE = re.compile(
    r'^(?P<name>[a-z_]+)(?P<labels>\{[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z]+="[^"]*")*\})? '
    r"(?P<value>[0-9.e+-]+)$"
)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


def _get(url: str) -> Any:
    return urllib.request.urlopen(url)


def _samples(text: str) -> dict[str, float]:
    """The values by name and labels, after a look at the form of the text."""
    assert text.endswith("\n")
    values: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert what in ("HELP", "TYPE")
            if what == "TYPE":
                kinds[name] = rest
            continue
        found = _SAMPLE.match(line)
        assert found is not None, line
        assert kinds[found["name"]] == ("counter" if found["name"].endswith("_total") else "gauge")
        values[found["name"] + (found["labels"] or "")] = float(found["value"])
    return values


def test_a_task_answers_requests_of_http() -> None:
    server = tf.train.Server.create_local_server()
    url = tf.cluster.serve_metrics(server)
    assert url.startswith("http://localhost:")
    with _get(f"{url}/metrics") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        before = _samples(answer.read().decode())
    with tf.Graph().as_default(), tf.Session(server.target) as sess:
        step = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
        sess.run(step)
        sess.run(step)
        during = _samples(_get(f"{url}/metrics?x=y").read().decode())
    assert before["millstream_steps_total"] == 0
    assert during["millstream_steps_total"] == 2
    assert during["millstream_led_steps_total"] == 2
    assert (before["millstream_sessions"], during["millstream_sessions"]) == (0, 1)
    assert during["millstream_up_seconds"] > before["millstream_up_seconds"] > 0
    (task,) = (name for name in before if name.startswith("millstream_task_info"))
    assert 'task="/job:local/replica:0/task:0"' in task
    with _get(f"{url}/healthz") as answer:
        assert (answer.status, answer.read()) == (200, b"ok\n")
    head = urllib.request.Request(f"{url}/healthz", method="HEAD")
    with urllib.request.urlopen(head) as answer:
        assert (answer.status, answer.read()) == (200, b"")
    # Its thread runs no steps: who waits in vain is told so.
    with tf.Graph().as_default(), tf.Session() as sess:
        take = tf.FIFOQueue(1, tf.int32).dequeue()
        with pytest.raises(tf.errors.FailedPreconditionError, match="nobody can give"):
            sess.run(take)
    with pytest.raises(urllib.error.HTTPError) as caught:
        _get(f"{url}/secrets")
    assert caught.value.code == 404
    caught.value.close()


def test_the_environment_has_servers_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = tf.cluster.serve_metrics(tf.train.Server.create_local_server())
    taken = url.rpartition(":")[2]
    with pytest.raises(tf.errors.UnavailableError, match=f"cannot be served at localhost:{taken}"):
        tf.cluster.serve_metrics(tf.train.Server.create_local_server(), int(taken))
    monkeypatch.setenv("MILLSTREAM_METRICS_PORT", taken)
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as sess:
        assert sess.run(tf.constant(2.0)) == 2.0
    (warning,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert f"cannot be served at localhost:{taken}" in warning.getMessage()
    monkeypatch.setenv("MILLSTREAM_METRICS_PORT", "many")
    with pytest.raises(ValueError, match="MILLSTREAM_METRICS_PORT: expected a port, got 'many'"):
        tf.train.Server.create_local_server()
    caplog.clear()
    caplog.set_level(logging.INFO, "millstream")
    for port in ("0", "auto"):
        monkeypatch.setenv("MILLSTREAM_METRICS_PORT", port)
        tf.train.Server.create_local_server()
    urls = [re.search(r"at (http://\S+)/metrics", record.getMessage()) for record in caplog.records]
    assert len(urls) == 2
    for url_of in urls:
        assert url_of is not None
        assert _get(f"{url_of[1]}/healthz").status == 200


@pytest.mark.parametrize(
    ("job", "index", "port"),
    [
        ("ps", 0, 9000),
        ("ps", 1, 9000),
        ("worker", 0, 9001),
        ("worker", 1, 9002),
        ("worker", 7, 9001),
    ],
)
def test_tasks_of_a_host_have_ports_one_behind_the_other(job: str, index: int, port: int) -> None:
    cluster = tf.train.ClusterSpec(
        {"worker": {0: "a:2223", 1: "a:2224", 7: "b:2224"}, "ps": ["a:2222", "b:2222"]}
    )
    definition = tf.train.ServerDef(
        cluster=cluster.as_cluster_def(), job_name=job, task_index=index
    )
    assert server_module._metrics_port("9000", definition) == port
    assert server_module._metrics_port("auto", definition) == 0
    assert server_module._metrics_port("0", definition) == 0


def test_stale_gradients_are_counted_by_accumulator() -> None:
    server = tf.train.Server.create_local_server()
    url = tf.cluster.serve_metrics(server)
    with tf.Graph().as_default(), tf.Session(server.target) as sess:
        mean = tf.ConditionalAccumulator(tf.float32, shared_name="counted_in_metrics")
        sess.run(mean.set_global_step(5))
        sess.run(mean.apply_grad(1.0, local_step=5))
        for _ in range(2):
            sess.run(mean.apply_grad(1.0, local_step=4))
        values = _samples(_get(f"{url}/metrics").read().decode())
    of_it = '{accumulator="counted_in_metrics"}'
    assert values[f"millstream_gradients_applied_total{of_it}"] == 1
    assert values[f"millstream_stale_gradients_dropped_total{of_it}"] == 2


def test_accumulators_of_one_name_have_lines_of_their_own() -> None:
    sums = (
        Accumulator("", "w:0/grad_accum", "", 7, 1),
        Accumulator("c", "w:0/grad_accum", "", 8, 2),
        Accumulator("", "w:0/grad_accum", "00ff", 9, 3),
    )
    status = TaskStatus("/job:a", "00ff", 2.5, 1, 1, 2, 30, 4, 20, 3, 1, (), {}, (), sums)
    values = _samples(metrics_text(status))
    dropped = "millstream_stale_gradients_dropped_total"
    assert values[dropped + '{accumulator="w:0/grad_accum"}'] == 1
    assert values[dropped + '{accumulator="w:0/grad_accum",container="c"}'] == 2
    assert values[dropped + '{accumulator="w:0/grad_accum",session="00ff"}'] == 3
    assert sum(name.startswith("millstream_gradients_applied_total") for name in values) == 3


def test_labels_are_escaped_and_peers_have_lines_of_their_own() -> None:
    traffic = {'a"b\\c\n': Traffic(1, 2), "clients": Traffic(3, 4)}
    status = TaskStatus(
        "/job:a", "00ff", 2.5, 1, 1, 2, 30, 4, 20, 3, 1, ("/job:b",), traffic, ()
    )  # fmt: skip
    values = _samples(metrics_text(status))
    assert values['millstream_sent_bytes_total{peer="a\\"b\\\\c\\n"}'] == 1
    assert values['millstream_received_bytes_total{peer="clients"}'] == 4
    assert values["millstream_failed_steps_total"] == 4
    assert values["millstream_lost_tasks"] == 1
    assert values['millstream_task_info{task="/job:a",incarnation="00ff"}'] == 1
