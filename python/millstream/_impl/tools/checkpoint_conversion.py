"""Copies of checkpoints: of another version, with other names, and as files of NumPy arrays."""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.graph import Graph
from millstream._impl.ops.array_creation import placeholder
from millstream._impl.session.session import Session
from millstream._impl.train.checkpoint_reader import (
    CheckpointReader,
    load_checkpoint,
    restored_tensor,
)
from millstream._impl.train.checkpoint_state import checkpoint_exists, index_path
from millstream._impl.train.object_graph import keys_by_name, read_object_graph
from millstream._impl.values import dtypes

_ARRAYS = ".npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``convert`` to its parser."""
    parser.add_argument("source", help=f"a prefix or a folder, or a file of arrays, NAME{_ARRAYS}")
    parser.add_argument("target", help=f"the new prefix, or a file of arrays, NAME{_ARRAYS}")
    parser.add_argument(
        "--version", type=int, choices=(1, 2), default=2, help="of the new checkpoint, by default 2"
    )
    parser.add_argument(
        "--by-names",
        action="store_true",
        help="of a checkpoint of objects: one with the names of variables, which Saver restores",
    )
    parser.add_argument("--only", metavar="PATTERN", help="tensors whose names match, by new names")
    parser.add_argument(
        "--rename",
        metavar="OLD=NEW",
        action="append",
        default=[],
        help="replace what matches OLD in names; several are applied one after the other",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")


def run(options: argparse.Namespace) -> int:
    """Make the copy.

    Parameters
    ----------
    options
        What the parser found.

    Returns
    -------
    int
        The exit status: 0.

    Raises
    ------
    ValueError
        Two tensors would get one name, or the target exists.
    OpError
        A file cannot be read or written.
    """
    target = options.target
    exists = os.path.exists(target) or checkpoint_exists(target)
    if exists and not options.overwrite:
        raise ValueError(f"{target} exists; --overwrite replaces it")
    source = _Source(options.source, by_names=options.by_names)
    names = _new_names(source.names, options.rename, options.only)
    if target.endswith(_ARRAYS):
        arrays = {new: source.array(old) for new, old in names.items()}
        with open(target, "wb") as file:
            np.savez(file, **arrays)
    else:
        _write(source, names, target, options.version)
    print(f"{target}: {len(names)} tensors")
    return 0


def _new_names(old: list[str], rules: list[str], only: str | None) -> dict[str, str]:
    """The old names by new ones."""
    found: dict[str, str] = {}
    for name in old:
        new = name
        for rule in rules:
            pattern, separator, text = rule.partition("=")
            if not separator:
                raise ValueError(f"--rename: expected OLD=NEW, got {rule!r}")
            new = re.sub(pattern, text, new)
        if only is not None and not re.search(only, new):
            continue
        if new in found:
            raise ValueError(f"{name!r} and {found[new]!r} would both become {new!r}")
        found[new] = name
    return found


def array_of(reader: CheckpointReader, name: str) -> Any:
    """The value of a tensor as an array; texts are objects."""
    value = reader.get_tensor(name)
    is_text = reader.get_variable_to_dtype_map()[name] == dtypes.string
    return np.asarray(value, object if is_text else None)


class _Source:
    """The tensors of a checkpoint or of a file of arrays."""

    def __init__(self, path: str, *, by_names: bool) -> None:
        self._arrays: Mapping[str, Any] | None = None
        self._reader: CheckpointReader | None = None
        if path.endswith(_ARRAYS):
            with np.load(path, allow_pickle=False) as arrays:
                self._arrays = dict(arrays)
            self._keys = {name: name for name in self._arrays}
            return
        self._reader = load_checkpoint(path)
        self._keys = {name: name for name in self._reader.get_variable_to_shape_map()}
        if by_names:
            message = read_object_graph(self._reader)
            if message is None:
                raise ValueError(f"{self._reader.prefix}: it is no checkpoint of objects")
            self._keys = keys_by_name(message)

    @property
    def names(self) -> list[str]:
        """The names of the tensors."""
        return sorted(self._keys)

    def array(self, name: str) -> Any:
        """The value of a tensor for a file of arrays."""
        if self._arrays is not None:
            return self._arrays[name]
        assert self._reader is not None
        value = array_of(self._reader, self._keys[name])
        if value.dtype != object:
            return value
        texts = value.astype(np.bytes_)
        if (texts.astype(object) != value).any():
            raise ValueError(f"{name}: NumPy has no texts that end with a zero byte")
        return texts

    def add_to(self, feeds: dict[Any, Any], name: str) -> Any:
        """A tensor of the default graph that has the value."""
        if self._reader is not None:
            key = self._keys[name]
            dtype = self._reader.get_variable_to_dtype_map()[key]
            return restored_tensor(self._reader.prefix, key, "", dtype)
        assert self._arrays is not None
        value = self._arrays[name]
        if value.dtype.kind in "SU":
            value = value.astype(object)
        fed = placeholder(convert_to_tensor(value.ravel()[:1]).dtype, value.shape)
        feeds[fed] = value
        return fed


def _write(source: _Source, names: Mapping[str, str], prefix: str, version: int) -> None:
    """Write a checkpoint; it is in memory as a whole."""
    if not names:
        raise ValueError("there is no tensor to write")
    feeds: dict[Any, Any] = {}
    graph = Graph()
    with graph.as_default():
        new = sorted(names)
        values = [source.add_to(feeds, names[name]) for name in new]
        if version == 1:
            written = gen_ops.save(prefix, new, values)
        else:
            written = gen_ops.save_v2(prefix, new, [""] * len(new), values)
    with Session(graph=graph) as session:
        session.run(written, feeds)
    _remove_other_version(prefix, version)


def _remove_other_version(prefix: str, version: int) -> None:
    """Remove what was replaced by a checkpoint of another version, which has other files."""
    if version == 2:
        old = [prefix]
    else:
        old = [index_path(prefix), *glob.glob(glob.escape(prefix) + ".data-?????-of-?????")]
    for path in old:
        if os.path.isfile(path):
            os.remove(path)
