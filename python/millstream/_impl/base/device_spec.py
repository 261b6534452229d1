"""Names of devices, and what sessions say of them.

A full name is ``/job:worker/replica:0/task:3/device:GPU:1``; any part may be left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from millstream._impl.base.public import public

_ORDER = ("job", "replica", "task", "device_type", "device_index")
_NUMBERS = ("replica", "task", "device_index")


@public("DeviceSpec")
class DeviceSpec:
    """A device name in parts.

    Parameters
    ----------
    job
        Name of the job, or None.
    replica, task
        Numbers, or None.
    device_type
        Such as ``"CPU"``, or None; cpu and gpu are written in capitals.
    device_index
        Number among the devices of its type, or None.

    Raises
    ------
    TypeError, ValueError
        A part is not of this kind.

    Examples
    --------
    >>> spec = tf.DeviceSpec(job="worker", device_type="cpu")
    >>> spec.to_string()
    '/job:worker/device:CPU:*'
    >>> spec.replace(task=3, device_index=1)
    <tf.DeviceSpec '/job:worker/task:3/device:CPU:1'>
    """

    job: str | None
    replica: int | None
    task: int | None
    device_type: str | None
    device_index: int | None

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type
        self.device_index = device_index

    def __setattr__(self, name: str, value: Any) -> None:
        if value is not None and name in _NUMBERS:
            try:
                value = int(value)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name}: expected a number, got {value!r}") from None
        elif value is not None:
            if not isinstance(value, str):
                raise TypeError(f"{name}: expected a name, got {value!r}")
            if name == "device_type" and value.lower() in ("cpu", "gpu"):
                value = value.upper()
        super().__setattr__(name, value)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Read a name.

        Parameters
        ----------
        spec
            Such as ``"/job:worker/task:3/device:GPU:1"``; ``"/gpu:1"`` is short for the last part.

        Raises
        ------
        TypeError, ValueError
            It is no name of a device.

        Examples
        --------
        >>> tf.DeviceSpec.from_string("/job:ps/gpu:1").device_index
        1
        """
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Read a name into this object, and return it; see `from_string`."""
        if not isinstance(spec, str):
            raise TypeError(f"spec: expected a name, got {spec!r}")
        for part in _ORDER:
            setattr(self, part, None)
        for text in spec.split("/"):
            if text and not self._read(text):
                raise ValueError(
                    f"spec: {text!r} is no part of a device name in {spec!r}; one is such as "
                    "'/cpu:0' or '/job:worker/task:1/device:GPU:0'"
                )
        return self

    def _read(self, text: str) -> bool:
        """Takes over a part; False when it is none, or names a second type."""
        key, *words = text.split(":")
        if key == "device" and len(words) == 2:
            return self._read_device(words[0], words[1:])
        if key.lower() in ("cpu", "gpu") and len(words) <= 1:
            return self._read_device(key, words)
        if key not in ("job", "replica", "task") or len(words) != 1:
            return False
        try:
            setattr(self, key, words[0])
        except ValueError:
            return False
        return True

    def _read_device(self, device_type: str, index: list[str]) -> bool:
        if self.device_type is not None:
            return False
        self.device_type = device_type
        try:
            self.device_index = None if index in ([], ["*"]) else int(index[0])
        except ValueError:
            return False
        return True

    def merge_from(self, dev: DeviceSpec) -> None:
        """Take every part that `dev` has."""
        for part in _ORDER:
            value = getattr(_spec(dev, "dev"), part)
            if value is not None:
                setattr(self, part, value)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """A new spec with every part that `dev` has, and the other parts of this one.

        Parameters
        ----------
        dev
            A spec.

        Examples
        --------
        >>> tf.DeviceSpec(job="ps").make_merged_spec(tf.DeviceSpec(task=2)).to_string()
        '/job:ps/task:2'
        """
        merged = self.replace()
        merged.merge_from(dev)
        return merged

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """A new spec with other values of some parts.

        Parameters
        ----------
        kwargs
            Parts by name; None takes one away.
        """
        return DeviceSpec(**{**{part: getattr(self, part) for part in _ORDER}, **kwargs})

    def to_string(self) -> str:
        """The name, parts in the usual order."""
        text = "" if self.job is None else f"/job:{self.job}"
        text += "" if self.replica is None else f"/replica:{self.replica}"
        text += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"<tf.DeviceSpec {self.to_string()!r}>"


def _spec(value: Any, name: str) -> DeviceSpec:
    if not isinstance(value, DeviceSpec):
        raise TypeError(f"{name}: expected a tf.DeviceSpec, got {value!r}")
    return value


def normalize(name: Any) -> str:
    """A device name or `DeviceSpec` in the usual form; ValueError when it is none."""
    if isinstance(name, DeviceSpec):
        return name.to_string()
    if not isinstance(name, str):
        raise TypeError(
            f"device_name_or_function: expected a name, a function or None, got {name!r}"
        )
    return DeviceSpec.from_string(name).to_string() if name else ""


def merge(outer: str, inner: str) -> str:
    """The name `outer` with every part that `inner` has taken from there."""
    if not outer or not inner:
        return inner or outer
    merged = DeviceSpec.from_string(outer)
    merged.merge_from(DeviceSpec.from_string(inner))
    return merged.to_string()


class DeviceAttributes:
    """A device of a session.

    Attributes
    ----------
    name
        Its full name.
    device_type
        Such as ``"CPU"``.
    memory_limit_bytes
        Bytes that it may use; 0 when nothing is known.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.device_type = DeviceSpec.from_string(name).device_type or ""
        self.memory_limit_bytes = 0
        self.incarnation = 0

    def __repr__(self) -> str:
        return f"DeviceAttributes({self.name!r})"


class DeviceMemory(NamedTuple):
    """What a session has of a device's memory; sizes are bytes.

    Attributes
    ----------
    in_use, peak_in_use
        Of tensors, now and at most.
    reserved, peak_reserved
        Taken from the device, which tensors are cut from.
    limit
        That can be taken.
    largest_free
        The largest piece that is reserved and free.
    allocations
        How many there were.
    fragmentation
        What part of the free memory the largest piece does not have, from 0 to 1.
    """

    in_use: int
    peak_in_use: int
    reserved: int
    peak_reserved: int
    limit: int
    largest_free: int
    allocations: int
    fragmentation: float
