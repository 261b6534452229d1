"""Sessions that stop at the first NaN."""

from __future__ import annotations

import os
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import PATH, takes

# What sessions get whose config says nothing of it; None: they do not check.
_folder: str | None = None


@public("debugging.enable_check_numerics")
@takes(folder=PATH)
def enable_check_numerics(
    stack_height_limit: int = 30, path_length_limit: int = 50, folder: str | os.PathLike[str] = ""
) -> None:
    """Let a step of the sessions made from now on end at the first NaN or infinity.

    A step ends with InvalidArgumentError at the first node that makes one out of inputs without,
    and at a feed that holds NaN. The error names the node, your line that made it, and the range of
    each input. ``config.experimental.check_numerics`` of a ``ConfigProto`` does it for one session.

    Parameters
    ----------
    stack_height_limit, path_length_limit
        Not used: errors have few lines.
    folder
        Where the inputs of the node are saved, for `replay`; "" saves nothing.

    Raises
    ------
    ValueError
        `folder` is none.

    Examples
    --------
    >>> tf.debugging.enable_check_numerics()
    >>> x = tf.constant([1.0, 0.0], name="x")
    >>> with tf.Session() as sess:
    ...     try:
    ...         sess.run(tf.log(x, name="logarithm"))
    ...     except tf.errors.InvalidArgumentError as error:
    ...         print(error.op.name)
    logarithm
    >>> tf.debugging.disable_check_numerics()
    """
    global _folder
    path = os.fspath(folder)
    if path and not os.path.isdir(path):
        raise ValueError(f"folder: {path!r} is no folder")
    _folder = path


@public("debugging.disable_check_numerics")
def disable_check_numerics() -> None:
    """Let the sessions made from now on run without these checks, as they do at first.

    Examples
    --------
    >>> tf.debugging.disable_check_numerics()
    """
    global _folder
    _folder = None


def session_config(config: Any) -> Any:
    """A session's config with the checks that are enabled; for the package.

    Parameters
    ----------
    config
        A ``ConfigProto`` or None.
    """
    if _folder is None:
        return config
    changed = protos.message_class("ConfigProto")()
    if config is not None:
        changed.CopyFrom(config)
    changed.experimental.check_numerics = True
    changed.experimental.check_numerics_folder = _folder
    return changed
