"""A save that is killed leaves the old scene or the new one, whole."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import mjrig
from tests.campaign import Tally

#: Saves the scene with kp 1, 2, 3, … until it is killed; the padding makes a save take a while.
SAVING = """
import sys
import mjrig
scene = mjrig.Scene.load(sys.argv[1])
print("ready", flush=True)
kp = 1
while True:
    kp += 1
    scene.set("dog.PDController.kp", kp)
    scene.save()
"""
TEXT = """\
mjrig: 1
actors:
  - {name: dog, model: legs.xml, components: [{type: PDController, kp: 1}]}
"""


@pytest.mark.campaign
def test_a_killed_save_leaves_the_old_scene_or_the_new_one(models: Path, tally: Tally) -> None:
    path = models / "s.yaml"
    padding = "".join(f"# {line}\n" for line in range(20_000))
    for rng in tally.cases("saves killed", 1, 200):
        path.write_text(TEXT + padding)
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.2))
        process.kill()
        process.wait()
        process.stdout.close()
        text = path.read_text()
        try:
            kp = mjrig.Scene.load(path).actors[0].components[0].to_data()["kp"]
        except (mjrig.MjrigError, LookupError) as error:
            tally.found(f"{type(error).__name__}: {error}")
            continue
        if text != TEXT.replace("kp: 1}", f"kp: {kp}}}") + padding:
            tally.found(f"is not whole: {len(text)} characters")
