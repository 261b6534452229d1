"""Blocks that change how operations are added to the default graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import graph_import
from millstream._impl.graph.arguments import ITEMS, LIST, MAPPING, NAME, NAMES, TEXT, or_none, takes
from millstream._impl.graph.convert import graph_of
from millstream._impl.graph.default_graph import get_default_graph


@public("name_scope")
class name_scope:  # noqa: N801  (the public name)
    """A block in which the names of new operations start with a scope.

    Parameters
    ----------
    name
        Name of the scope, made unique; one that ends with "/" is entered as it is; None or "" with
        no default leaves all scopes.
    default_name
        Name to take when `name` is None.
    values
        Tensors in whose graph the scope is entered.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.name_scope("layer") as scope:
    ...     print(scope, tf.constant(1, name="one").name)
    layer/ layer/one:0
    """

    @takes(default_name=NAME, values=LIST)
    def __init__(
        self, name: str | None, default_name: str | None = None, values: Any = None
    ) -> None:
        if name is None and default_name is None and values is not None:
            raise ValueError("name: a scope with values needs a name or a default_name")
        self._name = default_name if name is None else name
        self._values = values
        self._stack = ExitStack()

    @property
    def name(self) -> str | None:
        """The name asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = graph_of(self._values) if self._values else get_default_graph()
        if graph is not get_default_graph():
            self._stack.enter_context(graph.as_default())
        try:
            scope = graph.name_scope(self._name)
            return self._stack.enter_context(scope)
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *error: object) -> None:
        self._stack.close()


@public("op_scope")
@takes(values=or_none(LIST), default_name=NAME)
def op_scope(
    values: Any, name: str | None, default_name: str | None = None
) -> AbstractContextManager[str]:
    """A `name_scope` with its parameters in another order.

    Parameters
    ----------
    values, name, default_name
        As for `name_scope`.

    Examples
    --------
    >>> with tf.op_scope([tf.constant(1)], None, "layer") as scope:
    ...     scope
    'layer/'
    """
    return name_scope(name, default_name, values)


@public("control_dependencies")
@takes(control_inputs=or_none(ITEMS))
def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """A block of the default graph whose operations run after the given ones.

    Parameters
    ----------
    control_inputs
        Operations, tensors and variables; None leaves all such blocks.

    Raises
    ------
    TypeError
        Something else is given.

    Examples
    --------
    >>> first = tf.no_op(name="first")
    >>> with tf.control_dependencies([first]):
    ...     tf.constant(1).op.control_inputs
    [<tf.Operation 'first' type=NoOp>]
    """
    return get_default_graph().control_dependencies(control_inputs)


@public("device")
def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """A block of the default graph whose operations ask for a device.

    Parameters
    ----------
    device_name_or_function
        A name or `DeviceSpec`, full or partial, that is merged with the outer blocks' names; a
        function from an operation to one; or None, which leaves all such blocks.

    Raises
    ------
    TypeError, ValueError
        It is none of these, or no name of a device.

    Examples
    --------
    >>> with tf.device("/job:worker"), tf.device("/cpu:0"):
    ...     tf.constant(1).device
    '/job:worker/device:CPU:0'
    """
    return get_default_graph().device(device_name_or_function)


@public("colocate_with")
def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """A block of the default graph whose operations stand on the device of another one.

    Parameters
    ----------
    op
        An operation, tensor or variable; None with `ignore_existing` leaves all such blocks.
    ignore_existing
        Leave the outer blocks of this kind.

    Raises
    ------
    TypeError, ValueError
        `op` is none of these.

    Examples
    --------
    >>> home = tf.constant(1, name="home")
    >>> with tf.colocate_with(home):
    ...     tf.constant(2).op.colocation_groups()
    [b'loc:@home']
    """
    return get_default_graph().colocate_with(op, ignore_existing)


@public("container")
@takes(container_name=TEXT)
def container(container_name: str) -> AbstractContextManager[str]:
    """A block of the default graph whose variables and other resources live in a container.

    Parameters
    ----------
    container_name
        Name of the container; "" is the session's own.

    Raises
    ------
    TypeError
        It is no name.

    Examples
    --------
    >>> with tf.container("shared"):
    ...     tf.Variable(1.0).op.get_attr("container")
    b'shared'
    """
    return get_default_graph().container(container_name)


@public("get_collection")
@takes(scope=TEXT)
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph.

    Parameters
    ----------
    key
        Name of the collection, such as one of `GraphKeys`.
    scope
        A regular expression that the items' names start with, or None for all items.

    Examples
    --------
    >>> tf.add_to_collection("numbers", 7)
    >>> tf.get_collection("numbers")
    [7]
    """
    return get_default_graph().get_collection(key, scope)


@public("get_collection_ref")
def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself: what is appended to it stays.

    Parameters
    ----------
    key
        Name of the collection.

    Examples
    --------
    >>> tf.get_collection_ref("numbers").append(7)
    >>> tf.get_collection("numbers")
    [7]
    """
    return get_default_graph().get_collection_ref(key)


@public("add_to_collection")
def add_to_collection(name: Any, value: Any) -> None:
    """Append to a collection of the default graph.

    Parameters
    ----------
    name
        Name of the collection.
    value
        What to append.

    Examples
    --------
    >>> tf.add_to_collection("numbers", 7)
    >>> tf.get_collection("numbers")
    [7]
    """
    get_default_graph().add_to_collection(name, value)


@public("add_to_collections")
@takes(names=NAMES)
def add_to_collections(names: Any, value: Any) -> None:
    """Append to several collections of the default graph.

    Parameters
    ----------
    names
        Names of the collections, or one name.
    value
        What to append to each.

    Examples
    --------
    >>> tf.add_to_collections(["a", "b"], 7)
    >>> tf.get_collection("a"), tf.get_collection("b")
    ([7], [7])
    """
    get_default_graph().add_to_collections(names, value)


@public("import_graph_def", "graph_util.import_graph_def")
@takes(input_map=MAPPING, return_elements=LIST)
def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
    config: Any = None,
) -> list[Any] | None:
    """Add the nodes of a ``GraphDef`` to the default graph.

    Parameters
    ----------
    graph_def
        A ``GraphDef`` message, or its bytes.
    input_map
        Tensors that take the place of the graph's tensors of those names.
    return_elements
        Names of operations ("x") and tensors ("x:0") to return.
    name
        Scope of the new names, by default "import"; "" for none.
    op_dict, producer_op_list
        Not used.
    config
        A ``tf.ConfigProto``: the graph may not have its `forbidden_ops`, and its constants may
        take as much memory as `max_import_expansion` says.

    Returns
    -------
    list or None
        What `return_elements` names, or None when it is None.

    Raises
    ------
    ValueError
        The graph is malformed, or a name is not in it.
    NotFoundError
        Operations of the graph are unknown; the message lists them.
    PermissionDeniedError
        An operation of the graph is forbidden by `config`.
    ResourceExhaustedError
        The constants of the graph take far more memory than the graph is long.

    Examples
    --------
    >>> with tf.Graph().as_default() as other:
    ...     total = tf.add(tf.placeholder(tf.int32, name="x"), 2, name="total")
    >>> mapped = {"x:0": tf.constant(40)}
    >>> (found,) = tf.import_graph_def(other.as_graph_def(), mapped, ["total:0"])
    >>> found.name, int(found.eval())
    ('import/total:0', 42)
    """
    return graph_import.import_graph_def(graph_def, input_map, return_elements, name, config)
