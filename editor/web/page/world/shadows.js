/** Shadows: one depth map per light that casts them, as many as the graphics card can read at once. */

import { groups } from "./instances.js";
import { DIRECTIONAL } from "./lights.js";
import * as matrices from "./matrices.js";
import { HEAD, LIGHT } from "../messages.js";
import { program } from "../programs.js";
import { CASTING, MOST_LIGHTS } from "./shaders.js";

/** @typedef {import("./instances.js").Instances} Instances */
/** @typedef {import("./parts.js").Parts} Parts */
/** @typedef {import("../programs.js").Program} Program */
/** @typedef {import("../messages.js").SceneWords} SceneWords */
/** @typedef {import("./matrices.js").Matrix} Matrix */
/** @typedef {import("./solids.js").Visual} Visual */
/** @typedef {{texture: WebGLTexture, target: WebGLFramebuffer, size: number}} ShadowMap */

/** The first texture unit of the maps. */
const FIRST_UNIT = 2;

export class Shadows {
  /** @param {WebGL2RenderingContext} gl @param {Instances} instances */
  constructor(gl, instances) {
    this.gl = gl;
    this.instances = instances;
    this.program = program(gl, CASTING[0], CASTING[1], ["u_shadow"]);
    /** @type {ShadowMap[]} */
    this.maps = [];
    /** The lights that cast one in the present picture, and how they see the scene. @type {number[]} */
    this.lights = [];
    /** @type {Matrix[]} */
    this.views = [];
    const fields = gl.getParameter(gl.MAX_VARYING_VECTORS), units = gl.getParameter(gl.MAX_TEXTURE_IMAGE_UNITS);
    this.most = Math.min(MOST_LIGHTS, units - FIRST_UNIT, Math.floor((fields - 6) / 2));
  }

  /** No light casts one. */
  none() {
    this.lights = [];
    this.views = [];
  }

  /**
   * Draw the maps of a scene.
   * @param {Parts} parts @param {SceneWords} words @param {Visual} visual @param {number} finest size of a map
   */
  cast(parts, words, visual, finest) {
    const f = words.floats, all = Array.from({ length: words.lights }, (_, i) => i);
    this.lights = all.filter((i) => f[HEAD + LIGHT * i + 1] && f[HEAD + LIGHT * i + 2]).slice(0, this.most);
    this.views = this.lights.map((light, k) => this.#cast(parts, words, visual, light, k, finest));
  }

  /** Give the maps to a program that reads them. @param {Program["uniforms"]} uniforms */
  bind(uniforms) {
    const { gl, views } = this, all = new Float32Array(16 * views.length);
    views.forEach((view, k) => {
      all.set(view, 16 * k);
      gl.activeTexture(gl.TEXTURE0 + FIRST_UNIT + k);
      gl.bindTexture(gl.TEXTURE_2D, this.maps[k].texture);
    });
    if (views.length) {
      gl.uniformMatrix4fv(uniforms.u_shadow, false, all);
      gl.uniform1iv(uniforms.u_map, views.map((_, k) => FIRST_UNIT + k));
    }
    gl.activeTexture(gl.TEXTURE0);
  }

  /** @param {Parts} parts @param {SceneWords} words @param {Visual} visual @param {number} light @param {number} k @param {number} finest @returns {Matrix} */
  #cast(parts, words, visual, light, k, finest) {
    const { gl } = this, f = words.floats, at = HEAD + LIGHT * light;
    const size = Math.min(visual.shadow, finest, gl.getParameter(gl.MAX_TEXTURE_SIZE));
    const position = f.subarray(at + 3, at + 6), way = f.subarray(at + 6, at + 9);
    let up = matrices.cross(way, [-1, 0, 0]);
    if (matrices.dot(up, up) <= 0.01) {
      up = matrices.cross(way, [0, 1, 0]);
    }
    const [near, far] = [f[21], f[22]], reach = visual.shadowClip;
    let project;
    if (f[at] === DIRECTIONAL) {
      project = matrices.orthographic(-reach, reach, -reach, reach, near, far);
    } else {
      const half = Math.tan(Math.min(2 * f[at + 12] * visual.shadowScale, 160) / 360 * Math.PI) * near;
      project = matrices.frustum(-half, half, -half, half, near, far);
    }
    const seen = matrices.product(project, matrices.lookingAt(position, way, up));
    const map = this.#map(k, size);
    gl.bindFramebuffer(gl.FRAMEBUFFER, map.target);
    gl.viewport(0, 0, size, size);
    gl.depthMask(true);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
    gl.disable(gl.STENCIL_TEST);
    gl.clearDepth(1);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.viewport(1, 1, size - 2, size - 2);
    gl.disable(gl.CULL_FACE);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 4);
    gl.useProgram(this.program.program);
    gl.uniformMatrix4fv(this.program.uniforms.u_shadow, false, seen);
    for (const group of groups(parts.geoms, false)) {
      if (group[0].solid !== null && group[0].casts) {
        this.instances.draw(group, false);
      }
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
    return seen;
  }

  /** @param {number} k @param {number} size @returns {ShadowMap} */
  #map(k, size) {
    const { gl } = this, known = this.maps[k];
    if (known !== undefined && known.size === size) {
      return known;
    }
    gl.deleteTexture(known?.texture ?? null);
    const texture = gl.createTexture(), target = known?.target ?? gl.createFramebuffer();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, size, size);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    this.maps[k] = { texture, target, size };
    return this.maps[k];
  }
}
