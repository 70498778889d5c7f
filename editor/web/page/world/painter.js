/** Painter: draws geoms, lit as MuJoCo lights them, or as lines. */

import { groups, Instances } from "./instances.js";
import { setFog, setLights } from "./lights.js";
import { FLAGS } from "../messages.js";
import { program } from "../programs.js";
import { LINES, UNIFORMS, worldShaders } from "./shaders.js";
import { Shadows } from "./shadows.js";

/** @typedef {import("../programs.js").Program} Program */
/** @typedef {import("./parts.js").Part} Part */
/** @typedef {import("./parts.js").Geom} Geom */
/** @typedef {import("./matrices.js").Matrix} Matrix */
/** @typedef {{view: Matrix, projection: Matrix, clip: number[], dim: number, shadows: boolean, scene: Painted}} Pass */
/**
 * What is drawn, and how large the picture is.
 * @typedef {object} Painted
 * @property {import("../messages.js").SceneWords} words
 * @property {import("./solids.js").ModelSolids} solids
 * @property {number} width
 * @property {number} height
 */

export const LIT = 0, ONE_COLOUR = 1, BY_DEPTH = 2;

export class Painter {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.instances = new Instances(gl);
    this.shadows = new Shadows(gl, this.instances);
    /** @type {Map<string, Program>} */
    this.programs = new Map();
    this.lines = program(gl, LINES[0], LINES[1], ["u_view", "u_projection", "u_size", "u_dim", "u_fog", "u_fogRange"]);
    this.lineArray = this.#lineArray();
    this.white = this.#white();
  }

  #white() {
    const gl = this.gl, cube = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_CUBE_MAP, cube);
    for (let i = 0; i < 6; i++) {
      gl.texImage2D(gl.TEXTURE_CUBE_MAP_POSITIVE_X + i, 0, gl.RGBA, 1, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4).fill(255));
    }
    gl.texParameteri(gl.TEXTURE_CUBE_MAP, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    const flat = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, flat);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 1, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4).fill(255));
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    return { cube, flat };
  }

  #lineArray() {
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, -1, 1, -1, 0, 1, 1, 1]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
    return array;
  }

  /**
   * Draw geoms.
   * @param {Pass} pass @param {Geom[]} geoms @param {number} plain LIT, ONE_COLOUR or BY_DEPTH
   * @param {boolean} inOrder whether one after the other, as transparent ones must be
   */
  draw(pass, geoms, plain, inOrder = false) {
    const { gl } = this, { words, solids } = pass.scene, { flags } = words, isWire = (flags & FLAGS.WIRE) !== 0 && plain === LIT;
    const shadows = pass.shadows ? this.shadows.views.length : 0;
    /** @type {Program | null} */
    let current = null;
    for (const group of groups(geoms, inOrder)) {
      const first = group[0];
      if (first.solid === null) {
        this.#drawLines(pass, group);
        current = null;
        continue;
      }
      const wanted = this.#program(shadows, first.byPixel);
      if (wanted !== current) {
        current = wanted;
        this.#begin(current, pass, plain);
      }
      const texture = solids.textures.get(first.texture);
      gl.uniform1i(current.uniforms.u_kind, texture === undefined ? 0 : first.isCube ? 2 : 1);
      if (texture !== undefined) {
        gl.activeTexture(first.isCube ? gl.TEXTURE1 : gl.TEXTURE0);
        gl.bindTexture(first.isCube ? gl.TEXTURE_CUBE_MAP : gl.TEXTURE_2D, texture);
      }
      if ((flags & FLAGS.CULL) && !first.isTwoSided) {
        gl.enable(gl.CULL_FACE);
      } else {
        gl.disable(gl.CULL_FACE);
      }
      this.instances.draw(group, isWire);
    }
  }

  /** @param {number} shadows @param {boolean} byPixel @returns {Program} */
  #program(shadows, byPixel) {
    const key = `${shadows} ${byPixel}`;
    let found = this.programs.get(key);
    if (found === undefined) {
      found = program(this.gl, ...worldShaders(shadows, byPixel), UNIFORMS);
      this.programs.set(key, found);
    }
    return found;
  }

  /** @param {Program} program @param {Pass} pass @param {number} plain */
  #begin(program, pass, plain) {
    const { gl } = this, { uniforms } = program;
    gl.useProgram(program.program);
    gl.uniformMatrix4fv(uniforms.u_view, false, pass.view);
    gl.uniformMatrix4fv(uniforms.u_projection, false, pass.projection);
    gl.uniform4fv(uniforms.u_clip, pass.clip);
    gl.uniform3f(uniforms.u_dim, pass.dim, pass.dim, pass.dim);
    gl.uniform1i(uniforms.u_plain, plain);
    const { words, solids } = pass.scene;
    setFog(gl, uniforms, solids.model.visual, (words.flags & FLAGS.FOG) !== 0);
    setLights(gl, uniforms, words, pass.view, pass.shadows ? this.shadows.lights : []);
    gl.uniform1i(uniforms.u_flat, 0);
    gl.uniform1i(uniforms.u_cube, 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_CUBE_MAP, this.white.cube);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.white.flat);
    if (pass.shadows) {
      this.shadows.bind(uniforms);
    }
  }

  /** @param {Pass} pass @param {Part[]} group */
  #drawLines(pass, group) {
    const { gl } = this, { words, solids, width, height } = pass.scene, { uniforms } = this.lines;
    const wide = Math.max(1, width / Math.max(1, words.width));
    const data = new Float32Array(11 * group.length);
    group.forEach((part, i) => {
      data.set(part.data, 11 * i);
      data[11 * i + 6] *= wide;
    });
    gl.useProgram(this.lines.program);
    gl.uniformMatrix4fv(uniforms.u_view, false, pass.view);
    gl.uniformMatrix4fv(uniforms.u_projection, false, pass.projection);
    gl.uniform2f(uniforms.u_size, width, height);
    gl.uniform3f(uniforms.u_dim, pass.dim, pass.dim, pass.dim);
    setFog(gl, uniforms, solids.model.visual, (words.flags & FLAGS.FOG) !== 0);
    gl.disable(gl.CULL_FACE);
    gl.bindVertexArray(this.lineArray);
    this.instances.write(data, [3, 4, 4]);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, group.length);
    gl.bindVertexArray(null);
  }
}
