"""Millstream, in which each `train.Server` is a process: the module to import for ``TF_MODULE``.

A program that makes the servers of a cluster in its own process so runs on one of processes.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import types
from collections.abc import Mapping
from typing import Any

import millstream
from millstream._impl.cluster.local_cluster import _LAUNCHER


class ServerProcess:
    """What programs use of `train.Server`: the process ends with the program."""

    def __init__(self, cluster: Any, job_name: str, task_index: int) -> None:
        spec: Mapping[str, Any] = millstream.train.ClusterSpec(cluster).as_dict()
        command = [sys.executable, "-m", "millstream", "server", "--cluster", json.dumps(spec)]
        command += ["--job-name", job_name, "--task-index", str(task_index)]
        self._process = subprocess.Popen(
            [*_LAUNCHER, str(os.getpid()), *command], stdout=subprocess.PIPE, text=True
        )
        atexit.register(self._end)
        assert self._process.stdout is not None
        # The line says where it serves.
        self.target = self._process.stdout.readline().split()[-1]
        self.server_def = types.SimpleNamespace(job_name=job_name, task_index=task_index)

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()


millstream.train.__dict__["Server"] = ServerProcess
# Who imports this module gets the other one.
sys.modules[__name__] = millstream
