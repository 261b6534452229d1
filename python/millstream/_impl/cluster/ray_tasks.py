"""Clusters on Ray: each task is an actor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.cluster.environment import from_environment
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.cluster.task import PS, Task
from millstream._impl.graph.arguments import (
    FUNCTION,
    INTEGER,
    MAPPING,
    TEXT,
    Kind,
    or_none,
    takes,
)

_DATASET = Kind("a dataset of Ray Data", lambda value: hasattr(value, "materialize"))
# What all tasks should know of certificates and libraries.
_PASSED_ON = "MILLSTREAM_CLUSTER_"


@public("cluster.ray.run")
@takes(
    function=FUNCTION,
    ps=INTEGER,
    workers=INTEGER,
    restarts=INTEGER,
    resources=or_none(MAPPING),
    strategy=TEXT,
    dataset=or_none(_DATASET),
)
def run(
    function: Callable[..., Any],
    ps: int = 0,
    workers: int = 1,
    restarts: int = 0,
    resources: Mapping[str, float] | None = None,
    strategy: str = "PACK",
    dataset: Any = None,
) -> list[Any]:
    """Run a function as the workers of a cluster on Ray, beside parameter servers that serve them.

    The program has called ``ray.init``. Tasks are actors in a placement group, which Ray starts
    again if they fail; all are ended when the function has returned in all workers::

        def train(task):
            with tf.device(task.device_setter()):
                ...
            with tf.train.MonitoredTrainingSession(task.target, task.is_chief, ...) as session:
                ...

        ray.init()
        results = tf.cluster.ray.run(train, ps=2, workers=3)

    Parameters
    ----------
    function
        Gets the `Task`, whose server runs, and its part of the dataset if there is one. Ray carries
        it and what it returns to other processes.
    ps
        How many parameter servers there are.
    workers
        How many workers there are.
    restarts
        How often Ray starts a task again whose process has died.
    resources
        What each task takes, by default ``{"CPU": 1}``.
    strategy
        How Ray places tasks: ``"PACK"``, ``"SPREAD"``, ``"STRICT_PACK"`` or ``"STRICT_SPREAD"``.
    dataset
        A dataset of Ray Data. Its rows are read into Ray's store, and each worker gets a part of
        them, the same one when it is started again. `feeds` makes batches of it.

    Returns
    -------
    list
        What the function returned in each worker.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind.
    ModuleNotFoundError
        Ray is not installed.
    Exception
        What Ray raises for a task that failed.
    """
    if ps < 0 or workers < 1:
        raise ValueError(f"ps, workers: expected at least one worker, got {ps}, {workers}")
    import ray  # lazy: it is a package of others that most programs do not have
    from ray.util.placement_group import placement_group, remove_placement_group  # lazy: as ray

    needs = dict(resources or {"CPU": 1})
    # Before the tasks take their CPUs, which those that read the rows need as well.
    parts: list[tuple[Any, ...]] = [()] * workers
    if dataset is not None:
        parts = [(part,) for part in _parts(dataset, workers)]
    group = placement_group([dict(needs) for _ in range(ps + workers)], strategy=strategy)
    actors: list[Any] = []
    try:
        ray.get(group.ready())
        actors += [_actor(ray, group, at, needs, restarts) for at in range(ps + workers)]
        places = ray.get([actor.place.remote() for actor in actors])
        configs = _configs(places, ps)
        calls = [
            actor.serve.remote(config)
            for actor, config in zip(actors[:ps], configs[:ps], strict=True)
        ]
        calls += [
            actor.work.remote(config, function, *part)
            for actor, config, part in zip(actors[ps:], configs[ps:], parts, strict=True)
        ]
        waiting = set(calls[ps:])
        while waiting:
            # Also a parameter server that fails ends the cluster.
            (done, *_), _ = ray.wait([*waiting, *calls[:ps]], num_returns=1)
            ray.get(done)
            waiting.discard(done)
        return list(ray.get(calls[ps:]))
    finally:
        for actor in actors:
            ray.kill(actor)
        remove_placement_group(group)


def _parts(dataset: Any, count: int) -> list[Any]:
    """The rows in parts that differ by one row at most."""
    rows = dataset.materialize()
    if count == 1:
        return [rows]
    total = rows.count()
    parts: list[Any] = rows.split_at_indices([total * at // count for at in range(1, count)])
    return parts


def _actor(ray: Any, group: Any, index: int, needs: Mapping[str, float], restarts: int) -> Any:
    """Start the actor of a task in its part of the placement group."""
    from ray.util.scheduling_strategies import (  # lazy: as ray
        PlacementGroupSchedulingStrategy,
    )

    others = {name: value for name, value in needs.items() if name not in ("CPU", "GPU")}
    passed_on = {name: v for name, v in os.environ.items() if name.startswith(_PASSED_ON)}
    options = ray.remote(Actor).options(
        num_cpus=needs.get("CPU", 0),
        num_gpus=needs.get("GPU", 0),
        resources=others,
        max_restarts=restarts,
        max_task_retries=restarts,
        runtime_env={"env_vars": passed_on} if passed_on else None,
        scheduling_strategy=PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=index
        ),
    )
    return options.remote()


def _configs(places: list[tuple[str, str]], ps: int) -> list[str]:
    """The ``TF_CONFIG`` of each task, of which the first are parameter servers."""
    if len({host for host, _ in places}) == 1:
        places = [("localhost", port) for _, port in places]
    addresses = [f"{host}:{port}" for host, port in places]
    jobs = {PS: addresses[:ps]} if ps else {}
    jobs["worker"] = addresses[ps:]
    return [
        Task(jobs, job, index).as_tf_config()
        for job, tasks in jobs.items()
        for index in range(len(tasks))
    ]


class Actor:
    """A task of a cluster, in a process of Ray.

    Calls say which task it is, so that Ray can repeat them in a process that it started again.
    """

    def place(self) -> tuple[str, str]:
        """The address of this host, and a port there that is free."""
        import ray  # lazy: it is a package of others that most programs do not have

        port = free_addresses(1)[0].rpartition(":")[2]
        return ray.util.get_node_ip_address(), port

    def serve(self, config: str) -> None:
        """Keep variables for others."""
        server = _started(config).start_server()
        assert server is not None
        server.join()

    def work(self, config: str, function: Callable[..., Any], *part: Any) -> Any:
        """Call the function, with the worker's part of the dataset."""
        return function(_started(config), *part)


def _started(config: str) -> Task:
    task = from_environment({"TF_CONFIG": config})
    task.start_server()
    return task
