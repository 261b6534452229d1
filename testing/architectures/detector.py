"""An SSD detector with its post-processing (Liu et al., "SSD: Single Shot MultiBox Detector")."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.architectures.image_networks import mobilenet_layers
from testing.architectures.network_parts import Parts

_CLASSES = 3
_RATIOS = (0.5, 1.0, 2.0)
_CHOSEN = 20


def detector(parts: Parts, image: Any) -> tuple[Any, Any, Any]:
    """Boxes, scores and classes of what is found, the best first.

    A MobileNet gives images of four sizes. Each of their pixels has three boxes, which the network
    moves and stretches; the best of those that overlap is kept, class by class.
    """
    tf = parts.tf
    x = tf.nn.relu6(parts.conv(image, 32, 3, 2))
    levels = []
    for channels, stride in mobilenet_layers():
        if stride == 2 and channels == 1024:
            levels.append(x)
        x = parts.separable(x, channels, stride)
    levels.append(x)
    for channels in (512, 256):
        x = tf.nn.relu6(parts.conv(tf.nn.relu6(parts.conv(x, channels // 2, 1)), channels, 3, 2))
        levels.append(x)
    moves, scores, boxes = [], [], []
    for number, level in enumerate(levels):
        moves.append(tf.reshape(_head(parts, level, 4), [-1, 4]))
        scores.append(tf.reshape(_head(parts, level, _CLASSES), [-1, _CLASSES]))
        boxes.append(_boxes(int(level.shape[1]), int(level.shape[2]), 0.2 + 0.2 * number))
    found = _moved(tf, np.concatenate(boxes), tf.concat(moves, 0))
    return _chosen(tf, found, tf.sigmoid(tf.concat(scores, 0)))


def _head(parts: Parts, level: Any, numbers: int) -> Any:
    """Numbers of each box of each pixel."""
    count = len(_RATIOS) * numbers
    weights = parts.weights(3, 3, int(level.shape[-1]), count)
    y = parts.tf.nn.conv2d(level, weights, strides=[1, 1, 1, 1], padding="SAME")
    return parts.tf.nn.bias_add(y, parts.weights(count, scale=0.1))


def _boxes(height: int, width: int, scale: float) -> Any:
    """Center and size of the boxes of an image: rows of y, x, height, width."""
    ys = (np.arange(height) + 0.5) / height
    xs = (np.arange(width) + 0.5) / width
    rows = [
        (y, x, scale / ratio**0.5, scale * ratio**0.5) for y in ys for x in xs for ratio in _RATIOS
    ]
    return np.array(rows, np.float32)


def _moved(tf: Any, boxes: Any, moves: Any) -> Any:
    """Corners of the boxes that the network means."""
    sizes = boxes[:, 2:] * tf.exp(0.2 * tf.tanh(moves[:, 2:]))
    centers = boxes[:, :2] + 0.1 * moves[:, :2] * boxes[:, 2:]
    corners = tf.concat([centers - 0.5 * sizes, centers + 0.5 * sizes], 1)
    return tf.clip_by_value(corners, 0.0, 1.0)


def _chosen(tf: Any, boxes: Any, scores: Any) -> tuple[Any, Any, Any]:
    """The best boxes of all classes, without those that overlap a better one of their class."""
    found, strengths, classes = [], [], []
    for number in range(_CLASSES):
        kept = tf.image.non_max_suppression(
            boxes, scores[:, number], _CHOSEN, iou_threshold=0.5, score_threshold=0.1
        )
        found.append(tf.gather(boxes, kept))
        strengths.append(tf.gather(scores[:, number], kept))
        classes.append(tf.fill(tf.shape(kept), number))
    strength = tf.concat(strengths, 0)
    count = tf.minimum(_CHOSEN, tf.size(strength))
    best, order = tf.nn.top_k(strength, count)
    return tf.gather(tf.concat(found, 0), order), best, tf.gather(tf.concat(classes, 0), order)
