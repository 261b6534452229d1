"""Queues: what goes in comes out, in order, and waiting ends as it should."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def test_elements_come_out_in_order() -> None:
    queue = tf.FIFOQueue(10, tf.float32)
    for value in (1.0, 2.0):
        queue.enqueue(value).run()
    taken = queue.dequeue()
    assert [float(taken.eval()), float(taken.eval())] == [1.0, 2.0]
    assert int(queue.size().eval()) == 0


def test_elements_of_several_components_are_lists(session: tf.Session) -> None:
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[2], []])
    queue.enqueue(([1, 2], "a")).run()
    queue.enqueue_many(([[3, 4], [5, 6]], ["b", "c"])).run()
    numbers, text = queue.dequeue()
    assert numbers.shape.as_list() == [2]
    assert text.shape.as_list() == []
    assert (numbers.eval().tolist()) == [1, 2]
    many = queue.dequeue_many(2)
    assert [one.shape.as_list() for one in many] == [[2, 2], [2]]
    rows, texts = session.run(many)
    assert rows.tolist() == [[3, 4], [5, 6]]
    assert texts.tolist() == [b"b", b"c"]


def test_elements_of_a_queue_with_names_are_dictionaries(session: tf.Session) -> None:
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], names=["i", "f"], shapes=[(), ()])
    queue.enqueue({"i": 1, "f": 2.5}).run()
    taken = session.run(queue.dequeue())
    assert taken == {"i": 1, "f": 2.5}
    assert queue.names == ["i", "f"]
    with pytest.raises(ValueError, match="must enqueue a dictionary in a Queue with names"):
        queue.enqueue([1, 2.5])
    with pytest.raises(ValueError, match="do not match names of Queue"):
        queue.enqueue({"i": 1})


def test_one_shape_may_stand_without_a_list() -> None:
    assert tf.FIFOQueue(1, tf.int32, shapes=[2, 3]).shapes == [tf.TensorShape([2, 3])]
    assert tf.FIFOQueue(1, tf.int32).shapes[0].ndims is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtypes": [tf.int32, tf.int32], "shapes": [[1]]}, "expected 2 shapes"),
        ({"dtypes": [tf.int32], "shapes": [[None]]}, "known in full"),
        ({"dtypes": [tf.int32], "names": ["a", "b"]}, "expected 1 names"),
    ],
)
def test_a_queue_that_contradicts_itself_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.FIFOQueue(1, **arguments)


def test_components_that_are_not_the_queues_are_refused() -> None:
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[[2]])
    with pytest.raises(ValueError, match="expected 1 components, got 2"):
        queue.enqueue([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue([[1, 2, 3]])
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue_many([[[1], [2]]])
    with pytest.raises(ValueError, match="made with shapes"):
        tf.FIFOQueue(1, tf.int32).dequeue_many(1)


def test_a_closed_queue_gives_what_it_has() -> None:
    queue = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    queue.enqueue_many([[1, 2, 3]]).run()
    assert not queue.is_closed().eval()
    queue.close().run()
    assert queue.is_closed().eval()
    assert queue.dequeue_many(2).eval().tolist() == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 2, current size 1"):
        queue.dequeue_many(2).eval()
    assert int(queue.dequeue().eval()) == 3
    with pytest.raises(
        tf.errors.OutOfRangeError,
        match=r"FIFOQueue '_\d+_fifo_queue' is closed and has insufficient elements",
    ):
        queue.dequeue().eval()
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        queue.enqueue(4).run()


def test_closing_may_cancel_what_waits(session: tf.Session) -> None:
    queue = tf.FIFOQueue(1, [tf.int32])
    queue.enqueue(1).run()
    waiting = queue.enqueue(2)
    close = queue.close(cancel_pending_enqueues=True)
    caught: list[Exception] = []

    def produce() -> None:
        try:
            session.run(waiting)
        except tf.errors.OpError as error:
            caught.append(error)

    producer = threading.Thread(target=produce)
    producer.start()
    close.run()
    producer.join()
    assert [type(error) for error in caught] == [tf.errors.CancelledError]
    assert int(queue.dequeue().eval()) == 1


def test_a_producer_and_a_consumer_run_side_by_side(session: tf.Session) -> None:
    count = 50
    queue = tf.FIFOQueue(2, [tf.int32], shapes=[()])
    value = tf.placeholder(tf.int32, [])
    enqueue, taken, close = queue.enqueue(value), queue.dequeue(), queue.close()

    def produce() -> None:
        for i in range(count):
            session.run(enqueue, {value: i})
        session.run(close)

    producer = threading.Thread(target=produce)
    producer.start()
    found = [int(session.run(taken)) for _ in range(count)]
    producer.join()
    assert found == list(range(count))
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(taken)


def test_a_time_limit_ends_a_step_that_waits(session: tf.Session) -> None:
    queue = tf.FIFOQueue(1, tf.int32)
    with pytest.raises(tf.errors.DeadlineExceededError, match="took longer"):
        session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50))


def test_queues_of_one_shared_name_are_one() -> None:
    first = tf.FIFOQueue(5, tf.int32, shared_name="q")
    second = tf.FIFOQueue(5, tf.int32, shared_name="q")
    first.enqueue(3).run()
    assert int(second.dequeue().eval()) == 3


def test_a_queue_survives_export_and_import(session: tf.Session) -> None:
    queue = tf.FIFOQueue(5, [tf.float32], shapes=[[2]], name="q")
    queue.enqueue([[1.0, 2.0]], name="put")
    queue.dequeue(name="take")
    definition = session.graph.as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as running:
        tf.import_graph_def(definition, name="")
        running.run(graph.get_operation_by_name("put"))
        assert running.run("take:0").tolist() == [1.0, 2.0]


def test_up_to_takes_what_a_closed_queue_still_has() -> None:
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[2]])
    queue.enqueue_many([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]).run()
    queue.close().run()
    taken = queue.dequeue_up_to(2)
    assert taken.shape.as_list() == [None, 2]
    assert taken.eval().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert taken.eval().tolist() == [[5.0, 6.0]]
    with pytest.raises(tf.errors.OutOfRangeError):
        taken.eval()
    with pytest.raises(ValueError, match="dequeue_up_to needs a queue that was made with shapes"):
        tf.FIFOQueue(1, tf.int32).dequeue_up_to(1)


def test_a_padding_queue_fills_up_its_batches() -> None:
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None, 2], []])
    queue.enqueue(([[1, 1]], "a")).run()
    queue.enqueue(([[2, 2], [2, 2]], "b")).run()
    numbers, _ = queue.dequeue_many(2)
    assert numbers.shape.as_list() == [2, None, 2]
    assert numbers.eval().tolist() == [[[1, 1], [0, 0]], [[2, 2], [2, 2]]]
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue(([[1]], "a"))
    with pytest.raises(ValueError, match="known rank"):
        tf.PaddingFIFOQueue(1, [tf.int32], shapes=[tf.TensorShape(None)])
    with pytest.raises(ValueError, match="a shape for each of 1 dtypes"):
        tf.PaddingFIFOQueue(1, [tf.int32], shapes=None)


def test_a_priority_queue_gives_the_smallest_first(session: tf.Session) -> None:
    queue = tf.PriorityQueue(10, [tf.string], [[]], names=["when", "what"])
    assert queue.dtypes == [tf.int64, tf.string]
    for when, what in ((5, "later"), (1, "soon"), (3, "next")):
        queue.enqueue({"when": when, "what": what}).run()
    found = [session.run(queue.dequeue()) for _ in range(3)]
    assert [(int(one["when"]), one["what"]) for one in found] == [
        (1, b"soon"), (3, b"next"), (5, b"later"),
    ]  # fmt: skip


def test_a_priority_queue_may_have_nothing_but_priorities() -> None:
    queue = tf.PriorityQueue(10, [], [])
    queue.enqueue_many([[3, 1, 2]]).run()
    assert queue.dequeue_many(3).eval().tolist() == [1, 2, 3]


def test_a_shuffling_queue_mixes_in_the_order_of_its_seed(session: tf.Session) -> None:
    orders = []
    for seed in (7, 7, 8):
        queue = tf.RandomShuffleQueue(30, 5, tf.int32, shapes=[()], seed=seed)
        queue.enqueue_many([list(range(20))]).run()
        drawn = queue.dequeue_many(15).eval().tolist()
        queue.close().run()
        orders.append(drawn + queue.dequeue_up_to(20).eval().tolist())
        assert sorted(orders[-1]) == list(range(20))
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("index", [1, "fed"])
def test_one_queue_of_a_list_is_chosen(session: tf.Session, index: Any) -> None:
    queues = [tf.FIFOQueue(5, [tf.int32], shapes=[()], name=f"q{i}") for i in range(3)]
    fed = tf.placeholder(tf.int32, [])
    feeds = {fed: 1} if index == "fed" else {}
    chosen = tf.QueueBase.from_list(fed if feeds else index, queues)
    assert chosen.shapes == [tf.TensorShape([])]
    session.run(chosen.enqueue(8), feeds)
    assert [int(queue.size().eval()) for queue in queues] == [0, 1, 0]
    assert int(session.run(chosen.dequeue(), feeds)) == 8
    if feeds:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(chosen.size(), {fed: 3})


def test_a_list_of_queues_that_differ_is_refused() -> None:
    first = tf.FIFOQueue(1, [tf.int32])
    for others, message in (
        ([], "A list of queues expected"),
        ([first, 3], "A list of queues expected"),
        ([first, tf.FIFOQueue(1, [tf.float32])], "matching component dtypes"),
        ([first, tf.FIFOQueue(1, [tf.int32], names=["a"])], "matching component names"),
    ):
        with pytest.raises(TypeError, match=message):
            tf.QueueBase.from_list(0, others)  # type: ignore[arg-type]


def test_queues_live_in_their_container(session: tf.Session) -> None:
    with tf.container("there"):
        queue = tf.FIFOQueue(1, tf.int32)
    assert queue.queue_ref.op.get_attr("container") == b"there"
