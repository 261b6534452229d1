"""A plugin that does not load hinders nobody but the session that looks for plugins."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

HANGS = pathlib.Path("framework/plugin/testing/libhangs.so").resolve()

# The plugin is tried in a process of its own, and hangs. Threads of Python find that process while
# the session is made, and end it long before the loader loses patience.
_PROGRAM = """
import glob, os, signal, threading, time
import millstream as tf
from millstream import _runtime

def find_probe():
    while True:
        for process in glob.glob("/proc/[0-9]*"):
            try:
                with open(process + "/cmdline", "rb") as command, open(process + "/stat") as stat:
                    parent = stat.read().rpartition(")")[2].split()[1]
                    if b"libhangs.so" in command.read() and int(parent) == os.getpid():
                        return int(process.rpartition("/")[2])
            except OSError:  # it has ended
                pass
        time.sleep(0.01)

def add_path():
    try:
        _runtime.plugin_add_path("another")
    except _runtime.StatusError as error:
        print(error.args[1])

def end_probe():
    probe = find_probe()
    # It has to wait until the plugins are loaded.
    waiting = threading.Thread(target=add_path)
    waiting.start()
    waiting.join(0.5)
    os.kill(probe, signal.SIGKILL)
    waiting.join()

thread = threading.Thread(target=end_probe)
thread.start()
tf.Session()
thread.join()
print(next(plugin.text for plugin in tf.plugins.list_plugins() if plugin.name == "hangs"))
"""


# A guard against hanging: the process takes a second.
HANG_GUARD_SECONDS = 300


def test_other_threads_go_on_while_plugins_are_tried(tmp_path: pathlib.Path) -> None:
    environment = {
        **os.environ,
        "MILLSTREAM_PLUGIN_PATH": str(HANGS),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=HANG_GUARD_SECONDS,
    )
    assert done.stdout.splitlines() == [
        "plugin path another comes too late: the installed plugins are loaded",
        f"plugin {HANGS} crashed (SIGKILL) while loading",
    ]
