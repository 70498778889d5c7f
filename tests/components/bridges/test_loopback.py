"""Nothing of a bridge is heard or hears beyond this machine, unless the scene says so."""

import subprocess
import sys

import pytest

from tests.patience import PATIENCE

CODE = """
import socket
from mjrig.components.bridges.dds.loopback import keep_to_loopback
ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ours.bind(("0.0.0.0", 0))
stream = socket.socket()
before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
print(before, keep_to_loopback(), ours.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16))
other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
other.sendto(b"hello", ("127.0.0.1", ours.getsockname()[1]))
ours.settimeout(10)
print(ours.recv(10))
print(stream.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone has the option")
def test_sockets_that_a_library_bound_to_every_address_hear_loopback_alone() -> None:
    said = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert said.stdout == "b'' 1 b'lo\\x00'\nb'hello'\nb''\n"
