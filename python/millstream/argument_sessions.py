"""Calls of what makes monitored sessions, and of their hooks, for argument_types_test."""

from __future__ import annotations

import tempfile
from typing import Any

import millstream as tf
from millstream.argument_tables import Calls, X


def _counted(**arguments: Any) -> dict[str, Any]:
    """The arguments; the graph gets the global step that sessions and hooks need."""
    tf.train.get_or_create_global_step()
    return arguments


def calls_of_sessions() -> Calls:
    """The calls: ``with`` statements begin and end what they make."""
    return {
        tf.train.MonitoredTrainingSession: _counted,
        tf.train.MonitoredSession: _counted,
        tf.train.SingularMonitoredSession: _counted,
        tf.train.Scaffold: dict,
        tf.train.ChiefSessionCreator: dict,
        tf.train.WorkerSessionCreator: dict,
        tf.train.SessionManager: dict,
        tf.train.Supervisor: _counted,
        tf.train.basic_train_loop: lambda: {
            "supervisor": _supervisor(), "train_step_fn": lambda session: None
        },
        tf.train.SecondOrStepTimer: lambda: {"every_steps": 1},
        tf.train.CheckpointSaverHook: lambda: {
            "checkpoint_dir": tempfile.mkdtemp(), "save_steps": 1
        },
        tf.train.SummarySaverHook: lambda: {"save_steps": 1, "summary_op": tf.constant("")},
        tf.train.StopAtStepHook: lambda: {"last_step": 1},
        tf.train.GlobalStepWaiterHook: lambda: {"wait_until_step": 1},
        tf.train.StepCounterHook: dict,
        tf.train.NanTensorHook: lambda: {"loss_tensor": tf.constant(1.0)},
        tf.train.LoggingTensorHook: lambda: {"tensors": ["loss"], "every_n_iter": 1},
        tf.train.FeedFnHook: lambda: {"feed_fn": dict},
        tf.train.FinalOpsHook: lambda: {"final_ops": tf.constant(1.0)},
        tf.cluster.from_environment: lambda: {"environment": {}},
        tf.cluster.Task: lambda: {
            "cluster": {"ps": ["a:1"]}, "job_name": "ps", "task_index": 0,
        },
        tf.cluster.LocalCluster: lambda: {
            "command": ["true"], "ps": 1, "workers": 1, "restarts": 1, "write": print,
            "patience": 1.0,
        },
        tf.cluster.serve_metrics: lambda: {
            "server": tf.train.Server.create_local_server(), "port": 0, "host": "localhost",
        },
        tf.cluster.status: lambda: {
            "target": tf.train.Server.create_local_server().target,
        },
        tf.cluster.all_reduce: lambda: {
            "t": X, "group_size": 1, "group_key": 1, "instance_key": 1, "merge_op": "Add",
            "final_op": "Id", "subdiv_offsets": [0], "communication_hint": "auto",
        },
        tf.cluster.all_gather: lambda: {
            "t": X, "group_size": 1, "group_key": 1, "instance_key": 1,
            "communication_hint": "auto",
        },
        tf.cluster.reduce_scatter: lambda: {
            "t": X, "group_size": 1, "group_key": 1, "instance_key": 1, "merge_op": "Add",
            "final_op": "Id", "communication_hint": "auto", "timeout": 1.0,
        },
        tf.cluster.broadcast_send: lambda: {
            "t": X, "shape": tf.constant(X).shape, "dtype": tf.float32, "group_size": 2,
            "group_key": 1, "instance_key": 1, "communication_hint": "auto",
        },
        tf.cluster.broadcast_recv: lambda: {
            "shape": [2], "dtype": tf.float32, "group_size": 2, "group_key": 1, "instance_key": 1,
            "communication_hint": "auto",
        },
        tf.cluster.all_reduce_gradients: lambda: {
            "grads_and_vars": [(tf.constant(X), None)], "group_size": 2, "group_key": 1,
            "device": "/cpu:0", "mean": True,
        },
        tf.cluster.broadcast_variables: lambda: {
            "variables": [tf.Variable(1.0)], "is_source": True, "group_size": 2, "group_key": 1,
            "device": "/cpu:0",
        },
        tf.cluster.Mirrored: lambda: {"devices": ["/cpu:0"]},
        tf.cluster.PeerCopyHook: lambda: {"copy_steps": 1},
        tf.train.ClusterSpec: lambda: {"cluster": {"ps": ["localhost:1"]}},
        tf.train.Server: lambda: {
            "server_or_cluster_def": {"local": ["localhost:0"]}, "job_name": "local",
            "task_index": 0, "protocol": "grpc", "config": tf.ConfigProto(), "start": True,
        },
        tf.train.SyncReplicasOptimizer: lambda: {
            "opt": tf.train.GradientDescentOptimizer(0.1), "replicas_to_aggregate": 1,
            "total_num_replicas": 1, "variable_averages": tf.train.ExponentialMovingAverage(0.5),
            "variables_to_average": [], "use_locking": True,
        },
        tf.contrib.training.GreedyLoadBalancingStrategy: lambda: {
            "num_tasks": 2, "load_fn": tf.contrib.training.byte_size_load_fn,
        },
        tf.contrib.training.byte_size_load_fn: lambda: {"op": tf.constant(X).op},
        tf.train.replica_device_setter: lambda: {
            "ps_tasks": 1, "ps_device": "/job:ps", "worker_device": "/job:worker",
            "merge_devices": True, "cluster": {"ps": ["localhost:1"]}, "ps_ops": ["VarHandleOp"],
            "ps_strategy": lambda op: 0,
        },
        tf.train.ProfilerHook: lambda: {"save_steps": 1, "output_dir": tempfile.mkdtemp()},
    }  # fmt: skip


def _supervisor() -> Any:
    supervisor = tf.train.Supervisor(global_step=None)
    managed_session = supervisor.managed_session

    class Stopped:
        """A supervisor that stops before the first step."""

        should_stop = staticmethod(lambda: True)

        def managed_session(self, master: str) -> Any:
            return managed_session(master)

    return Stopped()
