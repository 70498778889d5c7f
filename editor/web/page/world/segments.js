/** Segmentation: every geom in a colour of its own. */

/** @typedef {import("./parts.js").Geom} Geom */

/** Give every geom its colour of the segmentation. @param {Geom[]} geoms @param {boolean} byNumber */
export function colourSegments(geoms, byNumber) {
  for (const geom of geoms) {
    const id = geom.segment, colour = byNumber
      ? [id + 1 & 255, id + 1 >> 8 & 255, id + 1 >> 16 & 255].map((value) => value / 255)
      : [2, 3, 5].map((base) => 0.1 + 0.8 * halton(id + 10, base));
    for (const part of geom.parts) {
      part.data.set([...colour, 1], part.solid === null ? 7 : 16);
    }
  }
}

/** @param {number} index @param {number} base */
function halton(index, base) {
  let n = index, hn = 0, f = 1 / base;
  while (n > 0) {
    const rest = Math.floor(n / base);
    hn += f * (n - rest * base);
    f /= base;
    n = rest;
  }
  return hn;
}
