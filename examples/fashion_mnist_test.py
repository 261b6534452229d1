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
