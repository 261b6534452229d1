"""Linear operators that are made of several others: what they share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from millstream._impl.linear_operators import batches
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.values.tensor_shape import TensorShape


class SeveralOperators(LinearOperator):
    """An operator that is made of a list of others, whose batches broadcast."""

    _operators: list[LinearOperator]

    def _hold(self, operators: Sequence[Any]) -> None:
        """Remember the operators.

        Raises
        ------
        TypeError, ValueError
            They are no operators, or not of one type, or there are none.
        """
        found = list(operators)
        if not found:
            raise ValueError(
                f"operators: Expected a non-empty list of operators. Found: {operators!r}"
            )
        for operator in found:
            if not isinstance(operator, LinearOperator):
                raise TypeError(f"operators: expected linear operators, got {operator!r}")
        names = [operator.dtype.name for operator in found]
        if len(set(names)) > 1:
            raise TypeError(
                f"operators: Expected all operators to have the same dtype.  Found {names}"
            )
        self._operators = found

    def _parents(self) -> list[Any]:
        return [parent for operator in self._operators for parent in operator.graph_parents]

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators that it is made of."""
        return list(self._operators)

    def _known_batch(self) -> TensorShape:
        """The static shape of the batch."""
        shapes = [operator.batch_shape for operator in self._operators]
        return batches.known_broadcast(shapes, "operators")

    def _batch_now(self) -> Any:
        """The shape of the batch, as `batches` has shapes."""
        shapes = [operator._batch() for operator in self._operators]
        return functools.reduce(batches.broadcast_shape, shapes)

    def _are_square(self) -> bool:
        """Whether each operator is known to be square."""
        return all(operator.is_square for operator in self._operators)
