"""A video is as long as the run, also where the window draws once in two simulated seconds."""

import tempfile
from pathlib import Path

import numpy as np

from mjrig.editor.window.capture import FPS, Video

with tempfile.TemporaryDirectory() as folder:
    video = Video(Path(folder, "run.mp4"), (64, 48))
    picture = np.zeros((48, 64, 3), np.uint8)
    for time in range(0, 14, 2):
        video.add(picture, float(time))
    video.close()
    print(f"a run of 12 s gave {video.frames / FPS:.2f} s of video")
    assert abs(video.frames / FPS - 12.0) < 0.1
