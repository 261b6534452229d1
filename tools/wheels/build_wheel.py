"""Makes a wheel of a package from the files that the build made of it."""

from __future__ import annotations

import argparse
import pathlib
import shutil
import tempfile

from wheels import archive, elf, vendor


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the file to write")
    parser.add_argument("--readme", type=pathlib.Path, required=True, help="the description")
    parser.add_argument("--summary", required=True, help="the description in a line")
    parser.add_argument("--requires", action="append", default=[], help="another distribution")
    parser.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="NAME=DISTRIBUTION",
        help="another distribution that NAME in brackets asks for",
    )
    parser.add_argument(
        "--script", action="append", default=[], metavar="NAME=MODULE:FUNCTION", help="a command"
    )
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="files of the package")
    return parser.parse_args()


def install_path(file: pathlib.Path) -> pathlib.PurePath:
    """Where a file of the package goes: its path from the folder of packages, ``python/``."""
    parts = file.parts
    start = len(parts) - 1 - parts[::-1].index("python")
    return pathlib.PurePath(*parts[start + 1 :])


def stage(files: list[pathlib.Path], folder: pathlib.Path) -> list[pathlib.Path]:
    """Copy the package's files into a folder; the copies that are shared objects or programs."""
    objects = []
    for file in files:
        target = folder / install_path(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        if elf.is_elf(target):
            objects.append(target)
    return objects


def main() -> None:
    """Write the wheel that the command line asks for."""
    arguments = parse_arguments()
    name, version, *tag = arguments.out.stem.split("-")
    metadata = archive.Metadata(
        name=name,
        version=version,
        tag="-".join(tag),
        summary=arguments.summary,
        description=arguments.readme.read_text(),
        requires_python=">=3.11",
        requires=arguments.requires,
        extras=dict(extra.split("=", 1) for extra in arguments.extra),
        scripts=dict(script.split("=", 1) for script in arguments.script),
    )
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        objects = stage(arguments.files, root)
        carried = vendor.carry(objects, root / name / "libs")
        files = {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }
        for owner, text in vendor.licenses(carried).items():
            files[f"{metadata.folder}/licenses/{owner}/copyright"] = text
        archive.write_wheel(arguments.out, metadata, files)


if __name__ == "__main__":
    main()
