"""Certificates and tokens: who has none gets nothing from a server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import millstream as tf
from millstream._impl.session import credentials, targets

if not targets.library().exists():
    print("no library connects processes here: its tests do not run")
    pytest.skip("no library connects processes", allow_module_level=True)

TOKEN = "correct-horse-battery-staple"
_CLUSTER = '{"worker": ["localhost:0"]}'


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def _with_certificates(folder: Path) -> Path:
    """Make an authority, and a certificate of it for localhost."""
    folder.mkdir()
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    authority = folder / "ca.crt", folder / "ca.key"
    _openssl("req", "-x509", *new, "-subj", "/CN=tests", "-out", authority[0],
             "-keyout", authority[1])  # fmt: skip
    request, names = folder / "request", folder / "names"
    _openssl("req", *new[:-2], "-subj", "/CN=task", "-out", request, "-keyout", folder / "tls.key")
    names.write_text("subjectAltName=DNS:localhost")
    _openssl("x509", "-req", "-in", request, "-CA", authority[0], "-CAkey", authority[1],
             "-CAcreateserial", "-days", "2", "-extfile", names,
             "-out", folder / "tls.crt")  # fmt: skip
    return folder


def _with_token(folder: Path, token: str = TOKEN) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text(token + "\n")
    return folder


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], str]]:
    """Starts a server with a folder of credentials; gives its target."""
    monkeypatch.setattr(targets, "_MASTER_PATIENCE", 0.0)
    started = []

    def start(folder: Path) -> str:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            credentials.FOLDER_VARIABLE: str(folder),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "millstream", "server", "--cluster", _CLUSTER],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().split()[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _product(target: str) -> float:
    """A step on the server at the target."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        return float(session.run(tf.constant(6.0) * 7.0))


def test_a_client_without_the_token_gets_nothing(
    serve: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = serve(_with_token(tmp_path / "right"))
    wrong = _with_token(tmp_path / "wrong", TOKEN.replace("horse", "mouse"))
    for folder in ("", str(wrong)):
        monkeypatch.setenv(credentials.FOLDER_VARIABLE, folder)
        with pytest.raises(tf.errors.UnauthenticatedError, match="has not the cluster's token"):
            _product(target)
        with pytest.raises(tf.errors.UnauthenticatedError, match="has not the cluster's token"):
            tf.cluster.status(target)
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, str(tmp_path / "right"))
    assert _product(target) == 42.0
    assert len(tf.cluster.status(target)) == 1


def test_a_client_without_a_certificate_gets_nothing(
    serve: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = _with_token(_with_certificates(tmp_path / "right"))
    target = serve(right)
    other = _with_token(_with_certificates(tmp_path / "other"))
    for folder in ("", str(_with_token(tmp_path / "token")), str(other)):
        monkeypatch.setenv(credentials.FOLDER_VARIABLE, folder)
        with pytest.raises(tf.errors.UnavailableError):
            _product(target)
    # A certificate alone does not do where there is a token.
    token = (right / "token").rename(tmp_path / "put away")
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, str(right))
    with pytest.raises(tf.errors.UnauthenticatedError):
        _product(target)
    token.rename(right / "token")
    assert _product(target) == 42.0


def test_tasks_with_certificates_work_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import millstream as tf
task = tf.cluster.from_environment()
task.start_server()
if task.is_ps:
    task.serve()
with tf.device(task.device_setter()):
    variable = tf.Variable(20.0)
    total = variable + 22.0
with tf.Session(task.target) as session:
    session.run(tf.global_variables_initializer())
    print(session.run(total))
"""
    folder = _with_token(_with_certificates(tmp_path / "both"))
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    lines: list[str] = []
    cluster = tf.cluster.LocalCluster(
        [sys.executable, "-c", program], ps=1, write=lambda task, line: lines.append(line)
    )
    assert (cluster.run(), lines) == (0, ["42.0"])


def test_beyond_this_machine_a_server_needs_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere = {"worker": ["0.0.0.0:0"]}
    for folder in ("", str(_with_token(tmp_path / "token"))):
        monkeypatch.setenv(credentials.FOLDER_VARIABLE, folder)
        with pytest.raises(tf.errors.PermissionDeniedError, match="needs certificates"):
            tf.train.Server(everywhere)
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, str(_with_certificates(tmp_path / "both")))
    assert tf.train.Server(everywhere).target.startswith("grpc://0.0.0.0:")
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, "")
    monkeypatch.setenv(credentials.INSECURE_VARIABLE, "1")
    assert tf.train.Server(everywhere).target.startswith("grpc://0.0.0.0:")


@pytest.mark.parametrize(
    ("address", "is_loopback"),
    [
        ("localhost:1", True),
        ("127.0.0.1:1", True),
        ("127.1.2.3:1", True),
        ("[::1]:1", True),
        ("unix:/tmp/socket", True),
        ("127.0.0.1.example.org:1", False),
        ("10.0.0.1:1", False),
        ("[::]:1", False),
        ("host:1", False),
    ],
)
def test_which_addresses_stay_on_this_machine(
    address: str, is_loopback: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(credentials.FOLDER_VARIABLE, raising=False)
    monkeypatch.delenv(credentials.INSECURE_VARIABLE, raising=False)
    if is_loopback:
        credentials.check_address(address)
    else:
        with pytest.raises(tf.errors.PermissionDeniedError, match="needs certificates"):
            credentials.check_address(address)


def test_what_is_missing_in_the_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    monkeypatch.setenv(credentials.FOLDER_VARIABLE, str(folder))
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"expected ca\.crt, tls\.crt"):
        tf.train.Server.create_local_server()
    folder.mkdir()
    (folder / "tls.crt").write_text("-----BEGIN CERTIFICATE-----")
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"ca\.crt cannot be read"):
        tf.train.Server.create_local_server()
    (folder / "ca.crt").write_text("no certificate")
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"expected ca\.crt in PEM form"):
        tf.train.Server.create_local_server()
    for name in ("ca.crt", "tls.crt"):
        (folder / name).unlink()
    for token in ("short", "with a space inside it"):
        _with_token(folder, token)
        with pytest.raises(tf.errors.FailedPreconditionError, match="at least 16 letters"):
            tf.Session("grpc://localhost:1", graph=tf.Graph())
