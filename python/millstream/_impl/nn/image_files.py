"""Files of images."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.operation import Tensor

decode_bmp = public("image.decode_bmp", "io.decode_bmp")(gen_ops.decode_bmp)


@public("image.is_jpeg", "io.is_jpeg")
@takes(contents=TENSOR)
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    r"""Whether a file begins as a JPEG file.

    Parameters
    ----------
    contents
        The bytes of the file, a string.
    name
        Name of the scope.

    Examples
    --------
    >>> bool(tf.image.is_jpeg(b"\xff\xd8\xff\xe0").eval())
    True
    """
    with scopes.name_scope(name, "is_jpeg", [contents]) as scope:
        return gen_ops.equal(gen_ops.substr(contents, 0, 3), b"\xff\xd8\xff", name=scope)
