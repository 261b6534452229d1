"""Operations of summaries: names, tags, collections, contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def values_of(summary: Any) -> list[Any]:
    with tf.Session() as session:
        return list(tf.Summary.FromString(session.run(summary)).value)


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_tags_are_cleaned_and_grouped_by_family() -> None:
    made = [
        tf.summary.scalar("has space & sign", 1.0),
        tf.summary.scalar("rate", 1.0, family="schedule"),
        tf.summary.histogram("rate", [1.0], family="schedule"),
        tf.summary.image("rate", tf.zeros([1, 1, 1, 1]), max_outputs=1, family="schedule"),
    ]
    assert [value.tag for value in values_of(tf.summary.merge(made))] == [
        "has_space___sign",
        "schedule/schedule/rate",
        "schedule/schedule/rate_1",
        "schedule/schedule/rate_2/image",
    ]
    assert made[2].op.name == "schedule/rate_1"


def test_histogram_has_a_default_name() -> None:
    (value,) = values_of(tf.summary.histogram(None, tf.constant([1, 2, 4])))
    assert value.tag == "HistogramSummary"
    assert value.histo.num == 3


def test_image_is_a_png_file() -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    values = values_of(tf.summary.image("pictures", pixels))
    assert [value.tag for value in values] == ["pictures/image/0", "pictures/image/1"]
    for value in values:
        image = value.image
        assert (image.height, image.width, image.colorspace) == (2, 2, 3)
        assert image.encoded_image_string.startswith(b"\x89PNG\r\n")


def test_audio_is_a_wav_file() -> None:
    clips = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 3, 2)
    values = values_of(tf.summary.audio("clips", clips, 8000.0))
    assert [value.tag for value in values] == [f"clips/audio/{i}" for i in range(3)]
    for value, clip in zip(values, clips, strict=False):
        audio = value.audio
        assert (audio.sample_rate, audio.num_channels, audio.length_frames) == (8000, 2, 3)
        assert audio.content_type == "audio/wav"
        with tf.Session() as session:
            decoded, rate = session.run(tf.audio.decode_wav(audio.encoded_audio_string))
        assert rate == 8000
        np.testing.assert_allclose(decoded, clip, atol=1 / 32768)
    (one,) = values_of(tf.summary.audio("one", tf.zeros([2, 5]), 44100, max_outputs=1))
    assert one.tag == "one/audio"
    assert one.audio.num_channels == 1


def test_a_writer_of_another_version_is_not_there() -> None:
    assert tf.summary.all_v2_summary_ops() == []
    with pytest.raises(RuntimeError, match="No default"):
        tf.summary.initialize()
    with pytest.raises(ValueError, match="Can't get_summary_description on Add"):
        tf.summary.get_summary_description(tf.NodeDef(op="Add"))


def test_bad_arguments_fail_the_step() -> None:
    for made, text in [
        (tf.summary.audio("a", tf.zeros([2]), 1.0), "Tensor must be 3-D or 2-D"),
        (tf.summary.audio("a", tf.zeros([1, 2]), 0.0), "sample_rate must be in"),
        (tf.summary.audio("a", tf.zeros([1, 0]), 1.0), "num_frames must be positive"),
        (tf.summary.scalar("s", [1.0, 2.0]), "'tags' and 'values'"),
        (tf.summary.histogram("h", [float("nan")]), "Nan in summary histogram for: h"),
        (tf.summary.image("i", tf.zeros([2, 2])), "height, width, channels"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            values_of(made)


def test_text_is_a_tensor_for_its_viewer() -> None:
    (value,) = values_of(tf.summary.text("words", tf.constant(["a", "b"])))
    assert value.tag == "words"
    assert value.metadata.plugin_data.plugin_name == "text"
    assert list(value.tensor.string_val) == [b"a", b"b"]
    with pytest.raises(ValueError, match="tensor: expected strings"):
        tf.summary.text("numbers", tf.constant(1.0))


def test_tensor_summary_describes_itself() -> None:
    (value,) = values_of(
        tf.summary.tensor_summary("ten", [1.0, 2.0], "What it is", family="fam", display_name="Ten")
    )
    assert value.tag == "fam/fam/ten"
    assert value.metadata.summary_description == "What it is"
    assert value.metadata.display_name == "Ten"


def test_collections_gather_summaries() -> None:
    tf.summary.scalar("a", 1.0)
    tf.summary.scalar("b", 1.0, collections=["others"])
    assert [value.tag for value in values_of(tf.summary.merge_all())] == ["a"]
    assert [value.tag for value in values_of(tf.summary.merge_all("others"))] == ["b"]
    assert tf.summary.merge_all("none") is None


def test_first_names_take_tags_as_they_are() -> None:
    made = [
        tf.scalar_summary(["a b", "c"], [1.0, 2.0]),
        tf.histogram_summary("d e", [1.0]),
        tf.image_summary("f g", tf.zeros([1, 1, 1, 1]), max_images=1, name="picture"),
    ]
    tags = [value.tag for value in values_of(tf.merge_all_summaries())]
    assert tags == ["a b", "c", "d e", "f g/image"]
    assert [summary.op.name for summary in made] == [
        "ScalarSummary",
        "HistogramSummary",
        "picture",
    ]
