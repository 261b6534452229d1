"""Linear operators of circulant matrices, in one dimension or nested in more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, TENSOR, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import check_ops, math_ops, matrices, reductions
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import Dimension, TensorShape


class CirculantOperator(LinearOperator):
    """The operator of (nested block) circulant matrices, which Fourier transforms diagonalize."""

    _block_depth: ClassVar[int]
    # The Fourier transform of that many dimensions, and back.
    _transforms: ClassVar[tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]]

    @takes(spectrum=TENSOR, input_output_dtype=DTYPE, **checks.HINTS)
    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        is_square = checks.must_hold(
            "is_square", is_square, "A [[nested] block] circulant operator is always square."
        )
        with self._making(name, [spectrum]):
            given = self._parameter(spectrum, "spectrum")
            self._spectrum = checks.numbers(given, "spectrum", self._block_depth)
            self._values = batches.complex_of(self._spectrum)
        if not self._spectrum.dtype.is_complex:
            is_self_adjoint = checks.must_hold(
                "is_self_adjoint",
                is_self_adjoint,
                "A real spectrum always corresponds to a self-adjoint operator.",
            )
        super().__init__(
            input_output_dtype,
            [self._spectrum],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    # ---- What it is made of ----

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """How deep circulant blocks are nested: 1 if the matrix is circulant itself."""
        return self._block_depth

    @property
    def block_shape(self) -> TensorShape:
        """The static shape of the last dimensions of the spectrum, whose product is the size."""
        found: TensorShape = self._spectrum.shape[-self._block_depth :]
        return found

    def block_shape_tensor(self) -> Tensor:
        """The shape of the last dimensions of the spectrum, a vector of int32."""
        with self._scope("block_shape"):
            return gen_ops.shape(self._spectrum)[-self._block_depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The first column of each matrix, in the shape of the spectrum.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return batches.converted(self._transforms[1](self._values), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """An operation that fails unless the matrices are real, up to rounding.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            kernel = self._transforms[1](self._values)
            real = kernel.dtype.real_dtype
            rounding = np.finfo(real.as_numpy_dtype).eps
            size = batches.count_as(self._rows(), real)
            largest = reductions.reduce_max(math_ops.abs(kernel))
            return check_ops.assert_less_equal(
                math_ops.abs(gen_ops.imag(kernel, real)),
                rounding * size * largest,
                message="Spectrum was not Hermitian",
            )

    # ---- Shape ----

    def _shape(self) -> TensorShape:
        whole, depth = self._spectrum.shape, self._block_depth
        size = Dimension(1)
        if whole.ndims is None:
            size = Dimension(None)
        else:
            for one in whole[-depth:]:
                size = size * one
        return whole[:-depth].concatenate([size, size])

    def _shape_tensor(self) -> Any:
        whole, depth = batches.shape_of(self._spectrum), self._block_depth
        size = batches.product(whole[-depth:])
        return batches.joined(whole[:-depth], [size, size])

    # ---- Products, solutions, determinants ----

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(x, adjoint_arg, lambda one: one * self._factors(adjoint))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(rhs, adjoint_arg, lambda one: one / self._factors(adjoint))

    def _factors(self, adjoint: bool) -> Tensor:
        """The eigenvalues, for transforms of all columns."""
        values = gen_ops.conj(self._values) if adjoint else self._values
        return gen_ops.expand_dims(values, -1 - self._block_depth)

    def _filtered(
        self, x: Tensor, adjoint_arg: bool, function: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """The columns of x, whose Fourier transforms a function changes."""
        rows = batches.conjugate(x) if adjoint_arg else matrices.matrix_transpose(x)
        rows = math_ops.cast(batches.complex_of(rows), self._values.dtype)
        block = batches.shape_of(self._spectrum)[-self._block_depth :]
        blocks = gen_ops.reshape(rows, batches.joined(batches.shape_of(rows)[:-1], block))
        there, back = self._transforms
        found = back(function(there(blocks)))
        before = batches.shape_of(found)[: -self._block_depth]
        flat = gen_ops.reshape(found, batches.joined(before, [batches.product(block)]))
        return matrices.matrix_transpose(batches.converted(flat, self.dtype))

    def _axes(self) -> list[int]:
        return list(range(-self._block_depth, 0))

    def _determinant(self) -> Tensor:
        return batches.converted(reductions.reduce_prod(self._values, self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        logarithms = gen_ops.log(math_ops.abs(self._values))
        return batches.converted(reductions.reduce_sum(logarithms, self._axes()), self.dtype)

    # ---- Elements ----

    def _trace(self) -> Tensor:
        return batches.converted(reductions.reduce_sum(self._values, self._axes()), self.dtype)

    def _diag_part(self) -> Tensor:
        # All elements of the diagonal are equal.
        size = self._rows()
        ones = batches.filled(batches.vector([size]), 1, self.dtype)
        return batches.column(self._trace() / batches.count_as(size, self.dtype)) * ones

    # ---- Checks ----

    def _assert_non_singular(self) -> Operation:
        return checks.no_zeros(
            self._spectrum, "Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Operation:
        return checks.positive_real_parts(
            self._spectrum, "Not positive definite:  Real part of spectrum was not all positive."
        )

    def _assert_self_adjoint(self) -> Operation:
        return checks.no_imaginary_parts(
            self._spectrum, "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        )


@public("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(CirculantOperator):
    """The operator of circulant matrices: each column is the one before it, moved down by one.

    Parameters
    ----------
    spectrum
        The eigenvalues, in the order of a Fourier transform along the last dimension. The matrices
        are real if it is Hermitian, and self-adjoint if it is real.
    input_output_dtype
        Type of the operator. A real one needs a Hermitian spectrum.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square.
    name
        Its name.

    Examples
    --------
    >>> spectrum = tf.fft([6.0 + 0j, 4.0, 1.0])
    >>> operator = tf.linalg.LinearOperatorCirculant(spectrum, input_output_dtype=tf.float32)
    >>> operator.to_dense().eval().round(4).tolist()
    [[6.0, 1.0, 4.0], [4.0, 6.0, 1.0], [1.0, 4.0, 6.0]]
    """

    _block_depth = 1
    _transforms = (gen_ops.fft, gen_ops.ifft)

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


@public("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(CirculantOperator):
    """The operator of block circulant matrices, whose blocks are circulant.

    The product with a vector is the convolution with an image that is periodic in both dimensions.

    Parameters
    ----------
    spectrum
        The eigenvalues, in the order of a Fourier transform along the last two dimensions. The
        matrices are real if it is Hermitian, and self-adjoint if it is real.
    input_output_dtype
        Type of the operator. A real one needs a Hermitian spectrum.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorCirculant2D([[1.0, 2.0], [3.0, 4.0]])
    >>> operator.shape.as_list(), float(tf.real(operator.trace()).eval())
    ([4, 4], 10.0)
    """

    _block_depth = 2
    _transforms = (gen_ops.fft2d, gen_ops.ifft2d)

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


@public("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(CirculantOperator):
    """The operator of block circulant matrices, whose blocks are block circulant.

    Parameters
    ----------
    spectrum
        The eigenvalues, in the order of a Fourier transform along the last three dimensions. The
        matrices are real if it is Hermitian, and self-adjoint if it is real.
    input_output_dtype
        Type of the operator. A real one needs a Hermitian spectrum.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorCirculant3D(tf.ones([2, 3, 4]))
    >>> operator.shape.as_list(), operator.block_shape.as_list()
    ([24, 24], [2, 3, 4])
    """

    _block_depth = 3
    _transforms = (gen_ops.fft3d, gen_ops.ifft3d)

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )
