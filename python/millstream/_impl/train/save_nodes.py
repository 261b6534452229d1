"""The nodes of a saver: those that write a checkpoint and those that read one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl import protos
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import control_ops
from millstream._impl.ops.array_creation import placeholder_with_default
from millstream._impl.train.save_items import SavedTensor, SaveItem
from millstream._impl.train.save_objects import ObjectItem

Item = SaveItem | ObjectItem


def tensors_of(items: Sequence[Item]) -> list[SavedTensor]:
    """All tensors of the items, one after the other."""
    return [tensor for item in items for tensor in item.tensors()]


class SaveNodes:
    """Adds the nodes of a saver to the graph that holds its variables and objects.

    Parameters
    ----------
    graph
        The graph.
    items
        What is saved and restored.
    reshape
        Whether values take the shape of their variable.
    sequential
        Whether variables are restored one after the other.
    version
        Of the checkpoints that are written: 1 or 2. Both are read.
    """

    def __init__(
        self,
        graph: Graph,
        items: Sequence[Item],
        reshape: bool,
        sequential: bool,
        version: int,
    ) -> None:
        self._version = version
        self._graph = graph
        self._items = items
        self._reshape = reshape
        self._sequential = sequential

    def add(self, name: str, filename: str, sharded: bool) -> Any:
        """Add them below the scope `name`; the ``SaverDef`` that names them."""
        graph = self._graph
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(name):
            given = placeholder_with_default(filename, (), name="filename")
            prefix = placeholder_with_default(given, (), name="Const")
            saved = self._save_shards(prefix) if sharded else self._save(prefix)
            restored = self._restore(prefix)
        return protos.message_class("SaverDef")(
            filename_tensor_name=prefix.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            sharded=sharded,
            version=self._version,
        )

    def _save_op(self, prefix: Tensor, items: Sequence[Item]) -> Operation:
        tensors = tensors_of(items)
        keys = [tensor.key for tensor in tensors]
        specs = [tensor.spec for tensor in tensors]
        values = [tensor.value for tensor in tensors]
        saved: Operation
        if self._version == 2:
            saved = gen_ops.save_v2(prefix, keys, specs, values)
        elif any(specs):
            saved = gen_ops.save_slices(prefix, keys, specs, values)
        else:
            saved = gen_ops.save(prefix, keys, values)
        return saved

    def _save(self, prefix: Tensor) -> Tensor:
        saved = self._save_op(prefix, self._items)
        with self._graph.control_dependencies([saved]):
            done: Tensor = gen_ops.identity(prefix, name="control_dependency")
        return done

    def _save_shards(self, prefix: Tensor) -> Tensor:
        """One checkpoint for each device, which become one; those of version 1 stay several."""
        graph = self._graph
        by_device: dict[str, list[Item]] = {}
        for item in self._items:
            by_device.setdefault(item.device, []).append(item)
        shards: list[Tensor] = []
        saved: list[Operation] = []
        for number, (device, items) in enumerate(by_device.items()):
            with graph.device(device or None):
                shard = gen_ops.sharded_filename(prefix, number, len(by_device))
                shards.append(shard)
                saved.append(self._save_op(shard, items))
        done: Tensor
        if self._version == 1:
            with graph.control_dependencies(saved):
                done = gen_ops.sharded_filespec(prefix, len(by_device))
            return done
        with graph.control_dependencies(saved):
            prefixes = gen_ops.pack(shards, 0, name="MergeV2Checkpoints/checkpoint_prefixes")
            merged = gen_ops.merge_v2_checkpoints(prefixes, prefix, delete_old_dirs=False)
        with graph.control_dependencies([merged]):
            done = gen_ops.identity(prefix)
        return done

    def _restore(self, prefix: Tensor) -> Operation:
        items = self._items
        groups = [[item] for item in items] if self._sequential else [list(items)]
        assigned: list[Operation] = []
        for group in groups:
            with self._graph.control_dependencies(assigned[-1:] if self._sequential else []):
                assigned += self._restore_group(prefix, group)
        return control_ops.group(*assigned, name="restore_all")

    def _restore_group(self, prefix: Tensor, group: Sequence[Item]) -> list[Operation]:
        counts = [len(item.tensors()) for item in group]
        tensors = tensors_of(group)
        read = gen_ops.restore_v2(
            prefix,
            [tensor.key for tensor in tensors],
            [tensor.spec for tensor in tensors],
            [tensor.dtype for tensor in tensors],
        )
        values = list(read) if isinstance(read, (list, tuple)) else [read]
        ends = list(itertools.accumulate(counts))
        return [
            item.restore_from(values[end - count : end], self._reshape)
            for item, count, end in zip(group, counts, ends, strict=True)
        ]
