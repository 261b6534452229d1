"""A headless Chromium, driven over its DevTools protocol.

The protocol's messages are JSON objects, each ended by a zero byte, over a pair of pipes.
Reference: chromedevtools.github.io/devtools-protocol.
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

# The pipes' ends in the browser: it reads commands from the one and writes answers to the other.
_COMMANDS, _ANSWERS = 3, 4

# Defines allElements(): all elements of the page, those in shadow trees included.
_ALL_ELEMENTS = """
function allElements() {
  const found = [];
  const visit = (root) => {
    for (const element of root.querySelectorAll('*')) {
      found.push(element);
      if (element.shadowRoot) visit(element.shadowRoot);
    }
  };
  visit(document);
  return found;
}
"""


class Chromium:
    """One browser with one page, until `close`.

    Parameters
    ----------
    width, height
        Size of the page in pixels.
    timeout
        Seconds to wait for each answer, and for what `wait_for` looks for.
    """

    def __init__(self, width: int = 1400, height: int = 1000, timeout: float = 60) -> None:
        program = shutil.which("chromium", path=os.defpath)
        if program is None:
            raise FileNotFoundError("chromium: tools/install_packages --network installs it")
        self._timeout = timeout
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        self._log = pathlib.Path(self._profile, "stderr").open("w+b")  # noqa: SIM115  (until close)
        commands, self._to_browser = os.pipe()
        self._from_browser, answers = os.pipe()
        # Of the sandbox a test has no use: it sees our own pages only, and it may run as root.
        arguments = [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--no-proxy-server",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile}/data",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        # A shell gives the pipes the numbers that the browser expects.
        exchange = f'exec {_COMMANDS}<&{commands} {_ANSWERS}>&{answers}; exec "$@"'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", exchange, "chromium", *arguments],
            env=dict(os.environ, HOME=self._profile),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            pass_fds=(commands, answers),
        )
        os.close(commands)
        os.close(answers)
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self._session = self._attach()

    def _attach(self) -> str:
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        return str(attached["sessionId"])

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from_browser], [], [], deadline - time.monotonic())
            data = os.read(self._from_browser, 1 << 20) if ready else b""
            if not data:
                self._log.seek(0)
                raise TimeoutError(f"no answer from chromium: {self._log.read()[-2000:]!r}")
            self._received += data
        message, _, self._received = self._received.partition(b"\0")
        parsed: dict[str, Any] = json.loads(message)
        return parsed

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        data = memoryview(json.dumps(command).encode() + b"\0")
        while data:
            data = data[os.write(self._to_browser, data) :]
        deadline = time.monotonic() + self._timeout
        while True:
            message = self._message(deadline)
            if message.get("id") != self._number:
                continue  # an event
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            result: dict[str, Any] = message["result"]
            return result

    def open(self, address: str) -> None:
        """Go to a page; another fragment of the same page is loaded anew as well."""
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, which may use ``allElements()``.

        Raises
        ------
        RuntimeError
            The expression threw.
        """
        result = self._call(
            "Runtime.evaluate",
            expression=f"(() => {{ {_ALL_ELEMENTS} return ({expression}); }})()",
            returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The expression's value as soon as it is true.

        Raises
        ------
        TimeoutError
            It stayed false; the message has the page's text.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                shown = self.evaluate("document.body ? document.body.innerText : ''")
                raise TimeoutError(f"never true: {expression}\nthe page shows: {shown[-2000:]}")
            time.sleep(0.2)

    def screenshot(self, path: pathlib.Path) -> None:
        """Write what the page shows to a PNG file."""
        result = self._call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(result["data"]))

    def close(self) -> None:
        """End the browser."""
        os.close(self._to_browser)
        os.close(self._from_browser)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
