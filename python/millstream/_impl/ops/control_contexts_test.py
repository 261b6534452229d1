"""What exports of graphs say of conditionals and loops."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf
from millstream._impl import protos


@pytest.fixture(autouse=True)
def graph() -> Any:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def _contexts(key: str, meta: Any = None, **arguments: Any) -> list[Any]:
    message = tf.train.export_meta_graph(**arguments) if meta is None else meta
    name = "WhileContextDef" if key == "while_context" else "CondContextDef"
    kind = protos.message_class(name)
    return [kind.FromString(data) for data in message.collection_def[key].bytes_list.value]


def _loop() -> Any:
    limit = tf.constant(3.0, name="limit")
    return tf.while_loop(lambda x: x < limit, lambda x: x * 2.0, [tf.constant(1.0)])


def test_a_loop_tells_its_tensors() -> None:
    _loop()
    [context] = _contexts("while_context")
    assert context.context_name == "while/while_context"
    assert (context.parallel_iterations, context.back_prop) == (10, True)
    assert context.pivot_name == "while/LoopCond:0"
    assert context.pivot_for_pred_name == "while/Merge:0"
    assert context.pivot_for_body_name == "while/Identity:0"
    assert list(context.loop_enter_names) == ["while/Enter:0"]
    assert list(context.loop_exit_names) == ["while/Exit:0"]
    external = dict(context.values_def.external_values)
    assert list(external) == ["limit:0"]
    assert {"limit:0", external["limit:0"], "while/Exit:0", "while/Switch:1"} <= set(
        context.values_def.values
    )


def test_a_conditional_tells_both_branches() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.cond(x > 0.0, lambda: x + 1.0, lambda: x * 2.0)
    first, second = _contexts("cond_context")
    assert [each.branch for each in (first, second)] == [1, 0]
    assert [each.context_name for each in (first, second)] == ["cond/cond_text", "cond/cond_text_1"]
    for each, pivot in ((first, "cond/switch_t:0"), (second, "cond/switch_f:0")):
        assert (each.pred_name, each.pivot_name) == ("cond/pred_id:0", pivot)
        assert set(each.values_def.external_values) == {"x:0", "cond/pred_id:0"}
    assert "cond/add:0" in first.values_def.values
    assert "cond/add:0" not in second.values_def.values


def test_what_is_nested_is_told_by_what_is_around_it() -> None:
    def body(x: Any) -> Any:
        return tf.cond(x > 1.0, lambda: x * 2.0, lambda: tf.while_loop(
            lambda y: y < 2.0, lambda y: y + 1.0, [x], name="inner"
        ))  # fmt: skip

    tf.while_loop(lambda x: x < 9.0, body, [tf.constant(1.0)], name="outer")
    [outer] = _contexts("while_context")
    assert not _contexts("cond_context")
    first, second = (nested.cond_ctxt for nested in outer.nested_contexts)
    assert not first.nested_contexts
    [inner] = second.nested_contexts
    assert inner.while_ctxt.pivot_name == "outer/cond/inner/LoopCond:0"
    assert "outer/cond/inner/LoopCond:0" in inner.while_ctxt.values_def.values
    assert "outer/cond/inner/LoopCond:0" not in second.values_def.values
    assert "outer/cond/inner/LoopCond:0" not in outer.values_def.values


def test_contexts_are_imported_and_exported_again() -> None:
    _loop()
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        assert _contexts("while_context") == _contexts("while_context", meta)
        exit_ = tf.get_default_graph().get_tensor_by_name("while/Exit:0")
        start = tf.get_default_graph().get_tensor_by_name("Const:0")
        slope = tf.gradients(exit_, start)[0]
        with tf.Session() as session:
            assert session.run(slope) == 4.0


def test_scopes_are_added_and_left_out() -> None:
    with tf.name_scope("a"):
        tf.while_loop(lambda x: x < 3.0, lambda x: x * 2.0, [tf.constant(1.0)])
    [inside] = _contexts("while_context", export_scope="a")
    assert inside.pivot_name == "while/LoopCond:0"
    assert not _contexts("while_context", export_scope="b")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope="again")
        [context] = _contexts("while_context")
    assert context.pivot_name == "again/a/while/LoopCond:0"
    # Its nodes have the frame under this name.
    assert context.context_name == "a/while/while_context"
