"""Sums of products of tensors, written as an equation."""

from __future__ import annotations

import re
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor

# Stands for "..." in the subscripts of a tensor, which have one letter a dimension.
_ELLIPSIS = "."


@public("einsum", "linalg.einsum")
@takes(equation=TEXT)
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """The sum of products of tensors over the dimensions that an equation names.

    Several tensors are multiplied one after the other, from the first on.

    Parameters
    ----------
    equation
        ``"ij,jk->ik"``: a letter for each dimension of each tensor, then of the result. Dimensions
        of one letter have one size. What the result does not have is summed over. Without ``->``
        it has the letters that stand once, in their order in the alphabet. ``...`` stands for
        any number of dimensions, which broadcast.
    inputs
        The tensors, of one type.
    kwargs
        ``name``, the name of the result, is the only one.

    Raises
    ------
    ValueError
        The equation is none, or not of so many tensors.

    Examples
    --------
    >>> a, b = tf.constant([[1, 2], [3, 4]]), tf.constant([[5, 6], [7, 8]])
    >>> tf.einsum("ij,jk->ik", a, b).eval().tolist()
    [[19, 22], [43, 50]]
    >>> tf.einsum("ii->", a).eval()
    5
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"einsum has no arguments {sorted(kwargs)}")
    subscripts, output = _parsed(equation, len(inputs))
    with scopes.name_scope(name, "einsum", list(inputs)) as scope:
        tensors = [convert_to_tensor(inputs[0], name="inputs_0")]
        for i, value in enumerate(inputs[1:], 1):
            tensors.append(convert_to_tensor(value, tensors[0].dtype, name=f"inputs_{i}"))
        while len(tensors) > 2:
            kept = _kept(subscripts, output)
            product = gen_ops.einsum(tensors[:2], _text(subscripts[:2], kept))
            tensors = [product, *tensors[2:]]
            subscripts = [kept, *subscripts[2:]]
        return gen_ops.einsum(tensors, _text(subscripts, output), scope)


def _parsed(equation: str, count: int) -> tuple[list[str], str]:
    """The subscripts of each input and of the output."""
    dense = equation.replace(" ", "").replace("...", _ELLIPSIS)
    found = re.fullmatch(r"([a-zA-Z.,]*)(->[a-zA-Z.]*)?", dense)
    if found is None:
        raise ValueError(f"equation: expected letters as in 'ij,jk->ik', got {equation!r}")
    subscripts = found[1].split(",")
    if len(subscripts) != count:
        raise ValueError(f"equation: {equation!r} is of {len(subscripts)} tensors, got {count}")
    letters = "".join(subscripts)
    output = found[2]
    if output is None:
        single = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        ellipsis = _ELLIPSIS if _ELLIPSIS in letters else ""
        return subscripts, ellipsis + "".join(single).replace(_ELLIPSIS, "")
    unknown = set(output[2:]) - set(letters)
    if unknown:
        raise ValueError(f"equation: no tensor of {equation!r} has {sorted(unknown)}")
    return subscripts, output[2:]


def _kept(subscripts: list[str], output: str) -> str:
    """What the product of the first two inputs needs: the labels that come again."""
    again = output + "".join(subscripts[2:])
    first = subscripts[0] + subscripts[1]
    kept = dict.fromkeys(label for label in first if label in again and label != _ELLIPSIS)
    return (_ELLIPSIS if _ELLIPSIS in first else "") + "".join(kept)


def _text(subscripts: list[str], output: str) -> str:
    return f"{','.join(subscripts)}->{output}".replace(_ELLIPSIS, "...")
