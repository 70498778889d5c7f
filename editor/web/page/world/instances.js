/** Instances: parts of the same solid and texture are drawn with one call. */

import { INSTANCE } from "./parts.js";

/** @typedef {import("./parts.js").Part} Part */
/** @typedef {import("./parts.js").Geom} Geom */
/** @typedef {import("./solids.js").Solid} Solid */

/**
 * Parts that are drawn with one call: the same solid and texture. Where order matters only neighbours are.
 * @param {Geom[]} geoms @param {boolean} inOrder @returns {Part[][]}
 */
export function groups(geoms, inOrder) {
  /** @type {Map<string, Part[]>} */
  const found = new Map();
  let run = 0, last = "";
  const solids = new Map();
  for (const geom of geoms) {
    for (const part of geom.parts) {
      if (!solids.has(part.solid)) {
        solids.set(part.solid, solids.size);
      }
      let key = `${solids.get(part.solid)} ${part.texture} ${part.byPixel} ${part.isTwoSided} ${part.casts}`;
      if (inOrder) {
        run += key === last ? 0 : 1;
        last = key;
        key = `${run}`;
      }
      const group = found.get(key);
      if (group === undefined) {
        found.set(key, [part]);
      } else {
        group.push(part);
      }
    }
  }
  return [...found.values()];
}

/** The buffer that the parts of one call are written to. */
export class Instances {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.buffer = gl.createBuffer();
  }

  /** Draw parts of one solid. @param {Part[]} group @param {boolean} isWire */
  draw(group, isWire) {
    const solid = /** @type {Solid} */ (group[0].solid);
    const data = new Float32Array(INSTANCE * group.length);
    group.forEach((part, i) => data.set(part.data, INSTANCE * i));
    this.gl.bindVertexArray(solid.array);
    this.write(data, Array.from({ length: 7 }, () => 4));
    solid.draw(group.length, isWire);
    this.gl.bindVertexArray(null);
  }

  /** Fill the attributes from 3 on, one row per instance. @param {Float32Array} data @param {number[]} sizes of the attributes */
  write(data, sizes) {
    const { gl } = this, row = sizes.reduce((sum, size) => sum + size, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    let start = 0;
    sizes.forEach((size, k) => {
      gl.enableVertexAttribArray(3 + k);
      gl.vertexAttribPointer(3 + k, size, gl.FLOAT, false, 4 * row, 4 * start);
      gl.vertexAttribDivisor(3 + k, 1);
      start += size;
    });
  }
}
