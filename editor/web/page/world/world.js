/** World: draws MuJoCo's scenes into a texture, in the passes of MuJoCo's own renderer. */

import * as matrices from "./matrices.js";
import { FLAGS, HEAD, SceneWords } from "../messages.js";
import { BY_DEPTH, LIT, ONE_COLOUR, Painter } from "./painter.js";
import { Parts } from "./parts.js";
import { colourSegments } from "./segments.js";
import { Sky } from "./sky.js";
import { moveSoftBodies } from "./soft_bodies.js";
import { ModelSolids } from "./solids.js";
import { Target } from "./targets.js";

/** @typedef {import("./parts.js").Geom} Geom */
/** @typedef {import("./painter.js").Pass} Pass */
/** @typedef {import("./matrices.js").Matrix} Matrix */
/** @typedef {{scale: number, samples: number, shadow: number, reflection: boolean, isCoarse: boolean}} Quality */

export class World {
  /** @param {WebGL2RenderingContext} gl @param {(hash: string) => Promise<ArrayBuffer>} fetched @param {() => void} onCome */
  constructor(gl, fetched, onCome) {
    this.gl = gl;
    this.fetched = fetched;
    this.onCome = onCome;
    this.words = new SceneWords();
    /** @type {ModelSolids | null} */
    this.solids = null;
    this.target = new Target(gl);
    this.painter = new Painter(gl);
    this.sky = new Sky(gl);
  }

  /** Another model. @param {import("./solids.js").ModelText} text */
  setModel(text) {
    this.solids?.free();
    this.solids = new ModelSolids(this.gl, text, this.fetched, this.onCome);
    this.sky.renew();
  }

  /**
   * Draw the scene; returns whether there was one.
   * @param {Quality} quality
   */
  render(quality) {
    const { gl, words, solids, painter: { shadows } } = this;
    if (solids === null || words.numbers.length < HEAD || words.generation !== solids.model.generation) {
      return false;
    }
    const width = Math.max(1, Math.round(words.width * quality.scale)), height = Math.max(1, Math.round(words.height * quality.scale));
    moveSoftBodies(gl, words, solids);
    const { flags } = words, parts = new Parts(words, solids, quality.isCoarse);
    if ((flags & FLAGS.SHADOW) && quality.shadow && !(flags & FLAGS.SEGMENT)) {
      shadows.cast(parts, words, solids.model.visual, quality.shadow);
    } else {
      shadows.none();
    }
    this.target.use(width, height, (flags & FLAGS.SEGMENT) ? 0 : quality.samples);
    gl.disable(gl.BLEND);
    gl.disable(gl.SCISSOR_TEST);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
    gl.colorMask(true, true, true, true);
    gl.clearColor(0, 0, 0, 0);
    gl.clearDepth(1);
    gl.clearStencil(0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.cullFace(gl.BACK);
    gl.frontFace(gl.CCW);
    this.#passes(parts.geoms, { words, solids, width, height }, quality);
    this.target.resolve();
    return true;
  }

  /** @param {Geom[]} geoms @param {import("./painter.js").Painted} scene @param {Quality} quality */
  #passes(geoms, scene, quality) {
    const { gl, painter } = this, { flags } = scene.words, camera = this.#camera(scene.width / scene.height);
    /** @type {Pass} */
    const main = { ...camera, clip: [0, 0, 0, 0], dim: 1, shadows: true, scene };
    if (flags & FLAGS.SEGMENT) {
      const seen = geoms.filter((geom) => geom.segment >= 0);
      colourSegments(seen, (flags & FLAGS.IDCOLOR) !== 0);
      painter.draw(main, seen, ONE_COLOUR);
      return;
    }
    const plain = flags & FLAGS.DEPTH ? BY_DEPTH : LIT;
    const opaque = geoms.filter((geom) => !geom.isTransparent);
    const clear = geoms.filter((geom) => geom.isTransparent).sort((a, b) => a.distance - b.distance);
    const mirror = opaque.find((geom) => geom.isReflective);
    if (mirror !== undefined && (flags & FLAGS.REFLECTION) && quality.reflection && !plain) {
      this.#reflect(main, mirror, opaque, clear);
    }
    if (mirror !== undefined) {
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE);
      painter.draw(main, [mirror], plain);
      gl.disable(gl.BLEND);
    }
    painter.draw(main, opaque.filter((geom) => geom !== mirror), plain);
    if ((flags & FLAGS.SKYBOX) && !plain) {
      this.sky.draw(scene.words, scene.solids, geoms, camera);
    }
    this.#drawClear({ ...main, shadows: false }, clear, plain);
  }

  /** @param {Pass} pass @param {Geom[]} clear @param {number} plain */
  #drawClear(pass, clear, plain) {
    const { gl, painter } = this, isAdditive = (this.words.flags & FLAGS.ADDITIVE) !== 0;
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, isAdditive ? gl.ONE : gl.ONE_MINUS_SRC_ALPHA);
    for (const order of isAdditive ? [clear] : [clear, [...clear].reverse()]) {
      painter.draw(pass, order, plain, true);
    }
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  /** @param {Pass} main @param {Geom} mirror @param {Geom[]} opaque @param {Geom[]} clear */
  #reflect(main, mirror, opaque, clear) {
    const { gl, painter } = this, m = mirror.matrix, up = [m[2], m[5], m[8]];
    const lift = mirror.type === 6 ? mirror.size[2] : 0;
    const point = [0, 1, 2].map((k) => mirror.position[k] + lift * up[k]);
    const eye = this.words.floats.subarray(8, 11);
    if (matrices.dot([0, 1, 2].map((k) => eye[k] - point[k]), up) < 0) {
      return;
    }
    gl.disable(gl.DEPTH_TEST);
    gl.colorMask(false, false, false, false);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.ALWAYS, 1, 0xff);
    gl.stencilOp(gl.REPLACE, gl.REPLACE, gl.REPLACE);
    painter.draw({ ...main, shadows: false }, [mirrorFace(mirror, point, main.scene.solids)], ONE_COLOUR);
    gl.enable(gl.DEPTH_TEST);
    gl.colorMask(true, true, true, true);
    gl.stencilFunc(gl.EQUAL, 1, 0xff);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.KEEP);
    gl.frontFace(gl.CW);
    /** @type {Pass} */
    const pass = {
      ...main, view: matrices.product(main.view, matrices.mirrored(point, up)),
      clip: [...up, -matrices.dot(point, up)], dim: mirror.reflectance, shadows: false,
    };
    painter.draw(pass, opaque.filter((geom) => geom !== mirror), LIT);
    this.#drawClear(pass, clear, LIT);
    gl.disable(gl.STENCIL_TEST);
    gl.frontFace(gl.CCW);
  }

  /** @param {number} aspect */
  #camera(aspect) {
    const f = this.words.floats;
    const view = matrices.lookingAt(f.subarray(8, 11), f.subarray(11, 14), f.subarray(14, 17));
    const [centre, wide, bottom, top, near, far] = f.subarray(17, 23);
    const half = wide || 0.5 * aspect * (top - bottom);
    const make = this.words.numbers[6] ? matrices.orthographic : matrices.frustum;
    return { view, projection: make(centre - half, centre + half, bottom, top, near, far) };
  }
}

/** The upper face of a box as a plane; a plane is its own. @param {Geom} mirror @param {number[]} point @param {ModelSolids} solids @returns {Geom} */
function mirrorFace(mirror, point, solids) {
  const part = mirror.parts[0], data = part.data.slice();
  if (mirror.type === 6) {
    data[14] = 1;
    point.forEach((value, k) => { data[4 * k + 3] = value; });
    return { ...mirror, parts: [{ ...part, solid: solids.built.one, data, texture: -1, isTwoSided: true }] };
  }
  return { ...mirror, parts: [{ ...part, texture: -1 }] };
}
