/** Sky: the model's sky, and the haze where an endless floor meets it. */

import { setFog } from "./lights.js";
import { FLAGS } from "../messages.js";
import { program } from "../programs.js";
import { haze } from "./shapes.js";
import { SKY } from "./shaders.js";

/** @typedef {import("./parts.js").Geom} Geom */
/** @typedef {import("../messages.js").SceneWords} SceneWords */
/** @typedef {import("./matrices.js").Matrix} Matrix */
/** @typedef {import("./solids.js").ModelSolids} ModelSolids */

export class Sky {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.program = program(gl, SKY[0], SKY[1], ["u_place", "u_view", "u_projection", "u_cube", "u_haze", "u_fog", "u_fogRange"]);
    /** @type {{array: WebGLVertexArrayObject, count: number, buffer: WebGLBuffer} | null} */
    this.haze = null;
  }

  /** Another model, whose haze may be higher. */
  renew() {
    if (this.haze !== null) {
      this.gl.deleteVertexArray(this.haze.array);
      this.gl.deleteBuffer(this.haze.buffer);
      this.haze = null;
    }
  }

  /**
   * Draw the sky of a model, and the haze before it.
   * @param {SceneWords} words @param {ModelSolids} solids @param {Geom[]} geoms @param {{view: Matrix, projection: Matrix}} camera
   */
  draw(words, solids, geoms, camera) {
    const { gl } = this, { visual, textures } = solids.model;
    const number = textures.findIndex((texture) => texture.type === 2), cube = solids.textures.get(number);
    if (cube === undefined) {
      return;
    }
    const { uniforms } = this.program, eye = words.floats.subarray(8, 11), reach = 0.7 * words.floats[22];
    gl.useProgram(this.program.program);
    gl.uniformMatrix4fv(uniforms.u_view, false, camera.view);
    gl.uniformMatrix4fv(uniforms.u_projection, false, camera.projection);
    gl.uniformMatrix4fv(uniforms.u_place, false, new Float32Array([reach, 0, 0, 0, 0, reach, 0, 0, 0, 0, reach, 0, eye[0], eye[1], eye[2], 1]));
    gl.uniform4f(uniforms.u_haze, 0, 0, 0, 0);
    gl.uniform1i(uniforms.u_cube, 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_CUBE_MAP, cube);
    gl.activeTexture(gl.TEXTURE0);
    setFog(gl, uniforms, visual, (words.flags & FLAGS.FOG) !== 0);
    gl.disable(gl.CULL_FACE);
    const { cylinder } = solids.built;
    gl.bindVertexArray(cylinder.array);
    for (let k = 0; k < 7; k++) {
      gl.disableVertexAttribArray(3 + k);
    }
    cylinder.draw(1, false);
    const floor = geoms.find((geom) => geom.type === 0 && geom.size[0] === 0 && geom.size[1] === 0);
    if ((words.flags & FLAGS.HAZE) && floor !== undefined) {
      this.#drawHaze(floor, eye, reach, visual);
    }
    gl.bindVertexArray(null);
  }

  /** @param {Geom} floor @param {ArrayLike<number>} eye @param {number} reach @param {import("./solids.js").Visual} visual */
  #drawHaze(floor, eye, reach, visual) {
    const { gl } = this, m = floor.matrix;
    const height = [0, 1, 2].reduce((sum, k) => sum + (eye[k] - floor.position[k]) * m[3 * k + 2], 0) / reach;
    if (height < 0) {
      return;
    }
    if (this.haze === null) {
      const made = haze(visual.slices, visual.hazeSize), array = gl.createVertexArray(), buffer = gl.createBuffer();
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, made, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(0);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 16, 0);
      gl.enableVertexAttribArray(1);
      gl.vertexAttribPointer(1, 1, gl.FLOAT, false, 16, 12);
      this.haze = { array, count: made.length / 4, buffer };
    }
    const place = new Float32Array(16);
    for (let k = 0; k < 3; k++) {
      place[k] = reach * m[3 * k];
      place[4 + k] = reach * m[3 * k + 1];
      place[8 + k] = reach * m[3 * k + 2] * height;
      place[12 + k] = eye[k] - reach * m[3 * k + 2] * height;
    }
    place[15] = 1;
    const { uniforms } = this.program;
    gl.uniformMatrix4fv(uniforms.u_place, false, place);
    gl.uniform4f(uniforms.u_haze, visual.haze[0], visual.haze[1], visual.haze[2], 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindVertexArray(this.haze.array);
    gl.drawArrays(gl.TRIANGLES, 0, this.haze.count);
    gl.disable(gl.BLEND);
  }
}
