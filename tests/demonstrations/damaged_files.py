"""Damaged recordings are refused in one line that names file and place; the rest is salvaged."""

import tempfile
from pathlib import Path

import numpy as np

import mjrig
from mjrig.data.recording.npz_file import write_npz

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "run.npz")
    world = mjrig.World("config/scenes/pendulum.yaml")
    with mjrig.Recorder(world, Path(folder, "run.h5")):
        world.step(100)
    write_npz(mjrig.read_recording(Path(folder, "run.h5")), path)
    content = path.read_bytes()
    outcomes: dict[str, int] = {}
    random = np.random.default_rng(0)
    for case in range(200):
        changed = bytearray(content)
        for place in random.integers(len(changed), size=2):
            changed[place] = random.integers(256)
        damaged = Path(folder, f"case_{case}.npz")
        end = random.integers(1, len(changed)) if case % 4 == 0 else len(changed)
        damaged.write_bytes(bytes(changed[:end]))
        try:
            mjrig.read_recording(damaged)
            outcome = "read"
        except mjrig.RecordingError as error:
            assert str(damaged) in str(error) and "\n" not in str(error)
            outcome = "refused"
            message = str(error).replace(folder, "")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(f"200 damaged files: {outcomes}; such as {message}")
