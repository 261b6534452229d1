"""What the programs' command lines and progress bars have in common."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]


def user_path(text: str) -> pathlib.Path:
    """Return a path as the user means it: `bazel run` starts programs in another folder."""
    return pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", ".")) / text


def training_parser(
    description: str | None, seed: str, steps: str = "of training"
) -> argparse.ArgumentParser:
    """Return a parser of the options that every training has.

    Parameters
    ----------
    description
        What the program does.
    seed
        What ``--seed`` is the seed of.
    steps
        What ``--steps`` says.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, help=steps)
    parser.add_argument("--short", action="store_true", help="a fraction of the steps")
    parser.add_argument("--seed", type=int, default=0, help=seed)
    return parser


def progress_bar(steps: int, first: int = 0) -> Any:
    """Return a progress bar of a training, of which `first` steps are done."""
    interval = 0.1 if sys.stderr.isatty() else 10.0  # seconds; a log file wants few lines
    return tqdm(total=steps, initial=first, unit="step", mininterval=interval)
