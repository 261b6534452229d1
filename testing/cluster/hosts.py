"""Hosts for tests: network namespaces of this machine, and a relay that is their network.

Each host has one interface, a TUN device, whose packets the relay reads and writes. So a test
decides what becomes of every packet: how long it takes, whether it is lost, whether a cable is cut.
Processes of a host see neither the network of this machine nor its sockets without a file.

Only a user with the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN can have such hosts; see
`reason_against`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import selectors
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

# linux/sched.h, linux/if_tun.h, linux/sockios.h, linux/if.h
_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_SIOCSIFADDR, _SIOCSIFNETMASK = 0x8916, 0x891C
_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41

_INTERFACE = b"millstream0"
_NETWORK = "10.77.0"
_LARGEST_PACKET = 65536
_QUEUE_BYTES = 256 << 10  # what waits for a slow cable; more is lost, as in a switch


class Chance(Protocol):
    """What of random.Random decides what becomes of packets."""

    def random(self) -> float:
        """Return a number from [0, 1)."""

    def uniform(self, a: float, b: float, /) -> float:
        """Return a number from [a, b]."""


@dataclass
class Cable:
    """What becomes of the packets that a host sends and receives. A test may change it at any time.

    Attributes
    ----------
    is_connected
        Whether packets pass at all.
    delay
        Seconds that a packet takes.
    jitter
        Seconds that it takes more at most, by chance. A packet may so overtake an earlier one.
    loss
        Which part of all packets is lost.
    rate
        Bytes a second, or None where they are not limited.
    passed
        Bytes of the packets that were not lost so far.
    """

    is_connected: bool = True
    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    rate: float | None = None
    passed: int = 0
    busy_until: float = field(default=0.0, repr=False)

    def arrival(self, size: int, now: float, draw: Chance) -> float | None:
        """When a packet that enters now comes out, or None if it is lost."""
        if not self.is_connected or draw.random() < self.loss:
            return None
        begin = max(now, self.busy_until)
        if self.rate is not None:
            if (begin - now) * self.rate > _QUEUE_BYTES:
                return None
            begin += size / self.rate
            self.busy_until = begin
        self.passed += size
        return begin + self.delay + draw.uniform(0.0, self.jitter)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _enter_new_namespace() -> None:
    """Give the calling thread, and what it starts, a network of its own."""
    library = ctypes.CDLL(None, use_errno=True)
    _check(library.unshare(_CLONE_NEWNET), "a new network namespace")


def _open_interface(address: str) -> int:
    """The TUN device of the calling thread's namespace, which has the address, as a file."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", _INTERFACE, _IFF_TUN | _IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.0")):
            name = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(control, request, struct.pack("16s16s", _INTERFACE, name))
        for interface in (_INTERFACE, b"lo"):
            fcntl.ioctl(
                control, _SIOCSIFFLAGS, struct.pack("16sH22x", interface, _IFF_UP_AND_RUNNING)
            )
    return device


def reason_against() -> str | None:
    """Why this process can have no hosts, or None if it can."""
    try:
        with Hosts(1):
            return None
    except OSError as error:
        return f"no network namespaces or TUN devices here: {error}"


class Host:
    """One host: its address, its cable, and processes that run on it."""

    def __init__(self, index: int) -> None:
        self.address = f"{_NETWORK}.{index + 1}"
        self.cable = Cable()
        self.unreached: set[Host] = set()  # hosts that none of its packets come to
        self._processes: list[subprocess.Popen[str]] = []
        # All that this thread starts is in the namespace that it has entered.
        self._thread = ThreadPoolExecutor(1)
        self.device = -1

    def begin(self) -> None:
        """Connect it."""
        self._thread.submit(_enter_new_namespace).result()
        self.device = self._thread.submit(_open_interface, self.address).result()

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a process on this host, which is killed with it; options as of subprocess.Popen."""
        process: subprocess.Popen[str] = self.call(
            lambda: subprocess.Popen(command, text=True, **options)
        )
        self._processes.append(process)
        return process

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function whose sockets are of this host."""
        return self._thread.submit(function).result()

    def end(self) -> None:
        """Kill its processes and disconnect it."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._thread.shutdown()
        if self.device >= 0:
            os.close(self.device)


class Hosts:
    """Hosts that reach each other, as a context manager.

    Parameters
    ----------
    count
        How many there are.
    seed
        Of the chance by which packets are lost and delayed.

    Raises
    ------
    OSError
        This process may not have hosts.
    """

    def __init__(self, count: int, seed: int = 0) -> None:
        self._hosts = [Host(index) for index in range(count)]
        self._draw = random.Random(seed)
        self._is_ending = threading.Event()
        self._relay = threading.Thread(target=self._pass_packets, daemon=True)

    def __enter__(self) -> list[Host]:
        try:
            for host in self._hosts:
                host.begin()
        except OSError:
            self._end_hosts()
            raise
        self._relay.start()
        return self._hosts

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_ending.set()
        self._relay.join()
        self._end_hosts()

    def _end_hosts(self) -> None:
        for host in self._hosts:
            host.end()

    def _pass_packets(self) -> None:
        """Move packets until the end; those on their way are in a heap, by their arrivals."""
        by_address = {socket.inet_aton(host.address): host for host in self._hosts}
        on_their_way: list[tuple[float, int, Host, bytes]] = []
        count = 0
        with selectors.EpollSelector() as selector:
            for host in self._hosts:
                selector.register(host.device, selectors.EVENT_READ, host)
            while not self._is_ending.is_set():
                now = time.monotonic()
                while on_their_way and on_their_way[0][0] <= now:
                    _, _, host, packet = heapq.heappop(on_their_way)
                    _write(host.device, packet)
                wait = on_their_way[0][0] - now if on_their_way else 0.1
                for key, _ in selector.select(min(wait, 0.1)):
                    packet = _read(key.fd)
                    receiver = by_address.get(packet[16:20]) if packet[:1] == b"\x45" else None
                    if receiver is None:
                        continue  # another protocol, or to nobody
                    arrival = self._arrival(key.data, receiver, len(packet))
                    if arrival is not None:
                        count += 1
                        heapq.heappush(on_their_way, (arrival, count, receiver, packet))

    def _arrival(self, sender: Host, receiver: Host, size: int) -> float | None:
        if receiver in sender.unreached:
            return None
        sent = sender.cable.arrival(size, time.monotonic(), self._draw)
        return None if sent is None else receiver.cable.arrival(size, sent, self._draw)


def _read(device: int) -> bytes:
    try:
        return os.read(device, _LARGEST_PACKET)
    except BlockingIOError:
        return b""


def _write(device: int, packet: bytes) -> None:
    with contextlib.suppress(BlockingIOError):  # a full queue loses packets
        os.write(device, packet)
