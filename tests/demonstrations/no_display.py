"""`mjrig.editor.view` on a machine without a display is one clear error."""

import os
import subprocess
import sys

SCRIPT = """
import mjrig, mjrig.editor
world = mjrig.World("config/scenes/pendulum.yaml")
try:
    with mjrig.editor.view(world):
        pass
except mjrig.MjrigError as error:
    print(error)
"""
environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
result = subprocess.run(
    [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env=environment
)
print(result.stdout.strip())
assert result.returncode == 0 and "display" in result.stdout, result.stderr
