"""Keeps a DDS process to this machine: its library listens at every address, come what may."""

import os
import socket
import sys
from pathlib import Path

#: Interfaces that are this machine alone.
LOOPBACK = ("lo", "127.0.0.1")


def keep_to_loopback() -> int:
    """Let the datagram sockets of this process hear nothing but loopback; how many there are.

    Linux alone has such an option; elsewhere nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return 0
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            is_socket = str(Path(f"/proc/self/fd/{name}").readlink()).startswith("socket:")
            if not is_socket:
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family == socket.AF_INET and one.type == socket.SOCK_DGRAM:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
                    found += 1
        except FileNotFoundError:  # closed meanwhile
            continue
    return found
