"""Single operations: what they are given, and what of their results is compared.

Each row is a function of its inputs in ``operations_graph`` (Millstream, TensorFlow),
``operations_torch`` and ``operations_numpy``, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.cases import timing
from benchmarks.cases.networks import Array

CASE = "operations"

# Inputs of a row: "f" stands for normally distributed float32, "i" for int32 below a limit.
Spec = tuple[str, int, tuple[int, ...]]


def _f(*shape: int) -> Spec:
    return ("f", 0, shape)


def _i(limit: int, *shape: int) -> Spec:
    return ("i", limit, shape)


INPUTS: Mapping[str, tuple[Spec, ...]] = {
    "sum_all": (_f(2048, 2048),),
    "sum_rows": (_f(2048, 2048),),
    "sum_columns": (_f(2048, 2048),),
    "mean_images": (_f(8, 56, 56, 64),),
    "max_rows": (_f(2048, 2048),),
    "argmax_rows": (_f(2048, 2048),),
    "cumsum": (_f(2048, 2048),),
    "softmax": (_f(2048, 1024),),
    "transpose": (_f(2048, 2048),),
    "images_to_channels_first": (_f(8, 56, 56, 64),),
    "gather_rows": (_f(100_000, 64), _i(100_000, 16_384)),
    "scatter_add_rows": (_f(16_384, 64), _i(4_096, 16_384)),
    "concat_columns": (_f(2048, 512), _f(2048, 512), _f(2048, 512)),
    "tile": (_f(512, 512),),
    "pad_images": (_f(8, 56, 56, 64),),
    "exp": (_f(2048, 2048),),
    "tanh": (_f(2048, 2048),),
    "erf": (_f(2048, 2048),),
    "add_row": (_f(2048, 2048), _f(2048)),
    "where": (_f(2048, 2048), _f(2048, 2048)),
    "boolean_mask": (_f(2048 * 1024),),
    "one_hot": (_i(1000, 4096),),
    "top_k": (_f(64, 10_000),),
    "sort": (_f(1 << 20),),
    "unique": (_i(50_000, 1 << 20),),
    "resize_bilinear": (_f(8, 128, 128, 3),),
    "fft_64": (_f(4096, 64),),
    "fft_1024": (_f(512, 1024),),
    "rfft_1024": (_f(512, 1024),),
    "fft2d_512": (_f(512, 512),),
    "matmul_512": (_f(512, 512), _f(512, 512)),
    "matmul_batch": (_f(1000, 16, 16), _f(1000, 16, 16)),
    "cholesky_512": (_f(512, 512),),
    "cholesky_batch": (_f(1000, 16, 16),),
    "solve_512": (_f(512, 512), _f(512, 16)),
    "solve_batch": (_f(1000, 16, 16), _f(1000, 16, 4)),
    "inverse_256": (_f(256, 256),),
    "qr_256": (_f(256, 256),),
    "svd_256": (_f(256, 256),),
    "eigh_256": (_f(256, 256),),
}

# Rows that a contender has no function for.
LACKING = {("numpy", "resize_bilinear")}

TOP = 10  # of top_k
CLASSES = 1000  # of one_hot
SEGMENTS = 4_096  # of scatter_add_rows
LARGER = 256  # height and width of resize_bilinear's result
POSITIVE = ("cholesky_512", "cholesky_batch", "eigh_256", "inverse_256", "solve_512", "solve_batch")

# A function of the inputs of a row; its result is one array or several.
Rows = Mapping[str, Callable[..., Any]]


def inputs(name: str) -> list[Array]:
    """Return the arrays that a row is given."""
    random = np.random.default_rng(len(name))
    found: list[Array] = []
    for kind, limit, shape in INPUTS[name]:
        if kind == "f":
            found.append(random.standard_normal(shape, dtype=np.float32))
        else:
            found.append(random.integers(0, limit, shape).astype(np.int32))
    if name in POSITIVE:
        found[0] = _positive(found[0])
    return found


def _positive(matrices: Array) -> Array:
    """Return symmetric matrices whose eigenvalues are between 1 and about 5."""
    size = matrices.shape[-1]
    product = matrices @ np.swapaxes(matrices, -1, -2) / np.float32(size)
    return np.ascontiguousarray(product + np.eye(size, dtype=np.float32))


def summary(result: Any) -> list[float]:
    """Return numbers that equal results share: means of sizes, with and without weights.

    Signs of vectors of a decomposition are free, so none is taken.
    """
    parts = result if isinstance(result, (list, tuple)) else [result]
    found = []
    for part in parts:
        sizes = np.abs(np.asarray(part)).astype(np.float64).ravel()
        weights = np.linspace(1, 2, sizes.size)
        found += [sizes.mean(), np.sqrt(np.square(sizes).mean()), (sizes * weights).mean()]
    return [float(one) for one in found]


def record(run: timing.Run, name: str, step: Callable[[], object]) -> None:
    """Time a row."""
    run.time(f"operation_{name}", step)
