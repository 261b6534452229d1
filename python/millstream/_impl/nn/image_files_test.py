"""Files of images, there and back."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(3)
# Red on the left, blue on the right, so smooth that a file of high quality keeps it.
_SMOOTH = np.stack([np.linspace(250, 10, 24), np.full(24, 60), np.linspace(0, 200, 24)], -1)
_PICTURE = np.repeat(_SMOOTH[None], 16, 0).astype(np.uint8)
_CODES = b"\x02\x02L\x01\x00"  # one pixel of color 1
_GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x01\x02\x03\x04\x05\x06"
_FRAME = b",\x00\x00\x00\x00\x01\x00\x01\x00\x00" + _CODES
_BMP = b"BM" + bytes(8) + bytes([54, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0])
_BMP += bytes(24) + b"\x03\x02\x01\x00"


def _run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def _bytes(tensor: Any) -> bytes:
    return bytes(_run(tensor))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_keeps_every_number(dtype: Any, channels: int) -> None:
    image = _RANDOM.randint(0, np.iinfo(dtype).max, [5, 7, channels]).astype(dtype)
    file = tf.image.encode_png(tf.constant(image))
    assert (_run(tf.image.decode_png(file, dtype=tf.as_dtype(dtype))) == image).all()
    other = _run(tf.image.decode_png(file, dtype=tf.uint8 if dtype == np.uint16 else tf.uint16))
    expected = image // 256 if dtype == np.uint16 else image.astype(np.uint16) * 257
    assert (other == expected).all()


def test_png_in_other_channels() -> None:
    file = _bytes(tf.image.encode_png(tf.constant(_PICTURE)))
    rgba = _run(tf.image.decode_png(file, channels=4))
    assert (rgba[:, :, :3] == _PICTURE).all()
    assert (rgba[:, :, 3] == 255).all()
    gray = _run(tf.image.decode_png(file, channels=1))
    np.testing.assert_allclose(gray[:, :, 0], _PICTURE @ [0.299, 0.587, 0.114], atol=1)


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True, "optimize_size": True}, {"chroma_downsampling": False}]
)
def test_jpeg_is_near_the_image(options: Any) -> None:
    file = _bytes(tf.image.encode_jpeg(tf.constant(_PICTURE), quality=100, **options))
    decoded = _run(tf.image.decode_jpeg(file, dct_method="INTEGER_ACCURATE"))
    np.testing.assert_allclose(decoded.astype(int), _PICTURE, atol=6)
    assert _run(tf.image.extract_jpeg_shape(file)).tolist() == [16, 24, 3]
    assert _run(tf.image.decode_jpeg(file, ratio=4)).shape == (4, 6, 3)


def test_crop_is_a_slice_of_the_image() -> None:
    file = _bytes(tf.image.encode_jpeg(tf.constant(_PICTURE)))
    cases: list[dict[str, Any]] = [{}, {"ratio": 2}, {"channels": 1}]
    for options in cases:
        whole = _run(tf.image.decode_jpeg(file, **options))
        part = _run(tf.image.decode_and_crop_jpeg(file, [2, 3, 5, 7], **options))
        assert (part == whole[2:7, 3:10]).all()


def test_jpeg_that_is_cut() -> None:
    noise = _RANDOM.randint(0, 255, [64, 16, 1]).astype(np.uint8)
    file = _bytes(tf.image.encode_jpeg(tf.constant(noise)))
    whole = _run(tf.image.decode_jpeg(file))
    cut = file[: len(file) * 3 // 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="of 64 rows"):
        _run(tf.image.decode_jpeg(cut))
    part = _run(tf.image.decode_jpeg(cut, acceptable_fraction=0.25))
    assert (part[:16] == whole[:16]).all()
    assert (part[-8:] == 0).all()
    made_up = _run(tf.image.decode_jpeg(cut, try_recover_truncated=True))
    assert made_up.shape == whole.shape
    assert (made_up[:16] == whole[:16]).all()


def test_metadata_and_density_are_in_the_file() -> None:
    file = _bytes(
        tf.image.encode_jpeg(
            tf.constant(_PICTURE), density_unit="cm", x_density=3, y_density=5, xmp_metadata="<x/>"
        )
    )
    assert b"JFIF\x00\x01\x01\x02\x00\x03\x00\x05" in file
    assert b"http://ns.adobe.com/xap/1.0/\x00<x/>" in file


def test_image_of_any_file() -> None:
    picture = tf.constant(_PICTURE)
    files = [_bytes(tf.image.encode_png(picture)), _bytes(tf.image.encode_jpeg(picture)), _BMP]
    for file in files:
        assert _run(tf.image.decode_image(file)).ndim == 3
    two = _GIF + _FRAME + _FRAME + b";"
    assert _run(tf.image.decode_image(two)).tolist() == [[[[4, 5, 6]]], [[[4, 5, 6]]]]
    assert _run(tf.image.decode_image(two, expand_animations=False)).tolist() == [[[4, 5, 6]]]
    floats = _run(tf.image.decode_image(files[0], dtype=tf.float32))
    np.testing.assert_allclose(floats, _PICTURE / 255, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="JPEG, PNG, GIF, or BMP"):
        _run(tf.image.decode_image(b"hello"))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(None, 0, 3\) when decoding GIF"):
        _run(tf.image.decode_image(two, channels=1))
    with pytest.raises(ValueError, match="channels"):
        tf.image.decode_image(two, channels=2)


def test_each_reader_takes_the_files_of_others() -> None:
    png = _bytes(tf.image.encode_png(tf.constant(_PICTURE)))
    assert (_run(tf.image.decode_jpeg(png)) == _PICTURE).all()
    assert (_run(tf.image.decode_gif(png)) == _PICTURE[None]).all()
    gif = _GIF + _FRAME + b";"
    assert _run(tf.image.decode_png(gif)).tolist() == [[[4, 5, 6]]]
    assert _run(tf.image.decode_png(gif, dtype=tf.uint16)).tolist() == [[[1024, 1280, 1536]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Got 2 frames"):
        _run(tf.image.decode_png(_GIF + _FRAME + _FRAME + b";"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="only JPEG can be cropped, got PNG"):
        _run(tf.image.decode_and_crop_jpeg(png, [0, 0, 1, 1]))


def test_a_png_of_enormous_size_is_refused() -> None:
    for side in (2**31 - 1, 60_000):
        size = side.to_bytes(4, "big")
        header = b"IHDR" + size + size + b"\x08\x06\x00\x00\x00"
        file = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + header
        file += zlib.crc32(header).to_bytes(4, "big") + b"\x00\x00\x00\x00IDAT" + bytes(4)
        with pytest.raises(tf.errors.InvalidArgumentError, match="contents"):
            _run(tf.image.decode_png(file))


def test_quality_of_jpeg() -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.random_jpeg_quality(_PICTURE, 0, 101)
    with pytest.raises(ValueError, match="min_jpeg_quality"):
        tf.image.random_jpeg_quality(_PICTURE, 50, 50)
    good, bad = (_run(tf.image.adjust_jpeg_quality(_PICTURE, q)).astype(int) for q in (100, 1))
    assert abs(good - _PICTURE).mean() < abs(bad - _PICTURE).mean()
    adjusted = tf.image.adjust_jpeg_quality(tf.zeros([8, 9, 3]), 50)
    assert adjusted.shape.as_list() == [8, 9, 3]
    assert adjusted.dtype == tf.float32
