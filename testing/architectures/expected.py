"""Writes expected.json: numbers of the networks as TensorFlow computes them.

Run by a Python that has TensorFlow, in the repository's root:
``python -m testing.architectures.expected --update``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

PAGE = "testing/architectures/expected.json"
_COUNT = 12


def summary(output: Any) -> dict[str, Any]:
    """Shape, some elements and the sum of squares of an output."""
    values = np.asarray(output, np.float64).ravel()
    places = np.linspace(0, values.size - 1, min(_COUNT, values.size)).astype(int)
    return {
        "shape": list(np.shape(output)),
        "elements": [float(f"{one:.7g}") for one in values[places]],
        "sum_of_squares": float(f"{(values * values).sum():.7g}"),
    }


def main() -> int:
    """Compute and print or write the numbers."""
    from testing.architectures import networks  # lazy: tests import `summary` without it

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the file")
    arguments = parser.parse_args()
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    found = {
        name: [summary(one) for one in networks.build_and_freeze(tf, name).outputs]
        for name in networks.NETWORKS
    }
    text = json.dumps(found, indent=1) + "\n"
    if not arguments.update:
        print(text, end="")
        return 0
    Path(PAGE).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
