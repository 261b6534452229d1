"""Where the package is installed."""

from __future__ import annotations

from pathlib import Path

# The folder ``millstream``, with the extension, the plugins and the programs in it.
FOLDER = Path(__file__).absolute().parent.parent.parent
