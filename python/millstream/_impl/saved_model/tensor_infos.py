"""Tensors of graphs as ``TensorInfo`` messages, and back."""

from __future__ import annotations

from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import GRAPH, TENSOR_ITSELF, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.ops.sparse_tensor import SparseTensor


@public("saved_model.utils.build_tensor_info", "saved_model.build_tensor_info")
@takes(tensor=TENSOR_ITSELF)
def build_tensor_info(tensor: Any) -> Any:
    """Describe a tensor for a signature: its name, its type, its shape.

    Parameters
    ----------
    tensor
        A tensor or a SparseTensor.

    Returns
    -------
    TensorInfo

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [None, 2], name="x")
    >>> tf.saved_model.build_tensor_info(x).name
    'x:0'
    """
    info = protos.message_class("TensorInfo")()
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
        shape = tensor.get_shape()
    else:
        tensor = convert_to_tensor(tensor, name="tensor")
        info.name = tensor.name
        shape = tensor.shape
    info.dtype = tensor.dtype.base_dtype.as_datatype_enum
    info.tensor_shape.CopyFrom(shape.as_proto())
    return info


@public("saved_model.utils.get_tensor_from_tensor_info", "saved_model.get_tensor_from_tensor_info")
@takes(graph=GRAPH, import_scope=TEXT)
def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Any = None, import_scope: str | None = None
) -> Any:
    """The tensor that a ``TensorInfo`` describes.

    Parameters
    ----------
    tensor_info
        The description.
    graph
        The graph, by default the default one.
    import_scope
        The scope that the graph of the description was imported into.

    Returns
    -------
    Tensor or SparseTensor

    Raises
    ------
    KeyError
        The graph has no tensor of that name.
    ValueError
        The description has none, or is of another kind of value.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [None, 2], name="x")
    >>> tf.saved_model.get_tensor_from_tensor_info(tf.saved_model.build_tensor_info(x)) is x
    True
    """
    if not hasattr(tensor_info, "WhichOneof"):
        raise TypeError(f"tensor_info: expected a TensorInfo, got {tensor_info!r}")
    graph = graph or get_default_graph()
    scope = f"{import_scope}/" if import_scope else ""

    def found(name: str) -> Any:
        return graph.get_tensor_by_name(scope + name)

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return found(tensor_info.name)
    if encoding == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            found(parts.indices_tensor_name),
            found(parts.values_tensor_name),
            found(parts.dense_shape_tensor_name),
        )
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")
