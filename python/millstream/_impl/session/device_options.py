"""Where operations may run, for sessions that are made without a ``ConfigProto``."""

from __future__ import annotations

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FLAG, takes
from millstream._impl.graph.graph import Graph
from millstream._impl.session.session import Session
from millstream._impl.values.session_config import default_options

_SOFT = "allow_soft_placement"
_LOGGED = "log_device_placement"


@public("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Whether an operation may run on another device than the one that it asks for.

    It is the option of sessions that are made without a ``ConfigProto``.

    Examples
    --------
    >>> tf.config.get_soft_device_placement()
    False
    """
    return default_options.get(_SOFT, False)


@public("config.set_soft_device_placement")
@takes(enabled=FLAG)
def set_soft_device_placement(enabled: bool) -> None:
    """Let operations run on another device when the one that they ask for cannot.

    It is the option of sessions that are made later, without a ``ConfigProto``.

    Parameters
    ----------
    enabled
        Whether they may.

    Examples
    --------
    >>> tf.config.set_soft_device_placement(True)
    >>> tf.config.get_soft_device_placement()
    True
    >>> tf.config.set_soft_device_placement(False)
    """
    default_options[_SOFT] = enabled


@public("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Whether sessions write down on which device each operation runs.

    It is the option of sessions that are made without a ``ConfigProto``.

    Examples
    --------
    >>> tf.debugging.get_log_device_placement()
    False
    """
    return default_options.get(_LOGGED, False)


@public("debugging.set_log_device_placement")
@takes(enabled=FLAG)
def set_log_device_placement(enabled: bool) -> None:
    """Let sessions write down on which device each operation runs.

    It is the option of sessions that are made later, without a ``ConfigProto``.

    Parameters
    ----------
    enabled
        Whether they do.

    Examples
    --------
    >>> tf.debugging.set_log_device_placement(False)
    """
    default_options[_LOGGED] = enabled


@public("config.experimental_list_devices")
def experimental_list_devices() -> list[str]:
    """The names of the devices of this process.

    Examples
    --------
    >>> tf.config.experimental_list_devices()[0]
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    with Session(graph=Graph()) as session:
        return [device.name for device in session.list_devices()]
