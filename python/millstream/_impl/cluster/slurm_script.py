"""Scripts for Slurm: a cluster as a batch job.

Reference: the manual pages sbatch(1) and srun(1).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from millstream._impl.base.public import public
from millstream._impl.cluster import environment
from millstream._impl.graph.arguments import INTEGER, LIST, TEXT, or_none, takes

# Each task runs this, with the program behind it. The chief leaves a file behind. When it is there,
# the other tasks are told to end, workers after a minute: Slurm waits for all tasks of a step.
_TASK = """\
task='
if [ "$SLURM_PROCID" -eq "$MILLSTREAM_CLUSTER_PS" ]; then
  "$@" || exit
  touch "$MILLSTREAM_DONE"
  exit
fi
"$@" &
left=60
[ "$SLURM_PROCID" -gt "$MILLSTREAM_CLUSTER_PS" ] || left=0
while kill -0 $! 2>/dev/null; do
  if [ -e "$MILLSTREAM_DONE" ] && [ $((left--)) -le 0 ]; then
    kill -TERM $!
    wait $!
    exit 0
  fi
  sleep 1
done
wait $!'"""


@public("cluster.slurm.script")
@takes(
    command=LIST,
    credentials=or_none(TEXT),
    ps=INTEGER,
    workers=INTEGER,
    options=LIST,
    port=or_none(INTEGER),
)
def script(
    command: Sequence[str],
    credentials: str | None,
    ps: int = 0,
    workers: int = 1,
    options: Sequence[str] = (),
    port: int | None = None,
) -> str:
    """A script for ``sbatch`` that runs a program as all tasks of a cluster.

    When the chief, the first worker, has ended, parameter servers are told to end by SIGTERM
    (`Task.serve`), and other workers after a minute. A task that fails ends the job.

    Parameters
    ----------
    command
        The program and its arguments. It finds its place by `from_environment`.
    credentials
        A folder with certificates, and a token if there is one, which all hosts see. None: there
        are none, because the network of the hosts is closed and trusted.
    ps
        How many parameter servers there are.
    workers
        How many workers there are.
    options
        More options of ``sbatch``, as ``"--nodes=3"``.
    port
        The port of each host's first task; further tasks have the ports behind it. By default one
        that follows from the number of the job.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind.

    Examples
    --------
    >>> text = tf.cluster.slurm.script(["python3", "train.py"], None, ps=1, workers=2)
    >>> text.splitlines()[:2]
    ['#!/bin/bash', '#SBATCH --ntasks=3']
    """
    if not command or ps < 0 or workers < 1:
        raise ValueError(
            "command, ps, workers: expected a program and at least one worker, "
            f"got {list(command)!r}, {ps}, {workers}"
        )
    for option in options:
        if not option.startswith("-") or "\n" in option:
            raise ValueError(f"options: expected options of sbatch, got {option!r}")
    # Jobs that share a host differ in their ports, unless they are 190 apart or one has more than
    # 64 tasks on that host. Ports from 32,768 on are those that the system gives to connections.
    chosen = "$((20000 + SLURM_JOB_ID % 190 * 64))" if port is None else str(port)
    if credentials is None:
        access = "MILLSTREAM_CLUSTER_INSECURE=1"
    else:
        access = f"MILLSTREAM_CLUSTER_CREDENTIALS={shlex.quote(credentials)}"
    lines = [
        "#!/bin/bash",
        f"#SBATCH --ntasks={ps + workers}",
        *(f"#SBATCH {option}" for option in options),
        f"export {environment.PS_VARIABLE}={ps}",
        f"export {environment.PORT_VARIABLE}={chosen}",
        f"export {access}",
        'export MILLSTREAM_DONE="$SLURM_SUBMIT_DIR/millstream-$SLURM_JOB_ID.done"',
        _TASK,
        'srun --kill-on-bad-exit=1 --distribution=block bash -c "$task" task '
        + shlex.join(command),
        "status=$?",
        'rm -f "$MILLSTREAM_DONE"',
        "exit $status",
    ]
    return "\n".join(lines) + "\n"
