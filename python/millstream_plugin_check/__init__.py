"""The program behind ``millstream plugin-check``.

It is a distribution of its own, ``pip install millstream[plugin-check]``: programs that only run
graphs do not need it.
"""

from __future__ import annotations

from pathlib import Path

PROGRAM = Path(__file__).absolute().parent / "millstream_plugin_check"
