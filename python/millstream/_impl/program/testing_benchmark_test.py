"""Benchmarks, and attributes that tests replace."""

from __future__ import annotations

import json
import math
import pathlib
import sys
import types
from typing import Any

import pytest

import millstream as tf
from millstream._impl.program import testing_benchmark


class Sums(tf.test.Benchmark):
    """Measures a sum."""

    ran: list[str]

    def benchmark_sum(self) -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            total = tf.reduce_sum(tf.random_normal([1000]))
            self.report = self.run_op_benchmark(
                session, total, min_iters=3, store_trace=True, extras={"kind": "sum"}, mbs=4
            )

    def benchmark_named(self) -> None:
        self.report_benchmark(
            iters=7, wall_time=0.5, name="other", metrics=[{"name": "m", "value": 2}]
        )


def test_a_benchmark_reports_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    sums = Sums()
    sums.benchmark_sum()
    report = sums.report
    assert (report["iters"], report["name"]) == (3, None)
    assert report["throughput"] == pytest.approx(4 / report["wall_time"])
    assert json.loads(report["extras"]["full_trace_chrome_format"])["traceEvents"]
    assert report["extras"]["kind"] == "sum"
    assert any(key.startswith("allocator_maximum_num_bytes_") for key in report["extras"])
    printed = capsys.readouterr().out
    assert 'name: "Sums.benchmark_sum"' in printed
    assert "iters: 3" in printed
    assert "full_trace" not in printed


def test_a_report_is_a_file_where_the_environment_says(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_REPORT_FILE_PREFIX", f"{tmp_path}/report.")
    Sums().benchmark_named()
    text = (tmp_path / "report.Sums.other").read_text()
    assert text.startswith('entry {\n  name: "Sums.other"\n  iters: 7\n  wall_time: 0.5\n')
    assert 'metrics {\n    name: "m"\n    value: 2.0\n  }' in text
    with pytest.raises(OSError, match="File already exists"):
        Sums().benchmark_named()


def test_benchmarks_are_found_by_a_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    testing_benchmark.run_benchmarks(r"Sums\.benchmark_na")
    assert capsys.readouterr().out.count("entry {") == 1
    assert testing_benchmark.pattern_of(["prog", "--benchmarks=all"]) == "all"
    assert testing_benchmark.without_pattern(["p", "-benchmarks=a", "x"]) == ["p", "x"]
    assert tf.test.Benchmark.is_abstract()
    assert not Sums.is_abstract()


def test_the_program_runs_benchmarks_instead_of_tests(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tf.test.main([sys.argv[0], r"--benchmarks=Sums\.benchmark_named"])
    assert "Sums.other" in capsys.readouterr().out


def test_a_report_is_of_a_benchmark() -> None:
    with pytest.raises(ValueError, match="Unable to determine calling Benchmark class"):
        tf.test.Benchmark._get_name(None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="extras: expected a dictionary"):
        Sums().report_benchmark(extras=[1])


def test_values_are_those_of_the_default_session() -> None:
    with tf.Graph().as_default():
        x = tf.constant(2.0)
        assert Sums().evaluate(x) == 2.0
        with tf.Session():
            assert Sums().evaluate([x]) == [2.0]


class Base:
    """What is replaced below."""

    def name(self) -> str:
        return "base"

    @staticmethod
    def kind() -> str:
        return "static"


class Derived(Base):
    """It inherits both."""


def test_attributes_are_given_back() -> None:
    stubs = tf.test.StubOutForTesting()
    stubs.Set(math, "sqrt", lambda x: -x)
    stubs.Set(math, "sqrt", lambda x: 0)
    assert math.sqrt(4) == 0
    stubs.UnsetAll()
    assert math.sqrt(4) == 2

    stubs.SmartSet(Base, "kind", staticmethod(lambda: "stub"))
    assert Derived.kind() == Base().kind() == "stub"
    stubs.SmartUnsetAll()
    assert isinstance(vars(Base)["kind"], staticmethod)
    assert Base().kind() == "static"


def test_a_stub_of_an_object_is_one_of_its_class() -> None:
    derived: Any = Derived()
    with tf.test.StubOutForTesting() as stubs:
        stubs.SmartSet(derived, "name", lambda self: "stub")
        assert Derived().name() == "stub"
        assert Base().name() == "base"
    assert Derived().name() == "base"
    module = types.ModuleType("made")
    with tf.test.StubOutForTesting() as stubs, pytest.raises(AttributeError):
        stubs.SmartSet(module, "missing", 1)
    with tf.test.StubOutForTesting() as stubs, pytest.raises(AttributeError, match="not found"):
        stubs.SmartSet(derived, "missing", 1)
