"""Writing SavedModels."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from millstream._impl import protos
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.base.whole_files import write_whole
from millstream._impl.graph.arguments import LIST, MAPPING, PATH, SESSION, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.saved_model import constants, signatures
from millstream._impl.saved_model.assets import add_assets
from millstream._impl.train.saver import Saver


@public("saved_model.builder.SavedModelBuilder", "saved_model.Builder")
class SavedModelBuilder:
    """Writes a model: graphs with signatures, the values of their variables, their files.

    The first graph comes with the variables, which all graphs of the model share. A graph is found
    again by its tags.

    Parameters
    ----------
    export_dir
        The folder, which must not exist or be empty.

    Raises
    ------
    AssertionError
        There are files in the folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     y = tf.multiply(x, tf.Variable(3.0), name="y")
    ...     sess.run(tf.global_variables_initializer())
    ...     builder = tf.saved_model.Builder(folder)
    ...     signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
    ...     builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature})
    ...     path = builder.save()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     model = tf.saved_model.load(sess, ["serve"], folder)
    ...     print(float(sess.run("y:0", {"x:0": 2.0})))
    6.0
    """

    @takes(export_dir=PATH)
    def __init__(self, export_dir: Any) -> None:
        self._folder = os.fsdecode(export_dir)
        if os.path.exists(self._folder) and os.listdir(self._folder):
            raise AssertionError(
                f"Export directory already exists, and isn't empty: {self._folder}. Please choose "
                "a different export directory, or delete what is in it."
            )
        os.makedirs(self._folder, exist_ok=True)
        self._model = protos.message_class("SavedModel")()
        self._model.saved_model_schema_version = constants.SAVED_MODEL_SCHEMA_VERSION
        self._has_variables = False

    @takes(sess=SESSION, tags=LIST, signature_def_map=MAPPING)
    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the session's graph, and write the values of its variables.

        Parameters
        ----------
        sess
            The session.
        tags
            Texts that a program finds the graph by.
        signature_def_map
            Signatures by name.
        assets_collection
            Constants with paths of files, which are copied into the model.
        legacy_init_op
            Another name of `main_op`.
        clear_devices
            Whether the nodes ask for no device.
        main_op
            An operation that is run when the model has been loaded.
        strip_default_attrs
            Whether attributes are left out that have their default values.
        saver
            What saves the variables; by default a new `train.Saver` of all.

        Raises
        ------
        AssertionError
            The model has variables already, or a signature has a tensor without name or type.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        with sess.graph.as_default():
            made = self._prepared(signature_def_map, main_op or legacy_init_op, saver)
            inside = os.path.join(self._folder, constants.VARIABLES_DIRECTORY)
            os.makedirs(inside, exist_ok=True)
            made.save(
                sess,
                os.path.join(inside, constants.VARIABLES_FILENAME),
                write_meta_graph=False,
                write_state=False,
            )
            self._add(
                made, tags, signature_def_map, assets_collection, clear_devices, strip_default_attrs
            )
        self._has_variables = True

    @takes(tags=LIST, signature_def_map=MAPPING)
    def add_meta_graph(
        self,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, whose variables are among those written already.

        Parameters
        ----------
        tags, signature_def_map, assets_collection, legacy_init_op, clear_devices, main_op
            As for `add_meta_graph_and_variables`.
        strip_default_attrs, saver
            As for `add_meta_graph_and_variables`.

        Raises
        ------
        AssertionError
            No variables have been written.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        made = self._prepared(signature_def_map, main_op or legacy_init_op, saver)
        self._add(
            made, tags, signature_def_map, assets_collection, clear_devices, strip_default_attrs
        )

    def _prepared(self, signature_def_map: Any, main_op: Any, saver: Any) -> Any:
        """The saver, made when none is given; the signatures are checked first."""
        for name, signature in (signature_def_map or {}).items():
            _check_signature(name, signature)
        if main_op is not None:
            if getattr(main_op, "node_def", None) is None:
                raise TypeError(f"main_op (legacy_init_op) needs to be an Operation: {main_op!r}")
            get_default_graph().add_to_collection(constants.MAIN_OP_KEY, main_op)
        return saver or Saver(sharded=True, allow_empty=True)

    def _add(
        self,
        saver: Any,
        tags: Iterable[str],
        signature_def_map: Any,
        assets_collection: Any,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        made = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        add_assets(made, self._folder, assets_collection or ())
        made.meta_info_def.tags.extend(tags)
        for name, signature in (signature_def_map or {}).items():
            made.signature_def[name].CopyFrom(signature)
        self._model.meta_graphs.add().CopyFrom(made)

    def save(self, as_text: bool = False) -> str:
        """Write the graphs.

        Parameters
        ----------
        as_text
            Whether the file is text.

        Returns
        -------
        str
            The file's path.
        """
        name = (
            constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        )
        path = os.path.join(self._folder, name)
        data = str(self._model).encode() if as_text else self._model.SerializeToString()
        write_whole(path, data)
        return path


def _check_signature(name: str, signature: Any) -> None:
    if not hasattr(signature, "method_name"):
        raise TypeError(f"signature_def_map: expected a SignatureDef of {name}, got {signature!r}")
    for infos in (signature.inputs, signature.outputs):
        for key in infos:
            if not infos[key].WhichOneof("encoding") or not infos[key].dtype:
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have the name and dtype "
                    f"fields set: {key!r} of the signature {name!r} lacks one"
                )


@public("saved_model.simple_save")
@takes(session=SESSION, export_dir=PATH, inputs=MAPPING, outputs=MAPPING)
def simple_save(
    session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None
) -> None:
    """Write a model with one graph, tagged "serve", and one signature, "serving_default".

    Parameters
    ----------
    session
        The session, whose graph and variables are written.
    export_dir
        The folder, as for `Builder`.
    inputs, outputs
        Tensors by the names that callers use.
    legacy_init_op
        An operation that is run when the model has been loaded.

    Examples
    --------
    >>> import tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     folder = tempfile.mkdtemp() + "/model"
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": x * 2.0})
    >>> tf.saved_model.contains_saved_model(folder)
    True
    """
    signature = signatures.predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [constants.SERVING],
        {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
