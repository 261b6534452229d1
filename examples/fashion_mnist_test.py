"""The example learns, and a training that was interrupted equals one that was not."""

import pathlib

import numpy as np
import pytest

import millstream as tf
from examples import fashion_images, fashion_mnist


def run(folder: pathlib.Path, *arguments: str) -> float:
    """Run the example in a fresh graph."""
    tf.reset_default_graph()
    return fashion_mnist.main([*arguments, f"--logdir={folder / 'events'}"])


@pytest.mark.parametrize(("model", "steps"), [("mlp", 40), ("lenet", 6)])
def test_resumed_training_equals_uninterrupted_training(
    model: str, steps: int, tmp_path: pathlib.Path
) -> None:
    whole, half, resumed = (tmp_path / name for name in ("whole", "half", "resumed"))
    run(tmp_path, f"--model={model}", f"--steps={steps}", f"--save={whole}")
    run(tmp_path, f"--model={model}", f"--steps={steps // 2}", f"--save={half}")
    run(tmp_path, f"--model={model}", f"--steps={steps}", f"--resume={half}", f"--save={resumed}")
    with np.load(whole) as one, np.load(resumed) as other, np.load(half) as earlier:
        assert sorted(one.files) == sorted(other.files)
        assert int(one["global_step"]) == steps
        assert any(not np.array_equal(one[name], earlier[name]) for name in one.files)
        for name in one.files:
            assert one[name].tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize(("model", "steps"), [("mlp", 20), ("lenet", 4)])
def test_a_model_that_is_split_over_three_cpus_learns_the_same_bits(
    model: str, steps: int, tmp_path: pathlib.Path
) -> None:
    one, three = tmp_path / "one", tmp_path / "three"
    run(tmp_path, f"--model={model}", f"--steps={steps}", "--cpus=1", f"--save={one}")
    run(tmp_path, f"--model={model}", f"--steps={steps}", "--cpus=3", f"--save={three}")
    with np.load(one) as expected, np.load(three) as got:
        assert sorted(expected.files) == sorted(got.files)
        for name in expected.files:
            assert expected[name].tobytes() == got[name].tobytes(), name


def transfers(model: fashion_mnist.Model, session: tf.Session) -> list[tuple[str, str, str]]:
    """Return (tensor, from, to) of every Send of a training step, each with its one Receive."""
    feed = {model.images: np.zeros([4, 784]), model.classes: np.zeros(4)}
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    session.run([model.train, model.loss], feed, options=options, run_metadata=metadata)
    ends: dict[str, list[tuple[str, str, str]]] = {"_Send": [], "_Recv": []}
    for graph in metadata.partition_graphs:
        for node in graph.node:
            if node.op in ends:
                sender = node.attr["send_device"].s.decode()[-1]
                receiver = node.attr["recv_device"].s.decode()[-1]
                assert node.device[-1] == (sender if node.op == "_Send" else receiver)
                tensor = node.attr["tensor_name"].s.decode()
                ends[node.op].append((tensor, sender, receiver))
    assert sorted(ends["_Send"]) == sorted(ends["_Recv"])
    assert len(set(ends["_Send"])) == len(ends["_Send"]), "a tensor is sent twice to one device"
    return sorted(ends["_Send"])


def test_a_split_model_sends_each_tensor_once() -> None:
    tf.reset_default_graph()
    model = fashion_mnist.Model("mlp", ["/cpu:0", "/cpu:1", "/cpu:2"])
    config = tf.ConfigProto(device_count={"CPU": 3})
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        crossings = transfers(model, session)
    # Forward, then what the gradients on CPU 0 need and give. A control edge is written "^node";
    # tf.group gathers the updates on CPU 2 in one node there.
    assert crossings == [
        ("MatMul_1/ReadVariableOp:0", "2", "0"),
        ("Relu:0", "1", "0"),
        ("Relu:0", "1", "2"),
        ("^Adagrad/update/NoOp_1", "2", "0"),
        ("add:0", "0", "1"),
        ("add_1:0", "2", "0"),
        ("gradients/MatMul_1_grad/MatMul_1:0", "0", "2"),
        ("gradients/add_1_grad/Sum:0", "0", "2"),
    ]


def test_a_model_on_one_cpu_sends_nothing() -> None:
    tf.reset_default_graph()
    model = fashion_mnist.Model("mlp")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert transfers(model, session) == []


def test_a_short_training_learns(tmp_path: pathlib.Path) -> None:
    assert run(tmp_path, "--model=mlp", "--steps=300") > 0.75
    assert list((tmp_path / "events").glob("events.out.tfevents.*"))


def test_the_state_of_another_model_is_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path, "--model=mlp", "--steps=2", f"--save={tmp_path / 'state'}")
    with pytest.raises(ValueError, match="another model"):
        run(tmp_path, "--model=lenet", "--steps=3", f"--resume={tmp_path / 'state'}")


def test_every_epoch_visits_every_image_once() -> None:
    data, _ = fashion_images.load()
    first = np.concatenate([data.batch(step, 10000)[1] for step in range(6)])
    second = np.concatenate([data.batch(step, 10000)[1] for step in range(6, 12)])
    assert np.array_equal(np.sort(first), np.sort(data.classes))
    assert np.array_equal(np.sort(second), np.sort(data.classes))
    assert not np.array_equal(first, second)


def test_a_file_that_is_no_idx_file_is_refused(tmp_path: pathlib.Path) -> None:
    import gzip

    bad = tmp_path / "bad.gz"
    bad.write_bytes(gzip.compress(b"\0\0\x0d\x01\0\0\0\x01abcd"))
    with pytest.raises(ValueError, match="unsigned bytes"):
        fashion_images.read_idx(bad)
