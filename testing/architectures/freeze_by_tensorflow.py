"""Builds networks with TensorFlow and writes each, frozen, with what TensorFlow says it gives.

``python -m testing.architectures.freeze_by_tensorflow FOLDER``, run by a Python that has it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

from testing.architectures import networks


def main() -> int:
    """Write ``NAME.pb`` and ``NAME.npz`` for each network."""
    folder = Path(sys.argv[1])
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    for name in networks.NETWORKS:
        built = networks.build_and_freeze(tf, name)
        (folder / f"{name}.pb").write_bytes(built.frozen.SerializeToString())
        np.savez(folder / f"{name}.npz", *built.outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
