/** Geoms of a scene as parts: a solid, where it is, its colour and texture. */

import { GEOM, HEAD, LIGHT } from "../messages.js";
import { softBodies } from "./soft_bodies.js";

/** @typedef {import("../messages.js").SceneWords} SceneWords */
/** @typedef {import("./solids.js").ModelSolids} ModelSolids */
/** @typedef {import("./solids.js").Solid} Solid */

const PLANE = 0, FIELD = 1, SPHERE = 2, CAPSULE = 3, ELLIPSOID = 4, CYLINDER = 5, BOX = 6, MESH = 7, SDF = 8, ARROW = 100,
  ARROW1 = 101, ARROW2 = 102, LINE = 103, LINEBOX = 104, FLEX = 105, SKIN = 106, TRIANGLE = 108;
const DECOR = 4;
/** Floats of an instance. */
export const INSTANCE = 28;

/**
 * One thing to draw. A line has `from` and `to` instead of a solid.
 * @typedef {object} Part
 * @property {Solid | null} solid
 * @property {number} geom
 * @property {number} texture -1: none
 * @property {boolean} isCube
 * @property {boolean} byPixel light is computed at every pixel
 * @property {boolean} isTwoSided
 * @property {boolean} casts
 * @property {Float32Array} data of the instance; of a line: from 3, to 3, width, colour 4
 */
/**
 * @typedef {object} Geom
 * @property {number} type
 * @property {boolean} isTransparent
 * @property {boolean} isReflective
 * @property {number} reflectance
 * @property {number} distance
 * @property {number} segment
 * @property {number[]} size
 * @property {Float32Array} position
 * @property {Float32Array} matrix
 * @property {Part[]} parts
 */

/** Reads the geoms of a scene. */
export class Parts {
  /** @param {SceneWords} words @param {ModelSolids} solids @param {boolean} isCoarse whether few corners do */
  constructor(words, solids, isCoarse = false) {
    this.words = words;
    this.solids = solids;
    this.built = isCoarse ? solids.coarse : solids.built;
    this.eye = words.floats.subarray(8, 11);
    /** @type {Geom[]} */
    this.geoms = [];
    const start = HEAD + LIGHT * words.lights;
    let hasMirror = false;
    for (let i = 0; i < words.geoms; i++) {
      const geom = this.#geom(i, start + GEOM * i);
      geom.isReflective = geom.isReflective && !hasMirror;  // MuJoCo reflects in the first only
      hasMirror ||= geom.isReflective;
      this.geoms.push(geom);
    }
  }

  /** @param {number} index @param {number} at @returns {Geom} */
  #geom(index, at) {
    const n = this.words.numbers, f = this.words.floats;
    const type = n[at];
    const size = [f[at + 9], f[at + 10], f[at + 11]];
    const position = f.subarray(at + 12, at + 15), matrix = f.subarray(at + 15, at + 24);
    const up = [matrix[2], matrix[5], matrix[8]];
    const away = [0, 1, 2].map((k) => this.eye[k] - position[k]);
    const isBehind = type === PLANE && away[0] * up[0] + away[1] * up[1] + away[2] * up[2] < 0;
    const isTransparent = f[at + 27] < 0.995 || isBehind;
    const distance = type === PLANE ? 1e10 : Math.hypot(away[0], away[1], away[2]) - bound(type, size, f[at + 34]);
    /** @type {Geom} */
    const geom = {
      type, isTransparent, isReflective: (type === PLANE || type === BOX) && !isTransparent && f[at + 31] > 0,
      reflectance: f[at + 31], distance, segment: n[at + 8], size, position, matrix, parts: [],
    };
    this.#build(geom, index, at, isBehind);
    return geom;
  }

  /** @param {Geom} geom @param {number} index @param {number} at @param {boolean} isBehind */
  #build(geom, index, at, isBehind) {
    const n = this.words.numbers, f = this.words.floats, { meshes } = this.solids, { built } = this;
    const [sx, sy, sz] = geom.size, dataid = n[at + 1], casts = n[at + 3] !== DECOR;
    const colour = [f[at + 24], f[at + 25], f[at + 26], f[at + 27] * (isBehind ? 0.3 : 1)];
    const surface = this.#surface(geom, at);
    /**
     * @param {Solid | undefined} solid @param {number[]} scale @param {number} shift along z @param {Partial<Part>} more
     * @param {number[]} [place] instead of the geom's own
     */
    const add = (solid, scale, shift = 0, more = {}, place) => {
      if (solid === undefined) {
        return;
      }
      const data = new Float32Array(INSTANCE), m = geom.matrix, p = place ?? geom.position;
      for (let axis = 0; axis < 3; axis++) {
        data[4 * axis] = m[axis];
        data[4 * axis + 1] = m[axis + 3];
        data[4 * axis + 2] = m[axis + 6];
        data[4 * axis + 3] = p[axis] + (place ? 0 : m[3 * axis + 2] * shift);
      }
      data.set(scale, 12);
      data[15] = surface.source;
      data.set(colour, 16);
      data.set([f[at + 28], f[at + 29], f[at + 30] * 128], 20);
      data.set(surface.coords, 24);
      geom.parts.push({
        solid, geom: index, texture: surface.texture, isCube: surface.isCube, byPixel: false, isTwoSided: false, casts, data,
        ...more,
      });
    };
    /** @param {number[]} from @param {number[]} to @param {number} width */
    const line = (from, to, width) => {
      const ends = [from, to].map((point) => [0, 1, 2].map((r) => geom.position[r]
        + geom.matrix[3 * r] * point[0] + geom.matrix[3 * r + 1] * point[1] + geom.matrix[3 * r + 2] * point[2]));
      geom.parts.push({
        solid: null, geom: index, texture: -1, isCube: false, byPixel: false, isTwoSided: true, casts: false,
        data: new Float32Array([...ends[0], ...ends[1], Math.max(1, width * this.solids.model.visual.line), ...colour]),
      });
    };
    switch (geom.type) {
      case PLANE: {
        const reach = 1.05 * this.solids.model.visual.far + 2;
        const isOwn = dataid >= 0, isWire = (this.words.flags & 2) !== 0;
        const own = isWire && sx > 0 ? this.solids.grid(sx / Math.max(sz, 1e-6)) : sx > 0 && sy > 0 ? built.one : built.endless;
        add(isOwn ? own : built.plane, [sx > 0 ? sx : reach, sy > 0 ? sy : reach, 1], 0, { byPixel: isOwn, isTwoSided: true });
        break;
      }
      case FIELD: add(meshes.get(`field ${dataid}`), [1, 1, 1]); break;
      case SPHERE: case ELLIPSOID: add(built.sphere, [sx, sy, sz]); break;
      case CAPSULE: {
        const round = 0.5 * (sx + sy);
        add(built.tube, [sx, sy, sz]);
        add(built.top, [sx, sy, round], sz - round);
        add(built.bottom, [sx, sy, round], round - sz);
        break;
      }
      case CYLINDER: add(built.cylinder, [sx, sy, sz]); break;
      case BOX: add(built.box, [sx, sy, sz]); break;
      case MESH: case SDF: add(meshes.get(`mesh ${dataid}`), [1, 1, 1]); break;
      case ARROW: case ARROW1: {
        const wide = geom.type === ARROW ? 1.75 : 1;
        add(built.cylinder, [sx, sy, sz / 6], sz / 6);
        add(built.cone, [wide * sx, wide * sy, sz / 6], sz / 3);
        break;
      }
      case ARROW2:
        add(built.tube, [sx, sy, sz / 3]);
        add(built.cone, [1.75 * sx, 1.75 * sy, sz / 6], sz / 3);
        add(built.cone, [1.75 * sx, -1.75 * sy, -sz / 6], -sz / 3);
        break;
      case LINE: line([0, 0, 0], [0, 0, sz], sx); break;
      case LINEBOX: {
        for (let k = 0; k < 4; k++) {
          const corner = (/** @type {number} */ i, /** @type {number} */ z) => [(i & 2) ^ ((i & 1) << 1) ? sx : -sx, i & 2 ? sy : -sy, z];
          line(corner(k, -sz), corner((k + 1) % 4, -sz), 1.5);
          line(corner(k, sz), corner((k + 1) % 4, sz), 1.5);
          line(corner(k, -sz), corner(k, sz), 1.5);
        }
        break;
      }
      case TRIANGLE: add(built.triangle, [sx, sy, 1], 0, { isTwoSided: true }); break;
      case SKIN: this.#whole(geom, () => add(meshes.get(`skin ${n[at + 2]}`), [1, 1, 1])); break;
      case FLEX: this.#whole(geom, () => this.#flex(geom, n[at + 2], add)); break;
    }
  }

  /** Skins and flexes are in the frame of the world. @param {Geom} geom @param {() => void} add */
  #whole(geom, add) {
    geom.matrix = new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    geom.position = new Float32Array(3);
    add();
  }

  /**
   * @param {Geom} geom @param {number} id
   * @param {(solid: Solid | undefined, scale: number[], shift?: number, more?: Partial<Part>, place?: number[]) => void} add
   */
  #flex(geom, id, add) {
    const { meshes, model } = this.solids, { built } = this, soft = softBodies(this.words, model), flex = model.flexes[id];
    const options = this.words.numbers[5], used = soft.faceUsed[id], radius = geom.size[0];
    const isSkin = (options & 8) !== 0 && used > 0;
    const vertex = (/** @type {number} */ i) => Array.from(soft.flexVertices.subarray(3 * (flex.vertices[0] + i), 3 * (flex.vertices[0] + i) + 3));
    const plain = { texture: -1 };
    if (radius > 0 && (options & 1) && !isSkin) {
      for (let i = 0; i < flex.vertices[1]; i++) {
        add(built.sphere, [radius, radius, radius], 0, plain, vertex(i));
      }
    }
    if (radius > 0 && (options & 2) && !isSkin) {
      for (let e = 0; e < flex.edges.length; e += 2) {
        const a = vertex(flex.edges[e]), b = vertex(flex.edges[e + 1]);
        const way = [0, 1, 2].map((k) => b[k] - a[k]), long = Math.hypot(...way);
        geom.matrix = turnedTo(way.map((value) => value / Math.max(long, 1e-10)));
        add(built.tube, [radius, radius, long / 2], 0, plain, [0, 1, 2].map((k) => (a[k] + b[k]) / 2));
      }
      geom.matrix = new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
    if (used > 0) {
      add(meshes.get(`flex ${id}`), [1, 1, 1]);
    }
  }

  /**
   * How a geom is textured: with its coordinates (source 0), its x and y (1), or as a cube (2).
   * @param {Geom} geom @param {number} at
   */
  #surface(geom, at) {
    const n = this.words.numbers, f = this.words.floats, { model } = this.solids;
    const material = n[at + 4], [sx, sy, sz] = geom.size, type = geom.type;
    let texture = -1, isUniform = false, repeat = [0, 0];
    if (material >= 0) {
      if (n[at + 5] >= 0) {
        [texture, isUniform, repeat] = [n[at + 5], n[at + 6] !== 0, [f[at + 32], f[at + 33]]];
      } else if (model.materials[material] !== undefined) {
        ({ texture, uniform: isUniform, repeat } = model.materials[material]);
      }
    }
    if (texture < 0 || model.textures[texture] === undefined) {
      return { texture: -1, isCube: false, source: 0, coords: [1, 1, 0, 0] };
    }
    const isFlat = model.textures[texture].type === 0;
    const hasCoords = n[at + 7] !== 0;
    if (!isFlat && !hasCoords) {
      return { texture, isCube: true, source: 2, coords: isUniform ? [sx, sy, sz, 0] : [1, 1, 1, 0] };
    }
    if (hasCoords || hasOwnCoords(type)) {
      let scale = [repeat[0] > 0 ? repeat[0] : 1, repeat[1] > 0 ? repeat[1] : 1];
      if (isUniform) {
        scale = [scale[0] * (sx > 0 ? sx : 1), scale[1] * (sy > 0 ? sy : 1)];
      }
      if (type === PLANE && (sx <= 0 || sy <= 0)) {
        const reach = 1.05 * model.visual.far + 2;
        return {
          texture, isCube: false, source: 1,
          coords: [0.5 * scale[0] * (sx > 0 ? 1 : reach), -0.5 * scale[1] * (sy > 0 ? 1 : reach),
            (sx > 0 ? 0.5 * scale[0] : 0) - 0.5, (sy > 0 ? 0.5 * scale[1] : 0) - 0.5],
        };
      }
      return { texture, isCube: false, source: 0, coords: [scale[0], scale[1], 0, 0] };
    }
    let scale = [repeat[0], repeat[1]];
    if (n[at + 1] >= 0) {
      scale = [scale[0] / (sx > 0 ? sx : 1), scale[1] / (sy > 0 ? sy : 1)];
    }
    if (isUniform) {
      scale = [scale[0] * (sx > 0 ? sx : 1), scale[1] * (sy > 0 ? sy : 1)];
    }
    return { texture, isCube: false, source: 1, coords: [0.5 * scale[0], -0.5 * scale[1], -0.5, -0.5] };
  }
}

/** @param {number} type */
function hasOwnCoords(type) {
  return [PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, ARROW, ARROW1, ARROW2, TRIANGLE].includes(type);
}

/** How far a geom reaches from its centre. @param {number} type @param {number[]} size @param {number} known */
function bound(type, [x, y, z], known) {
  if (known > 0) {
    return known;
  }
  switch (type) {
    case SPHERE: return x;
    case CAPSULE: return x + z;
    case CYLINDER: return Math.hypot(x, z);
    case ELLIPSOID: return Math.max(x, y, z);
    case BOX: return Math.hypot(x, y, z);
    default: return Math.max(x, y, z);
  }
}

/** A matrix whose z axis points along a unit vector. @param {number[]} z @returns {Float32Array} */
function turnedTo(z) {
  const other = Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  let x = [other[1] * z[2] - other[2] * z[1], other[2] * z[0] - other[0] * z[2], other[0] * z[1] - other[1] * z[0]];
  const long = Math.hypot(...x);
  x = x.map((value) => value / long);
  const y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]];
  return new Float32Array([x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]]);
}
