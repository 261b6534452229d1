"""Variables come back from copies on other tasks, or from the checkpoint if it is newer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops

_SHORT = tf.ConfigProto(graph_options=tf.GraphOptions(enable_bfloat16_sendrecv=True))


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A worker of a cluster with two parameter servers, which lives as long as its test."""
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")
    workers, servers = tf.test.create_local_cluster(num_workers=1, num_ps=2)
    yield workers[0].target
    del workers, servers


class _Losing(tf.train.SessionRunHook):
    """Has parameter servers lose their memory before some runs, and the session be lost.

    It stands after the hook that copies, whose variables they lose as well.
    """

    def __init__(self, losses: Mapping[int, Sequence[int]]) -> None:
        self._losses = losses
        self._runs = 0
        self._lose: dict[int, Any] = {}

    def begin(self) -> None:
        operations = tf.get_default_graph().get_operations()
        held = [one for one in operations if one.type == "VarHandleOp"]
        for task in range(2):
            freed = []
            for one in held:
                if f"/job:ps/task:{task}" in one.device:
                    with tf.device(one.device):
                        freed.append(gen_ops.destroy_resource_op(one.outputs[0]))
            self._lose[task] = tf.group(*freed)

    def lose(self, session: Any, tasks: Sequence[int]) -> NoReturn:
        """Do what the end of tasks and of their session does."""
        for task in tasks:
            session.run(self._lose[task])
        raise tf.errors.AbortedError(None, None, f"lost {tasks}")

    def before_run(self, run_context: Any) -> None:
        self._runs += 1
        if self._runs in self._losses:
            self.lose(run_context.session, self._losses[self._runs])


def _train(target: str, hooks: Sequence[Any], rounds: int, **arguments: Any) -> list[Any]:
    """The values of all variables after each of some rounds; a round is two runs."""
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
            part = tf.fixed_size_partitioner(2)
            w = tf.get_variable(
                "w", [4, 2], initializer=tf.constant_initializer(1.0 / 3.0), partitioner=part
            )
            b = tf.get_variable("b", [2], initializer=tf.zeros_initializer(), use_resource=True)
            name = tf.get_variable("name", initializer=tf.constant("start"), trainable=False)
            x = tf.constant([[1.0, 0.5, 0.1, 0.7], [0.2, 0.3, 0.9, 0.4]])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
            step = tf.train.get_or_create_global_step()
            descent = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
            train = tf.group(descent, name.assign(tf.strings.join([name.value(), "."])))
        variables = {variable.op.name: variable for variable in tf.global_variables()}
        states = []
        with tf.train.MonitoredTrainingSession(
            target,
            hooks=hooks,
            save_summaries_steps=None,
            log_step_count_steps=None,
            **arguments,
        ) as session:
            for _ in range(rounds):
                session.run(train)
                states.append(session.run(variables))
    return states


def _check(states: list[Any], undisturbed: list[Any], steps: list[int]) -> None:
    """The states are those of the steps of a training in which nothing is lost."""
    assert [int(state["global_step"]) for state in states] == steps
    assert "w/part_1/Momentum" in states[0]
    for state, step in zip(states, steps, strict=True):
        for name, value in undisturbed[step - 1].items():
            np.testing.assert_array_equal(state[name], value, err_msg=f"{name} of step {step}")


@pytest.mark.parametrize("config", [None, _SHORT])
@pytest.mark.parametrize("task", [0, 1])
def test_the_variables_of_a_lost_task_come_back_from_its_peer(
    target: str, task: int, config: Any
) -> None:
    undisturbed = _train(target, [], 6, config=config)
    hooks = [tf.cluster.PeerCopyHook(copy_steps=2), _Losing({11: [task]})]
    states = _train(target, hooks, 7, config=config)
    # Step 5 was done, step 4 copied.
    _check(states, undisturbed, [1, 2, 3, 4, 5, 5, 6])


def test_all_tasks_go_back_to_the_copy_if_a_session_is_lost_and_no_task(target: str) -> None:
    undisturbed = _train(target, [], 6)
    hooks = [tf.cluster.PeerCopyHook(copy_steps=2), _Losing({11: []})]
    _check(_train(target, hooks, 7), undisturbed, [1, 2, 3, 4, 5, 5, 6])


def test_a_second_task_may_be_lost_as_soon_as_the_session_is_back(target: str) -> None:
    undisturbed = _train(target, [], 5)
    # Run 12 does step 5 again, after the one that failed. The next one reads variables.
    hooks = [tf.cluster.PeerCopyHook(copy_steps=2), _Losing({11: [0], 13: [1]})]
    _check(_train(target, hooks, 7), undisturbed, [1, 2, 3, 4, 5, 4, 5])


@pytest.mark.parametrize(("copy_steps", "next_step"), [(2, 5), (100, 4)])
def test_the_newer_one_of_copy_and_checkpoint_counts(
    target: str, tmp_path: Path, copy_steps: int, next_step: int
) -> None:
    undisturbed = _train(target, [], 5)
    hooks = [tf.cluster.PeerCopyHook(copy_steps=copy_steps), _Losing({11: [1]})]
    states = _train(target, hooks, 6, checkpoint_dir=str(tmp_path), save_checkpoint_steps=3)
    _check(states, undisturbed, [1, 2, 3, 4, 5, next_step])


def test_the_checkpoint_counts_if_both_tasks_are_lost(target: str, tmp_path: Path) -> None:
    undisturbed = _train(target, [], 5)
    hooks = [tf.cluster.PeerCopyHook(copy_steps=2), _Losing({11: [0, 1]})]
    states = _train(target, hooks, 7, checkpoint_dir=str(tmp_path), save_checkpoint_steps=3)
    _check(states, undisturbed, [1, 2, 3, 4, 5, 4, 5])


def test_variables_are_initialized_if_both_tasks_are_lost_without_a_checkpoint(target: str) -> None:
    undisturbed = _train(target, [], 5)
    hooks = [tf.cluster.PeerCopyHook(copy_steps=2), _Losing({11: [0, 1]})]
    _check(_train(target, hooks, 7), undisturbed, [1, 2, 3, 4, 5, 1, 2])


class _AmidACopy(_Losing):
    """Has a task lose its memory when another one has made its part of the copy of step 4."""

    def __init__(self, hook: tf.cluster.PeerCopyHook, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__({})
        self._hook = hook
        self._monkeypatch = monkeypatch

    def begin(self) -> None:
        super().begin()
        copies = self._hook._copies
        assert copies is not None
        whole = copies.copy

        def copy(session: Any) -> int:
            if copies.step != 2:
                return whole(session)
            self._monkeypatch.setattr(copies, "copy", whole)
            older = copies._slots[1 - copies._newest]
            session.run([nodes.copied for nodes in older[0]])
            return self.lose(session, [1])

        self._monkeypatch.setattr(copies, "copy", copy)


def test_the_copy_before_counts_if_a_task_is_lost_amid_a_copy(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = _train(target, [], 5)
    hook = tf.cluster.PeerCopyHook(copy_steps=2)
    states = _train(target, [hook, _AmidACopy(hook, monkeypatch)], 6)
    # The copy of step 4 ended half done, and took the step with it.
    _check(states, undisturbed, [1, 2, 3, 3, 4, 5])


def test_tables_are_copied(target: str) -> None:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:1"):
            step = tf.train.get_or_create_global_step()
            counted = tf.reshape(step.assign_add(1), [1])
        with tf.device("/job:ps/task:0"):
            tf.get_variable("v", initializer=1.0)
            table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2)
            train = table.insert(counted, counted * 10)
            found = table.lookup(tf.constant([2, 3], tf.int64))
        hooks = [tf.cluster.PeerCopyHook(copy_steps=2), _Losing({4: [0]})]
        with tf.train.MonitoredTrainingSession(target, hooks=hooks) as session:
            for _ in range(3):
                session.run(train)
            assert session.run(found).tolist() == [20, -1]  # 3 was done after the copy
            session.run(train)
            assert session.run([found, step])[0].tolist() == [20, 30]


def test_the_copies_are_freed_at_the_end(target: str) -> None:
    with tf.Graph().as_default() as graph:
        with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
            v = tf.get_variable("v", initializer=1.0)
            train = tf.train.get_or_create_global_step().assign_add(1)
        hook = tf.cluster.PeerCopyHook(copy_steps=1)
        with tf.train.MonitoredTrainingSession(target, hooks=[hook]) as session:
            session.run(train)
            assert hook.copied_step == 1
        assert hook.copied_step is None
        known = {}
        for one in graph.get_operations():
            if one.type == "VarHandleOp":
                with tf.device(one.device):
                    is_known = gen_ops.var_is_initialized_op(one.outputs[0])
                known[one.get_attr("shared_name").decode()] = is_known
        with tf.Session(target) as session:
            left = [name for name, is_known in session.run(known).items() if is_known]
            assert sorted(left) == ["global_step", "v"]
            assert len(known) == 2 + 2 * 2 * 2  # two slots, two places
            assert session.run(v) == 1.0


def test_a_process_that_is_not_the_chief_copies_nothing(target: str) -> None:
    _train(target, [], 1)
    hook = tf.cluster.PeerCopyHook(copy_steps=1)
    states = _train(target, [hook], 1, is_chief=False)
    assert int(states[0]["global_step"]) == 2
    assert hook.copied_step is None


def test_a_hook_of_the_chief_copies_nothing_in_another_session(target: str) -> None:
    hook = tf.cluster.PeerCopyHook(copy_steps=1)
    _train(target, [hook], 1)
    states = _train(target, [hook], 1, is_chief=False)
    assert int(states[0]["global_step"]) == 2
    assert not hook.is_chiefs


def test_two_hooks_that_copy_are_refused(target: str) -> None:
    hooks = [tf.cluster.PeerCopyHook(copy_steps=1), tf.cluster.PeerCopyHook(copy_secs=1.0)]
    with pytest.raises(ValueError, match="hooks: expected at most one that copies variables"):
        _train(target, hooks, 1)


def test_without_a_cluster_nothing_is_copied() -> None:
    hook = tf.cluster.PeerCopyHook(copy_secs=1.0)
    with tf.Graph().as_default():
        count = tf.train.get_or_create_global_step().assign_add(1)
        with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
            assert session.run(count) == 1
    assert hook.copied_step is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "copy_secs, copy_steps: expected exactly one"),
        ({"copy_secs": 1.0, "copy_steps": 1}, "copy_secs, copy_steps: expected exactly one"),
        ({"copy_steps": 0}, "copy_steps: expected a positive number, got 0"),
        ({"copy_secs": -1.0}, "copy_secs: expected a positive number, got -1.0"),
    ],
)
def test_wrong_times_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.cluster.PeerCopyHook(**arguments)


def _begin(*devices: str, step: str | None = "/job:ps/task:0") -> None:
    """Begin a session of a graph whose variables are on devices."""
    with tf.Graph().as_default():
        if step is not None:
            with tf.device(step):
                tf.train.get_or_create_global_step()
        for number, device in enumerate(devices):
            with tf.device(device):
                tf.Variable(1.0, name=f"v{number}")
        tf.train.MonitoredTrainingSession(hooks=[tf.cluster.PeerCopyHook(copy_steps=1)])


def test_variables_that_cannot_be_copied_are_refused() -> None:
    with pytest.raises(ValueError, match="v1: to be copied, it must be on a device that names a"):
        _begin("/job:ps/task:1", "/cpu:0")
    with pytest.raises(ValueError, match="/job:ps/task:0 holds all variables"):
        _begin("/job:ps/task:0")
    with pytest.raises(RuntimeError, match="Global step should be created to use PeerCopyHook"):
        _begin("/job:ps/task:0", "/job:ps/task:1", step=None)
