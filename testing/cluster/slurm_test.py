"""The script of a cluster runs under a Slurm of this machine: Debian's slurmctld and slurmd."""

from __future__ import annotations

import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

import pytest

import millstream as tf

# One host that can run eight tasks, however many processors it has. Nobody else uses it, so that
# messages need no keys.
CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={spool}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
NodeName=localhost NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""

PROGRAM = """
import sys
import millstream as tf
task = tf.cluster.from_environment()
task.start_server()
if task.is_ps:
    task.serve()
with tf.device(task.device_setter()):
    variable = tf.Variable(20.0, name="v")
    total = variable + 22.0
with tf.device("/job:ps/task:0"):
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="done")
put, take = queue.enqueue(1.0), queue.dequeue()
with tf.train.MonitoredTrainingSession(task.target, task.is_chief) as session:
    sys.stdout.write(f"{task.job_name} {task.task_index}: {session.run(total)}\\n")
    session.run(take if task.is_chief else put)  # the chief waits for the other worker
"""


_PATIENCE = 240.0  # seconds of a job, which takes half a minute; sbatch asks for its end so rarely


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.defpath}:/usr/sbin:/sbin")
    if found is None:
        raise FileNotFoundError(f"{name}: the Debian packages slurmctld and slurmd have it")
    return found


def _started(command: list[str], mark: str) -> subprocess.Popen[str]:
    """A daemon, once it has said that it is ready."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if mark in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process
    raise RuntimeError(f"{command[0]} did not start: {''.join(said)}")


@pytest.fixture(scope="module")
def spool() -> Iterator[str]:
    """A folder for the sockets of Slurm's steps.

    Its name is short: that of a socket has no more than 107 bytes. Where it is longer, as below the
    folder that Bazel gives a test, slurmd ends with the first job, which then waits for ever.
    """
    with tempfile.TemporaryDirectory(prefix="slurm_", dir="/tmp") as folder:
        yield folder


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory, spool: str) -> Iterator[dict[str, str]]:
    """The variables by which programs find Slurm."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "state").mkdir()
    sockets = [socket.create_server(("localhost", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    file = folder / "slurm.conf"
    user = getpass.getuser()
    file.write_text(CONFIGURATION.format(ports=ports, user=user, folder=folder, spool=spool))
    control = [_program("slurmctld"), "-D", "-f", str(file)]
    daemons = [_started(control, "Running as primary controller")]
    try:
        host = [_program("slurmd"), "-D", "-N", "localhost", "-f", str(file)]
        daemons.append(_started(host, "slurmd started"))
        yield {"SLURM_CONF": str(file)}
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()


def _submit(slurm: dict[str, str], folder: pathlib.Path, program: str) -> tuple[int, list[str]]:
    """Run a program as a parameter server and two workers; its status and what it writes."""
    out = folder / "out"
    script = folder / "job.sh"
    command = [sys.executable, "-c", program]
    script.write_text(
        tf.cluster.slurm.script(command, None, ps=1, workers=2, options=[f"--output={out}"])
    )
    path = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [_program("sbatch"), "--wait", str(script)],
        cwd=folder,
        env={**os.environ, **slurm, "PYTHONPATH": path},
        timeout=_PATIENCE,
        check=False,
    )
    assert list(folder.glob("*.done")) == []
    return done.returncode, out.read_text().splitlines()


def test_the_job_ends_when_its_chief_has(slurm: dict[str, str], tmp_path: pathlib.Path) -> None:
    status, lines = _submit(slurm, tmp_path, PROGRAM)
    assert (status, set(lines)) == (0, {"worker 0: 42.0", "worker 1: 42.0"})


def test_a_task_that_fails_ends_the_job(slurm: dict[str, str], tmp_path: pathlib.Path) -> None:
    program = f"{PROGRAM}\nif not task.is_chief:\n    sys.exit(3)\ntask.serve()"
    status, lines = _submit(slurm, tmp_path, program)
    assert status != 0
    assert [line for line in lines if "Exited with exit code 3" in line] != []


def test_outside_of_a_step_there_is_no_cluster(
    slurm: dict[str, str], tmp_path: pathlib.Path
) -> None:
    script = tmp_path / "job.sh"
    program = "import millstream as tf; print(tf.cluster.from_environment())"
    script.write_text(f"#!/bin/bash\n#SBATCH --ntasks=3\n{sys.executable} -c '{program}'\n")
    path = os.pathsep.join(path for path in sys.path if path)
    subprocess.run(
        [_program("sbatch"), "--wait", "--output=out", str(script)],
        cwd=tmp_path,
        env={**os.environ, **slurm, "PYTHONPATH": path},
        timeout=_PATIENCE,
        check=True,
    )
    assert (tmp_path / "out").read_text() == "<tf.cluster.Task without a cluster>\n"
