"""Repeated and map fields."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence
from typing import Any

from millstream._impl.protos.fields import Field


class _Repeated(MutableSequence[Any]):
    """What lists of scalars and of messages have in common."""

    __slots__ = ("_items", "_owner")

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._items: list[Any] = []

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __delitem__(self, index: Any) -> None:
        del self._items[index]
        self._owner._touch()

    def __len__(self) -> int:
        return len(self._items)

    def MergeFrom(self, other: Iterable[Any]) -> None:  # noqa: N802  (protobuf's name)
        """Append copies of the items of `other`."""
        self.extend(other)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort the items."""
        self._items.sort(key=key, reverse=reverse)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Repeated):
            return self._items == other._items
        return self._items == other

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return copy.deepcopy(self._items, memo)

    def __repr__(self) -> str:
        return repr(self._items)


class RepeatedScalar(_Repeated):
    """A list of scalars of one type."""

    __slots__ = ("_field",)

    def __init__(self, field: Field, owner: Any) -> None:
        super().__init__(owner)
        self._field = field

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            self._items[index] = [self._field.checked(item) for item in value]
        else:
            self._items[index] = self._field.checked(value)
        self._owner._touch()

    def insert(self, index: int, value: Any) -> None:
        """Put `value` before the item at `index`."""
        self._items.insert(index, self._field.checked(value))
        self._owner._touch()

    def extend(self, values: Iterable[Any]) -> None:
        """Append each of `values`."""
        self._items.extend([self._field.checked(value) for value in values])
        self._owner._touch()

    def append_read(self, value: Any) -> None:
        """Append what was read from the wire: a value, or a list of them."""
        if type(value) is list:
            self._items.extend(value)
        else:
            self._items.append(value)


class RepeatedMessage(_Repeated):
    """A list of messages of one type."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any], owner: Any) -> None:
        super().__init__(owner)
        self._make = make

    def add(self, **values: Any) -> Any:
        """Append a message with the given fields, and return it."""
        message = self._make(**values)
        self._items.append(message)
        self._owner._touch()
        return message

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("messages of a list are changed in place, not assigned")

    def insert(self, index: int, value: Any) -> None:
        """Put a copy of the message `value` before the item at `index`."""
        if not isinstance(value, self._make):  # type: ignore[arg-type]
            raise TypeError(f"expected a {self._make.__name__}, got {value!r}")
        copied = self._make()
        copied.CopyFrom(value)
        self._items.insert(index, copied)
        self._owner._touch()


class MapField(MutableMapping[Any, Any]):
    """A map from scalars to scalars or messages; a message is made when its key is looked up."""

    __slots__ = ("_entry", "_items", "_make", "_owner", "key_field", "value_field")

    def __init__(self, entry: Any, make: Callable[[], Any] | None, owner: Any) -> None:
        self._entry = entry
        self.key_field: Field = entry._by_name["key"]
        self.value_field: Field = entry._by_name["value"]
        self._make = make
        self._owner = owner
        self._items: dict[Any, Any] = {}

    def GetEntryClass(self) -> Any:  # noqa: N802  (protobuf's name)
        """The message class of a key with its value."""
        return self._entry

    @property
    def holds_messages(self) -> bool:
        """Whether the values are messages."""
        return self._make is not None

    def __getitem__(self, key: Any) -> Any:
        key = self.key_field.checked(key)
        if key not in self._items:
            self._items[key] = self.make_item()
            self._owner._touch()
        return self._items[key]

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of `key`, or `default`; adds nothing."""
        return self._items.get(key, default)

    def get_or_create(self, key: Any) -> Any:
        """The message of `key`, made if it is not there."""
        return self[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __setitem__(self, key: Any, value: Any) -> None:
        key = self.key_field.checked(key)
        if self._make is None:
            self._items[key] = self.value_field.checked(value)
        else:
            raise ValueError("messages of a map are changed in place, not assigned")
        self._owner._touch()

    def make_item(self) -> Any:
        """What a key has that nothing was said of: an empty message or the scalar's default."""
        return self.value_field.default if self._make is None else self._make()

    def put(self, key: Any, value: Any) -> None:
        """Set a value that was read from the wire."""
        self._items[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._items[key]
        self._owner._touch()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def MergeFrom(self, other: Any) -> None:  # noqa: N802  (protobuf's name)
        """Take every entry of `other`."""
        for key, value in other.items():
            if self._make is None:
                self[key] = value
            else:
                self._items[key] = self._make()
                self._items[key].CopyFrom(value)
                self._owner._touch()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MapField):
            return self._items == other._items
        return self._items == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)
