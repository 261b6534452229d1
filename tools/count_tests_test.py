"""What ``count_tests`` makes of the reports that Bazel's tests leave."""

import pathlib
from typing import Any

from count_tests import Count, count_events, count_report

GOOGLE_TEST = """<testsuites tests="3" failures="1"><testsuite name="Shape">
<testcase name="Rank" status="run" result="completed"/>
<testcase name="Merge" status="run" result="completed"><failure message="1 vs 2"/></testcase>
<testcase name="Unknown" status="run" result="skipped"><skipped message="why"/></testcase>
</testsuite></testsuites>"""
PYTEST = """<testsuites><testsuite name="pytest" errors="1" tests="2">
<testcase name="test_import"/><testcase name="test_run"><error message="broken"/></testcase>
</testsuite></testsuites>"""


def configured(label: str) -> dict[str, Any]:
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}


def finished(label: str, status: str, report: pathlib.Path, attempt: int = 1) -> dict[str, Any]:
    outputs = [{"name": "test.xml", "uri": report.as_uri()}]
    return {
        "id": {"testResult": {"label": label, "run": 1, "attempt": attempt}},
        "testResult": {"status": status, "testActionOutput": outputs},
    }


def write(folder: pathlib.Path, text: str) -> pathlib.Path:
    report = folder / "test.xml"
    report.write_text(text, encoding="utf-8")
    return report


def test_cases_of_google_test_are_counted_by_outcome(tmp_path: pathlib.Path) -> None:
    assert count_report(write(tmp_path, GOOGLE_TEST)) == Count(passed=1, failed=1, skipped=1)


def test_an_error_in_pytest_is_a_failed_case(tmp_path: pathlib.Path) -> None:
    assert count_report(write(tmp_path, PYTEST)) == Count(passed=1, failed=1)


def test_a_crash_before_any_report_is_one_failed_case(tmp_path: pathlib.Path) -> None:
    events = [configured("//a:t"), finished("//a:t", "FAILED", tmp_path / "none.xml")]
    assert count_events(events) == Count(failed=1)


def test_a_crash_after_passed_cases_is_still_counted(tmp_path: pathlib.Path) -> None:
    report = write(tmp_path, "<testsuites><testcase name='one'/></testsuites>")
    events = [configured("//a:t"), finished("//a:t", "FAILED", report)]
    assert count_events(events) == Count(passed=1, failed=1)


def test_a_test_that_was_not_built_is_one_failed_case() -> None:
    assert count_events([configured("//a:t")]) == Count(failed=1)


def test_a_later_attempt_replaces_the_earlier(tmp_path: pathlib.Path) -> None:
    report = write(tmp_path, "<testsuites><testcase name='one'/></testsuites>")
    events = [
        configured("//a:t"),
        finished("//a:t", "FAILED", tmp_path / "none.xml"),
        finished("//a:t", "PASSED", report, attempt=2),
    ]
    assert count_events(events) == Count(passed=1)
