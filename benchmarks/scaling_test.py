"""The model of the time of a step, on numbers that no clock gave."""

from __future__ import annotations

import math

import pytest

from benchmarks.cases import null_steps
from benchmarks.scaling import combine, parse, table
from benchmarks.scaling_model import Costs, Load, Machines, Sample, fit, step_seconds

COSTS = Costs(step=50e-6, worker_message=20e-6, server_message=10e-6, byte=0.5e-9)
ONE_CORE = Machines(cores=1, are_one=True)


def processor_seconds(load: Load, costs: Costs = COSTS) -> float:
    """Of all tasks, for a step of one worker."""
    messages = 2 * load.servers * (costs.worker_message + costs.server_message)
    return costs.step + messages + 4 * load.servers * load.part_bytes * costs.byte


@pytest.mark.parametrize("load", [Load(1, 1, 0), Load(3, 2, 1e6), Load(12, 4, 100)])
def test_one_processor_is_never_idle(load: Load) -> None:
    found = step_seconds(load, COSTS, ONE_CORE, is_synchronous=False, steps=3)
    assert found == pytest.approx(load.workers * processor_seconds(load))


@pytest.mark.parametrize("cores", [2, 8])
def test_processors_share_the_work_at_best(cores: int) -> None:
    load = Load(16, 4, 1000)
    machines = Machines(cores=cores, are_one=True)
    found = step_seconds(load, COSTS, machines, is_synchronous=False, steps=5)
    best = load.workers * processor_seconds(load) / cores
    # The sum of the simulated times is rounded.
    assert best * (1 - 1e-12) <= found < 1.5 * best


def test_a_lone_step_is_the_sum_of_its_parts() -> None:
    machines = Machines(cores=4, bytes_per_second=1e9, latency=30e-6)
    load = Load(1, 1, 1e6)
    # Messages: to ask, to give, and to say that the step is done.
    messages = 3 * (COSTS.worker_message + COSTS.server_message) + 4e6 * COSTS.byte
    network = 4 * 1e6 / 1e9 + 6 * 30e-6
    assert step_seconds(load, COSTS, machines) == pytest.approx(COSTS.step + messages + network)


def test_many_workers_wait_for_the_interfaces_of_the_servers() -> None:
    machines = Machines(cores=64, bytes_per_second=1e9, latency=30e-6)
    free = Costs(0, 0, 0, 0)
    for workers in (50, 200):
        # What a server gives to all. The first ones give their updates meanwhile, and the last one
        # needs the time of its own interface for all parts, twice.
        found = step_seconds(Load(workers, 16, 1e6), free, machines)
        given = workers * 1e6 / 1e9
        assert given < found < given + 2 * 16 * 1e6 / 1e9 + 0.005


def test_more_workers_never_make_a_step_shorter() -> None:
    machines = Machines(cores=8, bytes_per_second=1.25e9, latency=50e-6)
    times = [step_seconds(Load(count, 16, 4), COSTS, machines) for count in (1, 2, 10, 50, 100)]
    assert times == sorted(times)
    assert times[0] < times[-1]


def test_a_synchronous_step_ends_with_the_slowest_worker() -> None:
    machines = Machines(cores=2, latency=50e-6)
    load = Load(5, 2, 4)
    free = step_seconds(load, COSTS, machines, is_synchronous=False, steps=10)
    together = step_seconds(load, COSTS, machines, steps=10)
    assert free < together
    assert together == pytest.approx(step_seconds(load, COSTS, machines))


def samples_of(costs: Costs) -> list[Sample]:
    found = []
    for load in (Load(1, 1, 4), Load(2, 4, 4), Load(4, 8, 4), Load(1, 2, 1e6), Load(3, 4, 1e6)):
        size = 2 * load.servers * load.part_bytes * costs.byte
        worker = costs.step + 2 * load.servers * costs.worker_message + size
        server = 2 * load.servers * costs.server_message + size
        found.append(Sample(load, worker, server))
    return found


def test_costs_are_found_again() -> None:
    found = fit(samples_of(COSTS))
    for name in ("step", "worker_message", "server_message", "byte"):
        assert getattr(found, name) == pytest.approx(getattr(COSTS, name)), name


def test_no_cost_is_below_zero() -> None:
    found = fit(samples_of(Costs(step=-10e-6, worker_message=20e-6, server_message=1e-5, byte=0)))
    assert found.step == 0.0
    assert found.worker_message > 0.0
    assert found.server_message > 0.0
    assert found.byte >= 0.0


def test_the_table_has_the_figures_of_the_paper_beside_the_model() -> None:
    machines = Machines(cores=8, bytes_per_second=1.25e9, latency=50e-6)
    rows = table(COSTS, machines, servers=16, workers=[1, 100])
    assert rows[0] == ["step", "1 worker", "paper", "100 workers", "paper"]
    scalar = next(row for row in rows if row[0].startswith("scalar"))
    assert scalar[2] == "1.8 ms"
    assert scalar[4] == "8.8 ms"
    assert all(len(row) == 5 for row in rows)


def test_the_figures_of_workers_are_combined() -> None:
    first = {"seconds": 2.0, "steps": 200, "worker_seconds": 0.02}
    chief = {"seconds": 2.0, "steps": 300, "worker_seconds": 0.04}
    chief |= {"all_servers_seconds": 1.0, "bytes": 3000.0}
    found = combine(Load(2, 3, 4), [first, chief])
    # 250 steps a second, of which each worker does one at a time.
    assert found.step_seconds == pytest.approx(2 / 250)
    assert found.sample.worker_seconds == pytest.approx((200 * 0.02 + 300 * 0.04) / 500)
    assert found.sample.server_seconds == pytest.approx(1.0 / 500)
    assert found.step_bytes == pytest.approx(10)


@pytest.mark.parametrize("arguments", [["--servers", "0"], ["--seconds", "0"], ["--workers", "-1"]])
def test_bad_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        parse(arguments)


def test_processor_time_of_a_process_grows() -> None:
    before = null_steps.processor_seconds("self")
    sum(math.sqrt(i) for i in range(3_000_000))
    assert null_steps.processor_seconds("self") > before >= 0.0
