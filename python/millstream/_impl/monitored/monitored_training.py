"""The monitored session that a training program needs, with the usual hooks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, NUMBER, PATH, TEXT, or_none, takes
from millstream._impl.monitored.checkpoint_hook import CheckpointSaverHook
from millstream._impl.monitored.kinds import SCAFFOLD
from millstream._impl.monitored.monitored_session import MonitoredSession
from millstream._impl.monitored.scaffold import Scaffold
from millstream._impl.monitored.session_creators import ChiefSessionCreator, WorkerSessionCreator
from millstream._impl.monitored.step_hooks import StepCounterHook
from millstream._impl.monitored.summary_hook import SummarySaverHook

_DEFAULT: Any = object()


@public("train.MonitoredTrainingSession")
@takes(
    master=or_none(TEXT),
    checkpoint_dir=PATH,
    scaffold=SCAFFOLD,
    hooks=or_none(LIST),
    chief_only_hooks=or_none(LIST),
    save_checkpoint_secs=or_none(NUMBER),
    save_summaries_steps=or_none(NUMBER),
    save_summaries_secs=or_none(NUMBER),
    stop_grace_period_secs=NUMBER,
    log_step_count_steps=or_none(NUMBER),
    max_wait_secs=NUMBER,
    save_checkpoint_steps=or_none(NUMBER),
    summary_dir=PATH,
)
def MonitoredTrainingSession(  # noqa: N802
    master: str | None = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Sequence[Any] | None = None,
    save_checkpoint_secs: float | None = _DEFAULT,
    save_summaries_steps: int | None = _DEFAULT,
    save_summaries_secs: float | None = _DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = _DEFAULT,
    summary_dir: str | None = None,
) -> MonitoredSession:
    """A `MonitoredSession` that goes on from the newest checkpoint of a folder, and saves there.

    The graph needs a global step (`get_or_create_global_step`) if there is a folder. Of secs and
    steps, the one that is given counts; None or 0 for both switches it off.

    Parameters
    ----------
    master
        The execution engine; "" is this process.
    is_chief
        Whether this process initializes and saves; any other waits, and has `hooks` alone.
    checkpoint_dir
        The folder; None: nothing is restored and saved.
    scaffold
        The `Scaffold`, by default a new one.
    hooks
        A list of `SessionRunHook` objects, called after those that the folder brings.
    chief_only_hooks
        Further ones for the chief, called first.
    save_checkpoint_secs
        Seconds between two checkpoints, by default 600.
    save_summaries_steps
        Steps between two summaries, by default 100.
    save_summaries_secs
        Seconds between two summaries.
    config
        A ``ConfigProto``.
    stop_grace_period_secs
        How many seconds closing waits for threads.
    log_step_count_steps
        Steps between two measurements of steps a second; None or 0 for none.
    max_wait_secs
        How long a process that is not the chief waits for it.
    save_checkpoint_steps
        Steps between two checkpoints.
    summary_dir
        Folder of summaries, by default `checkpoint_dir`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for last_step in (2, 4):
    ...     with tf.Graph().as_default():
    ...         count = tf.train.get_or_create_global_step().assign_add(1)
    ...         hooks = [tf.train.StopAtStepHook(last_step=last_step)]
    ...         with tf.train.MonitoredTrainingSession(
    ...                 checkpoint_dir=folder, hooks=hooks) as session:
    ...             while not session.should_stop():
    ...                 print(session.run(count))
    1
    2
    3
    4
    """
    scaffold = scaffold or Scaffold()
    if not is_chief:
        return MonitoredSession(
            WorkerSessionCreator(scaffold, master, config, max_wait_secs),
            hooks,
            stop_grace_period_secs,
        )
    every_hook = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            every_hook.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
        steps, seconds = _one_of(save_summaries_steps, save_summaries_secs, 100, None)
        if _is_positive(steps) or _is_positive(seconds):
            every_hook.append(SummarySaverHook(steps, seconds, summary_dir, scaffold=scaffold))
    if checkpoint_dir:
        steps, seconds = _one_of(save_checkpoint_steps, save_checkpoint_secs, None, 600)
        if _is_positive(steps) or _is_positive(seconds):
            folder = os.fsdecode(checkpoint_dir)
            every_hook.append(CheckpointSaverHook(folder, seconds, steps, scaffold=scaffold))
    every_hook += hooks or ()
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, every_hook, stop_grace_period_secs)


def _one_of(steps: Any, seconds: Any, default_steps: Any, default_seconds: Any) -> tuple[Any, Any]:
    """Steps and seconds, of which the default holds if neither is given."""
    if steps is _DEFAULT and seconds is _DEFAULT:
        return default_steps, default_seconds
    return None if steps is _DEFAULT else steps, None if seconds is _DEFAULT else seconds


def _is_positive(number: Any) -> bool:
    return bool(number) and number > 0
