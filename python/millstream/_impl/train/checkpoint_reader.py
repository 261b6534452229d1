"""Checkpoints read outside of a graph: which tensors they have, and their values."""

from __future__ import annotations

import json
import os
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream import _runtime
from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import MAPPING, TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.array_creation import placeholder
from millstream._impl.session.session import Session
from millstream._impl.train.checkpoint_state import latest_checkpoint
from millstream._impl.train.save_items import save_name
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.variable_scope import get_variable_scope
from millstream._impl.variables.variable_store import store_of
from millstream._impl.variables.variables import Variable


class _ReadingStep:
    """Reads tensors of one checkpoint by their names, in a graph and a session of its own."""

    def __init__(self, prefix: str) -> None:
        graph = Graph()
        with graph.as_default():
            self._name = placeholder(dtypes.string, (1,))
        self._prefix = prefix
        self._values: dict[DType, Tensor] = {}
        self._session = Session(graph=graph)

    def run(self, name: str, dtype: DType) -> Any:
        if dtype not in self._values:
            with self._session.graph.as_default():
                values = gen_ops.restore_v2(self._prefix, self._name, [""], [dtype])
                value = values[0] if isinstance(values, (list, tuple)) else values
                if dtype == dtypes.bfloat16:
                    value = gen_ops.cast(value, dtypes.float32)
                self._values[dtype] = value
        return self._session.run(self._values[dtype], {self._name: [name]})


class CheckpointReader:
    """The tensors of a checkpoint, as `NewCheckpointReader` gives it.

    Parameters
    ----------
    filepattern
        The prefix of its files.

    Raises
    ------
    NotFoundError
        There is no such checkpoint.
    DataLossError
        Its list of tensors is damaged.
    """

    def __init__(self, filepattern: str) -> None:
        self._prefix = filepattern
        self._step: _ReadingStep | None = None
        try:
            listed = json.loads(_runtime.checkpoint_list(filepattern))
        except _runtime.StatusError as error:
            code, text = error.args[0], error.args[1]
            if code == errors.NOT_FOUND:
                text = (
                    "Unsuccessful TensorSliceReader constructor: Failed to find any matching "
                    f"files for {filepattern}"
                )
            raise errors.make(None, code, text, "") from None
        self._shapes: dict[str, list[int]] = {each["name"]: each["shape"] for each in listed}
        self._dtypes = {each["name"]: dtypes.as_dtype(each["dtype"]) for each in listed}

    @property
    def prefix(self) -> str:
        """The prefix of its files."""
        return self._prefix

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each tensor, by name."""
        return dict(self._shapes)

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The data type of each tensor, by name."""
        return dict(self._dtypes)

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether the checkpoint has a tensor of that name."""
        return tensor_str in self._shapes

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a tensor; of one of bfloat16, which NumPy does not have, as float32.

        Raises
        ------
        NotFoundError
            The checkpoint has no tensor of that name.
        """
        if tensor_str not in self._dtypes:
            text = f"Key {tensor_str} not found in checkpoint"
            raise errors.make(None, errors.NOT_FOUND, text, "")
        if self._step is None:
            self._step = _ReadingStep(self._prefix)
        return self._step.run(tensor_str, self._dtypes[tensor_str])

    def why_not(self, variable: Any, name: str) -> str | None:
        """Why a tensor is no value for a variable, or for the whole that it is a part of; or None.

        Parameters
        ----------
        variable
            The variable.
        name
            Name of the tensor.
        """
        if name not in self._shapes:
            return f"the checkpoint has no tensor {name}"
        shape, dtype = self._shapes[name], self._dtypes[name]
        if dtype != variable.dtype:
            return f"{name} has the dtype {dtype.name}, the variable {variable.dtype.name}"
        place = variable._get_save_slice_info() if isinstance(variable, Variable) else None
        whole = variable.shape if place is None else TensorShape(place.full_shape)
        if not whole.is_compatible_with(shape):
            return f"{name} has the shape {shape}, the variable {whole}"
        return None

    def debug_string(self) -> bytes:
        """A line for each tensor: name, type and shape."""
        kinds = {number: kind for kind, number in protos.enum_values("DataType").items()}
        lines = [
            f"{name} ({kinds[self._dtypes[name].as_datatype_enum]}) [{','.join(map(str, shape))}]"
            for name, shape in self._shapes.items()
        ]
        return "\n".join(lines).encode()


def restored_tensor(prefix: str, name: str, spec: str, dtype: DType) -> Any:
    """A tensor of the default graph whose value is read from a checkpoint."""
    values = gen_ops.restore_v2(prefix, [name], [spec], [dtype])
    return values[0] if isinstance(values, (list, tuple)) else values


@public("train.NewCheckpointReader")
@takes(filepattern=TEXT)
def NewCheckpointReader(filepattern: str) -> CheckpointReader:  # noqa: N802  (the API's name)
    """Open a checkpoint to read single tensors.

    Parameters
    ----------
    filepattern
        The prefix of its files.

    Raises
    ------
    NotFoundError
        There is no such checkpoint.
    DataLossError
        Its list of tensors is damaged.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> sess = tf.get_default_session()
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> tf.train.NewCheckpointReader(path).get_tensor("v").tolist()
    [1.0, 2.0]
    """
    return CheckpointReader(filepattern)


def _prefix_of(folder_or_prefix: str) -> str:
    """The newest checkpoint of a folder, or the checkpoint itself."""
    if not os.path.isdir(folder_or_prefix):
        return folder_or_prefix
    found = latest_checkpoint(folder_or_prefix)
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in {folder_or_prefix}")
    return found


@public("train.load_checkpoint")
@takes(ckpt_dir_or_file=TEXT)
def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Open a checkpoint, or the newest one of a folder.

    Parameters
    ----------
    ckpt_dir_or_file
        The folder, or the prefix of the checkpoint's files.

    Raises
    ------
    ValueError
        The folder has no checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> sess = tf.get_default_session()
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> tf.train.load_checkpoint(path).has_tensor("v")
    True
    """
    return CheckpointReader(_prefix_of(ckpt_dir_or_file))


@public("train.list_variables")
@takes(ckpt_dir_or_file=TEXT)
def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """The tensors of a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file
        A folder, of which the newest is taken, or the prefix of a checkpoint's files.

    Returns
    -------
    list of (str, list of int)
        Names and shapes, by name.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> sess = tf.get_default_session()
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> tf.train.list_variables(path)
    [('v', [2])]
    """
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return sorted(shapes.items())


@public("train.load_variable")
@takes(ckpt_dir_or_file=TEXT, name=TEXT)
def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """The value of one tensor of a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file
        A folder, of which the newest is taken, or the prefix of a checkpoint's files.
    name
        The tensor's name; ``":0"`` at its end counts for nothing.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> sess = tf.get_default_session()
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> tf.train.load_variable(path, "v").tolist()
    [1.0, 2.0]
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@public("train.init_from_checkpoint")
@takes(ckpt_dir_or_file=TEXT, assignment_map=MAPPING)
def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: dict[str, Any]) -> None:
    """Have variables take their first value from a checkpoint: changes their initializers.

    Parameters
    ----------
    ckpt_dir_or_file
        A folder, of which the newest is taken, or the prefix of a checkpoint's files.
    assignment_map
        From names in the checkpoint to variables, or names of variables of the default graph. From
        a scope that ends with "/" to such a scope: all variables below it that `get_variable` made,
        and of the others those for which the checkpoint has a tensor.

    Raises
    ------
    ValueError
        The checkpoint lacks a name, has it with another shape, or there is no such variable.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> sess = tf.get_default_session()
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> other = tf.Variable([0.0, 0.0], name="other")
    >>> tf.train.init_from_checkpoint(path, {"v": other})
    >>> sess.run(other.initializer)
    >>> sess.run(other).tolist()
    [1.0, 2.0]
    """
    prefix = _prefix_of(ckpt_dir_or_file)
    reader = CheckpointReader(prefix)
    shapes = reader.get_variable_to_shape_map()
    for source, target in assignment_map.items():
        for name, label, variable in _targets(source, target, shapes):
            if name not in shapes:
                raise ValueError(
                    f"Tensor {label} is not found in {ckpt_dir_or_file} checkpoint {shapes}"
                )
            for part in _parts_of(variable):
                _initialize_from(prefix, name, part, shapes[name])


def _parts_of(variable: Any) -> list[Variable]:
    if isinstance(variable, (list, tuple, PartitionedVariable)):
        return list(variable)
    return [variable]


def _targets(source: str, target: Any, shapes: dict[str, list[int]]) -> list[tuple[str, str, Any]]:
    """Names in the checkpoint, each with what errors call it and its variable."""
    if not isinstance(target, str):
        return [(source, source, target)]
    by_name = _variables_by_name()
    if not target.endswith("/"):
        if target not in by_name:
            raise ValueError(f"assignment_map: the graph has no variable {target!r}")
        return [(source, source, by_name[target])]
    if not source.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {target} should map to scope only {source}."
        )
    scope = "" if target == "/" else target
    start = "" if source == "/" else source
    store = store_of(get_default_graph())
    found = []
    for name, variable in by_name.items():
        if not name.startswith(scope):
            continue
        rest = name.removeprefix(scope)
        if start + rest in shapes or store.has(name):
            found.append((start + rest, f"{start + rest} ({rest} in {source})", variable))
    return found


def _variables_by_name() -> dict[str, list[Variable]]:
    """The global variables; the parts of one under the name of the whole."""
    scope = get_variable_scope()
    found: dict[str, list[Variable]] = {}
    for variable in scope.global_variables():
        found.setdefault(save_name(variable), []).append(variable)
    return found


def _initialize_from(prefix: str, name: str, variable: Any, shape: list[int]) -> None:
    if not isinstance(variable, Variable):
        raise TypeError(f"assignment_map: expected a variable, got {variable!r}")
    place = variable._get_save_slice_info()
    whole = variable.shape.as_list() if place is None else place.full_shape
    if list(whole) != list(shape):
        raise ValueError(
            f"Shape of variable {variable.name} ({as_shape(whole)}) doesn't match with shape of "
            f"tensor {name} ({shape}) from checkpoint reader."
        )
    graph = variable.graph
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope("init_from_checkpoint"),
    ):
        value = restored_tensor(prefix, name, "" if place is None else place.spec, variable.dtype)
        variable._initialize_from(value)
