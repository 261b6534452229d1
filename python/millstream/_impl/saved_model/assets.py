"""Files that belong to a model, such as vocabularies: beside it on disk, by path in its graph."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import Any

import numpy as np

from millstream._impl import protos
from millstream._impl.graph.convert import constant_value
from millstream._impl.saved_model import constants
from millstream._impl.saved_model.tensor_infos import build_tensor_info
from millstream._impl.values import dtypes

_TYPE_URL = "type.googleapis.com/tensorflow.AssetFileDef"


def path_of(tensor: Any) -> bytes:
    """The path in a constant of the graph.

    Raises
    ------
    TypeError
        It is no constant text.
    """
    if not hasattr(tensor, "op"):
        raise TypeError(f"Asset path tensor must be a Tensor, got {tensor!r}.")
    if tensor.op.type != "Const":
        raise TypeError(f"Asset path tensor must be of type constant, got {tensor.op.type}.")
    if tensor.dtype.base_dtype != dtypes.string:
        raise TypeError(f"Asset path tensor must be of dtype string, got {tensor.dtype.name}.")
    values = np.asarray(constant_value(tensor), object)
    if values.size != 1:
        raise TypeError(f"Asset path tensor must be a scalar, got the shape {values.shape}.")
    path: bytes = values.item()
    return path


def add_assets(meta_graph: Any, folder: str, tensors: Iterable[Any]) -> None:
    """Copy files into the model's folder, and list them in a graph's collection.

    Parameters
    ----------
    meta_graph
        The ``MetaGraphDef``.
    folder
        The model's folder.
    tensors
        Constants of the graph that have paths of files.
    """
    names: dict[bytes, str] = {}
    for tensor in tensors:
        path = path_of(tensor)
        if path not in names:
            names[path] = _free_name(os.path.basename(os.fsdecode(path)), names.values())
            inside = os.path.join(folder, constants.ASSETS_DIRECTORY)
            os.makedirs(inside, exist_ok=True)
            shutil.copyfile(path, os.path.join(os.fsencode(inside), os.fsencode(names[path])))
        definition = protos.message_class("AssetFileDef")()
        definition.filename = names[path]
        definition.tensor_info.name = build_tensor_info(tensor).name
        listed = meta_graph.collection_def[constants.ASSETS_KEY].any_list.value.add()
        listed.type_url = _TYPE_URL
        listed.value = definition.SerializeToString()


def _free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or one with a number behind it: files of several folders may have one name."""
    used = set(taken)
    found, number = name, 0
    while found in used:
        number += 1
        found = f"{name}_{number}"
    return found


def asset_feeds(meta_graph: Any, folder: str, import_scope: str | None) -> dict[str, str]:
    """What the constants with paths are fed where the model lies now: paths by names of tensors.

    Raises
    ------
    ValueError
        A file is named by something else than a name in the folder of files.
    """
    if constants.ASSETS_KEY not in meta_graph.collection_def:
        return {}
    scope = f"{import_scope}/" if import_scope else ""
    found = {}
    for item in meta_graph.collection_def[constants.ASSETS_KEY].any_list.value:
        definition = protos.message_class("AssetFileDef").FromString(item.value)
        name = definition.filename
        if name != os.path.basename(name) or name in ("", ".", ".."):
            raise ValueError(f"asset: expected the name of a file in the model, got {name!r}")
        path = os.path.join(folder, constants.ASSETS_DIRECTORY, name)
        found[scope + definition.tensor_info.name] = path
    return found
