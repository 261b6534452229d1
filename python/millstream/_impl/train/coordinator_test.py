"""Threads stop together, and their exceptions reach the main thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import millstream as tf


def _failing(coord: tf.train.Coordinator, error: Exception) -> threading.Thread:
    def work() -> None:
        with coord.stop_on_exception():
            raise error

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_stop_reaches_all_threads() -> None:
    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=coord.wait_for_stop) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(threads)
    assert coord.should_stop()
    assert coord.joined
    assert not any(thread.is_alive() for thread in threads)


def test_join_ends_when_all_threads_have_ended() -> None:
    coord = tf.train.Coordinator()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    coord.register_thread(thread)
    coord.join()
    assert coord.joined
    assert not coord.should_stop()


def test_an_exception_is_handed_over() -> None:
    coord = tf.train.Coordinator()
    threads = [_failing(coord, KeyError("broken")), threading.Thread(target=coord.wait_for_stop)]
    threads[1].start()
    with pytest.raises(KeyError, match="broken"):
        coord.join(threads)
    with pytest.raises(KeyError, match="broken"):
        coord.raise_requested_exception()


def test_the_first_exception_counts() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop(KeyError("first"))
    coord.request_stop(ValueError("second"))
    with pytest.raises(KeyError, match="first"):
        coord.join()


def test_the_end_of_the_input_is_no_failure() -> None:
    coord = tf.train.Coordinator()
    coord.join([_failing(coord, tf.errors.OutOfRangeError(None, None, "end"))])
    assert coord.should_stop()
    other = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    other.join([_failing(other, KeyError("end"))])


def test_an_exception_after_join_is_raised_at_once() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop()
    coord.join()
    with pytest.raises(KeyError):
        coord.request_stop(KeyError("late"))


def test_a_stop_can_be_cleared() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop(KeyError("broken"))
    coord.clear_stop()
    assert not coord.should_stop()
    coord.raise_requested_exception()


def test_threads_that_go_on_are_an_error() -> None:
    coord = tf.train.Coordinator()
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait, name="stubborn")
    thread.start()
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
    with pytest.raises(RuntimeError, match="threads still running: stubborn"):
        coord.join([thread], stop_grace_period_secs=0.05)
    ends.set()
    thread.join()


def test_what_is_no_exception_is_refused() -> None:
    with pytest.raises(TypeError, match="expected an exception"):
        tf.train.Coordinator().request_stop("broken")


def test_a_looper_calls_until_the_stop() -> None:
    coord = tf.train.Coordinator()
    calls: list[int] = []

    def work(step: int, most: int) -> None:
        calls.append(step)
        if len(calls) == most:
            coord.request_stop()

    tf.train.LooperThread.loop(coord, None, work, args=(2,), kwargs={"most": 4})
    coord.join()
    assert calls == [2, 2, 2, 2]


def test_a_looper_waits_for_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    coord = tf.train.Coordinator()
    waits: list[float | None] = []
    wait_for_stop = coord.wait_for_stop

    def wait(timeout: float | None = None) -> bool:
        waits.append(timeout)
        if len(waits) == 3:
            coord.request_stop()
        return wait_for_stop(0)

    monkeypatch.setattr(coord, "wait_for_stop", wait)
    thread = tf.train.LooperThread.loop(coord, 1000, lambda: None)
    thread.join()
    first, second, third = waits
    assert first == 0
    assert second is not None
    assert 0 < second <= 1000
    assert third is not None
    assert second < third <= 2000


def test_a_looper_hands_its_exception_over() -> None:
    coord = tf.train.Coordinator()

    def work() -> None:
        raise KeyError("broken")

    tf.train.LooperThread.loop(coord, None, work)
    with pytest.raises(KeyError, match="broken"):
        coord.join()


def test_a_derived_looper_has_a_beginning_and_an_end() -> None:
    coord = tf.train.Coordinator()
    seen: list[str] = []

    class Looper(tf.train.LooperThread):
        def start_loop(self) -> None:
            seen.append("start")

        def run_loop(self) -> None:
            seen.append("run")
            coord.request_stop()

        def stop_loop(self) -> None:
            seen.append("stop")

    Looper(coord, None).start()
    coord.join()
    assert seen == ["start", "run", "stop"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, None), "'coord' argument must be a Coordinator: 3"),
        ((tf.train.Coordinator(), None, None, (1,)), "require that you also pass 'target'"),
    ],
)
def test_a_looper_that_contradicts_itself_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.train.LooperThread(*arguments)
