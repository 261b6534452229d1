"""Boxes of images: drawn, made at random, chosen among overlapping ones."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FLAG, INTEGER, NUMBER, TENSOR, or_none, takes
from millstream._impl.graph.operation import Tensor

_NONE = float("-inf")


@public("image.draw_bounding_boxes")
@takes(images=TENSOR, boxes=TENSOR, colors=or_none(TENSOR))
def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Images with the edges of boxes drawn into them.

    Parameters
    ----------
    images
        Shape [batch, height, width, channels] with 1, 3 or 4 channels.
    boxes
        Shape [batch, boxes, 4]: y1, x1, y2, x2, where 0 and 1 are the first and last pixels.
    name
        Name of the result.
    colors
        Rows of colors that follow each other; ten of the function's own by default.

    Examples
    --------
    >>> image = tf.zeros([1, 3, 3, 1])
    >>> tf.image.draw_bounding_boxes(image, [[[0.0, 0.0, 1.0, 1.0]]]).eval().sum()
    8.0
    """
    if colors is None:
        return gen_ops.draw_bounding_boxes(images, boxes, name)
    return gen_ops.draw_bounding_boxes_v2(images, boxes, colors, name)


@public("image.sample_distorted_bounding_box")
@takes(
    image_size=TENSOR,
    bounding_boxes=TENSOR,
    seed=INTEGER,
    seed2=INTEGER,
    aspect_ratio_range=TENSOR,
    area_range=TENSOR,
    use_image_if_no_bounding_boxes=FLAG,
)
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A crop of an image, drawn at random, that has enough of one of the boxes.

    Parameters
    ----------
    image_size
        Height, width and channels.
    bounding_boxes
        Shape [batch, boxes, 4]: y1, x1, y2, x2 from 0 to 1.
    seed, seed2
        Both seeds of the operation; without them each run has its own numbers.
    min_object_covered
        How much of a box a crop must cover.
    aspect_ratio_range
        Between which the ratio of width to height is; [0.75, 1.33] by default.
    area_range
        Between which the area is, of the image's; [0.05, 1] by default.
    max_attempts
        How many draws there are before the whole image is taken; 100 by default.
    use_image_if_no_bounding_boxes
        Whether the image stands for boxes where there are none; an error by default.
    name
        Name of the operation.

    Returns
    -------
    begin, size, bboxes
        The crop as arguments of `slice`, and as a box of shape [1, 1, 4].

    Examples
    --------
    >>> boxes = [[[0.1, 0.1, 0.9, 0.9]]]
    >>> begin, size, box = tf.image.sample_distorted_bounding_box([9, 9, 3], boxes, seed=1)
    >>> size.eval()[2]
    -1
    """
    ratios = [0.75, 1.33] if aspect_ratio_range is None else list(aspect_ratio_range)
    areas = [0.05, 1.0] if area_range is None else list(area_range)
    return gen_ops.sample_distorted_bounding_box_v2(
        image_size,
        bounding_boxes,
        min_object_covered,
        seed=seed or 0,
        seed2=seed2 or 0,
        aspect_ratio_range=[float(ratio) for ratio in ratios],
        area_range=[float(area) for area in areas],
        max_attempts=100 if max_attempts is None else max_attempts,
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
        name=name,
    )


# ---- Boxes that overlap ----


@public("image.non_max_suppression")
@takes(boxes=TENSOR, scores=TENSOR, iou_threshold=NUMBER, score_threshold=NUMBER)
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    name: str | None = None,
) -> Tensor:
    """Indices of the best boxes, without those that overlap a better one.

    Parameters
    ----------
    boxes
        Rows of two opposite corners: y1, x1, y2, x2.
    scores
        A number for each box.
    max_output_size
        How many boxes there are at most.
    iou_threshold
        A box is left out if what it shares with a better one is more than this part of what both
        cover.
    score_threshold
        Boxes have a score above it.
    name
        Name of the result.

    Examples
    --------
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
    >>> tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.3], 3).eval().tolist()
    [0, 2]
    """
    return gen_ops.non_max_suppression_v3(
        boxes, scores, max_output_size, iou_threshold, score_threshold, name
    )


@public("image.non_max_suppression_padded")
@takes(boxes=TENSOR, scores=TENSOR, iou_threshold=NUMBER, score_threshold=NUMBER)
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any:
    """Indices of the best boxes and their number; see `non_max_suppression`.

    Parameters
    ----------
    boxes, scores, max_output_size, iou_threshold, score_threshold
        As for `non_max_suppression`.
    pad_to_max_output_size
        Whether there are zeros after the indices, up to `max_output_size`.
    name
        Name of the operation.

    Examples
    --------
    >>> box = [[0.0, 0.0, 1.0, 1.0]]
    >>> found = tf.image.non_max_suppression_padded(box, [0.9], 2, pad_to_max_output_size=True)
    >>> [part.eval().tolist() for part in found]
    [[0, 0], 1]
    """
    return gen_ops.non_max_suppression_v4(
        boxes,
        scores,
        max_output_size,
        iou_threshold,
        score_threshold,
        pad_to_max_output_size,
        name=name,
    )


@public("image.non_max_suppression_with_scores")
@takes(
    boxes=TENSOR,
    scores=TENSOR,
    iou_threshold=NUMBER,
    score_threshold=NUMBER,
    soft_nms_sigma=NUMBER,
)
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Indices of the best boxes and their scores; see `non_max_suppression`.

    Parameters
    ----------
    boxes, scores, max_output_size, iou_threshold, score_threshold
        As for `non_max_suppression`.
    soft_nms_sigma
        If above zero, boxes that overlap are not left out: their scores become smaller (N. Bodla
        and others: Soft-NMS, 2017).
    name
        Name of the operation.

    Examples
    --------
    >>> box = [[0.0, 0.0, 1.0, 1.0]]
    >>> found = tf.image.non_max_suppression_with_scores(box * 2, [0.5, 0.25], 2)
    >>> [part.eval().tolist() for part in found]
    [[0], [0.5]]
    """
    indices, selected, _ = gen_ops.non_max_suppression_v5(
        boxes,
        scores,
        max_output_size,
        iou_threshold,
        score_threshold,
        soft_nms_sigma,
        pad_to_max_output_size=False,
        name=name,
    )
    return indices, selected


@public("image.non_max_suppression_overlaps")
@takes(overlaps=TENSOR, scores=TENSOR, overlap_threshold=NUMBER, score_threshold=NUMBER)
def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    name: str | None = None,
) -> Tensor:
    """Indices of the best boxes, by a matrix of how much each two overlap.

    Parameters
    ----------
    overlaps
        A row and a column for each box.
    scores, max_output_size, score_threshold, name
        As for `non_max_suppression`.
    overlap_threshold
        A box is left out if it overlaps a better one by more.

    Examples
    --------
    >>> overlaps = [[1.0, 0.7], [0.7, 1.0]]
    >>> tf.image.non_max_suppression_overlaps(overlaps, [0.2, 0.9], 2).eval().tolist()
    [1]
    """
    return gen_ops.non_max_suppression_with_overlaps(
        overlaps, scores, max_output_size, overlap_threshold, score_threshold, name
    )


@public("image.combined_non_max_suppression")
@takes(boxes=TENSOR, scores=TENSOR, iou_threshold=NUMBER, score_threshold=NUMBER)
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """The best boxes of all classes of each image; see `non_max_suppression`.

    Parameters
    ----------
    boxes
        Shape [batch, boxes, classes, 4], or with 1 in place of classes if all have the same boxes.
    scores
        Shape [batch, boxes, classes].
    max_output_size_per_class
        How many boxes of a class there are at most.
    max_total_size
        How many boxes of an image there are.
    iou_threshold, score_threshold
        As for `non_max_suppression`.
    pad_per_class
        Whether there are at most `max_output_size_per_class` boxes for each class in all.
    clip_boxes
        Whether coordinates are kept from 0 to 1.
    name
        Name of the operation.

    Returns
    -------
    boxes, scores, classes, valid_detections
        Padded with zeros; the last one has how many there are in each image.

    Examples
    --------
    >>> boxes, scores = tf.zeros([1, 2, 1, 4]), [[[0.5], [0.25]]]
    >>> found = tf.image.combined_non_max_suppression(boxes, scores, 2, 3)
    >>> found[1].eval().tolist()
    [[0.5, 0.25, 0.0]]
    """
    return gen_ops.combined_non_max_suppression(
        boxes,
        scores,
        max_output_size_per_class,
        max_total_size,
        iou_threshold,
        score_threshold,
        pad_per_class,
        clip_boxes,
        name,
    )
