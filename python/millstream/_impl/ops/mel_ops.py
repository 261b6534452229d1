"""Spectra by mel frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import math_ops
from millstream._impl.ops.cosine_ops import dct
from millstream._impl.ops.fourier_ops import last_sizes
from millstream._impl.values import dtypes

# Of the scale of D. O'Shaughnessy: Speech Communication, 1987: 2595 log10(1 + f / 700).
_MEL_BREAK_HERTZ = 700.0
_MEL_FACTOR = 1127.0


def _mel(hertz: Any) -> Any:
    return _MEL_FACTOR * gen_ops.log(1.0 + hertz / _MEL_BREAK_HERTZ)


def _check_mel(bins: Any, rate: Any, lower: float, upper: float, dtype: Any) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins: num_mel_bins must be positive. Got: {bins}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz: must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower} >= upper_edge_hertz {upper}")
    if not isinstance(rate, Tensor):
        if rate <= 0.0:
            raise ValueError(f"sample_rate: sample_rate must be positive. Got: {rate}")
        if upper > rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {upper} for sample_rate: {rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype: dtype must be a floating point type. Got: {dtype}")


@public("signal.linear_to_mel_weight_matrix")
@takes(
    num_mel_bins=INTEGER,
    num_spectrogram_bins=INTEGER,
    sample_rate=NUMBER,
    lower_edge_hertz=NUMBER,
    upper_edge_hertz=NUMBER,
    dtype=DTYPE,
)
def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The matrix that makes spectra by mel frequencies of spectra by frequencies.

    Parameters
    ----------
    num_mel_bins
        How many bands there are.
    num_spectrogram_bins
        How many frequencies spectra have, from 0 to half of the sample rate.
    sample_rate
        Samples per second.
    lower_edge_hertz, upper_edge_hertz
        Where the first band begins and the last one ends.
    dtype
        Type of the numbers.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Shape [spectrogram bins, mel bins]. Each band is a triangle over mel frequencies, which
        begins and ends in the middle of its neighbours. Frequency zero has no weight.

    Examples
    --------
    >>> tf.signal.linear_to_mel_weight_matrix(3, 5).shape.as_list()
    [5, 3]
    """
    dtype = dtypes.as_dtype(dtype)
    _check_mel(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
    with scopes.name_scope(name, "linear_to_mel_weight_matrix"):
        rate = math_ops.cast(sample_rate, dtype)
        lower, upper = (
            convert_to_tensor(float(edge), dtype) for edge in (lower_edge_hertz, upper_edge_hertz)
        )
        zero = convert_to_tensor(0.0, dtype)
        frequencies = gen_ops.lin_space(zero, rate / 2.0, num_spectrogram_bins)[1:]
        bins = gen_ops.expand_dims(_mel(frequencies), 1)
        edges = gen_ops.lin_space(_mel(lower), _mel(upper), num_mel_bins + 2)
        first, middle, last = (
            gen_ops.reshape(edges[i : num_mel_bins + i], [1, num_mel_bins]) for i in range(3)
        )
        rising = (bins - first) / (middle - first)
        falling = (last - bins) / (last - middle)
        weights = gen_ops.maximum(zero, gen_ops.minimum(rising, falling))
        return gen_ops.pad(weights, [[1, 0], [0, 0]])


@public("signal.mfccs_from_log_mel_spectrograms")
@takes(log_mel_spectrograms=TENSOR)
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients of the logarithms of spectra.

    Parameters
    ----------
    log_mel_spectrograms
        Logarithms of spectra by mel frequencies, float32, shape [..., mel bins].
    name
        Name of the result.

    Returns
    -------
    Tensor
        The cosine transform of type 2, scaled by the root of 1 / (2 mel bins).

    Examples
    --------
    >>> tf.signal.mfccs_from_log_mel_spectrograms([1.0, 1.0]).eval().tolist()
    [2.0, 0.0]
    """
    with scopes.name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        logs = convert_to_tensor(log_mel_spectrograms, dtypes.float32)
        size = last_sizes(logs, 1)
        if isinstance(size, np.ndarray):
            if size[0] == 0:
                raise ValueError(f"num_mel_bins must be positive. Got: {logs}")
            return dct(logs) * (1.0 / math.sqrt(2.0 * float(size[0])))
        return dct(logs) * gen_ops.rsqrt(2.0 * math_ops.cast(size[0], dtypes.float32))
