"""Where tensors and variables get the methods behind Python's operators.

The methods add operations, so the room of those has them: ``ops/operators.py`` puts them here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The names of the methods, which `Tensor` lists as what may be replaced.
OPERATOR_NAMES = frozenset(
    {
        "__add__",
        "__radd__",
        "__sub__",
        "__rsub__",
        "__mul__",
        "__rmul__",
        "__truediv__",
        "__rtruediv__",
        "__floordiv__",
        "__rfloordiv__",
        "__mod__",
        "__rmod__",
        "__pow__",
        "__rpow__",
        "__matmul__",
        "__rmatmul__",
        "__and__",
        "__rand__",
        "__or__",
        "__ror__",
        "__xor__",
        "__rxor__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__neg__",
        "__abs__",
        "__invert__",
        "__getitem__",
    }
)


class Operators:
    """Mixin with the operators; the other base is `TensorLike`."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Any: ...

        def __radd__(self, other: Any) -> Any: ...

        def __sub__(self, other: Any) -> Any: ...

        def __rsub__(self, other: Any) -> Any: ...

        def __mul__(self, other: Any) -> Any: ...

        def __rmul__(self, other: Any) -> Any: ...

        def __truediv__(self, other: Any) -> Any: ...

        def __rtruediv__(self, other: Any) -> Any: ...

        def __floordiv__(self, other: Any) -> Any: ...

        def __rfloordiv__(self, other: Any) -> Any: ...

        def __mod__(self, other: Any) -> Any: ...

        def __rmod__(self, other: Any) -> Any: ...

        def __pow__(self, other: Any) -> Any: ...

        def __rpow__(self, other: Any) -> Any: ...

        def __matmul__(self, other: Any) -> Any: ...

        def __rmatmul__(self, other: Any) -> Any: ...

        def __and__(self, other: Any) -> Any: ...

        def __rand__(self, other: Any) -> Any: ...

        def __or__(self, other: Any) -> Any: ...

        def __ror__(self, other: Any) -> Any: ...

        def __xor__(self, other: Any) -> Any: ...

        def __rxor__(self, other: Any) -> Any: ...

        def __lt__(self, other: Any) -> Any: ...

        def __le__(self, other: Any) -> Any: ...

        def __gt__(self, other: Any) -> Any: ...

        def __ge__(self, other: Any) -> Any: ...

        def __neg__(self) -> Any: ...

        def __abs__(self) -> Any: ...

        def __invert__(self) -> Any: ...

        def __getitem__(self, item: Any) -> Any: ...


def install(methods: type) -> None:
    """Take the operators' methods from a class that has all of them."""
    for name in OPERATOR_NAMES:
        setattr(Operators, name, vars(methods)[name])
