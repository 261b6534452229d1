"""Functions of square matrices."""

from __future__ import annotations

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public

matrix_inverse = public("matrix_inverse", "linalg.inv")(gen_ops.matrix_inverse)
matrix_determinant = public("matrix_determinant", "linalg.det")(gen_ops.matrix_determinant)
cross = public("cross", "linalg.cross")(gen_ops.cross)
sparse_matmul = public("sparse_matmul")(gen_ops.sparse_mat_mul)
slogdet = public("linalg.slogdet")(gen_ops.log_matrix_determinant)
