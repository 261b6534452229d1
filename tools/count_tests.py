"""Adds up the test cases of one ``bazel test`` run.

    count_tests.py EVENTS

EVENTS is what ``--build_event_json_file`` wrote. The last line says ``N passed, N failed,
N skipped``.
A test that did not build, crashed or timed out before it could report counts as one failed case.
"""

import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree
from typing import Any, NamedTuple


class Count(NamedTuple):
    """Test cases by their outcome."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, other: "Count") -> "Count":
        """Both counts together."""
        return Count(*(one + two for one, two in zip(self, other, strict=True)))


def count_report(report: pathlib.Path) -> Count:
    """Cases in a JUnit report, as GoogleTest, pytest and Bazel write it."""
    try:
        root = xml.etree.ElementTree.parse(report).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return Count()
    count = Count()
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count = count.plus(Count(failed=1))
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            count = count.plus(Count(skipped=1))
        else:
            count = count.plus(Count(passed=1))
    return count


def count_result(result: dict[str, Any]) -> Count:
    """Cases of one test's run (or of one of its shards)."""
    reports = [
        pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path))
        for output in result.get("testActionOutput", [])
        if output["name"] == "test.xml"
    ]
    count = Count()
    for report in reports:
        count = count.plus(count_report(report))
    passed = result.get("status") == "PASSED"
    if passed and count == Count():
        return Count(passed=1)
    if not passed and count.failed == 0:
        return count.plus(Count(failed=1))
    return count


def count_events(events: list[dict[str, Any]]) -> Count:
    """Cases of all tests of a run; tests without any result were not built."""
    results: dict[tuple[str, int, int], Count] = {}
    expected = set()
    for event in events:
        identity = event["id"]
        if "testResult" in identity and "testResult" in event:
            key = identity["testResult"]
            # Later attempts of the same run replace earlier ones.
            results[key["label"], key.get("run", 1), key.get("shard", 0)] = count_result(
                event["testResult"]
            )
        if "targetConfigured" in identity and "testSize" in event.get("configured", {}):
            expected.add(identity["targetConfigured"]["label"])
    total = Count()
    for count in results.values():
        total = total.plus(count)
    unbuilt = sorted(expected - {label for label, _, _ in results})
    for label in unbuilt:
        print(f"{label}: no result")
    return total.plus(Count(failed=len(unbuilt)))


def main() -> int:
    """Print the sums; 1 when a case failed."""
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    count = count_events([json.loads(line) for line in lines if line])
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
