"""What DDS receives for hours must not fill memory: discovery, made faster than life."""

import os
import subprocess
import sys

import pytest

from tests.patience import PATIENCE

pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")

#: A participant that announces itself every 2 ms instead of every few seconds; prints by how many
#: kB it grew at most after its first second.
PARTICIPANT = """
import os, sys, time
from pathlib import Path
from cyclonedds.domain import Domain, DomainParticipant
from mjrig.components.bridges.dds.dds_process import configuration

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024

number = int(sys.argv[1])
fast = "<SPDPInterval>2ms</SPDPInterval></Discovery>"
domain = Domain(number, configuration("lo").replace("</Discovery>", fast))
participant = DomainParticipant(number)
time.sleep(1.0)
first, most = resident(), 0
for _ in range(60):
    time.sleep(0.05)
    most = max(most, resident() - first)
print(most, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_discovery_does_not_fill_memory() -> None:
    number = str(100 + os.getpid() % 80)
    programs = [
        subprocess.Popen([sys.executable, "-c", PARTICIPANT, number], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    grown = [int(p.communicate(timeout=PATIENCE)[0]) for p in programs]

    assert max(grown) < 200, f"grew by {grown} kB"  # by 800 in buffers of the usual size
