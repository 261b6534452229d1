"""Single operations in PyTorch.

``python -m benchmarks.cases.operations_torch operations`` prints the figures as JSON.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from benchmarks.cases import operations, timing, torch_mode


def rows(torch: Any) -> operations.Rows:
    """Return the rows with PyTorch."""
    functional = torch.nn.functional

    def scatter_add_rows(values: Any, rows: Any) -> Any:
        total = torch.zeros(operations.SEGMENTS, values.shape[1])
        return total.index_add_(0, rows, values)

    def resize_bilinear(images: Any) -> Any:
        size = (operations.LARGER, operations.LARGER)
        larger = functional.interpolate(images.permute(0, 3, 1, 2), size, mode="bilinear")
        return larger.permute(0, 2, 3, 1)

    return {
        "sum_all": torch.sum,
        "sum_rows": lambda x: torch.sum(x, 1),
        "sum_columns": lambda x: torch.sum(x, 0),
        "mean_images": lambda x: torch.mean(x, (1, 2)),
        "max_rows": lambda x: torch.amax(x, 1),
        "argmax_rows": lambda x: torch.argmax(x, 1),
        "cumsum": lambda x: torch.cumsum(x, 1),
        "softmax": lambda x: torch.softmax(x, 1),
        "transpose": lambda x: x.t().contiguous(),
        "images_to_channels_first": lambda x: x.permute(0, 3, 1, 2).contiguous(),
        "gather_rows": lambda x, rows: torch.index_select(x, 0, rows),
        "scatter_add_rows": scatter_add_rows,
        "concat_columns": lambda *parts: torch.cat(parts, 1),
        "tile": lambda x: x.repeat(4, 4),
        "pad_images": lambda x: functional.pad(x, (0, 0, 1, 1, 1, 1)),
        "exp": torch.exp,
        "tanh": torch.tanh,
        "erf": torch.erf,
        "add_row": torch.add,
        "where": lambda x, y: torch.where(x > 0.0, x, y),
        "boolean_mask": lambda x: x[x > 0.0],
        "one_hot": lambda x: functional.one_hot(x.long(), operations.CLASSES).float(),
        "top_k": lambda x: torch.topk(x, operations.TOP)[0],
        "sort": lambda x: torch.sort(x)[0],
        "unique": torch.unique,
        "resize_bilinear": resize_bilinear,
        "fft_64": torch.fft.fft,
        "fft_1024": torch.fft.fft,
        "rfft_1024": torch.fft.rfft,
        "fft2d_512": torch.fft.fft2,
        "matmul_512": torch.matmul,
        "matmul_batch": torch.matmul,
        "cholesky_512": torch.linalg.cholesky,
        "cholesky_batch": torch.linalg.cholesky,
        "solve_512": torch.linalg.solve,
        "solve_batch": torch.linalg.solve,
        "inverse_256": torch.linalg.inv,
        "qr_256": lambda x: list(torch.linalg.qr(x)),
        "svd_256": lambda x: _svd(torch, x),
        "eigh_256": lambda x: list(torch.linalg.eigh(x)),
    }


def _svd(torch: Any, x: Any) -> list[Any]:
    """Return singular values and both matrices, in the order and form of the graph's."""
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    return [s, u, v.mT]


def _each(run: timing.Run, check: bool) -> None:
    torch = torch_mode.front_end(run.threads)
    for name, function in rows(torch).items():
        given = [torch.from_numpy(value) for value in operations.inputs(name)]
        with torch.no_grad():
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
