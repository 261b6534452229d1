"""The program that sanitizers look at does what it says without them, too."""

import pytest

from testing.sanitizers import smoke


def test_it_runs_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    smoke.main()
    assert capsys.readouterr().out.startswith("smoke: losses ")
