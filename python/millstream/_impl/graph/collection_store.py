"""Named lists of things that belong to a graph."""

from __future__ import annotations

import re
from typing import Any


class CollectionStore:
    """Base of a graph: its collections."""

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append `value` to the collection `name`."""
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value` to each of the collections `names`, a name or several."""
        for name in {names} if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: what is appended to it stays."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection.

        Parameters
        ----------
        name
            Name of the collection.
        scope
            A regular expression: only items whose name starts with a match; items without a name
            are left out.
        """
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Names of the collections."""
        return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self) -> list[Any]:
        """Names of the collections."""
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        """Empty the collection."""
        self._collections.pop(name, None)
