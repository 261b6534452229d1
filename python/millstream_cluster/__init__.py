"""The library that connects the processes of a cluster, on gRPC.

It is a distribution of its own, ``pip install millstream[cluster]``: programs of one process do not
need it, and it brings gRPC and OpenSSL.
"""

from __future__ import annotations

from pathlib import Path

LIBRARY = Path(__file__).absolute().parent / "transports" / "libmillstream_grpc.so"
