"""Models are written and read: variables, files, tags, signatures, what is run first."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import millstream as tf


def written(folder: Path, as_text: bool = False, **options: Any) -> str:
    """A model that multiplies by a variable whose value is 3."""
    path = str(folder / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        v = tf.Variable(1.0, name="v")
        y = tf.multiply(x, v, name="y")
        session.run(v.assign(3.0))
        builder = tf.saved_model.Builder(path)
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, ["serve"], {"call": signature}, **options)
        builder.save(as_text)
    return path


def computed(path: str, scope: str = "") -> list[float]:
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], path, import_scope=scope or None)
        start = f"{scope}/" if scope else ""
        result: list[float] = session.run(f"{start}y:0", {f"{start}x:0": [1.0, 2.0]}).tolist()
        return result


@pytest.mark.parametrize("as_text", [False, True])
def test_a_model_has_its_variables_and_signatures(tmp_path: Path, as_text: bool) -> None:
    path = written(tmp_path, as_text)
    assert tf.saved_model.contains_saved_model(path)
    assert computed(path) == [3.0, 6.0]
    assert computed(path, "inside") == [3.0, 6.0]
    with tf.Session(graph=tf.Graph()) as session:
        meta_graph = tf.saved_model.load(session, ["serve"], path)
        signature = meta_graph.signature_def["call"]
        assert tf.saved_model.is_valid_signature(signature)
        tensor = tf.saved_model.get_tensor_from_tensor_info(signature.outputs["y"], session.graph)
        assert tensor.name == "y:0"


def test_graphs_are_told_apart_by_their_tags(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(2.0, name="v")
        session.run(v.initializer)
        builder = tf.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(session, ["a"])
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(session, ["a"])
    with tf.Graph().as_default():
        tf.multiply(tf.Variable(0.0, name="v"), 5.0, name="five")
        builder.add_meta_graph(["a", "b"])
        builder.save()
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["b", "a"], path)
        assert session.run("five:0") == 10.0
    with (
        tf.Session(graph=tf.Graph()) as session,
        pytest.raises(RuntimeError, match=r"'b' could not be found .* tags: a; a,b"),
    ):
        tf.saved_model.load(session, ["b"], path)


def _lookup(words: Any, file: str) -> Any:
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            file,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        1,
    )
    return tf.identity(table.lookup(words), name="numbers")


def test_files_go_with_the_model(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "words.txt").write_text(f"{folder.name}\nboth\n")
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.placeholder(tf.string, [None], name="words")
        for folder in folders:
            _lookup(words, str(folder / "words.txt"))
        builder = tf.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(),
        )
        builder.save()
    for folder in folders:
        shutil.rmtree(folder)
    moved = shutil.move(path, tmp_path / "moved")
    assert sorted(one.name for one in (Path(moved) / "assets").iterdir()) == [
        "words.txt",
        "words.txt_1",
    ]
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], moved)
        fed = {"words:0": ["both", "two"]}
        assert session.run("numbers:0", fed).tolist() == [1, 2]
        assert session.run("numbers_1:0", fed).tolist() == [1, 0]


def test_a_loaded_model_runs_its_operation_first(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, name="v")
        local = tf.Variable(7.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        session.run([v.initializer, local.initializer])
        first = tf.saved_model.main_op_with_restore(v.assign(4.0).op)
        tf.saved_model.simple_save(session, path, {"v": v}, {"v": v + local}, first)
    with tf.Session(graph=tf.Graph()) as session:
        meta_graph = tf.saved_model.load(session, [tf.saved_model.SERVING], path)
        signature = meta_graph.signature_def[tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        assert session.run(signature.outputs["v"].name) == 11.0


def test_a_model_may_have_no_variables(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.saved_model.simple_save(session, path, {"x": x}, {"y": tf.square(x, name="y")})
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], path)
        assert session.run("y:0", {"x:0": 3.0}) == 9.0


def test_sparse_tensors_are_described_by_their_parts() -> None:
    with tf.Graph().as_default() as graph:
        sparse = tf.sparse_placeholder(tf.int64, [2, 3], name="s")
        info = tf.saved_model.build_tensor_info(sparse)
        assert info.coo_sparse.values_tensor_name == sparse.values.name
        found = tf.saved_model.get_tensor_from_tensor_info(info, graph)
        assert isinstance(found, tf.SparseTensor)
        assert found.indices is sparse.indices


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ({"examples": None}, "Regression examples cannot be None"),
        ({"predictions": None}, "Regression predictions cannot be None"),
        ({"examples": "number"}, "Regression examples must be of type string, got float32"),
        ({"predictions": "text"}, "Regression predictions must be of type float32, got string"),
    ],
)
def test_signatures_of_other_types_are_refused(kind: dict[str, Any], problem: str) -> None:
    with tf.Graph().as_default():
        tensors = {"text": tf.constant(["a"]), "number": tf.constant([1.0]), None: None}
        arguments = {"examples": "text", "predictions": "number", **kind}
        given = {name: tensors[value] for name, value in arguments.items()}
        with pytest.raises(ValueError, match=problem):
            tf.saved_model.regression_signature_def(**given)


def test_classifications_have_classes_or_scores() -> None:
    with tf.Graph().as_default():
        text, number = tf.constant(["a"]), tf.constant([1.0])
        build = tf.saved_model.classification_signature_def
        for classes, scores in ((text, None), (None, number), (text, number)):
            assert tf.saved_model.is_valid_signature(build(text, classes, scores))
        with pytest.raises(ValueError, match="cannot both be None"):
            build(text, None, None)
        wrong = build(text, text, None)
        wrong.outputs["more"].CopyFrom(wrong.outputs["classes"])
        assert not tf.saved_model.is_valid_signature(wrong)
        assert not tf.saved_model.is_valid_signature(None)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        tf.saved_model.Builder(path)
    file = Path(path) / "saved_model.pb"
    whole = file.read_bytes()
    with tf.Session(graph=tf.Graph()) as session:
        file.write_bytes(whole[:-1])
        with pytest.raises(OSError, match=r"Cannot parse file .*saved_model\.pb"):
            tf.saved_model.load(session, ["serve"], path)
        file.unlink()
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tf.saved_model.load(session, ["serve"], path)
        assert not tf.saved_model.loader.maybe_saved_model_directory(path)


def test_a_file_outside_of_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\n")
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        _lookup(tf.placeholder(tf.string, [None]), str(tmp_path / "words.txt"))
        tf.saved_model.simple_save(
            session, path, {"x": tf.constant(1)}, {"y": tf.constant(2)}, tf.tables_initializer()
        )
    file = Path(path) / "saved_model.pb"
    data = file.read_bytes()
    # The name in the list of files gets as many other characters.
    place = data.rindex(b"words.txt")
    file.write_bytes(data[:place] + b"../../etc" + data[place + 9 :])
    with (
        tf.Session(graph=tf.Graph()) as session,
        pytest.raises(
            ValueError, match=r"expected the name of a file in the model, got '../../etc'"
        ),
    ):
        tf.saved_model.load(session, ["serve"], path)


def test_signatures_without_names_are_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        info = tf.TensorInfo(dtype=1)
        signature = tf.saved_model.build_signature_def({"x": info}, {"y": info}, "call")
        builder = tf.saved_model.Builder(str(tmp_path / "model"))
        with pytest.raises(AssertionError, match="'x' of the signature 'call' lacks one"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"call": signature})


def test_assets_are_constant_texts(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for number, (tensor, problem) in enumerate(
            [
                ("words.txt", "must be a Tensor"),
                (tf.placeholder(tf.string, []), "must be of type constant"),
                (tf.constant(1), "must be of dtype string"),
                (tf.constant(["a", "b"]), "must be a scalar"),
            ]
        ):
            builder = tf.saved_model.Builder(str(tmp_path / str(number)))
            with pytest.raises(TypeError, match=problem):
                builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=[tensor])
