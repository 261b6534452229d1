"""Which checkpoints of an object stay: the newest, one in some hours, and the best."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from typing import Any

from millstream._impl.base.moments import Moment
from millstream._impl.base.public import public
from millstream._impl.base.whole_files import write_whole
from millstream._impl.graph.arguments import FUNCTION, INTEGER, NUMBER, TEXT, or_none, takes
from millstream._impl.train.checkpoint_nodes import session_or_default
from millstream._impl.train.checkpoint_state import (
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    remove_checkpoint,
    write_state,
)
from millstream._impl.train.global_step import global_step as value_of_step

_METRICS_FILE = "checkpoint_metrics.json"


@public("train.CheckpointManager")
class CheckpointManager:
    """Writes checkpoints of an object into a folder, and removes old ones.

    The folder's file ``checkpoint`` has the new checkpoint before an old one goes, so that a
    process may be killed at any time. A new manager of the folder goes on where the last one ended.

    Parameters
    ----------
    checkpoint
        The `Checkpoint`.
    directory
        The folder.
    max_to_keep
        How many stay; None: all.
    keep_checkpoint_every_n_hours
        One in so many hours is never removed, and not listed any more.
    checkpoint_name
        What stands before the number in names of files.
    keep_best
        How many stay besides because `save` got the best metrics for them. They stay listed.
    best
        "max" or "min": which metric is the best one.
    init_fn
        Called by `restore_or_initialize` when there is no checkpoint.

    Raises
    ------
    ValueError
        `max_to_keep` is less than 1, or `best` another word.

    Examples
    --------
    >>> import tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0)
    ...     checkpoint = tf.train.Checkpoint(v=v)
    ...     manager = tf.train.CheckpointManager(checkpoint, tempfile.mkdtemp(), max_to_keep=2)
    ...     sess.run(v.initializer)
    ...     for _ in range(3):
    ...         path = manager.save()
    ...     print([path[-6:] for path in manager.checkpoints])
    ['ckpt-2', 'ckpt-3']
    """

    @takes(
        directory=TEXT,
        max_to_keep=or_none(INTEGER),
        keep_checkpoint_every_n_hours=NUMBER,
        checkpoint_name=TEXT,
        keep_best=INTEGER,
        init_fn=FUNCTION,
    )
    def __init__(
        self,
        checkpoint: Any,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        *,
        keep_best: int = 0,
        best: str = "max",
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if not hasattr(checkpoint, "write") or not hasattr(checkpoint, "restore"):
            raise TypeError(f"checkpoint: expected a tf.train.Checkpoint, got {checkpoint!r}")
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if best not in ("max", "min"):
            raise ValueError(f"best: expected 'max' or 'min', got {best!r}")
        self._checkpoint = checkpoint
        self._directory = directory
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(directory, checkpoint_name)
        self._keep_best = keep_best
        self._sign = 1.0 if best == "max" else -1.0
        self._init_fn = init_fn
        self._latest: str | None = None
        self._last_preserved = Moment.at(time.time() - 1.0)
        # When each was written, the oldest first, by path.
        self._kept: dict[str, Moment] = {}
        self._recover()
        self._metrics = self._read_metrics()

    def _recover(self) -> None:
        """Take over what the folder has."""
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        self._latest = state.model_checkpoint_path
        preserved = min(state.last_preserved_timestamp or 0.0, time.time())
        self._last_preserved = Moment.at(preserved)
        paths = [path for path in state.all_model_checkpoint_paths if checkpoint_exists(path)]
        stamps = dict(
            zip(
                state.all_model_checkpoint_paths,
                state.all_model_checkpoint_timestamps,
                strict=False,
            )
        )
        for path, changed in zip(paths, get_checkpoint_mtimes(paths), strict=True):
            self._kept[path] = Moment.at(stamps.get(path, changed))

    # ---- What there is ----

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of those that stay, the oldest first."""
        return list(self._kept)

    @property
    def best_checkpoint(self) -> str | None:
        """The prefix of the one with the best metric, or None when none has one."""
        found = self._best(1)
        return found[0] if found else None

    def _best(self, count: int) -> list[str]:
        """The best ones; of equal ones the newer are better."""
        rated = [path for path in self._kept if path in self._metrics]
        order = sorted(
            range(len(rated)), key=lambda i: (self._sign * self._metrics[rated[i]], i), reverse=True
        )
        return [rated[i] for i in order[:count]]

    # ---- Saving ----

    def save(
        self,
        checkpoint_number: Any = None,
        *,
        metric: float | None = None,
        session: Any = None,
    ) -> str:
        """Write a checkpoint, and remove the old ones that are too many.

        Parameters
        ----------
        checkpoint_number
            The number in its name, or the variable or tensor that has it; by default how often was
            saved.
        metric
            How good it is, for `keep_best`. NaN is worse than any other number.
        session
            The session, by default the default one.

        Returns
        -------
        str
            The prefix of its files.

        Raises
        ------
        ValueError
            There is no session, or a variable is in another graph than the session's.
        FailedPreconditionError
            A variable has no value.
        """
        session = session_or_default(session)
        count = self._checkpoint._count(session)
        if checkpoint_number is None:
            checkpoint_number = count
        elif not isinstance(checkpoint_number, int):
            checkpoint_number = value_of_step(session, checkpoint_number)
        path: str = self._checkpoint.write(f"{self._prefix}-{checkpoint_number}", session)
        self._kept.pop(path, None)
        self._kept[path] = Moment.now()
        self._latest = path
        self._metrics.pop(path, None)
        if metric is not None and not math.isnan(metric):
            self._metrics[path] = float(metric)
        if self._metrics:
            self._write_metrics()
        # Once before old ones go, and once without them.
        self._write_state()
        if self._sweep():
            self._write_state()
        return path

    def _sweep(self) -> bool:
        """Remove old ones; whether there were some."""
        if self._max_to_keep is None:
            return False
        stay = {*list(self._kept)[-self._max_to_keep :], *self._best(self._keep_best)}
        old = [path for path in self._kept if path not in stay]
        for path in old:
            written = self._kept.pop(path)
            self._metrics.pop(path, None)
            interval = written.steady - self._last_preserved.steady
            if self._hours and interval >= self._hours * 3600.0:
                self._last_preserved = written
            else:
                remove_checkpoint(path)
        return bool(old)

    def _write_state(self) -> None:
        assert self._latest is not None
        below = [os.path.relpath(path, self._directory) for path in self._kept]
        state = generate_checkpoint_state_proto(
            os.sep,  # paths stay as they are
            os.path.relpath(self._latest, self._directory),
            below,
            [written.date for written in self._kept.values()],
            self._last_preserved.date,
        )
        write_state(self._directory, state, None)

    def _metrics_path(self) -> str:
        return os.path.join(self._directory, _METRICS_FILE)

    def _write_metrics(self) -> None:
        """The metrics of those that stay, for the next manager of the folder."""
        named = {os.path.basename(path): metric for path, metric in self._metrics.items()}
        write_whole(self._metrics_path(), json.dumps(named, indent=1).encode())

    def _read_metrics(self) -> dict[str, float]:
        try:
            with open(self._metrics_path(), encoding="utf-8") as file:
                named = json.load(file)
        except (OSError, ValueError):
            return {}
        if not isinstance(named, dict):
            return {}
        metrics = {path: named.get(os.path.basename(path)) for path in self._kept}
        return {
            path: float(each) for path, each in metrics.items() if isinstance(each, (int, float))
        }

    # ---- Restoring ----

    def restore_or_initialize(self, session: Any = None) -> str | None:
        """Give the variables the values of the newest checkpoint, or initialize them.

        Parameters
        ----------
        session
            The session, by default the default one.

        Returns
        -------
        str or None
            The prefix of the checkpoint; None when there is none. Then `init_fn` was called.

        Raises
        ------
        NotFoundError
            The files of the newest checkpoint are gone.
        DataLossError
            One is damaged.
        """
        session = session_or_default(session)
        with session.graph.as_default():
            self._checkpoint.restore(self._latest).initialize_or_restore(session)
        if self._latest is None and self._init_fn is not None:
            self._init_fn()
        return self._latest
