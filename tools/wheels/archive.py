"""Wheels as files. Reference: PyPA specifications, "Binary distribution format"."""

from __future__ import annotations

import base64
import csv
import dataclasses
import hashlib
import io
import pathlib
import zipfile

# The earliest that a zip file can say; the same contents give the same file.
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass
class Metadata:
    """What an installer reads of a wheel.

    Attributes
    ----------
    name, version
        Of the distribution.
    tag
        Which interpreters and systems it is for.
    summary, description
        In a line, and at length in Markdown.
    requires_python
        Versions of Python.
    requires
        Other distributions.
    extras
        By the name of an extra, the distribution that it asks for.
    scripts
        Commands, each as ``"module:function"``.
    """

    name: str
    version: str
    tag: str
    summary: str
    description: str
    requires_python: str
    requires: list[str]
    extras: dict[str, str]
    scripts: dict[str, str]

    @property
    def folder(self) -> str:
        """The folder of the files about the wheel."""
        return f"{self.name}-{self.version}.dist-info"

    def files(self) -> dict[str, bytes]:
        """The files about the wheel, but for the list of all files."""
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {self.name}",
            f"Version: {self.version}",
            f"Summary: {self.summary}",
            f"Requires-Python: {self.requires_python}",
            *[f"Requires-Dist: {requirement}" for requirement in self.requires],
            *[
                line
                for extra, requirement in sorted(self.extras.items())
                for line in (
                    f"Provides-Extra: {extra}",
                    f'Requires-Dist: {requirement}; extra == "{extra}"',
                )
            ],
            "Description-Content-Type: text/markdown",
            "",
            self.description,
        ]
        wheel = [
            "Wheel-Version: 1.0",
            "Generator: millstream",
            "Root-Is-Purelib: false",
            f"Tag: {self.tag}",
            "",
        ]
        texts = {"METADATA": lines, "WHEEL": wheel, "top_level.txt": [self.name, ""]}
        if self.scripts:
            scripts = [f"{name} = {target}" for name, target in sorted(self.scripts.items())]
            texts["entry_points.txt"] = ["[console_scripts]", *scripts, ""]
        return {f"{self.folder}/{name}": "\n".join(text).encode() for name, text in texts.items()}


def _record(files: dict[str, bytes], own_name: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        writer.writerow([name, f"sha256={digest}", len(data)])
    writer.writerow([own_name, "", ""])
    return text.getvalue().encode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    mode = 0o755 if data.startswith(b"\x7fELF") else 0o644
    entry.external_attr = (0o100000 | mode) << 16
    archive.writestr(entry, data, compresslevel=9)


def write_wheel(path: pathlib.Path, metadata: Metadata, files: dict[str, bytes]) -> None:
    """Write a wheel.

    Parameters
    ----------
    path
        The file.
    metadata
        What to say about it.
    files
        Contents by the path to install them at; those about the wheel are added.
    """
    everything = files | metadata.files()
    record = f"{metadata.folder}/RECORD"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in sorted(everything.items()):
            _add(archive, name, data)
        # Last, as the specification recommends.
        _add(archive, record, _record(everything, record))
