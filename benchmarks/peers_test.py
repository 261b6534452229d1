"""The driver's arithmetic, on numbers that no clock gave."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from benchmarks import comparison, goals, peers
from benchmarks.cases import (
    graph_mode,
    jax_mode,
    networks,
    operations,
    operations_graph,
    operations_numpy,
    operations_torch,
    recurrent,
    recurrent_graph,
    recurrent_jax,
    recurrent_torch,
    torch_mode,
)

OURS = peers.Contender(goals.OURS, "python")
TENSORFLOW = peers.Contender("tensorflow", "python")
TORCH = peers.Contender("torch", "python")


class FakeRunner:
    """Gives prepared figures, by contender and setting, a list entry for each block."""

    def __init__(self, figures: Mapping[tuple[str, peers.Setting], list[float | None]]) -> None:
        self._figures = {key: list(values) for key, values in figures.items()}
        self.order: list[str] = []

    def __call__(
        self, contender: peers.Contender, case: str, setting: peers.Setting
    ) -> Mapping[str, Any] | None:
        self.order.append(f"{contender.name} {case} {setting.threads}")
        value = self._figures[contender.name, setting].pop(0)
        return None if value is None else {"figures": {f"{case}_b32": value}, "version": "1.2"}


ONE = peers.Setting(1)
TWO = peers.Setting(2)


def compare(
    contenders: list[peers.Contender],
    figures: Mapping[tuple[str, peers.Setting], list[float | None]],
) -> comparison.Measurements:
    blocks = len(next(iter(figures.values())))
    return peers.compare(contenders, ["mlp"], blocks, [1, 2], FakeRunner(figures))


def test_contenders_alternate_in_every_block() -> None:
    runner = FakeRunner({("millstream", ONE): [1, 1], ("tensorflow", ONE): [1, 1]})
    peers.compare([OURS, TENSORFLOW], ["mlp"], 2, [1], runner)
    assert runner.order == ["millstream mlp 1", "tensorflow mlp 1"] * 2


def test_the_better_setting_of_each_block_counts() -> None:
    found = compare([OURS], {("millstream", ONE): [5, 2, 9], ("millstream", TWO): [4, 8, 7]})
    assert found.median("mlp_b32", "millstream") == 4  # of 4, 2 and 7


def test_ratios_are_taken_block_by_block() -> None:
    found = compare(
        [OURS, TENSORFLOW],
        {
            ("millstream", ONE): [1, 3, 4],
            ("millstream", TWO): [9, 9, 9],
            ("tensorflow", ONE): [2, 4, 16],
            ("tensorflow", TWO): [99, 99, 99],
        },
    )
    ratio = found.ratio("mlp_b32", "millstream", "tensorflow")
    assert ratio == comparison.Spread(0.5, 0.25, 0.75)


def test_a_block_that_failed_is_left_out() -> None:
    found = compare(
        [OURS, TENSORFLOW],
        {
            ("millstream", ONE): [1, 1],
            ("millstream", TWO): [1, 1],
            ("tensorflow", ONE): [None, 4],
            ("tensorflow", TWO): [None, None],
        },
    )
    ratio = found.ratio("mlp_b32", "millstream", "tensorflow")
    assert ratio == comparison.Spread(0.25, 0.25, 0.25)


def test_the_table_names_the_versions() -> None:
    found = compare([OURS], {("millstream", ONE): [1], ("millstream", TWO): [2]})
    assert comparison.table(found, ["millstream", "jax"])[0][1:3] == ["millstream 1.2", "jax"]


def measured(figures: Mapping[str, Mapping[str, float]]) -> comparison.Measurements:
    measurements = comparison.Measurements()
    for contender, values in figures.items():
        measurements.add(0, contender, values)
    return measurements


def test_the_best_peer_is_never_ourselves() -> None:
    found = measured(
        {"millstream": {"xent": 1.0}, "tensorflow": {"xent": 5.0}, "torch": {"xent": 3.0}}
    )
    assert found.best_peer("xent") == "torch"
    assert measured({"millstream": {"xent": 1.0}}).best_peer("xent") is None


@pytest.mark.parametrize(("ours", "met"), [(0.5, True), (1.5, True), (1.6, False)])
def test_a_goal_is_met_up_to_its_limit(ours: float, met: bool) -> None:
    found = measured({"millstream": {"xent": ours}, "torch": {"xent": 3.0}})
    assert [verdict.met for verdict in found.verdicts("xent")] == [met]


def test_a_goal_without_its_peer_is_not_measured() -> None:
    found = measured({"millstream": {"tiny_callable": 1.0}, "torch": {"tiny_callable": 1.0}})
    assert [verdict.met for verdict in found.verdicts("tiny_callable")] == [None, True]


def test_absolute_goals_need_no_peer() -> None:
    assert measured({"millstream": {"import": 0.05}}).verdicts("import")[0].met is True
    assert measured({"millstream": {"import": 0.07}}).verdicts("import")[0].met is False
    assert measured({"torch": {"import": 0.01}}).verdicts("import")[0].met is None


def test_two_shapes_are_held_to_the_mean_of_each_alone() -> None:
    def verdict(in_turn: float) -> bool | None:
        figures = {"two_shapes_32": 2.0, "two_shapes_48": 4.0, "two_shapes_in_turn": in_turn}
        return measured({"millstream": figures}).verdicts("two_shapes_in_turn")[0].met

    assert verdict(3.2) is True
    assert verdict(3.4) is False


def test_the_table_has_values_ratio_and_goal() -> None:
    found = measured(
        {"millstream": {"xent": 0.002, "installed_mb": 40.0}, "torch": {"xent": 0.008}}
    )
    rows = comparison.table(found, ["millstream", "torch"])
    assert rows[1] == [
        "xent",
        "2 ms",
        "8 ms",
        "0.25 (0.25 .. 0.25) torch",
        "≤ 0.5 of the best peer: met",
    ]
    assert rows[2][1:3] == ["40.0 MB", "-"]
    assert comparison.markdown(rows).splitlines()[:2] == [
        "| figure | millstream | torch | ours / best peer | goal |",
        "| --- | --- | --- | --- | --- |",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.5e-9, "2.5 ns"), (3e-6, "3 µs"), (0.0123, "12.3 ms"), (1.5, "1.5 s"), (None, "-")],
)
def test_times_have_a_unit_that_suits_them(value: float | None, text: str) -> None:
    assert comparison.value_text("xent", value) == text


def check_runner(curves: Mapping[str, list[float]]) -> peers.Runner:
    return lambda contender, case, setting: {"curves": {case: curves[contender.name]}}


@pytest.mark.parametrize(
    ("ours", "fine"),
    [([2.0, 1.00005], True), ([2.0, 1.001], False), ([2.0], False), ([2.0, math.nan], False)],
)
def test_numbers_that_differ_are_found(ours: list[float], fine: bool) -> None:
    runner = check_runner({"millstream": ours, "tensorflow": [2.0, 1.0]})
    rows, result = peers.check([OURS, TENSORFLOW], ["xent", "build"], 1, runner)
    assert result is fine
    assert rows[0] == ["workload", "millstream / tensorflow"]
    assert [row[0] for row in rows[1:]] == ["xent"]


def test_a_check_in_which_nothing_ran_has_failed() -> None:
    rows, fine = peers.check([OURS, TENSORFLOW], ["xent"], 1, lambda *_: None)
    assert len(rows) == 1
    assert not fine


def test_layouts_are_tried_where_torch_has_images() -> None:
    assert peers.settings_of(TORCH, "lenet", [2]) == [TWO, peers.Setting(2, channels_last=True)]
    assert peers.settings_of(TORCH, "mlp", [1, 2]) == [ONE, TWO]
    assert peers.settings_of(OURS, "lenet", [1, 2]) == [ONE, TWO]


def test_each_row_of_single_operations_is_in_all_front_ends() -> None:
    class Anything:
        def __getattr__(self, name: str) -> Any:
            return Anything()

    names = set(operations.INPUTS)
    assert set(operations_graph.rows(Anything())) == names
    assert set(operations_torch.rows(Anything())) == names
    lacking = {name for contender, name in operations.LACKING if contender == "numpy"}
    assert set(operations_numpy.rows(Anything(), Anything())) == names - lacking
    assert set(operations.POSITIVE) <= names


@pytest.mark.parametrize("name", ["sum_rows", "gather_rows", "eigh_256"])
def test_rows_of_single_operations_are_given_the_same_each_time(name: str) -> None:
    for first, second in zip(operations.inputs(name), operations.inputs(name), strict=True):
        np.testing.assert_array_equal(first, second)
    assert [list(one.shape) for one in operations.inputs(name)] == [
        list(shape) for _, _, shape in operations.INPUTS[name]
    ]


def test_numpy_takes_part_in_single_operations_alone() -> None:
    other = peers.Contender("numpy", "python")
    assert peers.takes_part(other, operations.CASE)
    assert not peers.takes_part(other, "mlp")


def test_other_packages_are_only_imported() -> None:
    other = peers.Contender("onnxruntime", "python")
    assert peers.takes_part(other, "import")
    assert not peers.takes_part(other, "mlp")


@pytest.mark.parametrize("arguments", [["--peer", "jax"], ["--threads", "0"], ["--check"]])
def test_bad_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        peers.parse(arguments)


def test_every_case_runs_somewhere_and_every_goal_has_its_case() -> None:
    graph_cases = {*graph_mode.CASES, *recurrent_graph.CASES}
    assert set(peers.CASES) == {*graph_cases, "import", operations.CASE}
    assert set(recurrent_graph.CASES) == set(recurrent.CASES)
    pairs = (
        (graph_mode, recurrent_graph),
        (torch_mode, recurrent_torch),
        (jax_mode, recurrent_jax),
    )
    for networks_module, recurrent_module in pairs:
        assert {*networks_module.CASES, *recurrent_module.CASES} <= graph_cases
        assert {*networks_module.CURVES, *recurrent_module.CURVES, operations.CASE} == set(
            peers.CHECKED
        )
    workloads = {name for names in networks.TRAINING_CASES.values() for name in names}
    assert workloads == set(networks.WORKLOADS)
    assert workloads <= set(goals.GOALS)


@pytest.mark.parametrize("name", networks.WORKLOADS)
def test_the_networks_end_in_their_classes(name: str) -> None:
    workload = networks.WORKLOADS[name]
    shapes, result = networks.parameter_shapes(workload.layers, workload.sample)
    assert result == (workload.classes,)
    assert all(min(shape) > 0 for shape, _ in shapes)


def test_the_networks_have_the_sizes_of_their_papers() -> None:
    def parameters(name: str) -> int:
        workload = networks.WORKLOADS[name]
        shapes, _ = networks.parameter_shapes(workload.layers, workload.sample)
        vectors = (shape[-1] * (2 if is_normalized else 1) for shape, is_normalized in shapes)
        return sum(int(np.prod(shape)) for shape, _ in shapes) + sum(vectors)

    assert parameters("mlp_b1") == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    assert parameters("vgg_a_b4") == 132_863_336  # "133 million", table 2 of the paper
    assert 6.9e6 < parameters("googlenet_b8") < 7.1e6
    assert parameters("resnet50_b8") == 25_557_032  # as torchvision has it
