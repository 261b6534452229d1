"""Credentials of a cluster on this machine, for tests."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def add_certificates(folder: Path) -> None:
    """Make an authority, and a certificate of it for localhost, so that both ends need one."""
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    days = ("-days", "2")
    authority = ("-subj", "/CN=chaos-authority", "-out", folder / "ca.crt")
    _openssl("req", "-x509", *new, *days, *authority, "-keyout", folder / "ca.key")
    request, names = folder / "request", folder / "names"
    _openssl("req", *new, "-subj", "/CN=task", "-out", request, "-keyout", folder / "tls.key")
    names.write_text("subjectAltName=DNS:localhost")
    signer = ("-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-CAcreateserial")
    result = ("-extfile", names, "-out", folder / "tls.crt")
    _openssl("x509", "-req", "-in", request, *signer, *days, *result)


def add_token(folder: Path) -> None:
    """Make a token, which every stream of requests must carry."""
    (folder / "token").write_text(f"{secrets.token_hex(32)}\n")
