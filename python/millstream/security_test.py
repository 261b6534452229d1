"""What a program may forbid graphs to do (docs/security.md)."""

from __future__ import annotations

import pytest

import millstream as tf


def _graph_def() -> tf.GraphDef:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.add(tf.negative(x, name="minus"), 1.0, name="y")
    return graph.as_graph_def()


def test_import_of_a_forbidden_op_is_refused_and_adds_nothing() -> None:
    config = tf.ConfigProto(forbidden_ops=["files", "Neg"])
    with tf.Graph().as_default() as graph:
        with pytest.raises(tf.errors.PermissionDeniedError) as caught:
            tf.import_graph_def(_graph_def(), name="", config=config)
        assert "node 'minus' (op Neg)" in str(caught.value)
        assert 'forbidden by ConfigProto.forbidden_ops ("Neg")' in str(caught.value)
        assert graph.get_operations() == []
        tf.import_graph_def(_graph_def(), name="", config=tf.ConfigProto(forbidden_ops=["files"]))
        assert len(graph.get_operations()) > 0


def test_a_step_with_a_forbidden_op_is_refused() -> None:
    with tf.Graph().as_default():
        elements = tf.import_graph_def(_graph_def(), return_elements=["y:0"], name="")
        assert elements is not None
        (y,) = elements
        with tf.Session(config=tf.ConfigProto(forbidden_ops=["Neg"])) as session:
            with pytest.raises(tf.errors.PermissionDeniedError) as caught:
                session.run(y, {"x:0": 1.0})
            assert caught.value.op.name == "minus"
            assert session.run(y, {"minus:0": 3.0}) == 4.0
            with pytest.raises(tf.errors.PermissionDeniedError):
                session.make_callable(y, ["x:0"])


def test_an_entry_that_forbids_nothing_is_refused() -> None:
    config = tf.ConfigProto(forbidden_ops=["file"])
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match='got "file"'):
            tf.Session(config=config)
        with pytest.raises(ValueError, match='got "file"'):
            tf.import_graph_def(_graph_def(), config=config)


@pytest.mark.parametrize("word", ["Files", "NETWORK", "Plugins"])
def test_a_word_in_capital_letters_is_refused(word: str) -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(tf.errors.InvalidArgumentError, match=f'got "{word}"'),
    ):
        tf.Session(config=tf.ConfigProto(forbidden_ops=[word]))


def _field(number: int, data: bytes) -> bytes:
    assert len(data) < 1 << 14
    return bytes([number << 3 | 2, len(data) & 127 | 128, len(data) >> 7]) + data


def _nested_functions(depth: int) -> bytes:
    """A GraphDef of a node with an attribute that names a function with such an attribute, ..."""
    value = b""
    for _ in range(depth):
        value = _field(10, _field(1, b"f") + _field(2, _field(1, b"a") + _field(2, value)))
    attr = _field(1, b"_a") + _field(2, value)
    return _field(1, _field(1, b"x") + _field(2, b"NoOp") + _field(5, attr))


def _node(op: str, *attrs: str) -> bytes:
    texts = "".join(f"attr {{ {attr} }} " for attr in attrs)
    message = tf.GraphDef.from_text(f'node {{ name: "x" op: "{op}" {texts} }}')
    data: bytes = message.SerializeToString()
    return data


_FLOAT = 'key: "dtype" value { type: DT_FLOAT }'


def _constant(size: int) -> bytes:
    shape = f"tensor_shape {{ dim {{ size: {size} }} }}"
    tensor = f'key: "value" value {{ tensor {{ dtype: DT_FLOAT float_val: 1 {shape} }} }}'
    return _node("Const", _FLOAT, tensor)


# As docs/security.md says.
@pytest.mark.parametrize(
    ("graph_def", "expected", "message"),
    [
        (b"\x0a\xff", ValueError, "cut off"),
        (_node("Placeholder"), ValueError, "missing attribute"),
        (_node("ThereIsNone"), tf.errors.NotFoundError, "unknown op: ThereIsNone"),
        (_node("NoOp"), tf.errors.PermissionDeniedError, "forbidden"),
        (_nested_functions(120), ValueError, "bytes"),
        (b"\x0a\x00" * 500_000, tf.errors.ResourceExhaustedError, "nearly empty parts"),
        (_constant(1 << 30), ValueError, "at most 2147483648 bytes"),
        (
            _node(
                "Split",
                'key: "T" value { type: DT_FLOAT }',
                'key: "num_split" value { i: 1048577 }',
            ),
            ValueError,
            r"in \[0, 1048576\]",
        ),
        (
            _node(
                "Placeholder",
                _FLOAT,
                f'key: "shape" value {{ shape {{ {"dim { size: 1 } " * 33} }} }}',
            ),
            ValueError,
            "at most 32 dimensions",
        ),
    ],
)
def test_the_error_of_a_graph_that_cannot_be_taken(
    graph_def: bytes, expected: type[Exception], message: str
) -> None:
    config = tf.ConfigProto(forbidden_ops=["NoOp"], max_import_expansion=-1)
    with tf.Graph().as_default() as graph:
        with pytest.raises(expected, match=message) as caught:
            tf.import_graph_def(graph_def, config=config)
        assert caught.type is expected
        assert graph.get_operations() == []


def test_the_error_of_a_parser_has_a_public_name() -> None:
    with pytest.raises(tf.protos.message.DecodeError, match="no GraphDef"):
        tf.GraphDef.FromString(b"\x0a\xff")
    with pytest.raises(tf.protos.message.DecodeError, match="the text of a GraphDef"):
        tf.GraphDef.from_text("node {")


def test_a_config_must_be_one() -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(TypeError, match=r"config: expected a tf\.ConfigProto"),
    ):
        tf.import_graph_def(_graph_def(), config={"forbidden_ops": ["files"]})


def test_constants_far_larger_than_their_graph_need_permission() -> None:
    text = """node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
        attr { key: "value" value { tensor { dtype: DT_FLOAT float_val: 1
        tensor_shape { dim { size: 4096 } dim { size: 4096 } } } } } }"""
    graph_def = tf.GraphDef.from_text(text)
    with tf.Graph().as_default() as graph:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="max_import_expansion"):
            tf.import_graph_def(graph_def, name="")
        assert graph.get_operations() == []
        tf.import_graph_def(graph_def, name="", config=tf.ConfigProto(max_import_expansion=-1))
        assert graph.get_tensor_by_name("c:0").shape == [4096, 4096]
