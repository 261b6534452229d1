"""Functions and gradients of batches: what steps that run at the same time get of each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops
from millstream._impl.protos import text_format

_HOUR = 3600 * 10**6


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def _together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What calls return, or the OpError that they raise, each on a thread of its own."""
    results: list[Any] = [None] * len(calls)

    def call(i: int) -> None:
        try:
            results[i] = calls[i]()
        except tf.errors.OpError as error:
            results[i] = error

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _fed(session: tf.Session, fetch: Any, x: Any, values: Sequence[Any]) -> list[Any]:
    """The fetch for each of the values, in steps that run at the same time."""
    return _together([partial(session.run, fetch, {x: value}) for value in values])


def test_steps_are_computed_together(session: tf.Session) -> None:
    sizes: list[int] = []

    @tf.nondifferentiable_batch_function(1, 3, _HOUR)
    def noted(x: Any) -> Any:
        def note(values: Any) -> Any:
            sizes.append(len(values))
            return values * np.float32(2)

        return tf.py_func(note, [x], tf.float32)

    x = tf.placeholder(tf.float32, [None])
    found = _fed(session, noted(x), x, [[1.0], [2.0, 3.0]])
    assert [result.tolist() for result in found] == [[2.0], [4.0, 6.0]]
    assert sizes == [3]


def test_results_have_the_structure_of_the_function(session: tf.Session) -> None:
    scale = tf.Variable(3.0, use_resource=True)

    @tf.nondifferentiable_batch_function(1, 8, 0, allowed_batch_sizes=[4, 8])
    def both(x: Any, y: Any) -> Any:
        """Some products."""
        return {"x": x * scale, "rest": (tf.reduce_sum(y, 1), tf.as_string(y))}

    assert both.__doc__ == "Some products."
    x, y = tf.constant([1.0, 2.0]), tf.constant([[1, 2], [3, 4]])
    result = both(x, y)
    assert result["x"].shape.as_list() == [None]
    assert result["rest"][1].shape.as_list() == [None, 2]
    session.run(scale.initializer)
    found = session.run(result)
    assert found["x"].tolist() == [3.0, 6.0]
    assert found["rest"][0].tolist() == [3, 7]
    assert found["rest"][1].tolist() == [[b"1", b"2"], [b"3", b"4"]]


def test_what_a_batched_function_refuses() -> None:
    decorate = tf.nondifferentiable_batch_function(1, 2, 0)
    with pytest.raises(ValueError, match="supposed to be Tensors; found 1"):
        decorate(lambda x: x)(1)
    with pytest.raises(ValueError, match="at least one argument"):
        decorate(lambda: None)()
    with pytest.raises(ValueError, match="at least one tensor"):
        decorate(lambda x: [])(tf.constant([1.0]))
    x = tf.constant([1.0])
    with pytest.raises(LookupError, match="PreventGradient"):
        tf.gradients(decorate(lambda x: x * 2.0)(x), x)


def test_the_others_hear_that_the_computation_failed(session: tf.Session) -> None:
    @tf.nondifferentiable_batch_function(1, 2, _HOUR)
    def failing(x: Any) -> Any:
        def fail(values: Any) -> Any:
            raise ValueError(f"cannot take {len(values)} rows")

        return tf.py_func(fail, [x], tf.float32)

    x = tf.placeholder(tf.float32, [None])
    found = _fed(session, failing(x), x, [[1.0], [2.0]])
    assert {type(error) for error in found} == {
        tf.errors.InvalidArgumentError,
        tf.errors.AbortedError,
    }


def test_many_steps_get_their_own_rows(session: tf.Session) -> None:
    running: list[int] = []
    most: list[int] = []

    @tf.nondifferentiable_batch_function(2, 5, 300, max_enqueued_batches=1000)
    def computed(x: Any) -> Any:
        def note(values: Any) -> Any:
            running.append(1)
            most.append(len(running))
            running.pop()
            return values + np.float32(1)

        return tf.py_func(note, [x], tf.float32)

    x = tf.placeholder(tf.float32, [None])
    result = computed(x)

    def steps(seed: int) -> bool:
        random = np.random.RandomState(seed)
        for _ in range(20):
            values = random.uniform(size=random.randint(1, 4)).astype(np.float32)
            if session.run(result, {x: values}).tolist() != (values + np.float32(1)).tolist():
                return False
        return True

    assert _together([partial(steps, seed) for seed in range(6)]) == [True] * 6
    assert max(most) <= 2


def test_gradients_go_to_their_steps(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [None])
    batch = gen_ops.batch(
        [x],
        num_batch_threads=1,
        max_batch_size=3,
        batch_timeout_micros=_HOUR,
        grad_timeout_micros=_HOUR,
    )
    squares = gen_ops.square(batch.batched_tensors[0])
    own = gen_ops.unbatch(squares, batch.batch_index, batch.id, _HOUR)
    gradient = tf.gradients(own * own, x)[0]
    found = _fed(session, gradient, x, [[1.0], [2.0, 3.0]])
    assert [result.tolist() for result in found] == [[4.0], [32.0, 108.0]]


# ---- Functions of imported graphs ----


def _attr(name: str, value: str) -> str:
    return f'attr {{ key: "{name}" value {{ {value} }} }}'


_LIBRARY = """
library { function {
  signature {
    name: "scaled"
    input_arg { name: "x" type: DT_FLOAT } input_arg { name: "c" type: DT_FLOAT }
    output_arg { name: "product" type: DT_FLOAT } output_arg { name: "rows" type: DT_FLOAT }
  }
  node_def { name: "y" op: "Mul" input: "x" input: "c"
    attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "size" op: "Size" input: "x"
    attr { key: "T" value { type: DT_FLOAT } } attr { key: "out_type" value { type: DT_INT32 } } }
  node_def { name: "cast" op: "Cast" input: "size:output:0"
    attr { key: "SrcT" value { type: DT_INT32 } } attr { key: "DstT" value { type: DT_FLOAT } } }
  node_def { name: "zeros" op: "ZerosLike" input: "x"
    attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "all" op: "AddV2" input: "zeros:y:0" input: "cast:y:0"
    attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "product" value: "y:z:0" } ret { key: "rows" value: "all:z:0" }
} }
"""


def _imported_call() -> tuple[Any, Any, Any, Any]:
    """A call of a function of x and c: the two, x * c, and for each row the rows of the batch."""
    text = ""
    for name, shape in (("x", "dim { size: -1 }"), ("c", "")):
        attrs = _attr("dtype", "type: DT_FLOAT") + _attr("shape", f"shape {{ {shape} }}")
        text += f'node {{ name: "{name}" op: "Placeholder" {attrs} }}\n'
    attrs = _attr("Tin", "list { type: DT_FLOAT }") + _attr("Tcaptured", "list { type: DT_FLOAT }")
    attrs += _attr("Tout", "list { type: DT_FLOAT type: DT_FLOAT }")
    attrs += _attr("f", 'func { name: "scaled" }')
    for name, number in (
        *(("num_batch_threads", 1), ("max_batch_size", 3)),
        ("batch_timeout_micros", _HOUR),
    ):
        attrs += _attr(name, f"i: {number}")
    text += f'node {{ name: "call" op: "BatchFunction" input: "x" input: "c" {attrs} }}'
    definition = text_format.Parse(text + _LIBRARY, tf.GraphDef())
    found = tf.import_graph_def(
        definition, return_elements=["x:0", "c:0", "call:0", "call:1"], name=""
    )
    assert found is not None
    x, c, product, rows = found
    return x, c, product, rows


def test_an_imported_function_is_called_once_a_batch(session: tf.Session) -> None:
    x, c, product, rows = _imported_call()
    found = _together(
        [
            partial(session.run, [product, rows], {x: values, c: 10.0})
            for values in ([1.0], [2.0, 3.0])
        ]
    )
    assert [[part.tolist() for part in parts] for parts in found] == [
        [[10.0], [3.0]],
        [[20.0, 30.0], [3.0, 3.0]],
    ]


def test_an_imported_function_is_exported_as_it_came() -> None:
    _imported_call()
    exported = tf.get_default_graph().as_graph_def()
    assert [node.op for node in exported.node] == ["Placeholder", "Placeholder", "BatchFunction"]
    assert exported.library.function[0].signature.name == "scaled"
