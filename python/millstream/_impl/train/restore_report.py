"""What a restore took from a checkpoint, and what it did not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class RestoreReport:
    """What a restore matched. ``str()`` of it is a text for people.

    Parameters
    ----------
    matched
        Keys in the checkpoint, by the names of the variables that took their values.
    missing
        Names of variables for which the checkpoint has no value.
    mismatched
        By the name of a variable, why the value in the checkpoint does not fit.
    unused
        Keys in the checkpoint that no variable took.
    """

    matched: Mapping[str, str]
    missing: Sequence[str]
    mismatched: Mapping[str, str]
    unused: Sequence[str]

    @property
    def is_complete(self) -> bool:
        """Whether every variable has a value, and every value a variable."""
        return not (self.missing or self.mismatched or self.unused)

    def __str__(self) -> str:
        lines = [f"{len(self.matched)} variables have values of the checkpoint"]
        lines += [f"  {name} <- {key}" for name, key in self.matched.items() if name != key]
        lines += [f"no value for {name}" for name in self.missing]
        lines += [f"does not fit {name}: {why}" for name, why in self.mismatched.items()]
        lines += [f"not used: {key}" for key in self.unused]
        return "\n".join(lines)
