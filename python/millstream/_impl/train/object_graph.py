"""The objects of an object-based checkpoint: what they hold, and the keys of their values.

A checkpoint has a value for each variable that the root object leads to. The key is the path from
the root, "model/layers/0/kernel/.ATTRIBUTES/VARIABLE_VALUE". Under `GRAPH_KEY` it has a
``TrackableObjectGraph`` with all objects, by which they are found again when a program has other
names for its variables.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any

from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.protos.message import DecodeError
from millstream._impl.train.checkpoint_reader import CheckpointReader
from millstream._impl.train.save_items import SaveItem, save_name
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.variables import Variable

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"
_STATE = "py_state"
_VARIABLES = (Variable, PartitionedVariable)
# Of these packages, objects say themselves what they hold (`_checkpoint_children`) or hold nothing.
_NOT_OF_USERS = {"builtins", "millstream", "numpy"}
_NOT_OBJECTS = (type, types.ModuleType, types.FunctionType, types.MethodType)


@public("train.experimental.PythonState")
class PythonState:
    """The base of objects of a program whose state is a text in checkpoints of objects.

    `tf.train.Checkpoint` asks for the text when it saves, and gives it back when it restores.

    Examples
    --------
    >>> import tempfile
    >>> class Place(tf.train.experimental.PythonState):
    ...     line = 0
    ...     def serialize(self):
    ...         return str(self.line)
    ...     def deserialize(self, string_value):
    ...         self.line = int(string_value)
    ...
    >>> place = Place()
    >>> place.line = 7
    >>> checkpoint = tf.train.Checkpoint(place=place)
    >>> path = checkpoint.save(tempfile.mkdtemp() + "/ckpt")
    >>> place.line = 9
    >>> status = checkpoint.restore(path)
    >>> place.line
    7
    """

    def serialize(self) -> str | bytes:
        """The text of the state."""
        raise NotImplementedError(f"{type(self).__name__}.serialize")

    def deserialize(self, string_value: bytes) -> None:
        """Take the state of a text.

        Parameters
        ----------
        string_value
            The text, as bytes.
        """
        raise NotImplementedError(f"{type(self).__name__}.deserialize")


def escaped(name: str) -> str:
    """A name as a part of a key: without "/", and without a single "."."""
    return name.replace(".", "..").replace("/", ".S")


def children_of(value: Any) -> dict[str, Any] | None:
    """The objects that an object holds, by name; None for what cannot hold any.

    Raises
    ------
    ValueError
        A dictionary has an object under a key that is no text.
    """
    if isinstance(value, _VARIABLES):
        return {}
    if isinstance(value, (list, tuple)):
        return tracked({str(i): each for i, each in enumerate(value)})
    if isinstance(value, Mapping):
        return tracked(value)
    own = getattr(value, "_checkpoint_children", None)
    if own is not None and not isinstance(value, type):
        return tracked(own())
    if is_of_user(value) or isinstance(value, PythonState):
        return tracked(vars(value))
    return None


def is_of_user(value: Any) -> bool:
    """Whether the value is an object of a class of the program."""
    package = type(value).__module__.partition(".")[0]
    is_object = hasattr(value, "__dict__") and not isinstance(value, _NOT_OBJECTS)
    return is_object and package not in _NOT_OF_USERS


def tracked(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Those of the values that hold variables, or may do so later."""
    found = {name: value for name, value in values.items() if _holds_variables(value, set())}
    for name in found:
        if not isinstance(name, str):
            raise ValueError(
                f"a checkpoint has no object under {name!r}: keys of dictionaries must be texts"
            )
    return found


def _holds_variables(value: Any, seen: set[int]) -> bool:
    if isinstance(value, (*_VARIABLES, PythonState)):
        return True
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, (list, tuple)):
        return any(_holds_variables(each, seen) for each in value)
    if isinstance(value, Mapping):
        return any(_holds_variables(each, seen) for each in value.values())
    if hasattr(value, "_checkpoint_children") and not isinstance(value, type):
        return True
    return is_of_user(value) and any(_holds_variables(each, seen) for each in vars(value).values())


def _slots_of(value: Any, variables: list[Any]) -> Iterator[tuple[str, int, Variable]]:
    """What an optimizer keeps beside these variables: name, number of the variable, the slot."""
    if not hasattr(value, "get_slot_names") or not hasattr(value, "_checkpoint_children"):
        return
    for name in value.get_slot_names():
        for number, variable in enumerate(variables):
            if isinstance(variable, Variable):
                slot = value.get_slot(variable, name)
                if slot is not None:
                    yield name, number, slot


class ObjectGraph:
    """All objects that a root object leads to, as they are now.

    Parameters
    ----------
    root
        The root object.

    Attributes
    ----------
    objects
        The objects by number: the root is 0, slots of optimizers are last.
    children
        For each object the names and numbers of those that it holds.
    paths
        For each object its shortest path, as keys have it.
    """

    def __init__(self, root: Any) -> None:
        self.objects: list[Any] = []
        self.children: list[list[tuple[str, int]]] = []
        self.paths: list[str] = []
        self._numbers: dict[int, int] = {}
        self._slots: dict[int, list[tuple[str, int, int]]] = {}
        self._add(root, "")
        done = 0
        while done < len(self.objects):
            for name, value in (children_of(self.objects[done]) or {}).items():
                self.children[done].append((name, self._number_of(value, done, name)))
            done += 1
        for number in range(done):
            for name, of, slot in _slots_of(self.objects[number], self.objects[:done]):
                path = f"{self.paths[of]}/.OPTIMIZER_SLOT/{self.paths[number]}/{escaped(name)}"
                added = (name, of, self._add(slot, path))
                self._slots.setdefault(number, []).append(added)

    def _add(self, value: Any, path: str) -> int:
        self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        self.children.append([])
        self.paths.append(path)
        return len(self.objects) - 1

    def _number_of(self, value: Any, parent: int, name: str) -> int:
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        above = self.paths[parent]
        return self._add(value, f"{above}/{escaped(name)}" if above else escaped(name))

    def key_of(self, number: int) -> str:
        """The key of a variable's value."""
        return f"{self.paths[number]}/.ATTRIBUTES/{VALUE}"

    def variables(self) -> list[tuple[int, Any]]:
        """The variables, each with its number."""
        return [
            (number, value)
            for number, value in enumerate(self.objects)
            if isinstance(value, _VARIABLES)
        ]

    def states(self) -> dict[int, PythonState]:
        """The objects whose state is a text, by number."""
        return {
            number: value
            for number, value in enumerate(self.objects)
            if isinstance(value, PythonState)
        }

    def texts(self) -> dict[str, str | bytes]:
        """The texts that are saved, by their keys."""
        return {self._state_key(number): one.serialize() for number, one in self.states().items()}

    def _state_key(self, number: int) -> str:
        return f"{self.paths[number]}/.ATTRIBUTES/{_STATE}"

    def items(self) -> list[SaveItem]:
        """What is saved of variables."""
        return [
            item
            for number, value in self.variables()
            for item in items_of(value, self.key_of(number))
        ]

    def message(self) -> Any:
        """The ``TrackableObjectGraph``."""
        made = protos.message_class("TrackableObjectGraph")()
        for number, value in enumerate(self.objects):
            node = made.nodes.add()
            for name, child in self.children[number]:
                node.children.add(node_id=child, local_name=name)
            for name, of, slot in self._slots.get(number, []):
                node.slot_variables.add(
                    original_variable_node_id=of, slot_name=name, slot_variable_node_id=slot
                )
            if isinstance(value, _VARIABLES):
                node.attributes.add(
                    name=VALUE, full_name=full_name(value), checkpoint_key=self.key_of(number)
                )
            elif isinstance(value, PythonState):
                node.attributes.add(name=_STATE, checkpoint_key=self._state_key(number))
        return made


def read_object_graph(reader: CheckpointReader) -> Any:
    """The ``TrackableObjectGraph`` of a checkpoint; None of one of names.

    Raises
    ------
    DataLossError
        It is damaged.
    """
    if not reader.has_tensor(GRAPH_KEY):
        return None
    try:
        data = reader.get_tensor(GRAPH_KEY)
        message = protos.message_class("TrackableObjectGraph").FromString(data)
    except (DecodeError, TypeError) as error:
        raise _damaged(reader, f"it is no message of objects: {error}") from None
    count = len(message.nodes)
    for node in message.nodes:
        numbers = [child.node_id for child in node.children]
        numbers += [slot.slot_variable_node_id for slot in node.slot_variables]
        for number in numbers:
            if not 0 <= number < count:
                raise _damaged(reader, f"it has {count} objects, and none of number {number}")
    return message


def _damaged(reader: CheckpointReader, why: str) -> Exception:
    text = f"{reader.prefix}: tensor {GRAPH_KEY}: {why}"
    return errors.make(None, errors.DATA_LOSS, text, "")


def keys_by_name(message: Any) -> dict[str, str]:
    """The keys of values, by the names that a checkpoint of names would have for them."""
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in message.nodes
        for attribute in node.attributes
        if attribute.name == VALUE
    }


def full_name(variable: Any) -> str:
    """The name that a checkpoint of names has for a variable."""
    return variable.name if isinstance(variable, PartitionedVariable) else save_name(variable)


def items_of(variable: Any, key: str) -> list[SaveItem]:
    """What is saved of a variable under a key: the whole, or each part."""
    items = []
    for part in list(variable) if isinstance(variable, PartitionedVariable) else [variable]:
        place = part._get_save_slice_info()
        if isinstance(variable, Variable):
            place = None  # it is a part of a variable, and has a key of its own
        items.append(SaveItem(key, "" if place is None else place.spec, part))
    return items


class Match:
    """The objects of a program that stand for those of a checkpoint.

    Parameters
    ----------
    graph
        The objects of the program.
    message
        The ``TrackableObjectGraph`` of the checkpoint.

    Attributes
    ----------
    numbers
        Numbers of the program's objects, by those of the checkpoint.
    """

    def __init__(self, graph: ObjectGraph, message: Any) -> None:
        self._graph = graph
        self._nodes = list(message.nodes)
        self.numbers: dict[int, int] = {0: 0} if self._nodes else {}
        waiting = list(self.numbers)
        while waiting:
            node = waiting.pop(0)
            held = dict(graph.children[self.numbers[node]])
            for reference in self._nodes[node].children:
                found = held.get(reference.local_name)
                if found is None or not self._is_new(reference.node_id):
                    continue
                self.numbers[reference.node_id] = found
                waiting.append(reference.node_id)
        self._match_slots()

    def _is_new(self, node: int) -> bool:
        return 0 <= node < len(self._nodes) and node not in self.numbers

    def _match_slots(self) -> None:
        for node, number in list(self.numbers.items()):
            slots = {(name, of): slot for name, of, slot in self._graph._slots.get(number, [])}
            for reference in self._nodes[node].slot_variables:
                of = self.numbers.get(reference.original_variable_node_id, -1)
                found = slots.get((reference.slot_name, of))
                if found is not None and self._is_new(reference.slot_variable_node_id):
                    self.numbers[reference.slot_variable_node_id] = found

    def keys(self) -> dict[int, str]:
        """The keys of values for the program's variables, by number."""
        return self._keys_of(VALUE, _VARIABLES)

    def state_keys(self) -> dict[int, str]:
        """The keys of texts for the program's objects, by number."""
        return self._keys_of(_STATE, (PythonState,))

    def _keys_of(self, attribute_name: str, kinds: tuple[type, ...]) -> dict[int, str]:
        found: dict[int, str] = {}
        for node, number in self.numbers.items():
            for attribute in self._nodes[node].attributes:
                fits = isinstance(self._graph.objects[number], kinds)
                if fits and attribute.name == attribute_name:
                    found.setdefault(number, attribute.checkpoint_key)
        return found

    def unused(self) -> dict[str, str]:
        """Keys of values that no object takes, with the path of the object in the checkpoint."""
        used = {*self.keys().values(), *self.state_keys().values()}
        paths = _paths(self._nodes)
        return {
            attribute.checkpoint_key: paths.get(number, f"object {number}")
            for number, node in enumerate(self._nodes)
            for attribute in node.attributes
            if attribute.checkpoint_key not in used and attribute.name != "OBJECT_CONFIG_JSON"
        }


def _paths(nodes: list[Any]) -> dict[int, str]:
    """Paths from the root as people write them: "(root).model.kernel"."""
    found = {0: "(root)"}
    waiting = [0]
    while waiting:
        number = waiting.pop(0)
        for child in nodes[number].children if number < len(nodes) else ():
            if child.node_id not in found:
                found[child.node_id] = f"{found[number]}.{child.local_name}"
                waiting.append(child.node_id)
    for number, node in enumerate(nodes):
        for slot in node.slot_variables:
            of = found.get(slot.original_variable_node_id, "an unknown variable")
            by = found.get(number, f"object {number}")
            text = f"{of}'s slot {slot.slot_name!r} of {by}"
            found.setdefault(slot.slot_variable_node_id, text)
    return found
