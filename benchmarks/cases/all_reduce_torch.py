"""The sum of a tensor over several processes by Gloo, through PyTorch.

``python -m benchmarks.cases.all_reduce_torch RANK PROCESSES PORT COUNT...``; rank 0 prints the
seconds that a sum of so many floats takes, as JSON.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time

from benchmarks.cases import all_reduce


def main() -> None:
    """Be one process."""
    torch = importlib.import_module("torch")
    rank, processes, port = map(int, sys.argv[1:4])
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=processes
    )
    figures = {}
    for count in map(int, sys.argv[4:]):
        x = torch.ones(count)
        times = []
        for _ in range(all_reduce.repeats(count)):
            begin = time.perf_counter()
            torch.distributed.all_reduce(x)
            times.append(time.perf_counter() - begin)
        figures[str(count)] = statistics.median(times)
    if rank == 0:
        print("figures", json.dumps(figures), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
