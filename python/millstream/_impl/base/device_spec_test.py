"""Names of devices in parts, and the blocks that ask for devices."""

from __future__ import annotations

import pytest

import millstream as tf
from millstream._impl.base import device_spec


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("", ""),
        ("/gpu:1", "/device:GPU:1"),
        ("/CPU:*", "/device:CPU:*"),
        ("cpu", "/device:CPU:*"),
        ("/device:gpu:0", "/device:GPU:0"),
        ("/job:a/replica:0/task:3/device:XLA_CPU:1", "/job:a/replica:0/task:3/device:XLA_CPU:1"),
    ],
)
def test_name_is_read_and_written_in_full(name: str, full: str) -> None:
    assert tf.DeviceSpec.from_string(name).to_string() == full


@pytest.mark.parametrize(
    "name", ["/nonsense:1", "/task:x", "/cpu:0/gpu:0", "/device:CPU:x", "/device:CPU"]
)
def test_what_is_no_name_is_refused_with_the_part(name: str) -> None:
    with pytest.raises(ValueError, match="no part of a device name"):
        tf.DeviceSpec.from_string(name)


def test_parts_are_checked_when_they_are_set() -> None:
    spec = tf.DeviceSpec(task="3", device_type="gpu")  # type: ignore[arg-type]
    assert (spec.task, spec.device_type) == (3, "GPU")
    with pytest.raises(ValueError, match=r"task: expected a number, got 'x'"):
        spec.task = "x"  # type: ignore[assignment]
    with pytest.raises(TypeError, match="job: expected a name"):
        tf.DeviceSpec(job=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dev: expected"):
        spec.merge_from("/cpu:0")  # type: ignore[arg-type]


def test_types_other_than_cpu_and_gpu_keep_their_letters() -> None:
    spec = tf.DeviceSpec.from_string("/device:MyFunnyDevice:2")
    assert spec.to_string() == "/device:MyFunnyDevice:2"
    assert tf.DeviceSpec.from_string("/gpu:2").to_string() == "/device:GPU:2"


def test_merging_takes_the_parts_that_the_other_has() -> None:
    outer = tf.DeviceSpec(job="w", device_type="CPU", device_index=3)
    merged = outer.make_merged_spec(tf.DeviceSpec(task=2, device_type="GPU"))
    assert merged.to_string() == "/job:w/task:2/device:GPU:3"
    assert outer.to_string() == "/job:w/device:CPU:3"
    assert outer.replace(device_type=None, device_index=None) == tf.DeviceSpec(job="w")
    assert device_spec.merge("/job:a/cpu:1", "/task:2") == "/job:a/task:2/device:CPU:1"


def test_inner_blocks_win_and_none_leaves_all() -> None:
    with tf.Graph().as_default(), tf.device(tf.DeviceSpec(job="w")), tf.device("/gpu:1"):
        with tf.device("/cpu:*"):
            assert tf.constant(1).device == "/job:w/device:CPU:1"
        with tf.device(None):
            assert tf.constant(1).device == ""
        assert tf.constant(1).device == "/job:w/device:GPU:1"


def test_functions_see_the_operation_with_the_inner_blocks_device() -> None:
    seen: list[tuple[str, str]] = []

    def choose(operation: tf.Operation) -> str:
        seen.append((operation.type, operation.device))
        return operation.device + "/job:chosen"

    with tf.Graph().as_default(), tf.device("/job:outer/cpu:0"), tf.device(choose):
        with tf.device("/task:1"):
            assert tf.constant(1).device == "/job:chosen/task:1/device:CPU:0"
        assert tf.no_op().device == "/job:chosen/device:CPU:0"
    assert seen == [("Const", "/task:1"), ("NoOp", "")]


def test_wrong_devices_are_refused_where_they_are_given() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="device_name_or_function"), tf.device(3):
            pass
        with pytest.raises(ValueError, match="xyz"), tf.device("/nonsense:xyz:1"):
            pass
        with pytest.raises(TypeError, match="op: expected"), tf.colocate_with("a"):
            pass
        with pytest.raises(ValueError, match="ignore_existing"), tf.colocate_with(None):
            pass


def test_sessions_list_their_devices() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        (first, *_) = session.list_devices()
    assert first.name.endswith("/device:CPU:0")
    assert first.device_type == "CPU"
    assert tf.DeviceSpec.from_string(first.name).device_index == 0
