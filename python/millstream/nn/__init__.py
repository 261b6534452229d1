"""Operations of neural networks."""

import typing as _typing

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.nn.activations import (
    bias_add,
    dropout,
    l2_loss,
    l2_normalize,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    softmax,
    xw_plus_b,
    zero_fraction,
)
from millstream._impl.nn.lookup import embedding_lookup
from millstream._impl.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from millstream._impl.nn.statistics import batch_normalization, moments
from millstream._impl.nn.windows import (
    avg_pool,
    avg_pool2d,
    conv2d,
    convolution,
    max_pool,
    max_pool2d,
)
from millstream._impl.ops.math_ops import sigmoid, tanh

__all__ = [
    "avg_pool",
    "avg_pool2d",
    "batch_normalization",
    "bias_add",
    "conv2d",
    "convolution",
    "dropout",
    "embedding_lookup",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "max_pool",
    "max_pool2d",
    "moments",
    "relu",
    "relu6",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
    "tanh",
    "xw_plus_b",
    "zero_fraction",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
