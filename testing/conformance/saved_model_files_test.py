"""A SavedModel that TensorFlow wrote gives the values beside it, signature by signature."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import millstream as tf

_FOLDER = Path("testdata/conformance/files/written_by_tf")


@pytest.fixture(params=["as it is", "moved", "in a scope"])
def loaded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[tf.Session, str, object]:
    folder = _FOLDER / "saved_model"
    if request.param == "moved":
        folder = Path(shutil.copytree(folder, tmp_path / "model"))
    scope = "inside" if request.param == "in a scope" else None
    session = tf.Session(graph=tf.Graph())
    meta_graph = tf.saved_model.load(session, ["serve"], str(folder), import_scope=scope)
    return session, f"{scope}/" if scope else "", meta_graph


@pytest.mark.parametrize("name", ["serving_default", "words"])
def test_signature_gives_its_outputs(name: str, loaded: tuple[tf.Session, str, object]) -> None:
    session, scope, meta_graph = loaded
    signature = meta_graph.signature_def[name]  # type: ignore[attr-defined]
    given = np.load(_FOLDER / f"saved_model.{name}.in.npz")
    expected = np.load(_FOLDER / f"saved_model.{name}.out.npz")
    feeds = {scope + signature.inputs[key].name: given[key] for key in given.files}
    for key in expected.files:
        value = np.asarray(session.run(scope + signature.outputs[key].name, feeds))
        assert value.shape == expected[key].shape
        if expected[key].dtype.kind in "US":
            assert [one.decode() for one in value.ravel()] == expected[key].ravel().tolist()
        else:
            np.testing.assert_allclose(value, expected[key], rtol=1e-5, atol=1e-6)
