"""Peers that are none of the cluster's: a server refuses them, says so once, and serves on."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import millstream as tf
from millstream._impl.session import credentials, targets

if not targets.library().exists():
    print("no library connects processes here: its tests do not run")
    pytest.skip("no library connects processes", allow_module_level=True)

TOKEN = "correct-horse-battery-staple"
REFUSAL = b"the request has not the cluster's token"
ROUNDS = 10
# Descriptors that the server's process begins with, and connections that say nothing.
FEW_DESCRIPTORS = 256
HALF_OPEN = 2000
_SERVE = """
import resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), hard))
import millstream as tf
server = tf.train.Server({"worker": ["localhost:0"]})
print(server.target, flush=True)
server.join()
"""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _CONTINUATION = 0x0, 0x1, 0x4, 0x9  # kinds of frames (RFC 9113)
_END_HEADERS = 0x4


def _frame(kind: int, flags: int, stream: int, body: bytes, size: int | None = None) -> bytes:
    """A frame of HTTP/2; `size` is what its head says, and may be wrong."""
    length = len(body) if size is None else size
    return struct.pack(">I", length)[1:] + struct.pack(">BBI", kind, flags, stream) + body


def _fields(fields: dict[str, str]) -> bytes:
    """A header block, in literals (RFC 7541, section 6.2.2)."""
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )


# A message that promises four gigabytes.
_HUGE = b"\0" + struct.pack(">I", 0xFFFFFFFF) + bytes(1000)
# The method of a stream of requests. Each of its messages begins with the name of a method.
_MANY_REQUESTS = "/millstream/"


def _message(content: bytes, flags: int = 0) -> bytes:
    """A message of gRPC."""
    return struct.pack(">BI", flags, len(content)) + content


def _request(token: str | None, path: str = "/millstream/RunGraph", *messages: bytes) -> bytes:
    """A stream of Millstream with these messages; without any, with a huge one."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    if token is not None:
        fields["authorization"] = f"Bearer {token}"
    return (
        PREFACE
        + _frame(_SETTINGS, 0, 0, b"")
        + _frame(_HEADERS, _END_HEADERS, 1, _fields(fields))
        + b"".join(_frame(_DATA, 0, 1, message) for message in messages or (_HUGE,))
    )


def _garbage() -> dict[str, bytes]:
    noise = np.random.RandomState(1).bytes(1 << 16)
    start = PREFACE + _frame(_SETTINGS, 0, 0, b"")
    return {
        "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise[:500],
        "noise": noise,
        "nothing": b"",
        "noise_behind_the_preface": PREFACE + noise,
        "huge_frame": start + _frame(_DATA, 0, 1, noise, size=0xFFFFFF),
        "headers_without_an_end": start
        + _frame(_HEADERS, 0, 1, noise[:16000])
        + _frame(_CONTINUATION, 0, 1, noise[:16000]) * 20,
        "huge_message_without_a_token": _request(None),
        "huge_message_with_another_token": _request(TOKEN.replace("horse", "mouse")),
        "huge_message": _request(TOKEN),
        "huge_message_of_a_stream": _request(TOKEN, _MANY_REQUESTS),
        "a_stream_without_a_token": _request(None, _MANY_REQUESTS, _message(b"\x08RunGraph")),
        "a_message_without_a_method": _request(TOKEN, _MANY_REQUESTS, _message(b"")),
        "a_method_that_ends_too_early": _request(TOKEN, _MANY_REQUESTS, _message(b"\xffRun")),
        "a_method_that_is_none": _request(
            TOKEN, _MANY_REQUESTS, *[_message(b"\x04" + noise[i : i + 9]) for i in range(100)]
        ),
        "requests_of_noise": _request(
            TOKEN, _MANY_REQUESTS, *[_message(b"\x08RunGraph" + noise[i:][:999]) for i in range(99)]
        ),
        "a_message_that_says_it_is_compressed": _request(
            TOKEN, _MANY_REQUESTS, _message(b"\x08RunGraph" + noise[:999], flags=1)
        ),
    }


class _Server:
    """A server in a process of its own, which asks for a token, so that all goes through gRPC."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        path = os.pathsep.join(path for path in sys.path if path)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(FEW_DESCRIPTORS)],
                env={**os.environ, "PYTHONPATH": path},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        self.target = self._process.stdout.readline().strip()

    def connect(self) -> socket.socket:
        """Open a connection to its port."""
        return socket.create_connection(("localhost", int(self.target.rpartition(":")[2])))

    def memory(self) -> int:
        """Return how many bytes of memory it has."""
        text = Path("/proc", str(self._process.pid), "statm").read_text()
        return int(text.split()[1]) * resource.getpagesize()

    def log(self) -> list[str]:
        """Return the lines that it has logged."""
        return self._log.read_text().splitlines()

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(name="server")
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    (tmp_path / "token").write_text(TOKEN + "\n")
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, str(tmp_path))
    started = _Server(tmp_path)
    yield started
    started.end()


def _send(server: _Server, data: bytes) -> bytes:
    """Send bytes, and return what is answered until the server ends the connection."""
    answer = b""
    with server.connect() as sender, contextlib.suppress(OSError):
        sender.sendall(data)
        sender.shutdown(socket.SHUT_WR)
        while part := sender.recv(1 << 16):
            answer += part
    return answer


def _serves(server: _Server) -> bool:
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        return bool(session.run(tf.constant(6.0) * 7.0) == 42.0)


@pytest.mark.parametrize("kind", list(_garbage()))
def test_garbage_is_refused_and_logged_once(server: _Server, kind: str) -> None:
    assert _serves(server)
    before = server.memory()
    for _ in range(ROUNDS):
        _send(server, _garbage()[kind])
    assert _serves(server)
    lines = server.log()
    assert len(lines) == len(set(lines)) < ROUNDS
    assert server.memory() < before + (256 << 20)


def test_a_token_that_is_wrong_is_logged_once(server: _Server) -> None:
    for token in (None, TOKEN.replace("horse", "mouse")) * ROUNDS:
        answer = b""
        with server.connect() as sender:
            sender.sendall(_request(token))
            while REFUSAL not in answer and (part := sender.recv(1 << 16)):
                answer += part
        assert REFUSAL in answer
    (line,) = server.log()
    assert "has not the cluster's token was refused (logged once)" in line


def test_half_open_connections_by_the_thousand_do_not_end_the_service(server: _Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < HALF_OPEN + FEW_DESCRIPTORS:
        pytest.skip(f"the system gives a process {hard} descriptors only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with contextlib.ExitStack() as opened:
            for i in range(HALF_OPEN):
                sender = opened.enter_context(server.connect())
                sender.sendall(PREFACE[: i % len(PREFACE)])
            assert _serves(server)
        assert _serves(server)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    lines = server.log()
    assert len(lines) == len(set(lines)) < ROUNDS
