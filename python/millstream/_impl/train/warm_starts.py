"""Variables that start from the values of a checkpoint, also when a vocabulary has changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, INTEGER, MAPPING, PATH, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.train import checkpoint_reader
from millstream._impl.train.save_items import save_name
from millstream._impl.variables.initializers import GlorotUniform
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.variables import Variable


@public("train.VocabInfo")
class VocabInfo(
    NamedTuple(
        "_VocabInfo",
        [
            ("new_vocab", str),
            ("new_vocab_size", int),
            ("num_oov_buckets", int),
            ("old_vocab", str),
            ("old_vocab_size", int),
            ("backup_initializer", Any),
            ("axis", int),
        ],
    )
):
    """The words of a variable's rows, now and in a checkpoint.

    Parameters
    ----------
    new_vocab
        A file with the words now, one a line.
    new_vocab_size
        How many of them the variable has.
    num_oov_buckets
        How many rows follow for words that are none of these.
    old_vocab
        A file with the words in the checkpoint.
    old_vocab_size
        How many of them the checkpoint has; -1: all.
    backup_initializer
        Makes the rows of words that the checkpoint has not; by default that of Glorot.
    axis
        0: words are rows; 1: they are columns.

    Examples
    --------
    >>> tf.train.VocabInfo("new.txt", 100, 1, "old.txt").old_vocab_size
    -1
    """

    __slots__ = ()

    @takes(
        new_vocab=PATH,
        new_vocab_size=INTEGER,
        num_oov_buckets=INTEGER,
        old_vocab=PATH,
        old_vocab_size=INTEGER,
        backup_initializer=FUNCTION,
    )
    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError("The only supported values for the axis argument are 0 and 1.")
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


@public("train.warm_start")
@takes(
    ckpt_to_initialize_from=TEXT,
    var_name_to_vocab_info=MAPPING,
    var_name_to_prev_var_name=MAPPING,
)
def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Have variables start from a checkpoint: changes their initializers.

    Parameters
    ----------
    ckpt_to_initialize_from
        A folder, of which the newest is taken, or the prefix of a checkpoint's files.
    vars_to_warm_start
        A regular expression: the trainable variables whose names begin with a match. A list of
        expressions: the global variables, whose names begin with a match of one. A list of
        variables. None: only those with a vocabulary.
    var_name_to_vocab_info
        Vocabularies by names of variables. Rows are found by their words.
    var_name_to_prev_var_name
        Names in the checkpoint, by names of variables. Others have the same name.

    Raises
    ------
    ValueError
        The checkpoint lacks a variable or has it with another shape, or a name in a dictionary is
        that of no chosen variable.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.get_variable("v", initializer=[1.0, 2.0])
    >>> sess = tf.get_default_session()
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> other = tf.get_variable("other", initializer=[0.0, 0.0])
    >>> tf.train.warm_start(path, "other", var_name_to_prev_var_name={"other": "v"})
    >>> sess.run(other.initializer)
    >>> sess.run(other).tolist()
    [1.0, 2.0]
    """
    vocabularies = dict(var_name_to_vocab_info or {})
    earlier = dict(var_name_to_prev_var_name or {})
    chosen = _chosen(vars_to_warm_start)
    for argument, names in (
        ("var_name_to_prev_var_name", earlier),
        ("var_name_to_vocab_info", vocabularies),
    ):
        unknown = sorted(set(names) - set(chosen))
        if unknown:
            raise ValueError(
                f"You provided the following variables in {argument} that were not used: "
                f"{unknown}. Perhaps you misspelled them? Here is the list of viable variable "
                f"names: {sorted(chosen)}"
            )
    reader = checkpoint_reader.load_checkpoint(ckpt_to_initialize_from)
    for name, parts in chosen.items():
        source = earlier.get(name, name)
        vocabulary = vocabularies.get(name)
        if vocabulary is not None:
            for part in parts:
                _start_by_words(reader, source, part, vocabulary)
        elif vars_to_warm_start is not None:
            checkpoint_reader.init_from_checkpoint(reader.prefix, {source: parts})


def _chosen(chosen: Any) -> dict[str, list[Variable]]:
    """The variables by name; the parts of one under the name of the whole."""
    graph = get_default_graph()
    if chosen is None or isinstance(chosen, str):
        found: list[Any] = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, chosen)
    elif isinstance(chosen, (list, tuple)) and all(isinstance(each, str) for each in chosen):
        found = [
            variable
            for each in chosen
            for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, each)
        ]
    elif isinstance(chosen, (list, tuple)):
        found = list(chosen)
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`. "
            f"Got {chosen!r}"
        )
    by_name: dict[str, list[Variable]] = {}
    for each in found:
        for part in list(each) if isinstance(each, PartitionedVariable) else [each]:
            if not isinstance(part, Variable):
                raise ValueError(
                    "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`. "
                    f"Got {part!r}"
                )
            parts = by_name.setdefault(save_name(part), [])
            if all(part is not known for known in parts):
                parts.append(part)
    return by_name


def _words(path: str, count: int) -> list[bytes]:
    """The first `count` lines of a file; all if it is negative."""
    with open(os.fspath(path), "rb") as file:
        lines = file.read().split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if count > len(lines):
        raise ValueError(f"{path}: it has {len(lines)} words, expected at least {count}")
    return lines if count < 0 else lines[:count]


def _start_by_words(reader: Any, source: str, variable: Variable, vocabulary: VocabInfo) -> None:
    """Have a variable, or a part of one, start from the rows or columns of its words."""
    shapes = reader.get_variable_to_shape_map()
    if source not in shapes:
        raise ValueError(f"Tensor {source} is not found in {reader.prefix} checkpoint {shapes}")
    old = _words(vocabulary.old_vocab, vocabulary.old_vocab_size)
    new = _words(vocabulary.new_vocab, vocabulary.new_vocab_size)
    axis = vocabulary.axis
    place = variable._get_save_slice_info()
    shape = [int(size or 0) for size in variable.shape.as_list() or []]
    start = 0 if place is None else place.var_offset[axis]
    whole = shape if place is None else list(place.full_shape)
    rest = [size for i, size in enumerate(whole) if i != axis]
    old_rest = [size for i, size in enumerate(shapes[source]) if i != axis]
    expected = len(new) + vocabulary.num_oov_buckets
    if whole[axis] != expected or rest != old_rest or len(old) > shapes[source][axis]:
        raise ValueError(
            f"Shape of variable {variable.name} ({whole}) doesn't match with {expected} words and "
            f"tensor {source} ({shapes[source]}) of {len(old)} words"
        )
    if place is not None and any(
        size != part for i, (size, part) in enumerate(zip(whole, shape, strict=True)) if i != axis
    ):
        raise ValueError(f"{variable.name}: it is a part along another axis than its words")
    numbers = {word: i for i, word in enumerate(old)}
    found = [numbers.get(word, -1) for word in new] + [-1] * vocabulary.num_oov_buckets
    _initialize_by_rows(
        reader.prefix, source, variable, found[start : start + shape[axis]], vocabulary
    )


def _initialize_by_rows(
    prefix: str, source: str, variable: Variable, rows: list[int], vocabulary: VocabInfo
) -> None:
    numbers = np.asarray(rows, np.int64)
    make: Callable[..., Any] = vocabulary.backup_initializer or GlorotUniform()
    graph = variable.graph
    shape = [int(size or 0) for size in variable.shape.as_list() or []]
    mask = np.broadcast_to(
        (numbers >= 0).reshape([-1 if i == vocabulary.axis else 1 for i in range(len(shape))]),
        shape,
    )
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope("warm_start"):
        restored = checkpoint_reader.restored_tensor(prefix, source, "", variable.dtype)
        taken = gen_ops.gather_v2(restored, np.maximum(numbers, 0), vocabulary.axis)
        others = convert_to_tensor(make(shape, dtype=variable.dtype))
        value = gen_ops.select(convert_to_tensor(mask), taken, others)
        value.set_shape(shape)
        variable._initialize_from(value)
