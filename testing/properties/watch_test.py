"""A case that kills or stops its process is reported, and the others run."""

from __future__ import annotations

from testing.properties import watch

_MODULE = "testing.properties.bad_child"


def test_a_crash_names_its_case_and_the_next_case_runs() -> None:
    report = watch.run_cases(["Good", "Crashes", "Good2"], 3, 1, module=_MODULE)
    assert report.failures == ["the process died with status -6 at Crashes bad 0, seed 3"]
    assert report.counts["Good", "bad", "ran"] == 1
    assert report.counts["Good2", "bad", "ran"] == 1


def test_a_hang_names_its_case_and_the_next_case_runs() -> None:
    report = watch.run_cases(["Hangs", "Good"], 3, 1, seconds=3, module=_MODULE)
    assert report.failures == [
        "nothing for 3 seconds (a guard against hanging) at Hangs bad 0, seed 3"
    ]
    assert report.counts["Good", "bad", "ran"] == 1


def test_what_dies_again_and_again_is_given_up() -> None:
    report = watch.run_cases(["Crashes"], 3, 100, module=_MODULE)
    assert report.failures[-1] == "gave up"
    assert len(report.failures) < 100
