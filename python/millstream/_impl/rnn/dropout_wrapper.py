"""A cell with dropout of its input, output and state."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, FUNCTION, INTEGER, NUMBER, or_none, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.nn import activations
from millstream._impl.ops import nest, random_ops
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.rnn import shapes
from millstream._impl.rnn.arguments import SIZES
from millstream._impl.rnn.lstm_cells import LSTMStateTuple
from millstream._impl.rnn.wrappers import CellWrapper
from millstream._impl.values import dtypes


@public("nn.rnn_cell.DropoutWrapper")
class DropoutWrapper(CellWrapper):
    """A cell whose input, output and state are dropped in part.

    Gal and Ghahramani: A Theoretically Grounded Application of Dropout in Recurrent Neural Networks
    (2016), for `variational_recurrent`.

    Parameters
    ----------
    cell
        The cell inside.
    input_keep_prob, output_keep_prob, state_keep_prob
        Probabilities that an element is kept: numbers or scalar tensors.
    variational_recurrent
        Whether the same elements are dropped in all steps of a run and for all examples.
    input_size
        The size of the input, or a structure of sizes: needed with `variational_recurrent` when
        the input is dropped.
    dtype
        The type of all three, needed with `variational_recurrent`.
    seed
        Seed of the random choices.
    dropout_state_filter_visitor
        A function from the state, or a part of it, to True or False for the whole part, or to a
        structure of these. By default, the memory in an `LSTMStateTuple` is not dropped.
    kwargs
        As for `RNNCell`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(100), output_keep_prob=0.5)
    >>> output, state = cell(tf.ones([1, 4]), cell.zero_state(1, tf.float32))
    >>> tf.global_variables_initializer().run()
    >>> bool((output.eval() == 0).any())
    True
    """

    @takes(
        input_keep_prob=NUMBER,
        output_keep_prob=NUMBER,
        state_keep_prob=NUMBER,
        input_size=SIZES,
        dtype=DTYPE,
        seed=INTEGER,
        dropout_state_filter_visitor=or_none(FUNCTION),
    )
    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        self._filter = dropout_state_filter_visitor or _all_but_memory
        self._variational_recurrent = variational_recurrent
        self._seed = seed
        self._noise: dict[str, Any] = dict.fromkeys(("input", "state", "output"))
        with scopes.name_scope("DropoutWrapperInit"):
            self._keep = {
                "input": _probability("input_keep_prob", input_keep_prob),
                "state": _probability("state_keep_prob", state_keep_prob),
                "output": _probability("output_keep_prob", output_keep_prob),
            }
            if variational_recurrent:
                self._draw(input_size, dtype)

    def _draw(self, input_size: Any, dtype: Any) -> None:
        """Draw what decides in all steps; each run draws anew."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if self._drops("input"):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes = {"input": input_size, **sizes}
        for part, size in sizes.items():
            self._noise[part] = _numbered_map(
                lambda index, each, part=part: random_ops.random_uniform(
                    [1, *shapes.static_size(each).as_list()],
                    dtype=dtype,
                    seed=self._seed_of(part, index),
                ),
                size,
            )

    def _drops(self, part: str) -> bool:
        keep = self._keep[part]
        return isinstance(keep, TensorLike) or keep < 1.0

    def _step(self, inputs: Any, state: Any, inner: Callable[[Any, Any], Any]) -> Any:
        if self._drops("input"):
            inputs = self._dropped("input", inputs, _everywhere(inputs))
        output, after = inner(inputs, state)
        if self._drops("state"):
            after = self._dropped("state", after, _where_dropped(self._filter, after))
        if self._drops("output"):
            output = self._dropped("output", output, _everywhere(output))
        return output, after

    def _dropped(self, part: str, values: Any, where: Any) -> Any:
        """The values, dropped where the structure `where` says True."""
        keep, noise = self._keep[part], self._noise[part]

        def drop(index: int, is_dropped: bool, value: Any, *own_noise: Any) -> Any:
            if not is_dropped:
                return value
            if own_noise:
                return _dropped_by(own_noise[0], value, keep)
            return activations.dropout(value, rate=1.0 - keep, seed=self._seed_of(part, index))

        return _numbered_map(drop, where, values, *([] if noise is None else [noise]))

    def _seed_of(self, part: str, index: int) -> int | None:
        """A seed for each tensor of each part, as other implementations make it of one seed."""
        if self._seed is None:
            return None
        text = f"{self._seed}{part}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF


def _probability(name: str, value: Any) -> Any:
    """A number, or a tensor whose value is not known before it runs."""
    tensor = convert_to_tensor(value, None if isinstance(value, TensorLike) else dtypes.float32)
    known = value if not isinstance(value, TensorLike) else constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {known}")
    return float(known)


def _all_but_memory(state: Any) -> Any:
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


def _everywhere(values: Any) -> Any:
    return nest.map_structure(lambda _: True, values)


def _where_dropped(visitor: Callable[[Any], Any], state: Any) -> Any:
    """What a visitor says of a state, down to leaves or to where it says False."""
    said = visitor(state)
    if nest.is_nested(said):
        return nest.map_parts(
            lambda is_dropped, part: _where_dropped(visitor, part) if is_dropped else False,
            said,
            state,
        )
    if said and nest.is_nested(state):
        return nest.map_parts(lambda part: _where_dropped(visitor, part), state)
    return bool(said)


def _numbered_map(function: Callable[..., Any], upper: Any, *structures: Any) -> Any:
    """What a function gives for each leaf of `upper` and what the structures have in its place.

    Its first argument is the number of the leaf.
    """
    count = itertools.count()

    def of(*parts: Any) -> Any:
        if nest.is_nested(parts[0]):
            return nest.map_parts(of, *parts)
        return function(next(count), *parts)

    return of(upper, *structures)


def _dropped_by(noise: Tensor, value: Any, keep: Any) -> Any:
    """A value divided by the probability, where the noise in [0, 1) and it reach 1, else 0."""
    chosen = gen_ops.floor(keep + noise)
    dropped = value / keep * chosen
    dropped.set_shape(value.shape)
    return dropped
