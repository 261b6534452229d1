"""Lists of hosts and of tasks as Slurm writes them, and on which host each task runs.

Reference: the manual pages srun(1) and sbatch(1), parts "output environment variables".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

# Larger clusters than Slurm manages: a list that says so is damaged.
_MOST_HOSTS = 65_536
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def expand_hosts(text: str) -> list[str]:
    """The hosts of a list such as ``"gpu[01-03,7],login"``.

    Parameters
    ----------
    text
        Names, separated by commas. Brackets hold numbers and ranges of numbers; a range keeps the
        zeros that its first number begins with. A name may have several brackets.

    Raises
    ------
    ValueError
        It is no such list.
    """
    hosts: list[str] = []
    for name in _split(text):
        parts = re.split(r"\[([^\[\]]*)\]", name)
        if any(set(part) & set("[]") for part in parts) or not name:
            raise ValueError(f"expected a list of hosts, got {text!r}")
        # Every second part stood in brackets.
        choices = [
            list(_numbers(part, text)) if at % 2 else [part] for at, part in enumerate(parts)
        ]
        for chosen in itertools.product(*choices):
            hosts.append("".join(chosen))
            if len(hosts) > _MOST_HOSTS:
                raise ValueError(f"expected at most {_MOST_HOSTS} hosts, got {text!r}")
    return hosts


def _split(text: str) -> list[str]:
    """The parts between the commas outside of brackets."""
    return re.split(r",(?![^\[]*\])", text.strip())


def _numbers(text: str, whole: str) -> Iterator[str]:
    """What stands in one pair of brackets."""
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if found is None:
            raise ValueError(f"expected numbers or ranges in brackets, got {part!r} in {whole!r}")
        first, last = found[1], found[2] or found[1]
        if int(last) < int(first) or int(last) - int(first) >= _MOST_HOSTS:
            raise ValueError(f"the range {part!r} in {whole!r} is empty or too long")
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def expand_counts(text: str) -> list[int]:
    """The numbers of a list such as ``"2(x3),1"``: 2, 2, 2, 1.

    Parameters
    ----------
    text
        Numbers of tasks, a host each.

    Raises
    ------
    ValueError
        It is no such list.
    """
    counts: list[int] = []
    for part in text.split(","):
        found = _COUNT.fullmatch(part.strip())
        if found is None or int(found[2] or 1) > _MOST_HOSTS:
            raise ValueError(f"expected numbers of tasks as '2(x3),1', got {text!r}")
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def place_tasks(hosts: list[str], counts: list[int], distribution: str) -> list[tuple[str, int]]:
    """The host of each task, and its number among the tasks of that host.

    Parameters
    ----------
    hosts
        All hosts.
    counts
        How many tasks each has.
    distribution
        ``"block"``: the first host's tasks have the first numbers; ``"cyclic"``: each host gets one
        task in turn.

    Raises
    ------
    ValueError
        There are not as many counts as hosts, or the distribution is another.
    """
    if len(hosts) != len(counts):
        raise ValueError(f"expected a number of tasks for each host, got {counts} for {hosts}")
    block = [
        (host, local) for host, count in zip(hosts, counts, strict=True) for local in range(count)
    ]
    if distribution == "block":
        return block
    if distribution == "cyclic":
        return sorted(block, key=lambda place: place[1])  # the order of the hosts stays
    raise ValueError(
        f"expected tasks in 'block' or 'cyclic' distribution over hosts, got {distribution!r}"
    )
