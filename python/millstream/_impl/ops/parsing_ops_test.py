"""Examples as tensors of their features, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf

_FLOATS = tf.FixedLenFeature([2], tf.float32)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def _feature(*values: Any) -> Any:
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _example(**features: Any) -> bytes:
    message = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(message.SerializeToString())


def _sequence(context: dict[str, Any], **lists: list[Any]) -> bytes:
    found = {key: tf.train.FeatureList(feature=steps) for key, steps in lists.items()}
    message = tf.train.SequenceExample(
        context=tf.train.Features(feature=context),
        feature_lists=tf.train.FeatureLists(feature_list=found),
    )
    return bytes(message.SerializeToString())


def test_features_of_all_kinds(session: tf.Session) -> None:
    rows = [
        _example(n=_feature(1), x=_feature(0.5, 1.5), w=_feature(b"a", b"b"), r=_feature(1, 2, 3)),
        _example(n=_feature(2), at=_feature(4, 1), value=_feature(40.0, 10.0)),
    ]
    features = {
        "n": tf.FixedLenFeature([], tf.int64),
        "x": tf.FixedLenFeature([2], tf.float32, default_value=[7.0, 8.0]),
        "w": tf.VarLenFeature(tf.string),
        "r": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1),
        "s": tf.SparseFeature("at", "value", tf.float32, 5),
    }
    parsed = tf.parse_example(rows, features)
    assert sorted(parsed) == sorted(features)
    assert parsed["x"].shape.as_list() == [2, 2]
    assert parsed["r"].shape.as_list() == [2, None]
    found = session.run(parsed)
    assert found["n"].tolist() == [1, 2]
    assert found["x"].tolist() == [[0.5, 1.5], [7.0, 8.0]]
    assert found["w"].values.tolist() == [b"a", b"b"]
    assert found["w"].dense_shape.tolist() == [2, 2]
    assert found["r"].tolist() == [[1, 2, 3], [-1, -1, -1]]
    assert found["s"].indices.tolist() == [[1, 1], [1, 4]]
    assert found["s"].values.tolist() == [10.0, 40.0]
    assert found["s"].dense_shape.tolist() == [2, 5]


def test_one_example(session: tf.Session) -> None:
    text = _example(n=_feature(3), w=_feature(b"a"), r=_feature(1.0, 2.0))
    features = {
        "n": tf.FixedLenFeature([], tf.int64),
        "w": tf.VarLenFeature(tf.string),
        "r": tf.FixedLenSequenceFeature([1], tf.float32, allow_missing=True),
        "none": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
    }
    for names in (None, "named"):
        parsed = tf.parse_single_example(text, features, example_names=names)
        found = session.run(parsed)
        assert found["n"] == 3
        assert found["w"].indices.tolist() == [[0]]
        assert found["w"].dense_shape.tolist() == [1]
        assert found["r"].tolist() == [[1.0], [2.0]]
        assert found["none"].tolist() == []


def test_places_of_several_dimensions(session: tf.Session) -> None:
    text = _example(i=_feature(0, 1), j=_feature(2, 0), v=_feature(5, 6))
    sparse = tf.SparseFeature(["i", "j"], "v", tf.int64, [2, 3], already_sorted=True)
    found = session.run(tf.parse_example([text], {"s": sparse}))["s"]
    assert found.indices.tolist() == [[0, 0, 2], [0, 1, 0]]
    assert found.dense_shape.tolist() == [1, 2, 3]


def test_sequences(session: tf.Session) -> None:
    text = _sequence(
        {"n": _feature(7)},
        x=[_feature(1.0, 2.0), _feature(3.0, 4.0)],
        w=[_feature(b"a"), _feature(b"b", b"c")],
    )
    context = {"n": tf.FixedLenFeature([], tf.int64), "none": tf.VarLenFeature(tf.string)}
    lists = {
        "x": tf.FixedLenSequenceFeature([2], tf.float32),
        "w": tf.VarLenFeature(tf.string),
        "may_miss": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    one = session.run(tf.parse_single_sequence_example(text, context, lists, "name"))
    assert one[0]["n"] == 7
    assert one[0]["none"].dense_shape.tolist() == [0]
    assert one[1]["x"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert one[1]["w"].indices.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert one[1]["may_miss"].tolist() == []
    short = _sequence({"n": _feature(8)}, x=[_feature(5.0, 6.0)])
    batch = tf.io.parse_sequence_example([text, short], context, lists)
    of_whole, of_steps, lengths = session.run(batch)
    assert of_whole["n"].tolist() == [7, 8]
    assert of_steps["x"].tolist() == [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [0.0, 0.0]]]
    assert of_steps["w"].dense_shape.tolist() == [2, 2, 2]
    assert lengths["x"].tolist() == [2, 1]
    assert lengths["may_miss"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (_example(), r"Key: x, Index: 1\.  Feature: x \(data type: float\) is required"),
        (_example(x=_feature(1.0)), r"Key: x, Index: 1\.  Number of float values != expected"),
        (_example(x=_feature(1, 2)), r"Key: x, Index: 1\.  Data types don't match\. .* int64"),
        (b"\xff\x01junk", r"Could not parse example input, value: '\\xff.*record 1"),
    ],
)
def test_errors_name_the_feature_and_the_record(
    session: tf.Session, record: bytes, message: str
) -> None:
    good = _example(x=_feature(1.0, 2.0))
    parsed = tf.parse_example([good, record], {"x": _FLOATS}, example_names=["first", "second"])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
        session.run(parsed)
    assert "second" in str(caught.value)
    assert "ParseExample" in str(caught.value)


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (None, ValueError, r"Missing features\."),
        ({}, ValueError, r"Missing features\."),
        ({"x": tf.FixedLenFeature([2], None)}, ValueError, "Missing dtype for feature x"),
        ({"x": tf.FixedLenFeature(None, tf.int64)}, ValueError, "Missing shape for feature x"),
        ({"x": tf.FixedLenFeature([None], tf.int64)}, ValueError, "Consider using FixedLenSeq"),
        ({"x": tf.FixedLenFeature([2, None], tf.int64)}, ValueError, "All dimensions of shape"),
        ({"x": tf.FixedLenFeature([2], tf.int32)}, ValueError, "float32, int64 or string"),
        ({"x": tf.FixedLenSequenceFeature([], tf.int64)}, ValueError, "allow_missing to be True"),
        ({"x": tf.SparseFeature("", "v", tf.int64, 2)}, ValueError, "Missing index_key"),
        ({"x": tf.SparseFeature("i", "", tf.int64, 2)}, ValueError, "Missing value_key"),
        (
            {"x": tf.SparseFeature("i", "v", tf.int64, 2), "v": tf.VarLenFeature(tf.string)},
            ValueError,
            "Conflicting type",
        ),
        ({"x": 3}, TypeError, "Unsupported int: 3"),
    ],
)
def test_bad_features(features: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tf.parse_example([""], features)


def test_lists_have_no_default() -> None:
    steps = {"x": tf.FixedLenSequenceFeature([], tf.int64, True, 3)}
    with pytest.raises(ValueError, match="'x' can have no default_value"):
        tf.parse_single_sequence_example("", None, steps)
    with pytest.raises(ValueError, match=r"Missing features\."):
        tf.parse_single_sequence_example("")


def test_sparse_tensors_keep_their_rank() -> None:
    rows = tf.serialize_many_sparse(tf.SparseTensor([[0, 1]], [7], [2, 3]))
    assert rows.shape.as_list() == [None, 3]
    back = tf.deserialize_many_sparse(rows, tf.int32, rank=2)
    assert back.indices.shape.as_list() == [None, 2]
    assert back.dense_shape.eval().tolist() == [2, 3]
