"""The commands ``millstream server`` and ``millstream cluster``."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.tools import command


def _start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.Popen(
        [sys.executable, "-m", "millstream", *arguments],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_a_server_ends_cleanly_by_sigterm() -> None:
    cluster = '{"ps": ["localhost:0"], "worker": ["localhost:1"]}'
    with _start("server", "--cluster", cluster, "--job-name=ps", "--task-index=0") as process:
        assert _first_line(process).startswith("/job:ps/task:0 serves at grpc://localhost:")
        process.terminate()
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_server_answers_requests_of_http_and_logs_its_steps() -> None:
    cluster = f'{{"worker": ["{free_addresses(1)[0]}"]}}'
    arguments = ("--cluster", cluster, "--metrics-port=0", "--log=steps")
    with _start("server", *arguments) as process:
        target = _first_line(process).split()[-1]
        words = _first_line(process).split()
        assert words[:4] == ["/job:worker/task:0", "serves", "its", "metrics"]
        url = words[-1]
        assert url.startswith("http://localhost:")
        with tf.Graph().as_default(), tf.Session(target) as session:
            assert session.run(tf.constant(1.0) + 2.0) == 3.0
            bad = tf.check_numerics(tf.log(tf.constant(-1.0)), "no number")
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(bad)
            with urllib.request.urlopen(url) as answer:
                assert b"\nmillstream_failed_steps_total 1\n" in answer.read()
        process.terminate()
        assert process.wait() == 0
        assert process.stderr is not None
        log = process.stderr.read().splitlines()
    task = "/job:worker/replica:0/task:0"
    for what in ("part", "master"):
        of_them = [line for line in log if f"{task} {what}, step " in line]
        (session_name,) = {line.split("of session ")[1][:16] for line in of_them}
        assert re.fullmatch("[0-9a-f]{16}", session_name)
        texts = [line.partition(f"session {session_name}: ")[2] for line in of_them]
        assert [re.sub(r"after [^:]*", "after T", text)[:25] for text in texts] == [
            "begins",
            "ended after T",
            "begins",
            "failed after T: INVALID_A",
        ]


def test_a_server_finds_its_place_in_the_environment_and_ends_by_ctrl_c() -> None:
    config = {"cluster": {"worker": ["localhost:0"]}, "task": {"type": "worker", "index": 0}}
    with _start("server", TF_CONFIG=json.dumps(config)) as process:
        assert _first_line(process).startswith("/job:worker/task:0 serves at ")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


def test_a_server_without_a_cluster_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", "")
    assert command.main(["server"]) == 2
    assert "there is no cluster: name it by --cluster" in capsys.readouterr().err
    assert command.main(["server", "--cluster", "{"]) == 1
    assert "--cluster: expected JSON, got '{'" in capsys.readouterr().err
    assert command.main(["server", "--cluster", '{"ps": ["a:1"]}']) == 1
    assert "No such job in cluster: 'worker'" in capsys.readouterr().err


_PROGRAM = """
import sys
import millstream as tf
task = tf.cluster.from_environment()
print(task.job_name, task.task_index, *sys.argv[1:], flush=True)
if task.is_ps:
    task.serve()
"""


def test_a_program_runs_as_all_tasks(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    arguments = ("cluster", "run", "--ps=1", "--workers=2", str(program), "--steps", "3")
    with _start(*arguments) as process:
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        expected = {"worker:0| worker 0 --steps 3", "worker:1| worker 1 --steps 3"}
        assert expected <= set(out.splitlines())


def test_a_module_runs_as_all_tasks() -> None:
    with _start("cluster", "run", "-m", "json.tool", "--help") as process:
        out, _ = process.communicate()
        assert process.returncode == 0
        assert out.startswith("worker:0| usage:")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_tasks(tmp_path: Path, number: int, status: int) -> None:
    program = tmp_path / "program.py"
    program.write_text("import signal\nprint('begun', flush=True)\nsignal.pause()")
    with _start("cluster", "run", str(program)) as process:
        assert _first_line(process) == "worker:0| begun"
        process.send_signal(number)
        assert process.wait() == status


def test_wrong_numbers_of_tasks_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["cluster", "run", "--workers=0", "program.py"]) == 1
    assert "expected a program and at least one worker" in capsys.readouterr().err


def test_manifests_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    size = ("--ps=1", "--workers=2")
    names = ("--name=train", "--image=example.org/train:1")
    program = ("python3", "train.py", "--steps", "3")
    arguments = ("cluster", "kubernetes", *size, *names)
    assert command.main([*arguments, "--insecure", *program]) == 0
    job = json.loads(capsys.readouterr().out)["items"][1]
    assert job["spec"]["completions"] == 3
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == list(program)
    assert command.main([*arguments, "--kind=tf-job", "--credentials=tls", *program]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "TFJob"
    assert command.main(["cluster", "slurm", *size, "--credentials=/keys", *program]) == 0
    assert "#SBATCH --ntasks=3\n" in capsys.readouterr().out
    assert command.main([*arguments, "--workers=0", "--insecure", *program]) == 1
    assert "expected at least one worker" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main([*arguments, *program])  # neither certificates nor told that there are none
    assert "--credentials" in capsys.readouterr().err
