"""RosBridge and Fast DDS, the library below ROS 2's usual middleware: a node in C++, over DDS."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.components.bridges.test_ros_bridge import Client

pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")

SOURCE = Path(__file__).with_name("fast_dds_node.cpp")
#: Where libfastrtps-dev is; another place if its packages were only unpacked.
ROOT = Path(os.environ.get("MJRIG_FAST_DDS", "/"))


def built(folder: Path) -> Path:
    """The node, compiled."""
    compiler = shutil.which("c++")
    if compiler is None or not (ROOT / "usr/include/fastdds/dds").is_dir():
        pytest.skip("needs a C++ compiler and Fast DDS (Debian: libfastrtps-dev)")
    triple = subprocess.check_output([compiler, "-dumpmachine"], text=True).strip()
    include, library = ROOT / "usr/include", ROOT / "usr/lib" / triple
    out = folder / "node"
    subprocess.run(
        [compiler, "-std=c++17", f"-I{include}", f"-I{include / triple}", SOURCE, "-o", out,
         f"-L{library}", f"-Wl,-rpath-link,{library}", "-lfastrtps", "-lfastcdr", "-lpthread"],
        check=True,
    )  # fmt: skip
    return out


@pytest.mark.slow
def test_a_node_on_fast_dds_sees_and_commands(tmp_path: Path) -> None:
    node = built(tmp_path)
    triple = subprocess.check_output(["c++", "-dumpmachine"], text=True).strip()
    number = 20 + (os.getpid() + 60) % 80
    client = Client(link=False, domain=number)
    with client.serving:
        program = subprocess.Popen(
            [node, str(number), "30"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LD_LIBRARY_PATH": str(ROOT / "usr/lib" / triple)},
        )
        try:
            for _ in range(700):
                client.serving.run(0.05)
                if program.poll() is not None:
                    break
        finally:
            program.kill()
            said = program.communicate()[0]
        assert program.returncode == 0, said
        robot = client.world["quadruped"]
        joint = robot.bindings[0].joint
        assert f"in order of {len(robot.bindings)} joints, {joint} moved by 0." in said
        assert client.bridge.traffic.accepted > 0 and client.bridge.traffic.rejected == 0
