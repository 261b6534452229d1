"""Single operations in a graph: Millstream and TensorFlow.

``python -m benchmarks.cases.operations_graph operations --module MODULE`` prints figures as JSON.
The inputs are variables, so that nothing is computed before; the result is not fetched.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.cases import graph_mode, operations, timing


def rows(tf: Any) -> operations.Rows:
    """Return the rows with an API."""

    def scatter_add_rows(values: Any, rows: Any) -> Any:
        return tf.math.unsorted_segment_sum(values, rows, operations.SEGMENTS)

    def resize_bilinear(images: Any) -> Any:
        size = [operations.LARGER, operations.LARGER]
        return tf.image.resize_bilinear(images, size, half_pixel_centers=True)

    def spectrum(function: Any) -> Any:
        return lambda x: function(tf.cast(x, tf.complex64))

    return {
        "sum_all": tf.reduce_sum,
        "sum_rows": lambda x: tf.reduce_sum(x, 1),
        "sum_columns": lambda x: tf.reduce_sum(x, 0),
        "mean_images": lambda x: tf.reduce_mean(x, [1, 2]),
        "max_rows": lambda x: tf.reduce_max(x, 1),
        "argmax_rows": lambda x: tf.argmax(x, 1),
        "cumsum": lambda x: tf.cumsum(x, 1),
        "softmax": tf.nn.softmax,
        "transpose": tf.transpose,
        "images_to_channels_first": lambda x: tf.transpose(x, [0, 3, 1, 2]),
        "gather_rows": tf.gather,
        "scatter_add_rows": scatter_add_rows,
        "concat_columns": lambda *parts: tf.concat(parts, 1),
        "tile": lambda x: tf.tile(x, [4, 4]),
        "pad_images": lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]),
        "exp": tf.exp,
        "tanh": tf.tanh,
        "erf": tf.math.erf,
        "add_row": tf.add,
        "where": lambda x, y: tf.where(x > 0.0, x, y),
        "boolean_mask": lambda x: tf.boolean_mask(x, x > 0.0),
        "one_hot": lambda x: tf.one_hot(x, operations.CLASSES),
        "top_k": lambda x: tf.nn.top_k(x, operations.TOP)[0],
        "sort": tf.sort,
        "unique": lambda x: tf.sort(tf.unique(x)[0]),
        "resize_bilinear": resize_bilinear,
        "fft_64": spectrum(tf.signal.fft),
        "fft_1024": spectrum(tf.signal.fft),
        "rfft_1024": tf.signal.rfft,
        "fft2d_512": spectrum(tf.signal.fft2d),
        "matmul_512": tf.matmul,
        "matmul_batch": tf.matmul,
        "cholesky_512": tf.linalg.cholesky,
        "cholesky_batch": tf.linalg.cholesky,
        "solve_512": tf.linalg.solve,
        "solve_batch": tf.linalg.solve,
        "inverse_256": tf.linalg.inv,
        "qr_256": lambda x: list(tf.linalg.qr(x)),
        "svd_256": lambda x: list(tf.linalg.svd(x)),
        "eigh_256": lambda x: list(tf.linalg.eigh(x)),
    }


def _each(run: timing.Run, check: bool) -> None:
    tf = graph_mode.front_end(run.module)
    for name, function in rows(tf).items():
        with tf.Graph().as_default():
            given = [graph_mode.variable(tf, value) for value in operations.inputs(name)]
            result = function(*given)
            parts = result if isinstance(result, list) else [result]
            with graph_mode.session(tf, run) as active:
                active.run(tf.global_variables_initializer())
                if check:
                    run.curves[name] = operations.summary(active.run(parts))
                else:
                    step = active.make_callable([part.op for part in parts])
                    operations.record(run, name, step)


def times(run: timing.Run) -> None:
    """Time all rows."""
    _each(run, check=False)


def numbers(run: timing.Run) -> None:
    """Record what all rows give."""
    _each(run, check=True)


if __name__ == "__main__":
    sys.exit(timing.main({operations.CASE: times}, {operations.CASE: numbers}))
