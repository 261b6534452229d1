"""Compiles Python files to byte code for //tools:python_bytecode.bzl, and does nothing else.

The arguments, or the lines of the file ``@FILE``, are pairs: a source, and the file to write. The
source is not looked at again when the byte code is loaded: Bazel knows when it has changed.
"""

import argparse
import py_compile
import sys


def compile_files(pairs: list[tuple[str, str]]) -> None:
    """Compile each source to its file.

    Parameters
    ----------
    pairs
        Sources and the files to write.

    Raises
    ------
    py_compile.PyCompileError
        A source is not valid.
    """
    for source, compiled in pairs:
        py_compile.compile(
            source,
            compiled,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def main() -> int:
    """Compile what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars="@")
    parser.add_argument("files", nargs="*")
    files = parser.parse_args().files
    if len(files) % 2:
        parser.error(f"expected pairs of a source and a file to write, got {len(files)} names")
    try:
        compile_files(list(zip(files[::2], files[1::2], strict=True)))
    except py_compile.PyCompileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
