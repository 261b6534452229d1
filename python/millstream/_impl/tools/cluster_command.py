"""The commands ``millstream server`` and ``millstream cluster``.

``millstream server`` is a task of a cluster as a program: it serves until SIGTERM ends it.
``millstream cluster run PROGRAM`` runs a program as all tasks of a cluster of this machine, and
``millstream cluster status TARGET`` says how the tasks of a cluster are.
``millstream cluster kubernetes`` and ``slurm`` print what runs one there.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Any

from millstream._impl.base import errors
from millstream._impl.cluster import kubernetes_jobs, slurm_script
from millstream._impl.cluster.environment import from_environment
from millstream._impl.cluster.local_cluster import LocalCluster
from millstream._impl.cluster.server import serve_metrics
from millstream._impl.cluster.task import Task, ending_by_sigterm
from millstream._impl.tools import cluster_status

_INTERRUPTED = 130  # what shells give for Ctrl-C
_TERMINATED = 143


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """What may stand behind ``server``."""
    parser.add_argument(
        "--cluster",
        metavar="JSON",
        help='the jobs, as \'{"ps": ["HOST:PORT"], "worker": ["HOST:PORT", "HOST:PORT"]}\'; '
        "by default what the environment says (docs/cluster.md)",
    )
    parser.add_argument("--job-name", default="worker", metavar="JOB", help="the task's job")
    parser.add_argument(
        "--task-index", type=int, default=0, metavar="NUMBER", help="its number in the job"
    )
    parser.add_argument(
        "--metrics-port",
        type=int,
        metavar="PORT",
        help="answer HTTP requests for /metrics (Prometheus) and /healthz there; 0: any free port",
    )
    parser.add_argument(
        "--metrics-host", default="localhost", metavar="HOST", help="the address (localhost)"
    )
    parser.add_argument(
        "--log",
        choices=("failures", "steps"),
        help="write a line for each step that fails, or when each begins and ends",
    )


def run_server(options: argparse.Namespace) -> int:
    """Be a task of a cluster until SIGTERM, which ends the process with status 0.

    Parameters
    ----------
    options
        The parsed arguments.

    Returns
    -------
    int
        1 when the server cannot be started; 2 without a cluster; 130 after Ctrl-C.
    """
    if options.log:
        os.environ["MILLSTREAM_CLUSTER_LOG"] = options.log
    with ending_by_sigterm():
        try:
            task = _task(options)
            server = task.start_server()
            port, url = options.metrics_port, ""
            if server is not None and port is not None:
                url = serve_metrics(server, port, options.metrics_host)
        except (TypeError, ValueError, errors.OpError) as error:
            print(f"millstream: {error}", file=sys.stderr)
            return 1
        if server is None:
            print(
                "millstream: there is no cluster: name it by --cluster or in TF_CONFIG",
                file=sys.stderr,
            )
            return 2
        where = f"/job:{task.job_name}/task:{task.task_index}"
        try:
            print(f"{where} serves at {server.target}", flush=True)
            if url:
                print(f"{where} serves its metrics at {url}/metrics", flush=True)
            task.serve()
        except KeyboardInterrupt:
            return _INTERRUPTED
    return 0


def _task(options: argparse.Namespace) -> Task:
    if options.cluster is None:
        return from_environment()
    try:
        cluster = json.loads(options.cluster)
    except ValueError as error:
        raise ValueError(f"--cluster: expected JSON, got {options.cluster!r}: {error}") from None
    return Task(cluster, options.job_name, options.task_index)


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """What may stand behind ``cluster``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.add_argument("--ps", type=int, default=0, metavar="N", help="parameter servers (0)")
        added.add_argument("--workers", type=int, default=1, metavar="N", help="workers (1)")
        return added

    running = add("run", "run a program as all tasks of a cluster of this machine")
    running.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="how often a task may fail (0)"
    )
    running.add_argument(
        "-m", dest="is_module", action="store_true", help="PROGRAM is the name of a module"
    )
    running.add_argument("program", metavar="PROGRAM", help="a Python file, or a command")
    running.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)

    text = "say how the tasks of a cluster are, and which waits for which"
    asking = actions.add_parser("status", help=text, description=f"S{text[1:]}.")
    cluster_status.add_arguments(asking)

    job = add("kubernetes", "print the manifest of a job of Kubernetes, for kubectl apply -f -")
    job.add_argument("--name", required=True, help="of the job")
    job.add_argument("--image", required=True, help="the container's")
    job.add_argument(
        "--kind", choices=("indexed-job", "tf-job"), default="indexed-job", help="(indexed-job)"
    )
    batch = add("slurm", "print a script for sbatch")
    batch.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="TEXT",
        help="of sbatch: --option=--nodes=3",
    )
    for parser, what in ((job, "the secret"), (batch, "the folder")):
        access = parser.add_mutually_exclusive_group(required=True)
        access.add_argument(
            "--credentials", help=f"{what} with certificates, and a token if there is one"
        )
        access.add_argument(
            "--insecure", action="store_true", help="there are none: the network is closed"
        )
        parser.add_argument("program", metavar="COMMAND", help="what each task runs")
        parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)


def run_cluster(options: argparse.Namespace) -> int:
    """Run the command ``cluster``.

    Parameters
    ----------
    options
        The parsed arguments.

    Returns
    -------
    int
        The status of `LocalCluster.run` or of `cluster_status.run`; 1 when the arguments are wrong;
        130 after Ctrl-C.
    """
    try:
        if options.action == "run":
            return _run_here(options)
        if options.action == "status":
            return cluster_status.run(options)
        print(_manifest(options), end="")
        return 0
    except ValueError as error:
        print(f"millstream: {error}", file=sys.stderr)
        return 1


def _manifest(options: argparse.Namespace) -> str:
    """What Kubernetes or Slurm takes."""
    command = [options.program, *options.arguments]
    access, ps, workers = options.credentials, options.ps, options.workers
    if options.action == "slurm":
        return slurm_script.script(command, access, ps, workers, options.option)
    name, image = options.name, options.image
    if options.kind == "tf-job":
        manifest = kubernetes_jobs.tf_job(name, image, command, access, ps, workers)
    else:
        manifest = kubernetes_jobs.indexed_job(name, image, command, access, ps, workers)
    return json.dumps(manifest, indent=2) + "\n"


def _run_here(options: argparse.Namespace) -> int:
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        cluster = LocalCluster(
            [*_program(options), *options.arguments],
            ps=options.ps,
            workers=options.workers,
            restarts=options.restarts,
        )
        return cluster.run()
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, previous)


def _program(options: argparse.Namespace) -> list[str]:
    if options.is_module:
        return [sys.executable, "-m", options.program]
    if options.program.endswith(".py"):
        return [sys.executable, options.program]
    return [options.program]


def _terminate(number: int, frame: Any) -> None:
    raise SystemExit(_TERMINATED)
