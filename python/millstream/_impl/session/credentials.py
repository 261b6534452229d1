"""Who may talk to the tasks of a cluster: certificates and a token, which are files of one folder.

The library that connects processes reads the same files (distributed_runtime/grpc/credentials.h)
and keeps the rules. Here what is wrong gets a sentence.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from millstream._impl.base import errors

FOLDER_VARIABLE = "MILLSTREAM_CLUSTER_CREDENTIALS"
INSECURE_VARIABLE = "MILLSTREAM_CLUSTER_INSECURE"
_CERTIFICATES = ("ca.crt", "tls.crt", "tls.key")
_TOKEN = "token"
_LEAST_TOKEN_SIZE = 16


def check() -> None:
    """Look at the folder that ``MILLSTREAM_CLUSTER_CREDENTIALS`` names, if it names one.

    Raises
    ------
    FailedPreconditionError
        A file is missing or cannot be used.
    """
    folder = os.environ.get(FOLDER_VARIABLE, "")
    if not folder:
        return
    there = [name for name in _CERTIFICATES if (Path(folder) / name).exists()]
    if not there and not (Path(folder) / _TOKEN).exists():
        raise _error(folder, f"expected {', '.join(_CERTIFICATES)} or {_TOKEN} or all of them")
    if there:
        for name in _CERTIFICATES:
            if b"-----BEGIN " not in _read(folder, name):
                raise _error(folder, f"expected {name} in PEM form")
    if (Path(folder) / _TOKEN).exists():
        token = _read(folder, _TOKEN).rstrip(b" \r\n\t")
        is_text = all(b" "[0] < byte <= b"~"[0] for byte in token)
        if len(token) < _LEAST_TOKEN_SIZE or not is_text:
            raise _error(
                folder,
                f"expected at least {_LEAST_TOKEN_SIZE} letters, digits or signs of ASCII in "
                f"{_TOKEN}, and no spaces",
            )


def check_address(address: str) -> None:
    """Look whether a server may listen at an address.

    Parameters
    ----------
    address
        ``"HOST:PORT"``.

    Raises
    ------
    PermissionDeniedError
        Others than this machine may reach it, and there are no certificates.
    """
    folder = os.environ.get(FOLDER_VARIABLE, "")
    has_certificates = bool(folder) and (Path(folder) / _CERTIFICATES[0]).exists()
    if has_certificates or _is_loopback(address) or os.environ.get(INSECURE_VARIABLE) == "1":
        return
    raise errors.make(
        None,
        errors.PERMISSION_DENIED,
        f"a server at {address} needs certificates, because whoever reaches it can run any code in "
        f"this process: name their folder in {FOLDER_VARIABLE} (docs/security.md), or set "
        f"{INSECURE_VARIABLE}=1 in a network that is closed and trusted",
        "",
    )


def _is_loopback(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0]
    if host in ("localhost", "[::1]"):
        return True
    try:
        return socket.inet_pton(socket.AF_INET, host)[0] == 127
    except OSError:
        return False


def _read(folder: str, name: str) -> bytes:
    try:
        return (Path(folder) / name).read_bytes()
    except OSError as error:
        raise _error(folder, f"{name} cannot be read: {error.strerror}") from None


def _error(folder: str, what: str) -> errors.OpError:
    return errors.make(None, errors.FAILED_PRECONDITION, f"{FOLDER_VARIABLE}={folder}: {what}", "")
