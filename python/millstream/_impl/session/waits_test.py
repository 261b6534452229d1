"""A step that waits for what no thread can give fails at once, and no other step does."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import millstream as tf
from millstream._impl.ops import gen_ops
from millstream._impl.protos import text_format
from millstream._impl.session import waits
from millstream._impl.train.queue_runner import _names_used

_IN_VAIN = "the step waits for what nobody can give"


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


@pytest.fixture(autouse=True)
def _alone() -> None:
    """Threads of other tests would be taken for such as may help."""
    running = set(sys._current_frames()) - {threading.get_ident()} - set(waits._known)
    assert not running, threading.enumerate()


def test_an_empty_queue_that_nobody_fills_is_an_error(session: tf.Session) -> None:
    queue = tf.FIFOQueue(3, tf.int32, name="numbers")
    taken = queue.dequeue(name="take")
    with pytest.raises(tf.errors.FailedPreconditionError, match=_IN_VAIN) as caught:
        session.run(taken)
    assert re.search(
        r"node 'take' \(op QueueDequeueV2\), made at \S*waits_test.py", str(caught.value)
    )
    assert "waits for an element of queue 'numbers'" in str(caught.value)
    session.run(queue.enqueue(3))
    assert int(session.run(taken)) == 3


def test_a_full_queue_that_nobody_empties_is_an_error(session: tf.Session) -> None:
    queue = tf.FIFOQueue(1, tf.int32)
    session.run(queue.enqueue(1))
    with pytest.raises(tf.errors.FailedPreconditionError, match="room in queue"):
        session.run(queue.enqueue(2))


def test_a_batch_and_a_mutex_that_nobody_helps_are_errors(session: tf.Session) -> None:
    sizes = {"num_batch_threads": 1, "max_batch_size": 2, "grad_timeout_micros": 0}
    endless = gen_ops.batch([[1.0]], batch_timeout_micros=2**62, **sizes)
    with pytest.raises(tf.errors.FailedPreconditionError, match="more tensors for batcher"):
        session.run(endless.id)
    limited = gen_ops.batch([[1.0]], batch_timeout_micros=10**5, **sizes)
    assert session.run(limited.batched_tensors)[0].tolist() == [1.0]
    mutex = gen_ops.mutex_v2(shared_name="m")
    first = gen_ops.mutex_lock(mutex)
    with tf.control_dependencies([first]):
        second = gen_ops.mutex_lock(mutex)
    with tf.control_dependencies([second]):
        both = gen_ops.consume_mutex_lock(first)
    with pytest.raises(tf.errors.FailedPreconditionError, match="waits for mutex 'm'"):
        session.run(both)
    session.run(gen_ops.consume_mutex_lock(first))


def _barrier_take() -> tf.Tensor:
    """Takes from a barrier, which graphs of other programs have."""
    definition = tf.GraphDef()
    text_format.Parse(
        """
        node { name: "gate" op: "Barrier"
          attr { key: "component_types" value { list { type: DT_FLOAT } } } }
        node { name: "count" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
          attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
        node { name: "take" op: "BarrierTakeMany" input: "gate" input: "count"
          attr { key: "component_types" value { list { type: DT_FLOAT } } } }
        versions { producer: 134 }
        """,
        definition,
    )
    tf.import_graph_def(definition, name="")
    return tf.get_default_graph().get_tensor_by_name("take:0")


def _staged(shared_name: str, **options: int) -> tf.Operation:
    """A full staging area, and an operation that waits for room in it."""
    put = gen_ops.stage([tf.constant(1.0)], shared_name=shared_name, **options)
    session = tf.get_default_session()
    assert session is not None
    session.run(put)
    return put


_WAITS: dict[str, Callable[[], Any]] = {
    "more gradients of accumulator 'sum'": lambda: tf.ConditionalAccumulator(
        tf.float32, [], name="sum"
    ).take_grad(1),
    "more gradients of accumulator 'rows'": lambda: (
        tf.SparseConditionalAccumulator(tf.float32, [2], name="rows")
        .take_indexed_slices_grad(1)
        .values
    ),
    "more elements of barrier 'gate'": _barrier_take,
    "staging area 'none'": lambda: gen_ops.unstage([tf.float32], shared_name="none"),
    "room in staging area 'full'": lambda: _staged("full", capacity=1),
    "staging map 'pairs'": lambda: gen_ops.map_unstage(
        tf.constant(3, tf.int64), [0], [tf.float32], shared_name="pairs"
    ),
    "an element of queue 'works'": lambda: (
        tf.TextLineReader().read(tf.FIFOQueue(3, tf.string, name="works")).value
    ),
}


@pytest.mark.parametrize("wait", _WAITS)
def test_every_kind_of_wait_that_nobody_ends_is_an_error(session: tf.Session, wait: str) -> None:
    waiting = _WAITS[wait]()
    with pytest.raises(tf.errors.FailedPreconditionError, match=_IN_VAIN) as caught:
        session.run(waiting)
    assert wait in str(caught.value)
    assert "waits_test.py:" in str(caught.value)  # the line that made it


def test_a_name_need_not_be_text(session: tf.Session) -> None:
    queue = tf.FIFOQueue(3, tf.int32)
    definition = session.graph.as_graph_def()
    definition.node[0].attr["shared_name"].s = b"\xff"
    with tf.Graph().as_default(), tf.Session() as running:
        imported = tf.import_graph_def(definition, return_elements=["fifo_queue:0"])
        assert imported is not None
        again = tf.QueueBase(queue.dtypes, [], None, imported[0])
        with pytest.raises(tf.errors.FailedPreconditionError, match=_IN_VAIN):
            running.run(again.dequeue())


def test_a_time_limit_is_waited_for(session: tf.Session) -> None:
    queue = tf.FIFOQueue(3, tf.int32)
    with pytest.raises(tf.errors.DeadlineExceededError, match="waits for an element of queue"):
        session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=100))


def _notes_questions(monkeypatch: pytest.MonkeyPatch, asked: threading.Event) -> None:
    """Sets `asked` when it was found that a step may wait."""
    are_in_vain = waits.are_in_vain

    def judge(text: str) -> bool:
        answer = are_in_vain(text)
        asked.set()
        return answer

    monkeypatch.setattr(waits, "are_in_vain", judge)
    waits.report_vain_ones()


def test_another_thread_may_help_later(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = tf.FIFOQueue(3, tf.int32)
    enqueue = queue.enqueue(5)

    asked = threading.Event()

    def help_late() -> None:
        asked.wait()
        session.run(enqueue)

    helper = threading.Thread(target=help_late)
    helper.start()
    _notes_questions(monkeypatch, asked)
    assert int(session.run(queue.dequeue())) == 5
    helper.join()


def test_the_runner_of_a_queue_may_be_slow(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = tf.FIFOQueue(3, tf.int32)
    asked = threading.Event()

    def slow() -> int:
        asked.wait()
        return 6

    number = tf.py_func(slow, [], tf.int64)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(number, tf.int32))])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    _notes_questions(monkeypatch, asked)
    assert int(session.run(queue.dequeue())) == 6
    coord.request_stop()
    coord.join(threads)


def test_a_runner_may_help_with_all_that_its_operation_uses(session: tf.Session) -> None:
    total = tf.ConditionalAccumulator(tf.float32, [], name="total")
    source = tf.FIFOQueue(3, tf.float32, name="source")
    queue = tf.FIFOQueue(3, tf.int32, name="ticks")
    with tf.control_dependencies([total.apply_grad(source.dequeue())]):
        runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    names = _names_used(runner.enqueue_ops[0])
    assert names is not None
    assert names >= {"total", "source", "ticks"}
    session.run(source.enqueue(5.0))
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    assert float(session.run(total.take_grad(1))) == 5.0
    coord.request_stop()
    session.run(source.close())
    coord.join(threads)


def test_a_runner_whose_operation_meets_others_may_help_anyone() -> None:
    queue = tf.FIFOQueue(3, tf.float32)
    total = tf.cluster.all_reduce(tf.constant(1.0), 2, 1, 1, "Add", "Id")
    assert _names_used(queue.enqueue(total)) is None


def test_the_runner_of_another_queue_cannot_help(session: tf.Session) -> None:
    filled = tf.FIFOQueue(3, tf.int32, name="filled")
    empty = tf.FIFOQueue(3, tf.int32, name="empty")
    runner = tf.train.QueueRunner(filled, [filled.enqueue(1)])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    assert int(session.run(filled.dequeue())) == 1
    with pytest.raises(tf.errors.FailedPreconditionError, match="an element of queue 'empty'"):
        session.run(empty.dequeue())
    coord.request_stop()
    coord.join(threads)
