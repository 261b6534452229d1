"""Calls that make linear operators, a part of the table of argument_types_test.py."""

from __future__ import annotations

from typing import Any

import millstream as tf
from millstream.argument_tables import Calls, X

_HINTS = {
    "is_non_singular": True,
    "is_self_adjoint": True,
    "is_positive_definite": True,
    "is_square": True,
}
_VECTOR = [1.0, 2.0]
_MATRIX = [[1.0, 0.0], [0.0, 2.0]]


def calls_of_linear_operators() -> Calls:
    """The rows of the table."""
    linalg = tf.linalg
    return {
        linalg.LinearOperator: lambda: {"dtype": tf.float32, "graph_parents": [], **_HINTS},
        linalg.LinearOperatorAdjoint: _of_one,
        linalg.LinearOperatorInversion: _of_one,
        linalg.LinearOperatorBlockDiag: _of_several,
        linalg.LinearOperatorComposition: _of_several,
        linalg.LinearOperatorKronecker: _of_several,
        linalg.LinearOperatorCirculant: lambda: _of_spectrum(_VECTOR),
        linalg.LinearOperatorCirculant2D: lambda: _of_spectrum(_MATRIX),
        linalg.LinearOperatorCirculant3D: lambda: _of_spectrum([_MATRIX]),
        linalg.LinearOperatorDiag: lambda: {"diag": _VECTOR, **_HINTS},
        linalg.LinearOperatorFullMatrix: lambda: {"matrix": _MATRIX, **_HINTS},
        linalg.LinearOperatorLowerTriangular: lambda: {"tril": _MATRIX, **_HINTS},
        linalg.LinearOperatorHouseholder: lambda: {
            "reflection_axis": _VECTOR, **_HINTS, "is_positive_definite": False,
        },
        linalg.LinearOperatorToeplitz: lambda: {"col": _VECTOR, "row": [1.0, 3.0], **_HINTS},
        linalg.LinearOperatorIdentity: lambda: {
            "num_rows": 2, "batch_shape": [3], "dtype": tf.float64, "assert_proper_shapes": True,
            **_HINTS,
        },
        linalg.LinearOperatorScaledIdentity: lambda: {
            "num_rows": 2, "multiplier": X, "assert_proper_shapes": True, **_HINTS,
        },
        linalg.LinearOperatorZeros: lambda: {
            "num_rows": 2, "num_columns": 2, "batch_shape": [3], "dtype": tf.float64,
            "assert_proper_shapes": True, **_HINTS, "is_non_singular": False,
            "is_positive_definite": False,
        },
        linalg.LinearOperatorLowRankUpdate: lambda: {
            "base_operator": _diagonal(), "u": [[1.0], [2.0]], "diag_update": [3.0],
            "v": [[1.0], [0.0]], "is_diag_update_positive": True, **_HINTS,
        },
    }  # fmt: skip


def _diagonal() -> Any:
    return tf.linalg.LinearOperatorDiag(_VECTOR, is_positive_definite=True)


def _of_one() -> dict[str, Any]:
    return {"operator": _diagonal(), **_HINTS}


def _of_several() -> dict[str, Any]:
    return {"operators": [_diagonal(), _diagonal()], **_HINTS}


def _of_spectrum(spectrum: Any) -> dict[str, Any]:
    return {"spectrum": spectrum, "input_output_dtype": tf.complex128, **_HINTS}
