"""Names of devices.

A full one is ``/job:worker/replica:0/task:3/device:GPU:1``; any part may be left out.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "DeviceSpec",
]

_ORDER = ("job", "replica", "task", "device_type", "device_index")


class DeviceSpec:
    """A device name in parts.

    Parameters
    ----------
    job
        Name of the job, or None.
    replica, task
        Numbers, or None.
    device_type
        Such as ``"CPU"``, or None.
    device_index
        Number among the devices of its type, or None.
    """

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

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Read a name; ValueError when it is none."""
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Read a name into this object; ValueError when it is none."""
        self.__init__()  # type: ignore[misc]
        for part in spec.split("/"):
            if part and not self._read(part):
                raise ValueError(f"spec: {part!r} is no part of a device name in {spec!r}")
        return self

    def _read(self, part: str) -> bool:
        words = part.split(":")
        key = words[0]
        try:
            if key == "job" and len(words) == 2:
                self.job = words[1]
            elif key == "replica" and len(words) == 2:
                self.replica = int(words[1])
            elif key == "task" and len(words) == 2:
                self.task = int(words[1])
            elif key == "device" and len(words) == 3:
                self.device_type = words[1]
                self.device_index = None if words[2] == "*" else int(words[2])
            elif key.lower() in ("cpu", "gpu") and len(words) == 2:
                self.device_type = key.upper()
                self.device_index = None if words[1] == "*" else int(words[1])
            else:
                return False
        except ValueError:
            return False
        return True

    def merge_from(self, dev: DeviceSpec) -> None:
        """Take every part that `dev` has."""
        for part in _ORDER:
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)

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
        return f"DeviceSpec({self.to_string()!r})"


def normalize(name: Any) -> str:
    """A device name or `DeviceSpec` in the usual form; ValueError when it is none."""
    if isinstance(name, DeviceSpec):
        return name.to_string()
    if not isinstance(name, str):
        raise TypeError(f"device: expected a name, a function or None, got {name!r}")
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
