"""The zoo, drawn by the page: scenes are put into a page as the server would send them."""

import base64
import gzip
import json
from typing import Any

import numpy as np

from mjrig.editor.web.model_assets import ModelAssets
from mjrig.editor.web.web_view import SceneWords
from tests.editor.web.chromium import Tab
from tests.editor.web.zoo import SIZE, Animal

_DRAW = """(async () => {
  const {World} = await import("/world/world.js"), {LEVELS} = await import("/quality.js");
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const assets = %s;
  if (!window.zoo) {
    const gl = document.createElement("canvas").getContext("webgl2", {antialias: false});
    window.zoo = new World(gl, async (hash) => bytes(window.zooAssets[hash]).buffer, () => {});
  }
  window.zooAssets = assets;
  zoo.setModel(%s);
  for (let i = 0; i < 200 && zoo.solids.missing; i++) await new Promise((r) => setTimeout(r, 5));
  zoo.words.take(bytes("%s"));
  if (!zoo.render(LEVELS[3])) return "nothing was drawn";
  const pixels = zoo.target.pixels();
  let text = "";
  for (let i = 0; i < pixels.length; i += 8192)
    text += String.fromCharCode(...pixels.subarray(i, i + 8192));
  return btoa(text);
})()"""


def draw_in_page(tab: Tab, animal: Animal) -> Any:
    """What the page makes of a scene, (height, width, 3), the lowest row first."""
    model, scene = animal.scene()
    width, height = SIZE
    words, assets = SceneWords(scene), ModelAssets()
    words.take(width, height)
    described = {"generation": 1, **assets.describe(model, scene)}
    bodies = {
        name: base64.b64encode(gzip.decompress(body)).decode()
        for name, body in assets._bodies.items()
    }
    sent = base64.b64encode(words.message(1, 1, whole=True)).decode()
    text = tab.run(_DRAW % (json.dumps(bodies), json.dumps(described), sent))
    raw = np.frombuffer(base64.b64decode(text), np.uint8)
    return raw.reshape(height, width, 4)[:, :, :3]


def difference(ours: Any, theirs: Any) -> tuple[float, float]:
    """Mean difference of the pictures, and the share of pixels that differ clearly.

    A pixel counts if no pixel beside it in the other picture is within 24 of 255: edges that are
    drawn half a pixel aside do not.
    """
    a, b = ours.astype(np.int16), theirs.astype(np.int16)
    nearest = np.full(a.shape[:2], 255, np.int16)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            moved = np.roll(b, (dy, dx), (0, 1))
            nearest = np.minimum(nearest, np.abs(a - moved).max(axis=2))
    return float(np.abs(a - b).mean()), float((nearest > 24).mean())
