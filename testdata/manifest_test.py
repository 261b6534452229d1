"""The conformance data is what its manifest says: no file missing, changed or added."""

import hashlib
import pathlib

CONFORMANCE = pathlib.Path("testdata/conformance")
MANIFEST = CONFORMANCE / "MANIFEST.sha256"


def expected_digests() -> dict[str, str]:
    """Digest by path, as the manifest lists them (the format of ``sha256sum``)."""
    digests = {}
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        digest, path = line.split("  ", maxsplit=1)
        digests[path] = digest
    return digests


def present_files() -> dict[str, pathlib.Path]:
    """Files of the data by their path below its folder."""
    files = {
        path.relative_to(CONFORMANCE).as_posix(): path
        for path in CONFORMANCE.rglob("*")
        if path.is_file()
    }
    del files[MANIFEST.name]
    files.pop("BUILD", None)
    return files


def test_every_file_is_listed_and_there() -> None:
    listed, present = set(expected_digests()), set(present_files())
    assert sorted(listed - present) == [], "missing"
    assert sorted(present - listed) == [], "not in the manifest"


def test_no_file_has_changed() -> None:
    expected = expected_digests()
    changed = [
        name
        for name, path in present_files().items()
        if hashlib.sha256(path.read_bytes()).hexdigest() != expected.get(name)
    ]
    assert changed == []


def test_the_manifest_covers_all_kinds_of_data() -> None:
    listed = expected_digests()
    folders = {name.rsplit("/", maxsplit=1)[0] for name in listed if "/" in name}
    assert {"ops", "ops/cases", "programs", "files/written_by_tf"} <= folders
    assert {"README.md", "VERSION", "ops/ops.tsv"} <= set(listed)
