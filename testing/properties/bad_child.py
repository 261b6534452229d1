"""For watch_test.py: says what child.py says, and dies or stops where an op is called so."""

from __future__ import annotations

import json
import os
import resource
import sys
import time


def main() -> None:
    """Go through the plan on the standard input."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    plan = json.load(sys.stdin)
    cases = [op for op in plan["ops"] for _ in range(plan["cases"])]
    for op in cases[plan["skip"] :]:
        print(json.dumps(["at", op, "bad", 0]), flush=True)
        if op == "Crashes":
            os.abort()
        if op == "Hangs":
            time.sleep(60)
        print(json.dumps(["count", op, "bad", "ran"]), flush=True)
    print(json.dumps(["end"]), flush=True)


if __name__ == "__main__":
    main()
