"""The workloads: networks as layers, batches, initial values, and the sizes of the other cases.

Every front end runs the same layers on the same numbers: ``forward`` walks through the layers, and
a ``Backend`` says what a layer is there. Images are NHWC and filters HWIO here; a front end that
prefers another order changes it outside of what is timed.

AlexNet is that of Krizhevsky's "One weird trick" (2014), Overfeat the fast model of Sermanet et al.
(2013), VGG-A configuration A of Simonyan and Zisserman (2014), GoogLeNet that of Szegedy et al.
(2014), without auxiliary classifiers, normalization and dropout, as usual in comparisons of speed.
ResNet-50 is that of He et al., "Deep Residual Learning for Image Recognition" (2015), with the
stride in the first convolution of a block, and without averages of the statistics.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# Weights and bias, or weights, scale and offset.
Parameters = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Conv:
    """A square convolution with bias and ReLU."""

    size: int
    filters: int
    stride: int = 1
    padding: str = "SAME"


@dataclasses.dataclass(frozen=True)
class NormalizedConv:
    """A square convolution without bias, batch normalization, and ReLU where the layer has it."""

    size: int
    filters: int
    stride: int = 1
    padding: str = "SAME"
    relu: bool = True


@dataclasses.dataclass(frozen=True)
class MaxPool:
    """The largest of a square window."""

    size: int
    stride: int
    padding: str = "VALID"


@dataclasses.dataclass(frozen=True)
class AveragePool:
    """The mean of the whole image, of this size."""

    size: int


@dataclasses.dataclass(frozen=True)
class Dense:
    """A product with bias; what is no matrix is flattened."""

    units: int
    relu: bool = True


@dataclasses.dataclass(frozen=True)
class Branches:
    """Layers beside each other, joined by channels."""

    branches: tuple[tuple[Layer, ...], ...]


@dataclasses.dataclass(frozen=True)
class Residual:
    """The sum of what the layers and what the layers of the shortcut give, and ReLU."""

    layers: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()


Layer = Conv | NormalizedConv | MaxPool | AveragePool | Dense | Branches | Residual


@dataclasses.dataclass(frozen=True)
class Workload:
    """A network and the batch that it is trained on."""

    layers: tuple[Layer, ...]
    batch: int
    sample: tuple[int, ...]  # the shape of one input, batch left out
    classes: int
    # Such that the losses fall visibly, and evenly: where they jump about, every step makes ten
    # times more of the last place of a sum, and equal programs give unequal curves.
    learning_rate: float = 1e-4

    def data(self) -> tuple[Array, Array]:
        """Inputs and labels, the same for everyone."""
        random = np.random.default_rng(7)
        inputs = random.random((self.batch, *self.sample), dtype=np.float32)
        return inputs, random.integers(0, self.classes, self.batch).astype(np.int32)

    def initial_values(self) -> list[tuple[Array, ...]]:
        """Weights and vectors by layer, the same for everyone; filters as HWIO."""
        random = np.random.default_rng(11)
        values = []
        for shape, is_normalized in parameter_shapes(self.layers, self.sample)[0]:
            fan_in = int(np.prod(shape[:-1]))
            gain = 2.0 if len(shape) == 4 else 1.0
            weights = random.standard_normal(shape, dtype=np.float32) * np.float32(
                (gain / fan_in) ** 0.5
            )
            scale = (np.ones(shape[-1], np.float32),) if is_normalized else ()
            values.append((weights, *scale, np.zeros(shape[-1], np.float32)))
        return values


class Backend(Protocol):
    """What a layer is in one front end."""

    def conv(self, x: Any, parameters: Parameters, layer: Conv) -> Any:
        """Convolve, add the bias and apply ReLU."""

    def normalized_conv(self, x: Any, parameters: Parameters, layer: NormalizedConv) -> Any:
        """Convolve, normalize over the batch, and apply ReLU where the layer has it."""

    def max_pool(self, x: Any, layer: MaxPool) -> Any:
        """Give the largest of each window."""

    def average_pool(self, x: Any, layer: AveragePool) -> Any:
        """Give the mean of the image."""

    def dense(self, x: Any, parameters: Parameters, layer: Dense) -> Any:
        """Flatten, multiply, add the bias, and apply ReLU where the layer has it."""

    def join(self, parts: list[Any]) -> Any:
        """Join by channels."""

    def add(self, x: Any, y: Any) -> Any:
        """Add, and apply ReLU."""


def forward(
    backend: Backend, layers: tuple[Layer, ...], x: Any, parameters: Iterator[Parameters]
) -> Any:
    """Return what the layers make of ``x``."""
    for layer in layers:
        match layer:
            case Conv():
                x = backend.conv(x, next(parameters), layer)
            case NormalizedConv():
                x = backend.normalized_conv(x, next(parameters), layer)
            case MaxPool():
                x = backend.max_pool(x, layer)
            case AveragePool():
                x = backend.average_pool(x, layer)
            case Dense():
                x = backend.dense(x, next(parameters), layer)
            case Branches():
                x = backend.join(
                    [forward(backend, branch, x, parameters) for branch in layer.branches]
                )
            case Residual():
                changed = forward(backend, layer.layers, x, parameters)
                x = backend.add(changed, forward(backend, layer.shortcut, x, parameters))
    return x


def output_size(size: int, window: int, stride: int, padding: str) -> int:
    """Return how often a window fits."""
    covered = size if padding == "SAME" else size - window + 1
    return -(-covered // stride)


def parameter_shapes(
    layers: tuple[Layer, ...], shape: tuple[int, ...]
) -> tuple[list[tuple[tuple[int, ...], bool]], tuple[int, ...]]:
    """Return the shapes of the layers' weights, and of what the layers give.

    Beside a shape stands whether what the weights give is normalized.
    """
    weights: list[tuple[tuple[int, ...], bool]] = []
    for layer in layers:
        match layer:
            case Conv() | NormalizedConv():
                filters = (layer.size, layer.size, shape[-1], layer.filters)
                weights.append((filters, isinstance(layer, NormalizedConv)))
                side = output_size(shape[0], layer.size, layer.stride, layer.padding)
                shape = (side, side, layer.filters)
            case MaxPool():
                side = output_size(shape[0], layer.size, layer.stride, layer.padding)
                shape = (side, side, shape[-1])
            case AveragePool():
                shape = (1, 1, shape[-1])
            case Dense():
                weights.append(((int(np.prod(shape)), layer.units), False))
                shape = (layer.units,)
            case Branches():
                inner = [parameter_shapes(branch, shape) for branch in layer.branches]
                for found, _ in inner:
                    weights.extend(found)
                shape = (*inner[0][1][:-1], sum(result[-1] for _, result in inner))
            case Residual():
                for branch in (layer.layers, layer.shortcut):
                    found, result = parameter_shapes(branch, shape)
                    weights.extend(found)
                shape = result
    return weights, shape


def _inception(one: int, three: tuple[int, int], five: tuple[int, int], pooled: int) -> Branches:
    return Branches(
        (
            (Conv(1, one),),
            (Conv(1, three[0]), Conv(3, three[1])),
            (Conv(1, five[0]), Conv(5, five[1])),
            (MaxPool(3, 1, "SAME"), Conv(1, pooled)),
        )
    )


def _bottleneck(filters: int, stride: int, is_first: bool) -> Residual:
    layers = (
        NormalizedConv(1, filters, stride),
        NormalizedConv(3, filters),
        NormalizedConv(1, 4 * filters, relu=False),
    )
    shortcut = (NormalizedConv(1, 4 * filters, stride, relu=False),) if is_first else ()
    return Residual(layers, shortcut)


def _resnet_blocks(*repeats: int) -> tuple[Layer, ...]:
    return tuple(
        _bottleneck(64 << stage, 2 if stage > 0 and block == 0 else 1, block == 0)
        for stage, blocks in enumerate(repeats)
        for block in range(blocks)
    )


def _vgg_blocks() -> tuple[Layer, ...]:
    layers: list[Layer] = []
    for filters, repeats in ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)):
        layers += [Conv(3, filters)] * repeats + [MaxPool(2, 2)]
    return tuple(layers)


def _classifier(*units: int) -> tuple[Layer, ...]:
    return (*(Dense(count) for count in units[:-1]), Dense(units[-1], relu=False))


_MLP = _classifier(256, 128, 10)

_LENET = (Conv(5, 32), MaxPool(2, 2), Conv(5, 64), MaxPool(2, 2), *_classifier(512, 10))

_ALEXNET = (
    Conv(11, 64, 4, "VALID"),
    MaxPool(3, 2),
    Conv(5, 192),
    MaxPool(3, 2),
    Conv(3, 384),
    Conv(3, 256),
    Conv(3, 256),
    MaxPool(3, 2),
    *_classifier(4096, 4096, 1000),
)

_OVERFEAT = (
    Conv(11, 96, 4, "VALID"),
    MaxPool(2, 2),
    Conv(5, 256, 1, "VALID"),
    MaxPool(2, 2),
    Conv(3, 512),
    Conv(3, 1024),
    Conv(3, 1024),
    MaxPool(2, 2),
    *_classifier(3072, 4096, 1000),
)

_GOOGLENET = (
    Conv(7, 64, 2),
    MaxPool(3, 2, "SAME"),
    Conv(1, 64),
    Conv(3, 192),
    MaxPool(3, 2, "SAME"),
    _inception(64, (96, 128), (16, 32), 32),
    _inception(128, (128, 192), (32, 96), 64),
    MaxPool(3, 2, "SAME"),
    _inception(192, (96, 208), (16, 48), 64),
    _inception(160, (112, 224), (24, 64), 64),
    _inception(128, (128, 256), (24, 64), 64),
    _inception(112, (144, 288), (32, 64), 64),
    _inception(256, (160, 320), (32, 128), 128),
    MaxPool(3, 2, "SAME"),
    _inception(256, (160, 320), (32, 128), 128),
    _inception(384, (192, 384), (48, 128), 128),
    AveragePool(7),
    *_classifier(1000),
)

_RESNET_50 = (
    NormalizedConv(7, 64, 2),
    MaxPool(3, 2, "SAME"),
    *_resnet_blocks(3, 4, 6, 3),
    AveragePool(7),
    *_classifier(1000),
)

IMAGE = (224, 224, 3)

# By the name of the figure that a training step is.
WORKLOADS = {
    "mlp_b1": Workload(_MLP, 1, (784,), 10, 0.01),
    "mlp_b32": Workload(_MLP, 32, (784,), 10, 0.01),
    "mlp_b128": Workload(_MLP, 128, (784,), 10, 0.01),
    "lenet_b128": Workload(_LENET, 128, (28, 28, 1), 10, 0.01),
    "alexnet_b16": Workload(_ALEXNET, 16, IMAGE, 1000),
    "overfeat_b8": Workload(_OVERFEAT, 8, (231, 231, 3), 1000),
    "vgg_a_b4": Workload((*_vgg_blocks(), *_classifier(4096, 4096, 1000)), 4, IMAGE, 1000),
    "googlenet_b8": Workload(_GOOGLENET, 8, IMAGE, 1000),
    "resnet50_b8": Workload(_RESNET_50, 8, IMAGE, 1000, 1e-5),
}

# The workloads of a case.
TRAINING_CASES = {
    "mlp": ("mlp_b1", "mlp_b32", "mlp_b128"),
    "lenet": ("lenet_b128",),
    "alexnet": ("alexnet_b16",),
    "overfeat": ("overfeat_b8",),
    "vgg_a": ("vgg_a_b4",),
    "googlenet": ("googlenet_b8",),
    "resnet50": ("resnet50_b8",),
}

ADD_OPS = 1_000  # of the chain of additions and products
LARGE_CHAIN_OPS = 10  # of the chain on many floats
LARGE_CHAIN_FLOATS = 1 << 20
XENT_SHAPE = (128, 40000)
ADAM_PARAMETERS = (100, 65536)
BATCH_NORM_SHAPE = (8, 56, 56, 64)
BATCH_NORM_EPSILON = 1e-3


def xent_data() -> tuple[Array, Array]:
    """Logits and labels of the cross-entropy case."""
    random = np.random.default_rng(13)
    logits = random.standard_normal(XENT_SHAPE, dtype=np.float32)
    return logits, random.integers(0, XENT_SHAPE[1], XENT_SHAPE[0]).astype(np.int32)


def adam_data() -> tuple[Array, Array]:
    """Parameters and gradients of the Adam case, a row for each parameter."""
    random = np.random.default_rng(17)
    values = random.standard_normal(ADAM_PARAMETERS, dtype=np.float32) * np.float32(0.05)
    return values, random.standard_normal(ADAM_PARAMETERS, dtype=np.float32) * np.float32(0.1)


def batch_norm_data() -> tuple[Array, Array, Array, Array]:
    """Images, scale and offset of batch normalization, and the gradient after its ReLU."""
    random = np.random.default_rng(19)
    images, slopes = (random.standard_normal(BATCH_NORM_SHAPE, dtype=np.float32) for _ in range(2))
    scale, offset = random.random((2, BATCH_NORM_SHAPE[-1]), dtype=np.float32)
    return images, scale, offset, slopes
