"""Single operations in NumPy and SciPy, those that they have.

``python -m benchmarks.cases.operations_numpy operations`` prints the figures as JSON.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy as np

from benchmarks.cases import operations, timing


def rows(special: Any, transforms: Any) -> operations.Rows:
    """Return the rows with NumPy.

    Parameters
    ----------
    special, transforms
        SciPy's modules: its Fourier transforms stay in the precision of their inputs.
    """

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def top_k(x: Any) -> Any:
        best = np.partition(x, x.shape[1] - operations.TOP, 1)[:, -operations.TOP :]
        return -np.sort(-best, 1)

    def scatter_add_rows(values: Any, rows: Any) -> Any:
        total = np.zeros((operations.SEGMENTS, values.shape[1]), np.float32)
        np.add.at(total, rows, values)
        return total

    def svd(x: Any) -> list[Any]:
        u, s, v = np.linalg.svd(x, full_matrices=False)
        return [s, u, np.swapaxes(v, -1, -2)]

    return {
        "sum_all": np.sum,
        "sum_rows": lambda x: np.sum(x, 1),
        "sum_columns": lambda x: np.sum(x, 0),
        "mean_images": lambda x: np.mean(x, (1, 2)),
        "max_rows": lambda x: np.max(x, 1),
        "argmax_rows": lambda x: np.argmax(x, 1),
        "cumsum": lambda x: np.cumsum(x, 1),
        "softmax": softmax,
        "transpose": lambda x: np.ascontiguousarray(x.T),
        "images_to_channels_first": lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2)),
        "gather_rows": lambda x, rows: np.take(x, rows, 0),
        "scatter_add_rows": scatter_add_rows,
        "concat_columns": lambda *parts: np.concatenate(parts, 1),
        "tile": lambda x: np.tile(x, (4, 4)),
        "pad_images": lambda x: np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))),
        "exp": np.exp,
        "tanh": np.tanh,
        "erf": special.erf,
        "add_row": np.add,
        "where": lambda x, y: np.where(x > 0.0, x, y),
        "boolean_mask": lambda x: x[x > 0.0],
        "one_hot": lambda x: np.eye(operations.CLASSES, dtype=np.float32)[x],
        "top_k": top_k,
        "sort": np.sort,
        "unique": np.unique,
        "fft_64": transforms.fft,
        "fft_1024": transforms.fft,
        "rfft_1024": transforms.rfft,
        "fft2d_512": transforms.fft2,
        "matmul_512": np.matmul,
        "matmul_batch": np.matmul,
        "cholesky_512": np.linalg.cholesky,
        "cholesky_batch": np.linalg.cholesky,
        "solve_512": np.linalg.solve,
        "solve_batch": np.linalg.solve,
        "inverse_256": np.linalg.inv,
        "qr_256": lambda x: list(np.linalg.qr(x)),
        "svd_256": svd,
        "eigh_256": lambda x: list(np.linalg.eigh(x)),
    }


def _each(run: timing.Run, check: bool) -> None:
    special = importlib.import_module("scipy.special")
    transforms = importlib.import_module("scipy.fft")
    for name, function in rows(special, transforms).items():
        given = operations.inputs(name)
        if check:
            run.curves[name] = operations.summary(function(*given))
        else:
            operations.record(run, name, functools.partial(function, *given))


def times(run: timing.Run) -> None:
    """Time all rows."""
    _each(run, check=False)


def numbers(run: timing.Run) -> None:
    """Record what all rows give."""
    _each(run, check=True)


if __name__ == "__main__":
    sys.exit(timing.main({operations.CASE: times}, {operations.CASE: numbers}))
