"""Layers: what they compute, the names of their variables, and when variables are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(5)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _started(session: tf.Session) -> None:
    session.run(tf.global_variables_initializer())


def _names(variables: Any) -> list[str]:
    return [variable.op.name for variable in variables]


# ---- Names and sharing ----


def test_layers_without_a_name_are_numbered() -> None:
    x = tf.ones([2, 3])
    outputs = [tf.layers.dense(x, 4) for _ in range(2)]
    with tf.variable_scope("net"):
        outputs.append(tf.layers.dense(outputs[0], 5, activation=tf.nn.relu))
        outputs.append(tf.layers.dense(x, 5, use_bias=False))
    assert _names(tf.global_variables()) == [
        "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
        "net/dense/kernel", "net/dense/bias", "net/dense_1/kernel",
    ]  # fmt: skip
    assert [output.op.name for output in outputs] == [
        "dense/BiasAdd", "dense_1/BiasAdd", "net/dense/Relu", "net/dense_1/MatMul",
    ]  # fmt: skip


def test_a_name_is_shared_by_leave_alone() -> None:
    x = tf.ones([2, 3])
    tf.layers.dense(x, 4, name="fc")
    with pytest.raises(ValueError, match="fc/kernel already exists"):
        tf.layers.dense(x, 4, name="fc")
    again = tf.layers.dense(x, 4, name="fc", reuse=True)
    with tf.variable_scope("", reuse=True):
        tf.layers.dense(x, 4, name="fc")
    assert _names(tf.global_variables()) == ["fc/kernel", "fc/bias"]
    assert again.op.name == "fc_2/BiasAdd"
    with pytest.raises(ValueError, match="does not exist"):
        tf.layers.dense(x, 4, name="other", reuse=True)


def test_a_layer_shares_its_variables_with_its_later_calls(session: tf.Session) -> None:
    layer = tf.layers.Dense(2, name="twice")
    with pytest.raises(ValueError, match="was not called yet"):
        layer.scope_name  # noqa: B018
    x = tf.constant(_RANDOM.randn(3, 4).astype(np.float32))
    one, two = layer(x), layer.apply(2 * x)
    assert _names(layer.variables) == ["twice/kernel", "twice/bias"]
    assert (layer.scope_name, layer.built, layer.dtype) == ("twice", True, "float32")
    assert layer.count_params() == 10
    assert [one.op.name, two.op.name] == ["twice/BiasAdd", "twice/BiasAdd_1"]
    _started(session)
    first, second = session.run([one, two])
    np.testing.assert_allclose(second, 2 * first, rtol=1e-5)
    with pytest.raises(ValueError, match="axis -1 of input shape to have value 4"):
        layer(tf.ones([3, 5]))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="in another graph"):
        layer(tf.ones([3, 4]))


def test_layers_of_a_class_are_numbered_and_scoped() -> None:
    assert [tf.layers.Dense(1).name, tf.layers.Dense(1).name] == ["dense_1", "dense_2"]
    assert tf.layers.MaxPooling2D(2, 2).name == "max_pooling2d_1"
    layer = tf.layers.Dense(1)
    layer(tf.ones([1, 1]))
    assert layer.scope_name == "dense"


class _Affine(tf.layers.Layer):
    """A layer as programs write them."""

    def build(self, input_shape: Any) -> None:
        size = input_shape[-1].value
        self.factor = self.add_variable("factor", [size], initializer=tf.ones_initializer())
        self.offset = self.add_weight(
            "offset", [size], initializer=tf.zeros_initializer(), trainable=False
        )
        super().build(input_shape)

    def call(self, inputs: Any, negate: bool = False) -> Any:
        result = inputs * self.factor + self.offset
        return -result if negate else result


def test_programs_make_layers_of_their_own(session: tf.Session) -> None:
    layer = _Affine(name="own")
    result = layer(tf.constant([[1.0, 2.0]]), negate=True)
    assert _names(layer.trainable_variables) == ["own/factor"]
    assert _names(layer.non_trainable_variables) == ["own/offset"]
    assert _names(tf.trainable_variables()) == ["own/factor"]
    _started(session)
    assert session.run(result).tolist() == [[-1.0, -2.0]]
    frozen = _Affine(trainable=False)
    frozen(tf.ones([1, 2]))
    assert frozen.trainable_weights == []
    assert _names(frozen.weights) == ["private__affine/factor", "private__affine/offset"]
    assert _names(tf.trainable_variables()) == ["own/factor"]


def test_losses_of_variables_and_outputs_are_collected(session: tf.Session) -> None:
    x = tf.constant(_RANDOM.randn(4, 3).astype(np.float32))
    layer = tf.layers.Dense(2, kernel_regularizer=tf.nn.l2_loss, activity_regularizer=tf.reduce_sum)
    output = layer(x)
    layer(x)
    assert len(layer.losses) == 3, "one of the kernel, one of each output"
    assert layer.get_losses_for(None) == layer.losses[:1]
    assert tf.losses.get_regularization_losses() == layer.losses
    _started(session)
    losses, values, kernel = session.run([layer.losses, output, layer.kernel])
    np.testing.assert_allclose(losses[0], (kernel**2).sum() / 2, rtol=1e-5)
    np.testing.assert_allclose(losses[1], values.sum() / 4, rtol=1e-4)


# ---- Values ----


def test_dense_works_along_the_last_dimension(session: tf.Session) -> None:
    x = _RANDOM.randn(2, 3, 4).astype(np.float32)
    fed = tf.placeholder(tf.float32, [None, 3, 4])
    layer = tf.layers.Dense(5, activation=tf.nn.relu, bias_initializer=tf.ones_initializer())
    output = layer(fed)
    assert output.shape.as_list() == [None, 3, 5]
    assert layer.compute_output_shape([7, 4]).as_list() == [7, 5]
    _started(session)
    values, kernel = session.run([output, layer.kernel], {fed: x})
    np.testing.assert_allclose(values, np.maximum(x @ kernel + 1, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_convolutions_are_those_of_nn(padding: str, session: tf.Session) -> None:
    images = tf.constant(_RANDOM.randn(2, 7, 6, 3).astype(np.float32))
    layer = tf.layers.Conv2D(4, (3, 2), strides=2, padding=padding, activation=tf.tanh)
    output = layer(images)
    assert _names(layer.variables) == ["conv2d/kernel", "conv2d/bias"]
    expected = tf.tanh(
        tf.nn.conv2d(images, layer.kernel, strides=[1, 2, 2, 1], padding=padding.upper())
    )
    assert output.shape.as_list() == layer.compute_output_shape(images.shape).as_list()
    sequence = tf.constant(_RANDOM.randn(2, 9, 3).astype(np.float32))
    of_sequence = tf.layers.Conv1D(4, 3, padding=padding, dilation_rate=2)
    row = of_sequence(sequence)
    assert row.shape.as_list() == of_sequence.compute_output_shape([2, 9, 3]).as_list()
    _started(session)
    found, wanted = session.run([output, expected])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    values, kernel, data = session.run([row, of_sequence.kernel, sequence])
    if padding == "valid":
        by_hand = sum(data[:, 2 * k : 2 * k + 5] @ kernel[k] for k in range(3))
        np.testing.assert_allclose(values, by_hand, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_transposed_convolutions_are_those_of_nn(padding: str, session: tf.Session) -> None:
    images = tf.constant(_RANDOM.randn(2, 4, 3, 3).astype(np.float32))
    layer = tf.layers.Conv2DTranspose(5, (3, 2), strides=2, padding=padding, use_bias=False)
    output = layer(images)
    assert _names(layer.variables) == ["conv2d_transpose/kernel"]
    assert layer.kernel.shape.as_list() == [3, 2, 5, 3]
    sizes = [2, 8, 6, 5] if padding == "same" else [2, 9, 6, 5]
    assert output.shape.as_list() == layer.compute_output_shape(images.shape).as_list() == sizes
    fed = tf.placeholder(tf.float32, [None, None, 3, 3])
    again = layer(fed)
    assert again.shape.as_list() == [None, None, *sizes[2:]]
    expected = tf.nn.conv2d_transpose(images, layer.kernel, sizes, 2, padding.upper())
    _started(session)
    found, wanted, data = session.run([output, expected, images])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(session.run(again, {fed: data}), wanted, rtol=1e-5, atol=1e-6)


def test_volumes_are_convolved_and_made_larger(session: tf.Session) -> None:
    x = _RANDOM.randn(2, 3, 4, 5, 2).astype(np.float32)
    first = np.moveaxis(x, -1, 1)
    ones = tf.ones_initializer()
    given: dict[str, Any] = {"kernel_initializer": ones, "bias_initializer": ones}
    for build in (tf.layers.conv3d, tf.layers.conv3d_transpose):
        one = build(x, 3, 2, strides=2, padding="same", **given)
        other = build(first, 3, 2, 2, "same", "channels_first", **given)
        _started(session)
        found, moved = session.run([one, other])
        np.testing.assert_allclose(np.moveaxis(found, -1, 1), moved, rtol=1e-4, atol=1e-5)
    assert _names(tf.global_variables()[:2]) == ["conv3d/kernel", "conv3d/bias"]


def test_separable_convolutions_are_those_of_nn(session: tf.Session) -> None:
    images = tf.constant(_RANDOM.randn(2, 7, 6, 3).astype(np.float32))
    layer = tf.layers.SeparableConv2D(4, 3, strides=2, padding="same", depth_multiplier=2)
    output = layer(images)
    names = ["depthwise_kernel", "pointwise_kernel", "bias"]
    assert _names(layer.variables) == [f"separable_conv2d/{name}" for name in names]
    assert output.op.name == "separable_conv2d/BiasAdd"
    assert output.shape.as_list() == layer.compute_output_shape(images.shape).as_list()
    expected = tf.nn.separable_conv2d(
        images, layer.depthwise_kernel, layer.pointwise_kernel, [1, 2, 2, 1], "SAME"
    )
    # A sequence is an image of one row.
    of_sequence = tf.layers.SeparableConv1D(4, 3, dilation_rate=2)
    row = of_sequence(images[:, 0])
    assert row.shape.as_list() == of_sequence.compute_output_shape([2, 6, 3]).as_list()
    by_image = tf.nn.separable_conv2d(
        images[:, :1],
        of_sequence.depthwise_kernel[tf.newaxis],
        of_sequence.pointwise_kernel[tf.newaxis],
        [1, 1, 1, 1],
        "VALID",
        [1, 2],
    )
    _started(session)
    found, wanted, rows, whole = session.run([output, expected, row, by_image])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rows, whole[:, 0], rtol=1e-5, atol=1e-6)


def test_unknown_channels_are_refused_with_the_layers_name() -> None:
    fed = tf.placeholder(tf.float32, [1, 4, 4, None])
    for layer in (tf.layers.Conv2D, tf.layers.Conv2DTranspose, tf.layers.SeparableConv2D):
        with pytest.raises(ValueError, match=f"`{layer.__name__}` should be defined"):
            layer(3, 2)(fed)


_POOLS = [
    (tf.layers.max_pooling1d, tf.layers.average_pooling1d),
    (tf.layers.max_pooling2d, tf.layers.average_pooling2d),
    (tf.layers.max_pooling3d, tf.layers.average_pooling3d),
]


def test_volumes_are_pooled(session: tf.Session) -> None:
    x = _RANDOM.randn(2, 4, 6, 6, 3).astype(np.float32)
    windows = x.reshape(2, 2, 2, 3, 2, 3, 2, 3)
    found = session.run([pool(x, 2, 2) for pool in _POOLS[2]])
    np.testing.assert_array_equal(found[0], windows.max((2, 4, 6)))
    np.testing.assert_allclose(found[1], windows.mean((2, 4, 6)), rtol=1e-5, atol=1e-6)
    first = np.moveaxis(x, -1, 1)
    moved = session.run([pool(first, 2, 2, "same", "channels_first") for pool in _POOLS[2]])
    for one, other in zip(found, moved, strict=True):
        np.testing.assert_allclose(np.moveaxis(one, -1, 1), other, rtol=1e-6)


@pytest.mark.parametrize("rank", [1, 2])
def test_channels_may_come_first(rank: int, session: tf.Session) -> None:
    x = _RANDOM.randn(2, *[6] * rank, 3).astype(np.float32)
    first = np.moveaxis(x, -1, 1)
    for pool in _POOLS[rank - 1]:
        one = pool(x, 3, 2, padding="same")
        other = pool(first, 3, 2, padding="same", data_format="channels_first")
        found, moved = session.run([one, other])
        np.testing.assert_allclose(np.moveaxis(found, -1, 1), moved, rtol=1e-6)
    convolve = [tf.layers.conv1d, tf.layers.conv2d][rank - 1]
    ones = tf.ones_initializer()
    one = convolve(x, 2, 3, kernel_initializer=ones, bias_initializer=ones)
    other = convolve(
        first, 2, 3, data_format="channels_first", kernel_initializer=ones, bias_initializer=ones
    )
    _started(session)
    found, moved = session.run([one, other])
    np.testing.assert_allclose(np.moveaxis(found, -1, 1), moved, rtol=1e-4, atol=1e-5)


def test_pooling_is_over_windows(session: tf.Session) -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    largest = tf.layers.max_pooling2d(x, 2, 2)
    mean = tf.layers.average_pooling2d(x, [2, 4], [2, 4])
    found = session.run([largest, mean])
    assert found[0].ravel().tolist() == [5, 7, 13, 15]
    assert found[1].ravel().tolist() == [3.5, 11.5]
    layer = tf.layers.MaxPooling2D(3, 2, padding="same")
    assert layer.compute_output_shape([None, 5, None, 3]).as_list() == [None, 3, None, 3]


def test_flatten_keeps_the_batch(session: tf.Session) -> None:
    fed = tf.placeholder(tf.float32, [None, 2, 3])
    flat = tf.layers.flatten(fed)
    assert flat.shape.as_list() == [None, 6]
    for batch in (0, 2):
        x = _RANDOM.randn(batch, 2, 3).astype(np.float32)
        np.testing.assert_array_equal(session.run(flat, {fed: x}), x.reshape(batch, 6))
    unknown = tf.placeholder(tf.float32, [None, None, 3])
    flat = tf.layers.flatten(unknown)
    assert flat.shape.as_list() == [None, None]
    assert session.run(flat, {unknown: np.ones([2, 5, 3])}).shape == (2, 15)
    images = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    first = tf.layers.flatten(np.moveaxis(images, -1, 1), data_format="channels_first")
    np.testing.assert_array_equal(session.run(first), images.reshape(1, 8))


def test_dropout_drops_in_training_alone(session: tf.Session) -> None:
    x = tf.ones([1000])
    training = tf.placeholder_with_default(False, [])
    dropped = tf.layers.dropout(x, 0.25, seed=3, training=training)
    assert session.run(dropped).tolist() == [1.0] * 1000
    found = session.run(dropped, {training: True})
    np.testing.assert_allclose(np.unique(found), [0, 4 / 3], rtol=1e-6)
    assert 150 < (found == 0).sum() < 350
    assert session.run(tf.layers.dropout(x, 0.25, training=False)).tolist() == [1.0] * 1000
    rows = tf.layers.dropout(tf.ones([50, 4]), 0.5, noise_shape=[None, 1], seed=1, training=True)
    values = session.run(rows)
    assert (values == values[:, :1]).all()
    assert 0 < (values[:, 0] == 0).sum() < 50
    with pytest.raises(TypeError, match="training"):
        tf.layers.dropout(x, training="yes")


# ---- Batch normalization ----


@pytest.mark.parametrize("shape", [(8, 3), (4, 3, 3, 2)])
@pytest.mark.parametrize("fed", [False, True])
def test_batch_normalization_learns_the_statistics(
    shape: tuple[int, ...], fed: bool, session: tf.Session
) -> None:
    x = (_RANDOM.randn(*shape) * 3 + 1).astype(np.float32)
    around = tuple(range(len(shape) - 1))
    training: Any = tf.placeholder_with_default(True, []) if fed else True
    layer = tf.layers.BatchNormalization(momentum=0.75, epsilon=0.01)
    output = layer(x, training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert updates == layer.updates
    assert len(updates) == 2
    _started(session)
    mean, variance = x.mean(around), x.var(around)
    values, _ = session.run([output, updates])
    np.testing.assert_allclose(values, (x - mean) / np.sqrt(variance + 0.01), rtol=1e-4, atol=1e-5)
    count = x.size // shape[-1]
    unbiased = variance * count / (count - 1) if len(shape) == 4 else variance
    moving = session.run([layer.moving_mean, layer.moving_variance])
    np.testing.assert_allclose(moving[0], mean / 4, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(moving[1], 0.75 + unbiased / 4, rtol=1e-4)
    kept = layer(x, training=False)
    expected = (x - moving[0]) / np.sqrt(moving[1] + 0.01)
    np.testing.assert_allclose(session.run(kept), expected, rtol=1e-4, atol=1e-5)
    if fed:
        found, _ = session.run([output, updates], {training: False})
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        after = session.run([layer.moving_mean, layer.moving_variance])
        np.testing.assert_array_equal(after, moving)


def _types() -> list[str]:
    return [op.type for op in tf.get_default_graph().get_operations()]


@pytest.mark.parametrize(
    ("arguments", "is_fused"),
    [
        ({}, True),
        ({"axis": 1}, True),
        ({"scale": False, "center": False}, True),
        ({"axis": 2}, False),
        ({"fused": False}, False),
    ],
)
@pytest.mark.parametrize("training", [True, False])
def test_images_are_normalized_by_one_operation(
    arguments: dict[str, Any], is_fused: bool, training: bool, session: tf.Session
) -> None:
    x = _RANDOM.randn(4, 3, 5, 6).astype(np.float32)
    y = tf.layers.batch_normalization(x, training=training, **arguments)
    assert ("FusedBatchNormV3" in _types()) == is_fused
    if is_fused:
        assert y.op.name == "batch_normalization/FusedBatchNormV3"
    _started(session)
    axis = arguments.get("axis", 3)
    around = tuple(i for i in range(4) if i != axis)
    mean, deviation = x.mean(around, keepdims=True), x.std(around, keepdims=True)
    expected = (x - mean) / deviation if training else x
    np.testing.assert_allclose(session.run(y), expected, rtol=1e-2, atol=1e-3)


def test_a_tensor_decides_which_operation_normalizes(session: tf.Session) -> None:
    x = tf.constant(_RANDOM.randn(4, 3, 5, 6).astype(np.float32))
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, training=training, momentum=0.75)
    assert y.op.name == "batch_normalization/cond/Merge"
    graph = tf.get_default_graph()
    for name, is_training in (("FusedBatchNormV3", True), ("FusedBatchNormV3_1", False)):
        operation = graph.get_operation_by_name(f"batch_normalization/cond/{name}")
        assert operation.get_attr("is_training") == is_training
    (slope,) = tf.gradients(tf.reduce_sum(y * x), x)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    mean, variance = tf.global_variables()[2:]
    _started(session)
    images = session.run(x)
    kept, moved, steep, _ = session.run([y, mean, slope, updates], {training: False})
    np.testing.assert_allclose(kept, images / np.sqrt(1.001), rtol=1e-5)
    np.testing.assert_allclose(steep, 2.0 * kept, rtol=1e-5)
    np.testing.assert_array_equal(moved, np.zeros(6))
    session.run(updates, {training: True})
    means, variances = images.mean((0, 1, 2)), images.var((0, 1, 2), ddof=1)
    np.testing.assert_allclose(session.run(mean), 0.25 * means, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(session.run(variance), 0.75 + 0.25 * variances, rtol=1e-4)


def test_a_constant_decides_while_the_graph_is_built(session: tf.Session) -> None:
    x = tf.ones([2, 3])
    assert tf.layers.dropout(x, training=tf.constant(False)).op.name == "dropout/Identity"
    assert tf.layers.dropout(x, training=tf.constant(True)).op.type == "Mul"


@pytest.mark.parametrize("training", [True, False, "fed"])
def test_half_images_have_statistics_in_float32(training: Any, session: tf.Session) -> None:
    x = tf.constant(_RANDOM.randn(4, 3, 5, 6), tf.float16)
    fed = tf.placeholder_with_default(True, []) if training == "fed" else training
    y = tf.layers.batch_normalization(x, training=fed)
    assert y.dtype == tf.float16
    assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float32}
    _started(session)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    found, values, _ = session.run([y, x, updates])
    if training:
        wide = values.astype(np.float32)
        values = (wide - wide.mean((0, 1, 2))) / wide.std((0, 1, 2))
    np.testing.assert_allclose(found, values, rtol=1e-2, atol=4e-3)


def test_features_may_be_in_any_dimension(session: tf.Session) -> None:
    x = _RANDOM.randn(4, 3, 5).astype(np.float32)
    one = tf.layers.batch_normalization(x, axis=1, training=True)
    other = tf.layers.batch_normalization(np.moveaxis(x, 1, -1), training=True, scale=False)
    _started(session)
    found, moved = session.run([one, other])
    np.testing.assert_allclose(np.moveaxis(found, 1, -1), moved, rtol=1e-4, atol=1e-5)
    assert _names(tf.trainable_variables()) == [
        "batch_normalization/gamma", "batch_normalization/beta", "batch_normalization_1/beta",
    ]  # fmt: skip


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_fused_batch_norm_gives_unbiased_variances(data_format: str, session: tf.Session) -> None:
    x = _RANDOM.randn(2, 3, 4, 5).astype(np.float32)
    axis = data_format.index("C")
    around = tuple(i for i in range(4) if i != axis)
    size = x.shape[axis]
    scale, offset = _RANDOM.rand(2, size).astype(np.float32)
    y, mean, variance = session.run(
        tf.nn.fused_batch_norm(x, scale, offset, data_format=data_format)
    )
    np.testing.assert_allclose(mean, x.mean(around), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance, x.var(around, ddof=1), rtol=1e-4)
    shape = [-1 if i == axis else 1 for i in range(4)]
    by_hand = (x - mean.reshape(shape)) / np.sqrt(x.var(around).reshape(shape) + 0.001)
    by_hand = by_hand * scale.reshape(shape) + offset.reshape(shape)
    np.testing.assert_allclose(y, by_hand, rtol=1e-4, atol=1e-5)
    kept = tf.nn.fused_batch_norm(
        x, scale, offset, mean, variance, data_format=data_format, is_training=False
    )
    np.testing.assert_array_equal(session.run(kept[1:]), [mean, variance])
    with pytest.raises(ValueError, match="mean and variance"):
        tf.nn.fused_batch_norm(x, scale, offset, is_training=False)


# ---- Bad input ----


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.layers.dense(tf.ones([3]), 2), "expected min_ndim=2, found ndim=1"),
        (lambda: tf.layers.dense(tf.placeholder(tf.float32), 2), "requires a defined rank"),
        (
            lambda: tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2),
            "dimension -1 of the inputs to `Dense` should be defined",
        ),
        (lambda: tf.layers.conv2d(tf.ones([2, 3, 3]), 2, 1), "expected ndim=4, found ndim=3"),
        (
            lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [1, 3, 3, None]), 2, 1),
            "of the inputs to `Conv2D` should be defined",
        ),
        (
            lambda: tf.layers.conv2d(tf.ones([1, 3, 3, 1]), 2, (1, 2, 3)),
            "`kernel_size` argument must be a tuple of 2 positive integers",
        ),
        (
            lambda: tf.layers.max_pooling2d(tf.ones([1, 3, 3, 1]), 0, 1),
            "`pool_size` argument must be a tuple of 2 positive integers",
        ),
        (
            lambda: tf.layers.conv1d(tf.ones([1, 3, 3]), 2, 1, padding="full"),
            "padding: expected 'same' or 'valid', got 'full'",
        ),
        (
            lambda: tf.layers.flatten(tf.ones([1, 3]), data_format="NHWC"),
            "data_format: expected 'channels_first' or 'channels_last'",
        ),
        (
            lambda: tf.layers.batch_normalization(tf.placeholder(tf.float32)),
            "undefined rank",
        ),
        (lambda: tf.layers.batch_normalization(tf.ones([2, 3]), axis=2), "axis: expected one in"),
        (lambda: tf.layers.Dense(2).count_params(), "has no variables yet"),
    ],
)
def test_what_a_layer_does_not_take_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_an_input_spec_names_what_differs() -> None:
    x = tf.ones([2, 3], tf.float64)
    for spec, words in (
        (tf.layers.InputSpec(dtype=tf.float32), "expected dtype=float32, found float64"),
        (tf.layers.InputSpec(max_ndim=1), "expected max_ndim=1, found ndim=2"),
        (tf.layers.InputSpec(shape=[2, 4]), "expected shape="),
    ):
        layer = tf.layers.Layer()
        layer.input_spec = spec
        with pytest.raises(ValueError, match=words):
            layer(x)
    with pytest.raises(TypeError, match="no argument 'units'"):
        tf.layers.Layer(units=3)


def test_layers_of_keras_style_share_nothing_by_name() -> None:
    x = tf.ones([2, 3])
    with tf.layers.experimental.keras_style_scope():
        first, second = tf.layers.Dense(2, name="d"), tf.layers.Dense(2, name="d")
        cell = tf.nn.rnn_cell.BasicRNNCell(4, name="c")
    outside = tf.layers.Dense(2)
    with tf.variable_scope("net"):
        first(x)
        first(x)
        second(x)
        cell(x, tf.zeros([2, 4]))
        outside(x)
    assert [each.name for each in first.variables] == ["net/d/kernel:0", "net/d/bias:0"]
    assert [each.name for each in second.variables] == ["net/d_2/kernel:0", "net/d_2/bias:0"]
    assert outside.kernel.name == "net/dense/kernel:0"
    assert len(cell.trainable_variables) == 2
    assert len(tf.trainable_variables()) == 8
    with pytest.raises(ValueError, match="scope_name"):
        _ = first.scope_name


def test_layers_of_keras_style_take_no_scope() -> None:
    x = tf.ones([2, 3])
    with tf.layers.experimental.keras_style_scope():
        tf.layers.dense(x, 2)
        tf.layers.dense(x, 2)
        with pytest.raises(ValueError, match="`reuse` argument not allowed when keras style"):
            tf.layers.dense(x, 2, reuse=True)
        with pytest.raises(ValueError, match="`scope` argument not allowed when keras style"):
            tf.layers.dense(x, 2, name="named")
    tf.layers.dense(x, 2, name="named")
    assert len(tf.trainable_variables()) == 6


def test_losses_of_keras_style_are_the_layers() -> None:
    with tf.layers.experimental.keras_style_scope():
        layer = tf.layers.Dense(2, kernel_regularizer=lambda kernel: tf.reduce_sum(kernel**2))
    layer(tf.ones([2, 3]))
    assert layer.losses == tf.losses.get_regularization_losses()
    assert len(layer.losses) == 1


def test_the_values_of_the_variables_are_read_and_written() -> None:
    layer = tf.layers.Dense(2, name="d")
    outputs = layer(tf.ones([1, 3]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel, bias = layer.get_weights()
        assert kernel.shape == (3, 2)
        layer.set_weights([np.ones([3, 2]), [0.5, -0.5]])
        assert session.run(outputs).tolist() == [[3.5, 2.5]]
        np.testing.assert_array_equal(layer.get_weights()[1], [0.5, -0.5])
        with pytest.raises(ValueError, match="length 1, but the layer was expecting 2 weights"):
            layer.set_weights([bias])
        with pytest.raises(ValueError, match=r"shape .*3.* not compatible with .*\(2, 2\)"):
            layer.set_weights([np.ones([2, 2]), bias])
