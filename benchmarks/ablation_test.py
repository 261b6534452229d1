"""The arithmetic of an ablation, and that all its programs run, whatever they take."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import millstream as tf
from benchmarks import ablation, comparison, goals
from benchmarks.cases import graph_mode, networks, programs, timing

RUN = timing.Run(1, 1e-4, channels_last=False, module=goals.OURS)


def row(ours: list[float], other: list[float]) -> ablation.Row:
    measured = comparison.Measurements()
    for block, (with_it, without) in enumerate(zip(ours, other, strict=True)):
        measured.add(block, ablation.WITH, {"mlp_b1": with_it})
        measured.add(block, ablation.WITHOUT, {"mlp_b1": without})
    return ablation.Row("slab", "mlp_b1", measured)


def test_a_row_has_medians_and_the_ratio_by_block() -> None:
    found = row([1e-3, 2e-3, 3e-3], [2e-3, 2e-3, 4e-3])
    assert found.cells() == ["slab", "mlp_b1", "2 ms", "2 ms", "0.75 (0.5 .. 1)"]
    assert found.numbers() == {
        "optimization": "slab",
        "workload": "mlp_b1",
        "with_seconds": 2e-3,
        "without_seconds": 2e-3,
        "ratio": {"median": 0.75, "least": 0.5, "most": 1.0},
    }


def test_sides_alternate_and_so_does_who_begins() -> None:
    order: list[str] = []
    sides = (lambda: order.append("a"), lambda: order.append("b"))
    found = ablation.alternate(sides, blocks=3, seconds=0)
    assert len(found) == 3
    assert "".join(order[-6:]) == "abbaab"


def test_what_a_new_shape_costs_is_what_its_first_step_takes_longer() -> None:
    found = [programs.NewShape(first, 0.001) for first in (0.003, 0.006, 0.004)]
    assert ablation.shape_cells("mlp_b128", found) == ["mlp_b128", "3 ms (2 .. 5)", "1 ms"]


def test_by_default_an_optimization_meets_what_it_is_for() -> None:
    known = ["slab", "new_one"]
    chosen = ablation.pairs(known, [], [], everything=False)
    assert chosen == [
        *(("slab", name) for name in ablation.SHOWN_BY["slab"]),
        *(("new_one", name) for name in ablation.DEFAULT),
    ]
    everything = ablation.pairs(known, [], [], everything=True)
    assert len(everything) == 2 * len(ablation.MATRIX)
    assert ablation.pairs(known, ["slab"], ["threads"], False) == [("slab", "threads")]
    assert ablation.pairs(known, [], ["lenet_b128"], False) == [
        ("slab", "lenet_b128"),
        ("new_one", "lenet_b128"),
    ]


def test_all_that_is_shown_is_there() -> None:
    known = ablation.names()
    assert "fuse_products" in known
    assert set(ablation.SHOWN_BY) <= set(known)
    shown = (*ablation.SHOWN_BY.values(), ablation.DEFAULT, ablation.MATRIX, ablation.CHECKED)
    for workloads in shown:
        assert set(workloads) <= set(programs.WORKLOADS)
    assert set(programs.NEW_SHAPES) <= set(networks.WORKLOADS)


@pytest.mark.parametrize("arguments", [["--blocks", "0"], ["--threads", "0"], ["--workload", "x"]])
def test_bad_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        ablation.parse(arguments)


def test_an_optimization_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ablation.main(["--optimization", "fuse_all"]) == 2
    assert "there is no optimization 'fuse_all'; there are fold_" in capsys.readouterr().out


def test_the_command_prints_and_writes_what_it_found(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    arguments = ["--optimization", "slab", "--workload", "tiny_step", "mlp_b1", "--blocks", "2"]
    assert ablation.main([*arguments, "--seconds", "0.001", "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == " ".join(ablation.HEADING).split()
    assert [line.split()[:2] for line in lines[1:]] == [["slab", "tiny_step"], ["slab", "mlp_b1"]]
    numbers = json.loads(file.read_text())
    assert [row["workload"] for row in numbers["rows"]] == ["tiny_step", "mlp_b1"]
    assert numbers["new_shapes"] == {}


def test_a_session_with_a_folder_for_checks_stops_at_the_first_nan(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        infinity = tf.log(x).op
        with graph_mode.session(tf, RUN) as active:
            active.run(infinity, {x: 0.0})
        with (
            graph_mode.session(tf, RUN, checks=str(tmp_path)) as active,
            pytest.raises(tf.errors.InvalidArgumentError, match="not finite"),
        ):
            active.run(infinity, {x: 0.0})
    assert len(list(tmp_path.iterdir())) == 1


def test_what_checks_cost_is_a_table_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--checks", "--workload", "mlp_b1", "--blocks", "2", "--seconds", "0.001"]
    assert ablation.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["check_numerics", "mlp_b1"]]


@pytest.mark.parametrize(
    "name",
    [
        "mlp_b1",
        "adam_small",
        "add_chain",
        "tiny_step",
        "threads",
        "mlp_inference_b1",
        "lstm_inference_b1",
    ],
)
def test_small_workloads_run_with_everything_off(name: str) -> None:
    with programs.WORKLOADS[name](RUN).begin(ablation.names()) as step:
        step()


def test_the_composed_cross_entropy_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "XENT_SHAPE", (3, 50))
    rewrite = next(each for each in programs.REWRITES if each.workload == "xent")
    with programs.WORKLOADS["xent"](RUN).begin() as ours, rewrite.build(RUN).begin() as other:
        for _ in range(3):
            np.testing.assert_allclose(ours()[0], other()[0], rtol=1e-6)


def test_new_batch_sizes_are_each_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "NEW_SHAPES", {"mlp_b128": range(1, 4)})
    found = programs.new_shapes(RUN, "mlp_b128")
    assert len(found) == 2
    assert all(each.known > 0 for each in found)


def test_null_ops_that_are_not_dispatched_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_mode, "NULL_OPS", 30)
    run = timing.Run(1, 1e-5, channels_last=False, module=goals.OURS)
    graph_mode.null_chain(run)
    graph_mode.null_wide(run)
    assert set(run.figures) == {"null_chain", "null_wide"}
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="1 nodes, not 30"):
        graph_mode.time_null_ops(tf, run, "null_chain", tf.no_op())
