/** Draws Dear ImGui's draw lists. */

import { program } from "./programs.js";

/** @typedef {import("./messages.js").DrawList} DrawList */
/** @typedef {import("./messages.js").Frame} Frame */
/** @typedef {{vertices: WebGLBuffer, indices: WebGLBuffer, isFloat: boolean}} Buffers */

const VERTEX = `#version 300 es
precision highp float;
layout(location=0) in float a_x;
layout(location=1) in float a_y;
layout(location=2) in float a_u;
layout(location=3) in float a_v;
layout(location=4) in float a_low;
layout(location=5) in float a_high;
uniform vec4 u_place;
uniform vec3 u_scale;
out vec2 v_uv;
out vec4 v_colour;
void main() {
  vec2 at = vec2(a_x, a_y) * u_scale.x - u_scale.y;
  gl_Position = vec4(at * u_place.xy + u_place.zw, 0.0, 1.0);
  v_uv = vec2(a_u, a_v) * u_scale.z;
  float green = floor(a_low / 256.0), alpha = floor(a_high / 256.0);
  v_colour = vec4(a_low - 256.0 * green, green, a_high - 256.0 * alpha, alpha) / 255.0;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec2 v_uv;
in vec4 v_colour;
uniform sampler2D u_texture;
out vec4 o_colour;
void main() { o_colour = v_colour * texture(u_texture, v_uv); }`;

export class Panels {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.program = program(gl, VERTEX, FRAGMENT, ["u_place", "u_scale", "u_texture"]);
    /** @type {Map<number, WebGLTexture>} */
    this.textures = new Map();
    /** @type {Map<number, Buffers>} */
    this.buffers = new Map();
  }

  /** A texture, or a part of one, came. @param {Uint8Array} bytes */
  takeTexture(bytes) {
    const gl = this.gl, view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const channels = view.getUint8(1), id = view.getUint32(4, true);
    const [width, height, x, y, w, h] = [8, 10, 12, 14, 16, 18].map((at) => view.getUint16(at, true));
    const pixels = new Uint8Array(4 * w * h).fill(255);
    for (let i = 0, from = 20; i < w * h; i++, from += channels) {
      if (channels === 1) {
        pixels[4 * i + 3] = bytes[from];
      } else {
        for (let k = 0; k < channels; k++) {
          pixels[4 * i + k] = bytes[from + k];
        }
      }
    }
    let texture = this.textures.get(id);
    const isNew = texture === undefined;
    texture ??= /** @type {WebGLTexture} */ (gl.createTexture());
    gl.bindTexture(gl.TEXTURE_2D, texture);
    if (isNew || (w === width && h === height)) {
      this.textures.set(id, texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
        gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
      }
      for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) {
        gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
      }
    }
    gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  }

  /** @param {Uint8Array} bytes */
  freeTexture(bytes) {
    const id = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
    this.gl.deleteTexture(this.textures.get(id) ?? null);
    this.textures.delete(id);
  }

  /**
   * Draw a frame into a part of the canvas, which has its size or is larger, with bars beside it.
   * @param {Frame} frame @param {WebGLTexture} world
   * @param {{x: number, y: number, scale: number}} fit place of the frame, and pixels of the canvas per point
   */
  draw(frame, world, fit) {
    const gl = this.gl, { width, height } = gl.canvas;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.disable(gl.SCISSOR_TEST);
    const [red, green, blue] = frame.background;
    gl.clearColor(red, green, blue, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.SCISSOR_TEST);
    const { uniforms } = this.program;
    gl.useProgram(this.program.program);
    gl.activeTexture(gl.TEXTURE0);
    gl.uniform1i(uniforms.u_texture, 0);
    gl.uniform4f(uniforms.u_place, 2 * fit.scale / width, -2 * fit.scale / height,
      2 * fit.x / width - 1, 1 - 2 * fit.y / height);
    gl.bindVertexArray(null);
    const seen = new Set();
    for (const list of frame.lists) {
      seen.add(list.id);
      this.#drawList(list, frame.unit, world, fit, height);
    }
    for (const [id, buffers] of this.buffers) {
      if (!seen.has(id)) {
        gl.deleteBuffer(buffers.vertices);
        gl.deleteBuffer(buffers.indices);
        this.buffers.delete(id);
      }
    }
    gl.disable(gl.SCISSOR_TEST);
    for (let i = 0; i < 6; i++) {
      gl.disableVertexAttribArray(i);
    }
  }

  /** @param {DrawList} list @returns {Buffers} */
  #uploaded(list) {
    const gl = this.gl;
    let buffers = this.buffers.get(list.id);
    if (buffers === undefined) {
      buffers = { vertices: gl.createBuffer(), indices: gl.createBuffer(), isFloat: false };
      this.buffers.set(list.id, buffers);
      list.newVertices = list.newIndices = true;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.vertices);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.indices);
    if (list.newVertices) {
      buffers.isFloat = list.floats !== null;
      gl.bufferData(gl.ARRAY_BUFFER, list.floats ?? list.rows, gl.STREAM_DRAW);
      list.newVertices = false;
    }
    if (list.newIndices) {
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, list.indices, gl.STREAM_DRAW);
      list.newIndices = false;
    }
    return buffers;
  }

  /**
   * @param {DrawList} list @param {number} unit @param {WebGLTexture} world
   * @param {{x: number, y: number, scale: number}} fit @param {number} height of the canvas
   */
  #drawList(list, unit, world, fit, height) {
    const gl = this.gl, { uniforms } = this.program;
    const { isFloat } = this.#uploaded(list);
    const size = isFloat ? 4 : 2, kind = isFloat ? gl.FLOAT : gl.UNSIGNED_SHORT;
    if (isFloat) {
      gl.uniform3f(uniforms.u_scale, 1, 0, 1);
    } else {
      gl.uniform3f(uniforms.u_scale, 1 / unit, 1024, 1 / 65535);
    }
    const wide = list.indices instanceof Uint32Array;
    let first = -1;
    for (const command of list.commands) {
      const [x0, y0, x1, y1] = command.clip;
      const left = Math.round(fit.x + x0 * fit.scale), right = Math.round(fit.x + x1 * fit.scale);
      const top = Math.round(fit.y + y0 * fit.scale), bottom = Math.round(fit.y + y1 * fit.scale);
      if (right <= left || bottom <= top || command.count === 0) {
        continue;
      }
      if (command.first !== first) {
        first = command.first;
        for (let row = 0; row < 6; row++) {
          gl.enableVertexAttribArray(row);
          gl.vertexAttribPointer(row, 1, kind, false, 0, (row * list.vertices + first) * size);
        }
      }
      gl.scissor(left, height - bottom, right - left, bottom - top);
      gl.bindTexture(gl.TEXTURE_2D, command.texture === 1 ? world : this.textures.get(command.texture) ?? null);
      gl.drawElements(gl.TRIANGLES, command.count, wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT,
        command.start * (wide ? 4 : 2));
    }
  }
}
