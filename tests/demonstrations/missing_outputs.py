"""An output that was asked for and cannot be written is an error, not a silent success."""

import subprocess
import sys

PROGRAM = "import sys; from mjrig.cli.main import main; sys.exit(main())"
SCENE = "config/scenes/pendulum.yaml"

for option, value in (("--plot", "/dev/full/a.png"), ("--picture", "/dev/null/a.png")):
    command = [sys.executable, "-c", PROGRAM, "run", SCENE, "--duration", "0.1", option, value]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"{option} {value}: exit {result.returncode}: {result.stderr.strip()[-200:]}")
    assert result.returncode != 0 and "Traceback" not in result.stderr
