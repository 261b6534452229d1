"""Columns and the layers that read them: values, names of variables, refusals.

The names of variables are those of checkpoints of the 1.15 API.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf

fc = tf.feature_column


def _words(key: str = "word", **options: Any) -> Any:
    return fc.categorical_column_with_vocabulary_list(key, ["a", "b", "c"], **options)


def _price() -> Any:
    return fc.numeric_column("price")


def _features() -> dict[str, Any]:
    return {
        "price": tf.constant([[1.0], [20.0], [300.0]]),
        "pair": tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "word": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "z"], [3, 2]),
        "dense": tf.constant([["a", "b"], ["", "c"], ["b", ""]]),
        "id": tf.constant([[1, 2], [-1, 0], [3, 3]]),
        "weight": tf.constant([[0.5, 2.0], [0.0, 1.0], [1.0, 3.0]]),
    }


def _run(tensor: Any, values: dict[str, Any] | None = None) -> Any:
    """The value of a layer, with these values of variables by name, else of 1, 2, 3..."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for variable in tf.global_variables():
            shape = variable.shape.as_list()
            own = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
            variable.load((values or {}).get(variable.op.name, own), sess)
        return sess.run(tensor)


def _names() -> list[str]:
    return [variable.op.name for variable in tf.trainable_variables()]


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_numbers_and_buckets_stand_in_the_order_of_names() -> None:
    price = fc.numeric_column("price", normalizer_fn=lambda x: x / 10.0)
    pair = fc.bucketized_column(fc.numeric_column("pair", shape=2), [2.5, 4.0])
    expected = [
        [1, 0, 0, 1, 0, 0, 0.1],
        [0, 1, 0, 0, 0, 1, 2.0],
        [0, 0, 1, 0, 0, 1, 30.0],
    ]
    np.testing.assert_allclose(_run(fc.input_layer(_features(), [price, pair])), expected)


def test_indicators_count_and_weigh() -> None:
    identity = fc.categorical_column_with_identity("id", 4)
    weighed = fc.weighted_categorical_column(identity, "weight")
    plain = fc.input_layer(_features(), [fc.indicator_column(identity)])
    np.testing.assert_array_equal(_run(plain), [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 2]])
    features = _features()
    features["id"] = tf.constant([[1, 2], [2, 0], [3, 3]])
    features["weight"] = tf.constant([[0.5, 2.0], [4.0, 1.0], [1.0, 3.0]])
    layer = fc.input_layer(features, [fc.indicator_column(weighed)])
    np.testing.assert_array_equal(_run(layer), [[0, 0.5, 2, 0], [1, 0, 4, 0], [0, 0, 0, 4]])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[1, 1, 0], [0, 0, 0], [0, 0, 0]]),
        ({"default_value": 2}, [[1, 1, 0], [0, 0, 0], [0, 0, 1]]),
        ({"num_oov_buckets": 1}, [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]),
    ],
    ids=["left_out", "default", "bucket"],
)
def test_words_that_are_not_listed(options: Any, expected: Any) -> None:
    layer = fc.input_layer(_features(), [fc.indicator_column(_words(**options))])
    np.testing.assert_array_equal(_run(layer), expected)


def test_numbers_that_are_listed() -> None:
    for numbers in ([3, 2], np.array([3, 2], np.uint8)):
        column = fc.categorical_column_with_vocabulary_list("id", numbers)
        layer = fc.input_layer(_features(), [fc.indicator_column(column)])
        np.testing.assert_array_equal(_run(layer), [[0, 1], [0, 0], [2, 0]])


def test_words_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("b\na\nq\n")
    column = fc.categorical_column_with_vocabulary_file("dense", str(tmp_path / "words.txt"), 2)
    assert column.num_buckets == 2
    layer = fc.input_layer(_features(), [fc.indicator_column(column)])
    np.testing.assert_array_equal(_run(layer), [[1, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    ("combiner", "first"), [("sum", [4, 6]), ("mean", [2, 3]), ("sqrtn", [4 / 2**0.5, 6 / 2**0.5])]
)
def test_embeddings(combiner: str, first: list[float]) -> None:
    layer = fc.input_layer(_features(), [fc.embedding_column(_words(), 2, combiner=combiner)])
    assert _names() == ["input_layer/word_embedding/embedding_weights"]
    np.testing.assert_allclose(_run(layer), np.array([first, [0, 0], [0, 0]]), rtol=1e-6)


def test_shared_embeddings_have_one_table() -> None:
    both = fc.shared_embedding_columns([_words("dense"), _words("word")], 1, combiner="sum")
    layer = fc.input_layer(_features(), both)
    assert _names() == ["input_layer/dense_word_shared_embedding/embedding_weights"]
    np.testing.assert_array_equal(_run(layer), [[3, 3], [3, 0], [2, 0]])
    named = fc.shared_embedding_columns(
        [_words("dense"), _words("word")], 1, shared_embedding_collection_name="table"
    )
    fc.input_layer(_features(), named)
    assert _names()[-1] == "input_layer_1/table/embedding_weights"


def test_a_table_starts_from_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        saved = tf.Variable([[7.0], [8.0], [9.0]], name="saved")
        sess.run(saved.initializer)
        path = tf.train.Saver([saved]).save(sess, str(tmp_path / "model"))
    column = fc.embedding_column(
        _words("dense"), 1, combiner="sum", ckpt_to_load_from=path, tensor_name_in_ckpt="saved"
    )
    layer = fc.input_layer(_features(), [column])
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        np.testing.assert_array_equal(sess.run(layer), [[15], [9], [8]])


def test_crosses_have_the_hashes_of_the_operation() -> None:
    place = fc.crossed_column(["dense", _words()], 10, hash_key=5)
    assert place.name == "dense_X_word"
    layer = fc.input_layer(_features(), [fc.indicator_column(place)])
    crossed = tf.sparse.cross_hashed(
        [tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([0, 1, -1], tf.int64), [3, 2]),
         _features()["dense"]], 10, 5,
    )  # fmt: skip
    ids = tf.sparse_tensor_to_dense(crossed, -1)
    found, expected = _run([layer, tf.reduce_sum(tf.one_hot(ids, 10), 1)])
    assert found.sum() == 6
    np.testing.assert_array_equal(found, expected)


def test_crosses_have_known_hashes() -> None:
    # What version 2.21 of the original gives.
    features = {
        "w": tf.constant([["a", "b"], ["", "c"]]),
        "v": tf.constant([[1], [2]]),
        "s": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["q", "r", "t"], [2, 2]),
        "n": tf.constant([[-1.0, 0.5], [1.0, 2.0]]),
    }
    number = fc.bucketized_column(fc.numeric_column("n", shape=2), [0.0, 1.0])
    first = fc.crossed_column(["w", "v", number], 10000)
    second = fc.crossed_column([first, "s"], 10000, hash_key=0)  # 0 stands for no key
    layers = [fc.input_layer(features, [fc.indicator_column(one)]) for one in (first, second)]
    found = [np.nonzero(one)[1].tolist() for one in _run(layers)]
    assert found == [
        [4532, 4571, 5346, 5890, 1572, 4116, 5191, 5860],
        [1076, 1464, 2710, 9532, 410, 1024, 1716, 3106, 3198, 4105, 4152, 4394],
    ]


def test_a_linear_model_adds_columns_and_a_bias() -> None:
    pair = fc.numeric_column("pair", shape=[2])
    by_column: dict[Any, Any] = {}
    columns = [pair, _words(), fc.embedding_column(_words("dense"), 1, trainable=False)]
    model = fc.linear_model(_features(), columns, units=2, cols_to_vars=by_column)
    assert [variable.op.name for variable in tf.global_variables()] == [
        "linear_model/dense_embedding/weights",
        "linear_model/dense_embedding/embedding_weights",
        "linear_model/pair/weights",
        "linear_model/word/weights",
        "linear_model/bias_weights",
    ]
    assert "linear_model/dense_embedding/embedding_weights" not in _names()
    assert [one.op.name for one in by_column["bias"]] == ["linear_model/bias_weights"]
    assert [one.op.name for one in by_column[pair]] == ["linear_model/pair/weights"]
    # The mean of rows of the table, the pair times its weights, the rows of the words, the bias.
    table = np.array([1.5, 3.0, 2.0])[:, None] * [1, 2]
    pairs = np.array([[1, 2], [3, 4], [5, 6]]) @ [[1, 2], [3, 4]]
    words = [[1 + 3, 2 + 4], [0, 0], [0, 0]]
    np.testing.assert_allclose(_run(model), table + pairs + words + [1, 2])


def test_second_layers_have_second_names() -> None:
    for _ in range(2):
        fc.linear_model(_features(), [_words()])
        fc.input_layer(_features(), [fc.embedding_column(_words(), 1)])
    assert _names() == [
        "linear_model/word/weights",
        "linear_model/bias_weights",
        "input_layer/word_embedding/embedding_weights",
        "linear_model_1/word_1/weights",
        "linear_model_1/bias_weights",
        "input_layer_1/word_embedding/embedding_weights",
    ]


def test_a_linear_model_learns() -> None:
    features = _features()
    columns = [fc.numeric_column("price", normalizer_fn=lambda x: x / 300.0), _words("dense")]
    loss = tf.reduce_mean(tf.square(fc.linear_model(features, columns) - [[1.0], [2.0], [3.0]]))
    train = tf.train.AdagradOptimizer(0.5).minimize(loss)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        before = sess.run(loss)
        for _ in range(100):
            sess.run(train)
        assert sess.run(loss) < before / 50


def test_examples_are_parsed_as_columns_say() -> None:
    columns = [
        fc.numeric_column("x", default_value=0.5),
        fc.embedding_column(_words(), 1, combiner="sum"),
        fc.weighted_categorical_column(fc.categorical_column_with_identity("id", 4), "weight"),
    ]
    spec = fc.make_parse_example_spec(columns)
    assert fc.make_parse_example_spec(iter(columns)) == spec
    assert spec == {
        "x": tf.FixedLenFeature((1,), tf.float32, (0.5,)),
        "word": tf.VarLenFeature(tf.string),
        "id": tf.VarLenFeature(tf.int64),
        "weight": tf.VarLenFeature(tf.float32),
    }
    example = tf.train.Example()
    example.features.feature["word"].bytes_list.value.extend([b"b", b"c"])
    example.features.feature["id"].int64_list.value.extend([3])
    example.features.feature["weight"].float_list.value.extend([2.0])
    features = tf.parse_example([example.SerializeToString()], spec)
    layer = fc.input_layer(features, [*columns[:2], fc.indicator_column(columns[2])])
    np.testing.assert_array_equal(_run(layer), [[0, 0, 0, 2, 5, 0.5]])


def test_two_columns_may_not_read_a_feature_differently() -> None:
    with pytest.raises(ValueError, match="different parse_spec for key x"):
        fc.make_parse_example_spec([fc.numeric_column("x"), fc.embedding_column(_words("x"), 2)])


def test_steps_have_lengths() -> None:
    heat = fc.sequence_numeric_column("heat", shape=2)
    word = fc.sequence_categorical_column_with_vocabulary_list("word", ["a", "b"])
    features = {
        "heat": tf.SparseTensor(
            [[0, 0], [0, 1], [0, 2], [0, 3], [2, 0], [2, 1]], [1.0, 2, 3, 4, 5, 6], [3, 4]
        ),
        "word": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "b"], [3, 2]),
    }
    columns = [heat, fc.embedding_column(word, 1), fc.indicator_column(word)]
    layer, steps = tf.contrib.feature_column.sequence_input_layer(features, columns)
    assert _names() == ["sequence_input_layer/word_embedding/embedding_weights"]
    found, lengths = _run([layer, steps])
    np.testing.assert_array_equal(lengths, [2, 0, 1])
    np.testing.assert_array_equal(
        found,
        [
            [[1, 2, 1, 1, 0], [3, 4, 2, 0, 1]],
            [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
            [[5, 6, 2, 0, 1], [0, 0, 0, 0, 0]],
        ],
    )
    with pytest.raises(ValueError, match="sequence_input_layer instead of input_layer"):
        fc.input_layer(features, [fc.embedding_column(word, 1)])


def test_a_number_out_of_range_fails_or_has_the_default() -> None:
    features = {"id": tf.constant([[9], [1]])}
    strict = fc.categorical_column_with_identity("id", 2)
    layer = fc.input_layer(features, [fc.indicator_column(strict)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="assert"):
        _run(layer)
    loose = fc.categorical_column_with_identity("id", 2, default_value=0)
    layer = fc.input_layer(features, [fc.indicator_column(loose)])
    np.testing.assert_array_equal(_run(layer), [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fc.numeric_column("x", shape=[0]), "must be greater than 0"),
        (lambda: fc.numeric_column("x", default_value="a"), "compatible with dtype"),
        (lambda: fc.numeric_column("x", [2], [1.0]), "shape of default_value"),
        (lambda: fc.numeric_column("x", dtype=tf.string), "convertible to float"),
        (lambda: fc.bucketized_column(fc.numeric_column("x"), [2, 1]), "sorted list"),
        (lambda: fc.bucketized_column(_words(), [1]), "generated with numeric_column"),
        (lambda: fc.categorical_column_with_hash_bucket("x", 0), "at least 1"),
        (lambda: fc.categorical_column_with_identity("x", 3, 3), "not in range"),
        (lambda: _words(default_value=0, num_oov_buckets=1), "both num_oov_buckets"),
        (lambda: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]), "Duplicate keys"),
        (lambda: fc.categorical_column_with_vocabulary_file("x", "/no/such"), "does not exist"),
        (lambda: fc.crossed_column(["a"], 5), "length > 1"),
        (lambda: fc.embedding_column(_words(), 0), "Invalid dimension 0"),
        (lambda: fc.embedding_column(_words(), 1, ckpt_to_load_from="a"), "Must specify both"),
        (lambda: fc.indicator_column(fc.numeric_column("x")), "categorical_column"),
        (lambda: fc.shared_embedding_columns([_words(), fc.bucketized_column(
            fc.numeric_column("x"), [1, 2])], 2), "same type"),
        (lambda: fc.input_layer(_features(), [_words()]), "must be a _DenseColumn"),
        (lambda: fc.input_layer(_features(), []), "must not be empty"),
        (lambda: fc.input_layer(_features(), [_price(), _price()]), "Duplicate"),
        (lambda: fc.input_layer({}, [fc.numeric_column("price")]), "not in features"),
        (lambda: fc.input_layer({"x": 1.0}, [fc.numeric_column("x")]), "cannot have rank 0"),
        (lambda: fc.linear_model({"x": [[1.0]]}, [_words("x")]), "must be string or integer"),
    ],
)  # fmt: skip
def test_mistakes_are_refused(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_batches_of_two_sizes_are_refused() -> None:
    features = {"a": tf.ones([2, 1]), "b": tf.ones([3, 1])}
    with pytest.raises(ValueError, match=r"Batch size of columns \(a, b\): \(2, 3\)"):
        fc.input_layer(features, [fc.numeric_column("a"), fc.numeric_column("b")])
