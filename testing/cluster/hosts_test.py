"""What the network between hosts does to packets."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from testing.cluster.hosts import Cable, Host, Hosts, reason_against

_REASON = reason_against()
_needs_hosts = pytest.mark.skipif(_REASON is not None, reason=str(_REASON))

_PORT = 7000
_PATIENCE = 30.0  # seconds; a guard against hangs


@pytest.fixture(name="hosts")
def _hosts() -> Iterator[list[Host]]:
    with Hosts(3) as hosts:
        yield hosts


def _socket_of(host: Host) -> socket.socket:
    def bound() -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind((host.address, _PORT))
        one.settimeout(_PATIENCE)
        return one

    result = host.call(bound)
    assert isinstance(result, socket.socket)
    return result


class _Draw:
    """Stands for a source of random numbers: the same number always."""

    def __init__(self, value: float) -> None:
        self._value = value

    def random(self) -> float:
        """Return the number."""
        return self._value

    def uniform(self, low: float, high: float) -> float:
        """Return the number, as a part of the way from low to high."""
        return low + self._value * (high - low)


def test_a_cable_delays_loses_and_limits() -> None:
    draw = _Draw(0.5)
    assert Cable().arrival(100, 10.0, draw) == 10.0
    assert Cable(delay=1.0, jitter=2.0).arrival(100, 10.0, draw) == 12.0
    assert Cable(loss=0.4).arrival(100, 10.0, draw) == 10.0
    assert Cable(loss=0.6).arrival(100, 10.0, draw) is None
    assert Cable(is_connected=False).arrival(100, 10.0, draw) is None
    slow = Cable(rate=100.0)
    assert [slow.arrival(50, 10.0, draw) for _ in range(3)] == [10.5, 11.0, 11.5]
    assert slow.arrival(50, 20.0, draw) == 20.5


def test_a_slow_cable_loses_what_its_queue_does_not_hold() -> None:
    slow = Cable(rate=1000.0)
    arrivals = [slow.arrival(1000, 0.0, _Draw(0.5)) for _ in range(300)]
    passed = [one for one in arrivals if one is not None]
    assert 256 <= len(passed) < 300
    assert passed == [1.0 + i for i in range(len(passed))]
    assert slow.passed == 1000 * len(passed)


@_needs_hosts
def test_packets_go_to_the_host_that_they_are_for(hosts: list[Host]) -> None:
    first, second, third = (_socket_of(host) for host in hosts)
    with first, second, third:
        first.sendto(b"to the second", (hosts[1].address, _PORT))
        first.sendto(b"to the third", (hosts[2].address, _PORT))
        assert second.recvfrom(100) == (b"to the second", (hosts[0].address, _PORT))
        assert third.recvfrom(100) == (b"to the third", (hosts[0].address, _PORT))


@_needs_hosts
def test_nothing_passes_a_cable_that_is_cut(hosts: list[Host]) -> None:
    first, second = _socket_of(hosts[0]), _socket_of(hosts[1])
    with first, second:
        hosts[1].cable.is_connected = False
        first.sendto(b"lost", (hosts[1].address, _PORT))
        # The relay has read the packet when it has passed a later one to another host.
        with _socket_of(hosts[2]) as third:
            first.sendto(b"passed", (hosts[2].address, _PORT))
            assert third.recv(100) == b"passed"
        hosts[1].cable.is_connected = True
        first.sendto(b"mended", (hosts[1].address, _PORT))
        assert second.recv(100) == b"mended"


@_needs_hosts
def test_a_host_does_not_see_this_machine(hosts: list[Host]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with pytest.raises(ConnectionRefusedError):
            hosts[0].call(lambda: socket.create_connection(address))
