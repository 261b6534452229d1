"""Nested structures: lists, tuples, named tuples, dictionaries and classes of ``attrs``.

Dictionaries are taken in the order of their sorted keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.ops.sparse_tensor import SparseTensor


class Composite:
    """A value that is made of tensors. With `expand_composites` these are its leaves."""

    def _composite_parts(self) -> list[Any]:
        """The tensors."""
        raise NotImplementedError

    def _with_composite_parts(self, parts: list[Any]) -> Any:
        """The same value, made of other tensors."""
        raise NotImplementedError

    def _fed_parts(self, value: Any) -> list[Any]:
        """What a step feeds the tensors where it feeds `value` for this one."""
        raise TypeError(f"feed_dict: {self!r} cannot be fed")

    def _fetched(self, parts: list[Any]) -> Any:
        """The value in a step, made of those of the tensors."""
        raise TypeError(f"fetches: {self!r} cannot be fetched")


def _is_attrs(value: Any) -> bool:
    return getattr(type(value), "__attrs_attrs__", None) is not None


@public("nest.is_nested")
def is_nested(seq: Any) -> bool:
    """Whether a value is a structure and no leaf. Texts, sets, arrays and tensors are leaves.

    Parameters
    ----------
    seq
        Any value.

    Examples
    --------
    >>> [tf.nest.is_nested(value) for value in ([1], {"a": 1}, "text", 3)]
    [True, True, False, False]
    """
    if isinstance(seq, (str, bytes, bytearray, TensorLike, range)):
        return False
    return isinstance(seq, (Sequence, Mapping, MappingView)) or _is_attrs(seq)


def _is_composite(value: Any, expand: bool) -> bool:
    return expand and isinstance(value, (IndexedSlices, SparseTensor, Composite))


def _has_parts(value: Any, expand: bool) -> bool:
    return is_nested(value) or _is_composite(value, expand)


def _sorted_keys(mapping: Any) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError(f"structure: the keys of {mapping!r} cannot be sorted") from None


def _parts(value: Any) -> list[Any]:
    """What is directly inside a structure."""
    if isinstance(value, Mapping):
        return [value[key] for key in _sorted_keys(value)]
    if _is_attrs(value):
        return [getattr(value, one.name) for one in type(value).__attrs_attrs__]
    if isinstance(value, IndexedSlices):
        parts = (value.values, value.indices, value.dense_shape)
        return [part for part in parts if part is not None]
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, Composite):
        return value._composite_parts()
    return list(value)


def _made_like(like: Any, parts: list[Any]) -> Any:
    """A structure as `like` with other parts."""
    kind: Any = type(like)
    if isinstance(like, Mapping):
        by_key = dict(zip(_sorted_keys(like), parts, strict=True))
        items = [(key, by_key[key]) for key in like]
        return kind(like.default_factory, items) if isinstance(like, defaultdict) else kind(items)
    if isinstance(like, (IndexedSlices, SparseTensor)):
        return kind(*parts)
    if isinstance(like, Composite):
        return like._with_composite_parts(parts)
    if hasattr(like, "_fields") or _is_attrs(like):
        return kind(*parts)
    return parts if isinstance(like, MappingView) else kind(parts)


@public("nest.flatten")
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure, in order; of a leaf, itself.

    Parameters
    ----------
    structure
        Any value.
    expand_composites
        Take slices and sparse tensors apart, into values, indices and shape, and arrays of tensors
        to their flow.

    Raises
    ------
    TypeError
        The keys of a dictionary cannot be sorted.

    Examples
    --------
    >>> tf.nest.flatten({"b": [2, 3], "a": (1,)})
    [1, 2, 3]
    >>> tf.nest.flatten(5)
    [5]
    """
    return list(_leaves(structure, expand_composites))


def _leaves(value: Any, expand: bool) -> Iterator[Any]:
    if not _has_parts(value, expand):
        yield value
        return
    for part in _parts(value):
        yield from _leaves(part, expand)


@public("nest.pack_sequence_as")
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A structure as another one, with leaves from a list.

    Parameters
    ----------
    structure
        Says how the result is nested.
    flat_sequence
        The leaves.
    expand_composites
        As for `flatten`.

    Raises
    ------
    TypeError
        `flat_sequence` is no list.
    ValueError
        There are more or fewer leaves than `structure` has.

    Examples
    --------
    >>> tf.nest.pack_sequence_as({"b": [0, 0], "a": 0}, [1, 2, 3])
    {'b': [2, 3], 'a': 1}
    """
    if not is_nested(flat_sequence):
        raise TypeError(f"flat_sequence: expected a list, got {flat_sequence!r}")
    leaves = list(flat_sequence)
    wanted = len(flatten(structure, expand_composites))
    if not _has_parts(structure, expand_composites) and len(leaves) != 1:
        raise ValueError(
            f"flat_sequence: expected one element, as structure is a leaf, got {len(leaves)}"
        )
    if wanted != len(leaves):
        raise ValueError(
            f"flat_sequence: expected {wanted} elements, as structure has, got {len(leaves)}: "
            f"structure: {structure!r}, flat_sequence: {flat_sequence!r}"
        )
    return _packed(structure, iter(leaves), expand_composites)


def _packed(like: Any, leaves: Iterator[Any], expand: bool) -> Any:
    if not _has_parts(like, expand):
        return next(leaves)
    return _made_like(like, [_packed(part, leaves, expand) for part in _parts(like)])


@public("nest.assert_same_structure")
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise an error unless two structures are nested alike.

    Parameters
    ----------
    nest1, nest2
        Any values.
    check_types
        Ask for the same types of lists, tuples and dictionaries too. Two kinds of dictionaries
        count as one type.
    expand_composites
        As for `flatten`.

    Raises
    ------
    ValueError
        They are nested differently, or dictionaries have different keys.
    TypeError
        They have different types.

    Examples
    --------
    >>> tf.nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    >>> tf.nest.assert_same_structure([1, 2], [1, [2]])
    Traceback (most recent call last):
    ValueError: nest1 and nest2 are not nested alike at [1]: 2 and [2]
    """
    _check_same(nest1, nest2, check_types, expand_composites, "")


def _check_same(one: Any, other: Any, check_types: bool, expand: bool, where: str) -> None:
    at = f" at {where}" if where else ""
    if _has_parts(one, expand) != _has_parts(other, expand):
        raise ValueError(f"nest1 and nest2 are not nested alike{at}: {one!r} and {other!r}")
    if not _has_parts(one, expand):
        return
    if check_types and not _same_type(one, other):
        raise TypeError(
            f"nest1 and nest2 have different types{at}: {type(one).__name__} and "
            f"{type(other).__name__}"
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping) and set(one) != set(other):
        raise ValueError(
            f"nest1 and nest2 don't have the same set of keys{at}: {list(one)} and {list(other)}"
        )
    parts, others = _parts(one), _parts(other)
    if len(parts) != len(others):
        raise ValueError(
            f"nest1 and nest2 don't have the same number of elements{at}: {one!r} and {other!r}"
        )
    keys = _sorted_keys(one) if isinstance(one, Mapping) else range(len(parts))
    for key, part, counterpart in zip(keys, parts, others, strict=True):
        _check_same(part, counterpart, check_types, expand, f"{where}[{key!r}]")


def _same_type(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return True
    if hasattr(one, "_fields") and hasattr(other, "_fields"):
        same_name = type(one).__name__ == type(other).__name__
        return same_name and tuple(one._fields) == tuple(other._fields)
    return type(one) is type(other)


@public("nest.map_structure")
@takes(func=FUNCTION)
def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Call a function with each leaf of structures that are nested alike.

    Parameters
    ----------
    func
        Gets a leaf of each structure.
    structure
        The structures, one at least. The result is nested as the first.
    kwargs
        `check_types` and `expand_composites`, as for `assert_same_structure`.

    Raises
    ------
    TypeError
        `func` is no function, or structures have different types.
    ValueError
        There is no structure, they are nested differently, or an argument is not known.

    Examples
    --------
    >>> tf.nest.map_structure(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            f"map_structure: expected check_types and expand_composites only, got {sorted(kwargs)}"
        )
    if not structure:
        raise ValueError("structure: expected one structure at least, got none")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    columns = zip(*(flatten(one, expand) for one in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in columns], expand)


def map_parts(function: Callable[..., Any], *structures: Any) -> Any:
    """What a function gives for what is directly inside structures, nested as the first.

    Parameters
    ----------
    function
        Gets a part of each structure.
    structures
        Structures with as many parts as the first has.
    """
    columns = zip(*(_parts(one) for one in structures), strict=True)
    return _made_like(structures[0], [function(*parts) for parts in columns])
