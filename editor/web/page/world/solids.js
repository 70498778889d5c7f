/** Solid: a shape on the graphics card, and the model's own meshes, textures and height fields. */

import * as shapes from "./shapes.js";

/** @typedef {import("./shapes.js").Shape} Shape */
/**
 * @typedef {object} ModelText
 * @property {number} generation
 * @property {Visual} visual
 * @property {{texture: number, uniform: boolean, repeat: number[]}[]} materials
 * @property {{type: number, width: number, height: number, channels: number, srgb: boolean, hash: string}[]} textures
 * @property {{hash: string, hull: string}[]} meshes
 * @property {{rows: number, columns: number, size: number[], hash: string}[]} fields
 * @property {{start: number, count: number, faces: string, coords: string}[]} skins
 * @property {{vertices: number[], faces: number[], edges: number[]}[]} flexes
 * @typedef {object} Visual
 * @property {number} slices
 * @property {number} stacks
 * @property {number} quads
 * @property {number} samples
 * @property {number} shadow
 * @property {number} shadowClip
 * @property {number} shadowScale
 * @property {number} fogStart
 * @property {number} fogEnd
 * @property {number[]} fog
 * @property {number} hazeSize
 * @property {number[]} haze
 * @property {number} line
 * @property {number} far
 */

/** A shape in buffers; drawn as triangles or as a wire frame. */
export class Solid {
  /** @param {WebGL2RenderingContext} gl @param {Shape} shape */
  constructor(gl, shape) {
    /** @type {WebGL2RenderingContext} */
    this.gl = gl;
    this.array = gl.createVertexArray();
    this.count = shape.triangles.length;
    this.edgeCount = 0;
    this.shape = shape;
    /** @type {WebGLBuffer[]} */
    this.buffers = [];
    gl.bindVertexArray(this.array);
    this.positions = this.#attribute(0, 3, shape.positions);
    this.normals = this.#attribute(1, 3, shape.normals);
    if (shape.coords !== null) {
      this.#attribute(2, 2, shape.coords);
    }
    this.triangles = this.#buffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.triangles);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shape.triangles, gl.STATIC_DRAW);
    /** @type {WebGLBuffer | null} */
    this.edges = null;
    gl.bindVertexArray(null);
  }

  /** @returns {WebGLBuffer} */
  #buffer() {
    const buffer = this.gl.createBuffer();
    this.buffers.push(buffer);
    return buffer;
  }

  /** @param {number} location @param {number} size @param {Float32Array | Int16Array} values */
  #attribute(location, size, values) {
    const gl = this.gl, buffer = this.#buffer(), isFloat = values instanceof Float32Array;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, size, isFloat ? gl.FLOAT : gl.SHORT, !isFloat, 0, 0);
    return buffer;
  }

  /** New corners for the same faces, as skins and flexes have them in every scene. @param {Float32Array} positions @param {Float32Array} normals */
  move(positions, normals) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.positions);
    gl.bufferData(gl.ARRAY_BUFFER, positions, gl.STREAM_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.normals);
    gl.bufferData(gl.ARRAY_BUFFER, normals, gl.STREAM_DRAW);
  }

  /** @param {number} instances @param {boolean} isWire */
  draw(instances, isWire) {
    const gl = this.gl;
    if (!isWire) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.triangles);
      gl.drawElementsInstanced(gl.TRIANGLES, this.count, gl.UNSIGNED_INT, 0, instances);
      return;
    }
    if (this.edges === null) {
      const edges = this.shape.edges ?? edgesOf(this.shape.triangles);
      this.edges = this.#buffer();
      this.edgeCount = edges.length;
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.edges);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, edges, gl.STATIC_DRAW);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.edges);
    gl.drawElementsInstanced(gl.LINES, this.edgeCount, gl.UNSIGNED_INT, 0, instances);
  }

  free() {
    this.buffers.forEach((buffer) => this.gl.deleteBuffer(buffer));
    this.gl.deleteVertexArray(this.array);
  }
}

/** @param {Uint32Array} triangles @returns {Uint32Array} */
function edgesOf(triangles) {
  const edges = new Uint32Array(2 * triangles.length);
  for (let i = 0; i < triangles.length; i += 3) {
    for (let k = 0; k < 3; k++) {
      edges[2 * (i + k)] = triangles[i + k];
      edges[2 * (i + k) + 1] = triangles[i + (k + 1) % 3];
    }
  }
  return edges;
}

/** @param {ArrayBuffer} raw @returns {Shape} */
function meshShape(raw) {
  const [corners, indices, hasCoords] = new Uint32Array(raw, 0, 4);
  let at = 16;
  const positions = new Float32Array(raw, at, 3 * corners);
  at += 12 * corners;
  const coords = hasCoords ? new Float32Array(raw, at, 2 * corners) : null;
  at += hasCoords ? 8 * corners : 0;
  const triangles = new Uint32Array(raw, at, indices);
  return { positions, normals: new Int16Array(raw, at + 4 * indices, 3 * corners), coords, triangles, edges: null };
}

/** @param {WebGL2RenderingContext} gl @param {number} slices @param {number} stacks @param {number} quads @returns {Record<string, Solid>} */
function solidsOf(gl, slices, stacks, quads) {
  const half = Math.floor(stacks / 2);
  return {
    plane: new Solid(gl, shapes.plane(quads)), one: new Solid(gl, shapes.plane(1)),
    endless: new Solid(gl, shapes.endlessPlane()),
    sphere: new Solid(gl, shapes.sphere(slices, stacks)),
    top: new Solid(gl, shapes.halfSphere(1, slices, half)), bottom: new Solid(gl, shapes.halfSphere(-1, slices, half)),
    tube: new Solid(gl, shapes.cylinder(slices, stacks, false)), cylinder: new Solid(gl, shapes.cylinder(slices, stacks, true)),
    cone: new Solid(gl, shapes.cone(slices, stacks)), box: new Solid(gl, shapes.box(quads)),
    triangle: new Solid(gl, shapes.triangle()),
  };
}

/** What a model is drawn with; parts that were not fetched yet are missing and come later. */
export class ModelSolids {
  /**
   * @param {WebGL2RenderingContext} gl @param {ModelText} model
   * @param {(hash: string) => Promise<ArrayBuffer>} fetched @param {() => void} onCome called when a part came
   */
  constructor(gl, model, fetched, onCome) {
    this.gl = gl;
    this.model = model;
    const { slices, stacks, quads } = model.visual;
    this.built = solidsOf(gl, slices, stacks, quads);
    /** Fewer corners, for a processor that draws. */
    this.coarse = solidsOf(gl, Math.min(slices, 16), Math.min(stacks, 6), Math.min(quads, 1));
    /** @type {Map<string, Solid>} */
    this.meshes = new Map();
    /** @type {Map<number, WebGLTexture>} */
    this.textures = new Map();
    this.missing = 0;
    this.isFreed = false;
    const want = (/** @type {string} */ hash, /** @type {(raw: ArrayBuffer) => void} */ then) => {
      this.missing++;
      fetched(hash).then((raw) => {
        if (!this.isFreed) {
          then(raw);
          this.missing--;
          onCome();
        }
      }).catch((error) => console.warn("a part of the model did not come", error));
    };
    model.meshes.forEach((mesh, i) => {
      want(mesh.hash, (raw) => this.meshes.set(`mesh ${2 * i}`, new Solid(gl, meshShape(raw))));
      if (mesh.hull) {
        want(mesh.hull, (raw) => this.meshes.set(`mesh ${2 * i + 1}`, new Solid(gl, meshShape(raw))));
      }
    });
    model.fields.forEach((field, i) => want(field.hash, (raw) => {
      const shape = shapes.heightField(new Float32Array(raw), field.rows, field.columns, field.size, quads);
      this.meshes.set(`field ${i}`, new Solid(gl, shape));
    }));
    model.textures.forEach((texture, i) => want(texture.hash, (raw) => this.textures.set(i, this.#texture(texture, raw))));
    model.skins.forEach((skin, i) => want(skin.faces, (faces) => {
      const make = (/** @type {Float32Array | null} */ coords) => this.meshes.set(`skin ${i}`, new Solid(gl, {
        positions: new Float32Array(3 * skin.count), normals: new Float32Array(3 * skin.count), coords,
        triangles: new Uint32Array(faces), edges: null,
      }));
      if (skin.coords) {
        want(skin.coords, (raw) => make(new Float32Array(raw)));
      } else {
        make(null);
      }
    }));
  }

  /** @param {ModelText["textures"][number]} texture @param {ArrayBuffer} raw @returns {WebGLTexture} */
  #texture(texture, raw) {
    const gl = this.gl, made = gl.createTexture(), bytes = new Uint8Array(raw);
    const { width, height, channels } = texture;
    const expanded = (/** @type {number} */ start, /** @type {number} */ count) => {
      const pixels = new Uint8Array(4 * count).fill(255);
      for (let i = 0; i < count; i++) {
        for (let k = 0; k < channels; k++) {
          pixels[4 * i + k] = bytes[start + channels * i + k];
        }
      }
      return pixels;
    };
    const inner = texture.srgb ? gl.SRGB8_ALPHA8 : gl.RGBA8;
    const target = texture.type === 0 ? gl.TEXTURE_2D : gl.TEXTURE_CUBE_MAP;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(target, made);
    if (texture.type === 0) {
      gl.texImage2D(target, 0, inner, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, expanded(0, width * height));
    } else {
      for (let face = 0; face < 6; face++) {
        const start = width === height ? 0 : face * channels * width * width;
        gl.texImage2D(gl.TEXTURE_CUBE_MAP_POSITIVE_X + face, 0, gl.RGBA8, width, width, 0, gl.RGBA, gl.UNSIGNED_BYTE,
          expanded(start, width * width));
      }
    }
    const wrap = texture.type === 0 ? gl.REPEAT : gl.CLAMP_TO_EDGE;
    gl.texParameteri(target, gl.TEXTURE_WRAP_S, wrap);
    gl.texParameteri(target, gl.TEXTURE_WRAP_T, wrap);
    gl.texParameteri(target, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(target, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    gl.generateMipmap(target);
    return made;
  }

  /** A plane with lines in it, for wire frames. @param {number} wanted squares @returns {Solid} */
  grid(wanted) {
    const count = Math.max(1, Math.min(200, Math.round(wanted))), name = `grid ${count}`;
    let solid = this.meshes.get(name);
    if (solid === undefined) {
      solid = new Solid(this.gl, shapes.plane(count));
      this.meshes.set(name, solid);
    }
    return solid;
  }

  free() {
    this.isFreed = true;
    [...Object.values(this.built), ...Object.values(this.coarse)].forEach((solid) => solid.free());
    this.meshes.forEach((solid) => solid.free());
    this.textures.forEach((texture) => this.gl.deleteTexture(texture));
  }
}
