"""The counters of a task over HTTP: ``/metrics`` for Prometheus, and ``/healthz``.

The text is Prometheus' exposition format, version 0.0.4.
"""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from millstream._impl.base import errors
from millstream._impl.cluster.status import Accumulator, TaskStatus, task_status
from millstream._impl.session import waits

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_PREFIX = "millstream_"
# How long a connection may say nothing, in seconds.
_PATIENCE = 10.0


def serve(read: Callable[[], str], is_running: Callable[[], bool], port: int, host: str) -> str:
    """Answer HTTP requests about a task, until the process ends.

    Parameters
    ----------
    read
        Gives what the task says of itself, in JSON (distributed_runtime/status_json.h).
    is_running
        Whether the task answers requests of its cluster.
    port, host
        Where to listen; port 0 is any free port.

    Returns
    -------
    str
        ``"http://HOST:PORT"``

    Raises
    ------
    UnavailableError
        The port is in use, or the host is no address of this machine.
    """
    try:
        listening = _Listening((host, port), read, is_running)
    except (OSError, OverflowError) as error:
        message = f"metrics cannot be served at {host}:{port}: {error}"
        raise errors.make(None, errors.UNAVAILABLE, message, "") from None
    threading.Thread(target=listening.serve_alone, name="millstream-metrics", daemon=True).start()
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.server_address[1]}"


class _Listening(http.server.ThreadingHTTPServer):
    """Answers requests, each on a thread of its own."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], read: Callable[[], str], is_running: Callable[[], bool]
    ) -> None:
        self.read = read
        self.is_running = is_running
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def serve_alone(self) -> None:
        """Serve; no step waits for what this thread does."""
        with waits.ends_only(lambda _: False):
            self.serve_forever()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer; no step waits for what this thread does."""
        with waits.ends_only(lambda _: False):
            super().process_request_thread(request, client_address)

    def server_bind(self) -> None:
        """Take the address; the base class also looks for its name, which may take long."""
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing about clients that went away; of other errors, what the base class does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request, and ends the connection."""

    protocol_version = "HTTP/1.1"
    server_version = "millstream"
    sys_version = ""
    timeout = _PATIENCE
    server: _Listening

    def do_GET(self) -> None:
        """Answer."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            status = task_status(json.loads(self.server.read()))
            self._answer(HTTPStatus.OK, CONTENT_TYPE, metrics_text(status))
        elif path == "/healthz":
            self.server.read()  # takes the locks that requests of the cluster take
            if self.server.is_running():
                self._answer(HTTPStatus.OK, _TEXT, "ok\n")
            else:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, "the task is stopped\n")
        else:
            self._answer(HTTPStatus.NOT_FOUND, _TEXT, "there are /metrics and /healthz\n")

    do_HEAD = do_GET  # noqa: N815 - http.server calls it by this name

    def _answer(self, code: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.close_connection = True
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base
        """Write nothing: probes come each second."""


def metrics_text(status: TaskStatus) -> str:
    """A task's counters in Prometheus' exposition format.

    Parameters
    ----------
    status
        What the task says of itself.
    """
    led = sum(step.is_led for step in status.running)
    lines: list[str] = []

    def add(name: str, kind: str, text: str, values: dict[str, float]) -> None:
        """Add a metric; `values` are by labels."""
        lines.append(f"# HELP {_PREFIX}{name} {text}")
        lines.append(f"# TYPE {_PREFIX}{name} {kind}")
        lines.extend(f"{_PREFIX}{name}{labels} {value}" for labels, value in values.items())

    task = _labels(task=status.task, incarnation=status.incarnation)
    add("task_info", "gauge", "The task, and a number that grows when it is started again.",
        {task: 1})  # fmt: skip
    add("up_seconds", "gauge", "How long the task has been up.", {"": status.up_seconds})
    add("steps_total", "counter", "Parts of steps that have ended in the task.",
        {"": status.steps})  # fmt: skip
    add("failed_steps_total", "counter", "Those of them that failed.", {"": status.failed_steps})
    add("led_steps_total", "counter", "Steps that have ended with this task as their master.",
        {"": status.led_steps})  # fmt: skip
    add("failed_led_steps_total", "counter", "Those of them that failed.",
        {"": status.failed_led_steps})  # fmt: skip
    add("running_steps", "gauge", "Parts of steps that run in the task.",
        {"": len(status.running) - led})  # fmt: skip
    add("running_led_steps", "gauge", "Steps that run with this task as their master.", {"": led})
    add("sessions", "gauge", "Open sessions that use the task.", {"": status.sessions})
    add("led_sessions", "gauge", "Those of them whose master is this task.",
        {"": status.led_sessions})  # fmt: skip
    add("registered_graphs", "gauge", "Parts of steps that are registered in the task.",
        {"": status.graphs})  # fmt: skip
    add("lost_tasks", "gauge", "Tasks that do not answer the heartbeats of this one.",
        {"": len(status.lost)})  # fmt: skip
    add("task_losses_total", "counter", "How often this task took another one for lost.",
        {"": status.losses})  # fmt: skip
    peers = {_labels(peer=peer): traffic for peer, traffic in status.traffic.items()}
    add("sent_bytes_total", "counter", "Bytes of messages to another task.",
        {peer: traffic.sent_bytes for peer, traffic in peers.items()})  # fmt: skip
    add("received_bytes_total", "counter", "Bytes of messages from another task.",
        {peer: traffic.received_bytes for peer, traffic in peers.items()})  # fmt: skip
    sums = {_place(one): one for one in status.accumulators}
    add("gradients_applied_total", "counter", "Gradients that an accumulator has added up.",
        {place: one.applied for place, one in sums.items()})  # fmt: skip
    add("stale_gradients_dropped_total", "counter",
        "Gradients of earlier steps, which an accumulator has dropped.",
        {place: one.dropped for place, one in sums.items()})  # fmt: skip
    return "\n".join(lines) + "\n"


def _place(accumulator: Accumulator) -> str:
    """Its labels; those that most have not are left out, which is the same to Prometheus."""
    more = {"container": accumulator.container, "session": accumulator.session}
    return _labels(
        accumulator=accumulator.name, **{name: text for name, text in more.items() if text}
    )


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
