"""Networks for images with public architectures: ResNet-50, MobileNet, Inception-v3."""

from __future__ import annotations

from typing import Any

from testing.architectures.network_parts import Parts

_CLASSES = 1000


def resnet50(parts: Parts, image: Any) -> Any:
    """ResNet-50 (He et al., "Deep Residual Learning for Image Recognition", table 1)."""
    x = parts.conv_relu(image, 64, 7, 2)
    x = parts.max_pool(x, 3, 2, "SAME")
    for stage, blocks in enumerate((3, 4, 6, 3)):
        channels = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            shortcut = x if block else parts.conv(x, 4 * channels, 1, stride)
            y = parts.conv_relu(x, channels, 1, stride)
            y = parts.conv_relu(y, channels, 3)
            y = parts.conv(y, 4 * channels, 1)
            # Smaller steps keep the numbers of a network that is not trained in bounds.
            x = parts.tf.nn.relu(shortcut + 0.25 * y)
    return parts.classes(x, _CLASSES)


def mobilenet(parts: Parts, image: Any) -> Any:
    """MobileNet (Howard et al., "MobileNets", table 1)."""
    x = parts.tf.nn.relu6(parts.conv(image, 32, 3, 2))
    for channels, stride in mobilenet_layers():
        x = parts.separable(x, channels, stride)
    return parts.classes(x, _CLASSES)


def mobilenet_layers() -> list[tuple[int, int]]:
    """Channels and stride of each separable convolution of MobileNet."""
    late = [(512, 1)] * 5
    return [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *late, (1024, 2), (1024, 1)]


def inception_v3(parts: Parts, image: Any) -> Any:
    """Inception-v3 (Szegedy et al., "Rethinking the Inception Architecture", table 1)."""
    x = parts.conv_relu(image, 32, 3, 2, "VALID")
    x = parts.conv_relu(x, 32, 3, 1, "VALID")
    x = parts.conv_relu(x, 64, 3)
    x = parts.max_pool(x, 3, 2)
    x = parts.conv_relu(x, 80, 1, 1, "VALID")
    x = parts.conv_relu(x, 192, 3, 1, "VALID")
    x = parts.max_pool(x, 3, 2)
    for pooled in (32, 64, 64):
        x = _small_windows(parts, x, pooled)
    x = _halved(parts, x)
    for inner in (128, 160, 160, 192):
        x = _long_windows(parts, x, inner)
    y = parts.conv_relu(x, 192, 1)
    x = parts.concat(
        [
            parts.conv_relu(parts.conv_relu(x, 192, 1), 320, 3, 2, "VALID"),
            parts.conv_relu(
                parts.conv_relu(parts.conv_relu(y, 192, (1, 7)), 192, (7, 1)), 192, 3, 2, "VALID"
            ),
            parts.max_pool(x, 3, 2),
        ]
    )
    for _ in range(2):
        x = _wide_windows(parts, x)
    return parts.classes(x, _CLASSES)


def _small_windows(parts: Parts, x: Any, pooled: int) -> Any:
    """Branches of 1 x 1, 5 x 5, twice 3 x 3, and a pool (figure 5)."""
    third = parts.conv_relu(x, 64, 1)
    for _ in range(2):
        third = parts.conv_relu(third, 96, 3)
    return parts.concat(
        [
            parts.conv_relu(x, 64, 1),
            parts.conv_relu(parts.conv_relu(x, 48, 1), 64, 5),
            third,
            parts.conv_relu(parts.average_pool(x, 3), pooled, 1),
        ]
    )


def _halved(parts: Parts, x: Any) -> Any:
    """Branches that halve the image (figure 10)."""
    y = parts.conv_relu(parts.conv_relu(x, 64, 1), 96, 3)
    return parts.concat(
        [
            parts.conv_relu(x, 384, 3, 2, "VALID"),
            parts.conv_relu(y, 96, 3, 2, "VALID"),
            parts.max_pool(x, 3, 2),
        ]
    )


def _long_windows(parts: Parts, x: Any, inner: int) -> Any:
    """Branches of 1 x 7 and 7 x 1 (figure 6)."""
    second = parts.conv_relu(x, inner, 1)
    second = parts.conv_relu(second, inner, (1, 7))
    second = parts.conv_relu(second, 192, (7, 1))
    third = parts.conv_relu(x, inner, 1)
    for channels, size in ((inner, (7, 1)), (inner, (1, 7)), (inner, (7, 1)), (192, (1, 7))):
        third = parts.conv_relu(third, channels, size)
    return parts.concat(
        [
            parts.conv_relu(x, 192, 1),
            second,
            third,
            parts.conv_relu(parts.average_pool(x, 3), 192, 1),
        ]
    )


def _wide_windows(parts: Parts, x: Any) -> Any:
    """Branches whose last windows are 1 x 3 and 3 x 1 side by side (figure 7)."""
    second = parts.conv_relu(x, 384, 1)
    third = parts.conv_relu(parts.conv_relu(x, 448, 1), 384, 3)
    sides = [
        parts.conv_relu(branch, 384, size)
        for branch in (second, third)
        for size in ((1, 3), (3, 1))
    ]
    return parts.concat(
        [
            parts.conv_relu(x, 320, 1),
            *sides,
            parts.conv_relu(parts.average_pool(x, 3), 192, 1),
        ]
    )
