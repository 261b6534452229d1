"""Calls of functions of images, a part of the table of argument_types_test.py."""

from __future__ import annotations

from typing import Any

import millstream as tf
from millstream.argument_tables import Calls


def calls_of_images() -> Calls:
    """The rows of the table."""
    return {**_files(), **_sizes(), **_colors(), **_boxes()}


def _files() -> Calls:
    jpeg = {
        "channels": 1,
        "ratio": 2,
        "fancy_upscaling": False,
        "try_recover_truncated": True,
        "acceptable_fraction": 0.5,
        "dct_method": "INTEGER_FAST",
    }
    return {
        tf.image.decode_bmp: lambda: {"contents": b"BM", "channels": 3},
        tf.image.decode_png: lambda: {"contents": b"", "channels": 3, "dtype": tf.uint16},
        tf.image.decode_jpeg: lambda: {"contents": b"", **jpeg},
        tf.image.decode_and_crop_jpeg: lambda: {
            "contents": b"",
            "crop_window": [0, 0, 1, 1],
            **jpeg,
        },
        tf.image.decode_gif: lambda: {"contents": b""},
        tf.image.decode_image: lambda: {
            "contents": b"",
            "channels": 3,
            "dtype": tf.float32,
            "expand_animations": False,
        },
        tf.image.extract_jpeg_shape: lambda: {"contents": b"", "output_type": tf.int64},
        tf.image.encode_png: lambda: {"image": tf.zeros([2, 2, 3], tf.uint8), "compression": 1},
        tf.image.encode_jpeg: lambda: {
            "image": tf.zeros([2, 2, 3], tf.uint8),
            "format": "rgb",
            "quality": 90,
            "progressive": True,
            "optimize_size": True,
            "chroma_downsampling": False,
            "density_unit": "cm",
            "x_density": 1,
            "y_density": 2,
            "xmp_metadata": "x",
        },
        tf.image.is_jpeg: lambda: {"contents": b"BM"},
        tf.image.adjust_jpeg_quality: lambda: {"image": _image(), "jpeg_quality": 90},
        tf.image.random_jpeg_quality: lambda: {
            "image": _image(),
            "min_jpeg_quality": 10,
            "max_jpeg_quality": 90,
            "seed": 1,
        },
    }


def _image() -> Any:
    return tf.ones([4, 6, 3])


def _images() -> Any:
    return tf.ones([1, 4, 6, 3])


_TARGET = {"offset_height": 0, "offset_width": 0, "target_height": 4, "target_width": 6}


def _sizes() -> Calls:
    resized = {"align_corners": True, "half_pixel_centers": False}
    return {
        tf.image.ResizeMethod: dict,
        tf.image.flip_left_right: lambda: {"image": _image()},
        tf.image.flip_up_down: lambda: {"image": _image()},
        tf.image.random_flip_left_right: lambda: {"image": _image(), "seed": 1},
        tf.image.random_flip_up_down: lambda: {"image": _image(), "seed": 1},
        tf.image.transpose_image: lambda: {"image": _image()},
        tf.image.rot90: lambda: {"image": _image(), "k": 2},
        tf.image.resize_area: lambda: {"images": _images(), "size": [2, 2], "align_corners": True},
        tf.image.resize_bilinear: lambda: {"images": _images(), "size": [2, 2], **resized},
        tf.image.resize_nearest_neighbor: lambda: {"images": _images(), "size": [2, 2], **resized},
        tf.image.resize_bicubic: lambda: {"images": _images(), "size": [2, 2], **resized},
        tf.image.resize_images: lambda: {
            "images": _image(), "size": [2, 2], "method": 0, "align_corners": True,
            "preserve_aspect_ratio": True,
        },
        tf.image.crop_to_bounding_box: lambda: {"image": _image(), **_TARGET},
        tf.image.pad_to_bounding_box: lambda: {"image": _image(), **_TARGET},
        tf.image.resize_image_with_crop_or_pad: lambda: {
            "image": _image(), "target_height": 3, "target_width": 9,
        },
        tf.image.resize_image_with_pad: lambda: {
            "image": _image(), "target_height": 3, "target_width": 9, "method": 0,
            "align_corners": True,
        },
        tf.image.central_crop: lambda: {"image": _image(), "central_fraction": 0.5},
        tf.image.crop_and_resize: lambda: {
            "image": _images(), "boxes": [[0.0, 0.0, 1.0, 1.0]], "box_ind": [0],
            "crop_size": [2, 2], "method": "nearest", "extrapolation_value": 1.0,
        },
        tf.image.extract_glimpse: lambda: {
            "input": _images(), "size": [2, 2], "offsets": [[0.0, 0.0]], "centered": True,
            "normalized": True, "uniform_noise": True,
        },
    }  # fmt: skip


def _colors() -> Calls:
    return {
        tf.image.rgb_to_hsv: lambda: {"images": _image()},
        tf.image.hsv_to_rgb: lambda: {"images": _image()},
        tf.image.convert_image_dtype: lambda: {
            "image": _image(), "dtype": tf.uint8, "saturate": True,
        },
        tf.image.adjust_brightness: lambda: {"image": _image(), "delta": 0.1},
        tf.image.adjust_contrast: lambda: {"images": _image(), "contrast_factor": 2.0},
        tf.image.adjust_gamma: lambda: {"image": _image(), "gamma": 2.0, "gain": 1.0},
        tf.image.adjust_hue: lambda: {"image": _image(), "delta": 0.1},
        tf.image.adjust_saturation: lambda: {"image": _image(), "saturation_factor": 2.0},
        tf.image.random_brightness: lambda: {"image": _image(), "max_delta": 0.1, "seed": 1},
        tf.image.random_contrast: lambda: {
            "image": _image(), "lower": 0.5, "upper": 1.5, "seed": 1,
        },
        tf.image.random_hue: lambda: {"image": _image(), "max_delta": 0.1, "seed": 1},
        tf.image.random_saturation: lambda: {
            "image": _image(), "lower": 0.5, "upper": 1.5, "seed": 1,
        },
        tf.image.per_image_standardization: lambda: {"image": _image()},
        tf.image.rgb_to_grayscale: lambda: {"images": _image()},
        tf.image.grayscale_to_rgb: lambda: {"images": tf.ones([2, 2, 1])},
        tf.image.rgb_to_yiq: lambda: {"images": _image()},
        tf.image.yiq_to_rgb: lambda: {"images": _image()},
        tf.image.rgb_to_yuv: lambda: {"images": _image()},
        tf.image.yuv_to_rgb: lambda: {"images": _image()},
    }  # fmt: skip


def _boxes() -> Calls:
    chosen = {
        "boxes": [[0.0, 0.0, 1.0, 1.0]], "scores": [0.5], "max_output_size": 1,
        "iou_threshold": 0.5, "score_threshold": 0.1,
    }  # fmt: skip
    measured = {"max_val": 1.0, "filter_size": 3, "filter_sigma": 1.5, "k1": 0.01, "k2": 0.03}
    return {
        tf.image.draw_bounding_boxes: lambda: {
            "images": _images(), "boxes": [[[0.0, 0.0, 1.0, 1.0]]], "colors": [[1.0, 0.0, 0.0]],
        },
        tf.image.sample_distorted_bounding_box: lambda: {
            "image_size": [4, 6, 3], "bounding_boxes": [[[0.0, 0.0, 1.0, 1.0]]], "seed": 1,
            "seed2": 2, "min_object_covered": 0.1, "aspect_ratio_range": [0.5, 2.0],
            "area_range": [0.1, 1.0], "max_attempts": 3, "use_image_if_no_bounding_boxes": True,
        },
        tf.image.non_max_suppression: lambda: dict(chosen),
        tf.image.non_max_suppression_padded: lambda: {**chosen, "pad_to_max_output_size": True},
        tf.image.non_max_suppression_with_scores: lambda: {**chosen, "soft_nms_sigma": 0.5},
        tf.image.non_max_suppression_overlaps: lambda: {
            "overlaps": [[1.0]], "scores": [0.5], "max_output_size": 1, "overlap_threshold": 0.5,
            "score_threshold": 0.1,
        },
        tf.image.combined_non_max_suppression: lambda: {
            "boxes": tf.zeros([1, 2, 1, 4]), "scores": tf.zeros([1, 2, 1]),
            "max_output_size_per_class": 1, "max_total_size": 1, "iou_threshold": 0.5,
            "score_threshold": 0.1, "pad_per_class": True, "clip_boxes": False,
        },
        tf.image.total_variation: lambda: {"images": _image()},
        tf.image.image_gradients: lambda: {"image": _images()},
        tf.image.sobel_edges: lambda: {"image": _images()},
        tf.image.psnr: lambda: {"a": _images(), "b": _images(), "max_val": 1.0},
        tf.image.ssim: lambda: {"img1": _images(), "img2": _images(), **measured},
        tf.image.ssim_multiscale: lambda: {
            "img1": _images(), "img2": _images(), "power_factors": [1.0], **measured,
        },
    }  # fmt: skip
