"""A layer and the layers that its attributes hold: what all of them have together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream._impl.ops import nest
from millstream._impl.variables import modules
from millstream._impl.variables.variables import Variable

# The variables that a layer made, in lists of its own.
_LISTS = ("_trainable_weights", "_non_trainable_weights")


def layers_in(layer: Any) -> list[Any]:
    """The layer, then those in its attributes, each followed by those in its own."""
    return [each for each, _ in _walk(layer, False, set())]


def joined(layer: Any, attribute: str) -> list[Any]:
    """The items of a list that each layer of the tree has."""
    return [item for each in layers_in(layer) for item in getattr(each, attribute)]


def trainable_weights(layer: Any) -> list[Any]:
    """The variables of the tree that optimizers change."""
    return _once(
        variable
        for each, frozen in _walk(layer, False, set())
        if not frozen
        for variable in _own(each, trained=True)
    )


def non_trainable_weights(layer: Any) -> list[Any]:
    """The other variables of the tree: all those of a layer that is not trainable."""
    return _once(
        variable
        for each, frozen in _walk(layer, False, set())
        for trained in ((True, False) if frozen else (False,))
        for variable in _own(each, trained=trained)
    )


def _walk(layer: Any, frozen: bool, seen: set[int]) -> Iterator[tuple[Any, bool]]:
    """Each layer once, with whether it or one that it is in is not trainable."""
    seen.add(id(layer))
    frozen = frozen or not layer.trainable
    yield layer, frozen
    for leaf in _leaves(layer):
        is_layer = isinstance(leaf, modules.Searched) and not isinstance(leaf, modules.Module)
        if is_layer and id(leaf) not in seen:
            yield from _walk(leaf, frozen, seen)


def _own(layer: Any, trained: bool) -> list[Any]:
    """The variables that a layer made, then those that were put into its attributes."""
    held = [leaf for leaf in _leaves(layer) if isinstance(leaf, Variable)]
    noted = {id(each) for name in _LISTS for each in getattr(layer, name)}
    made: list[Any] = getattr(layer, _LISTS[0] if trained else _LISTS[1])
    return [*made, *(v for v in held if id(v) not in noted and v.trainable is trained)]


def _leaves(layer: Any) -> Iterator[Any]:
    """What the attributes of a layer hold, in the order in which they were set."""
    for name, value in vars(layer).items():
        if name in _LISTS or name in layer._unsearched:
            continue
        try:
            yield from nest.flatten(value)
        except TypeError:  # a dictionary whose keys have no order holds no layers
            continue


def _once(items: Iterator[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())
