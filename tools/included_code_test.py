"""Guides have the code of the files that they name."""

import pathlib

import pytest

import included_code

SOURCE = """// A file.
int before;
// [docs: first]
int first;
  // [docs: second]
int both;
// [docs: end]
int after;
"""
GUIDE = """Text.
<!-- code: folder/a.cc [first] -->
```cpp
old
```
More text.
"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "folder/a.cc").write_text(SOURCE)
    (tmp_path / "docs/guide.md").write_text(GUIDE)
    return tmp_path


def test_a_part_ends_at_the_mark_and_has_no_marks() -> None:
    assert included_code.part_of(SOURCE, "first", "a.cc") == "int first;\nint both;\n"
    assert included_code.part_of(SOURCE, "second", "a.cc") == "int both;\n"
    whole = included_code.part_of(SOURCE, None, "a.cc")
    assert whole == "// A file.\nint before;\nint first;\nint both;\nint after;\n"


def test_a_part_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"a\.cc has no mark \[docs: third\]"):
        included_code.part_of(SOURCE, "third", "a.cc")


def test_marks_are_comments_of_any_language() -> None:
    for mark in ("// [docs: {}]", "# [docs: {}]", "/* [docs: {}] */"):
        text = f"{mark.format('x')}\ncode\n{mark.format('end')}\n"
        assert included_code.part_of(text, "x", "a") == "code\n"


def test_old_code_is_found_and_mended(
    root: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert included_code.main(["--check"], root) == 1
    assert "docs/guide.md: its code is not that of the files" in capsys.readouterr().out
    assert (root / "docs/guide.md").read_text() == GUIDE
    assert included_code.main([], root) == 0
    mended = (root / "docs/guide.md").read_text()
    assert mended == GUIDE.replace("old\n", "int first;\nint both;\n")
    assert included_code.main(["--check"], root) == 0


def test_our_guides_have_todays_code(capsys: pytest.CaptureFixture[str]) -> None:
    here = pathlib.Path.cwd()
    assert list(here.glob("docs/*.md")) != []
    status = included_code.main(["--check"], here)
    assert (status, capsys.readouterr().out) == (0, "")
