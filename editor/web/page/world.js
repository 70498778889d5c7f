/** World: draws MuJoCo's scenes into a texture, in the passes of MuJoCo's own renderer. */

import { HEAD, LIGHT, SceneWords } from "./messages.js";
import * as matrices from "./matrices.js";
import { INSTANCE, Parts } from "./parts.js";
import { program } from "./programs.js";
import { haze } from "./shapes.js";
import { ModelSolids, Solid } from "./solids.js";
import { CASTING, LINES, SKY, UNIFORMS, worldShaders } from "./world_shaders.js";
import { Target } from "./targets.js";

/** @typedef {import("./programs.js").Program} Program */
/** @typedef {import("./parts.js").Part} Part */
/** @typedef {import("./parts.js").Geom} Geom */
/** @typedef {import("./matrices.js").Matrix} Matrix */
/** @typedef {{scale: number, samples: number, shadow: number, reflection: boolean, isCoarse: boolean}} Quality */
/** @typedef {{view: Matrix, projection: Matrix, clip: number[], dim: number, shadows: boolean}} Pass */
/** @typedef {{texture: WebGLTexture, target: WebGLFramebuffer, size: number}} ShadowMap */

const SHADOW = 1, WIRE = 2, REFLECTION = 4, ADDITIVE = 8, SKYBOX = 16, FOG = 32, HAZE = 64, DEPTH = 128, SEGMENT = 256, IDCOLOR = 512, CULL = 1024;
const MOST_SHADOWS = 3;
const DIRECTIONAL = 1;

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
    /** @type {Map<string, Program>} */
    this.programs = new Map();
    this.casting = program(gl, CASTING[0], CASTING[1], ["u_shadow"]);
    this.lines = program(gl, LINES[0], LINES[1], ["u_view", "u_projection", "u_size", "u_dim", "u_fog", "u_fogRange"]);
    this.sky = program(gl, SKY[0], SKY[1], ["u_place", "u_view", "u_projection", "u_cube", "u_haze", "u_fog", "u_fogRange"]);
    this.instances = gl.createBuffer();
    /** @type {ShadowMap[]} */
    this.maps = [];
    this.lineArray = this.#lineArray();
    /** @type {{array: WebGLVertexArrayObject, count: number, buffer: WebGLBuffer} | null} */
    this.haze = null;
    this.white = this.#white();
  }

  /** Another model. @param {import("./solids.js").ModelText} text */
  setModel(text) {
    this.solids?.free();
    this.solids = new ModelSolids(this.gl, text, this.fetched, this.onCome);
    this.haze = null;
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
   * Draw the scene; returns whether there was one.
   * @param {Quality} quality
   */
  render(quality) {
    const { gl, words, solids } = this;
    if (solids === null || words.numbers.length < HEAD || words.generation !== solids.model.generation) {
      return false;
    }
    const width = Math.max(1, Math.round(words.width * quality.scale)), height = Math.max(1, Math.round(words.height * quality.scale));
    this.#moveSoftBodies();
    const parts = new Parts(words, solids, quality.isCoarse);
    const flags = words.flags;
    this.flags = flags;
    const camera = this.#camera(width / height);
    const shadowLights = (flags & SHADOW) && quality.shadow && !(flags & SEGMENT) ? this.#shadowLights() : [];
    const shadowViews = shadowLights.map((light, k) => this.#castShadows(parts, light, k, quality));
    this.shadowLights = shadowLights;
    this.shadowViews = shadowViews;
    this.target.use(width, height, (flags & SEGMENT) ? 0 : quality.samples);
    this.size = [width, height];
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
    this.#passes(parts, camera, quality);
    this.target.resolve();
    return true;
  }

  /** @param {Parts} parts @param {{view: Matrix, projection: Matrix}} camera @param {Quality} quality */
  #passes(parts, camera, quality) {
    const { gl } = this, flags = this.flags ?? 0;
    /** @type {Pass} */
    const main = { ...camera, clip: [0, 0, 0, 0], dim: 1, shadows: true };
    if (flags & SEGMENT) {
      const seen = parts.geoms.filter((geom) => geom.segment >= 0);
      this.#colourSegments(seen, (flags & IDCOLOR) !== 0);
      this.#draw(main, seen, 1);
      return;
    }
    const plain = flags & DEPTH ? 2 : 0;
    const opaque = parts.geoms.filter((geom) => !geom.isTransparent);
    const clear = parts.geoms.filter((geom) => geom.isTransparent).sort((a, b) => a.distance - b.distance);
    const mirror = opaque.find((geom) => geom.isReflective);
    if (mirror !== undefined && (flags & REFLECTION) && quality.reflection && !plain) {
      this.#reflect(main, mirror, opaque, clear);
    }
    if (mirror !== undefined) {
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE);
      this.#draw(main, [mirror], plain);
      gl.disable(gl.BLEND);
    }
    this.#draw(main, opaque.filter((geom) => geom !== mirror), plain);
    if ((flags & SKYBOX) && !plain) {
      this.#drawSky(parts, camera);
    }
    this.#drawClear({ ...main, shadows: false }, clear, plain);
  }

  /** @param {Pass} pass @param {Geom[]} clear @param {number} plain */
  #drawClear(pass, clear, plain) {
    const { gl } = this, isAdditive = ((this.flags ?? 0) & ADDITIVE) !== 0;
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, isAdditive ? gl.ONE : gl.ONE_MINUS_SRC_ALPHA);
    for (const order of isAdditive ? [clear] : [clear, [...clear].reverse()]) {
      this.#draw(pass, order, plain, true);
    }
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  /** @param {Pass} main @param {Geom} mirror @param {Geom[]} opaque @param {Geom[]} clear */
  #reflect(main, mirror, opaque, clear) {
    const { gl } = this, m = mirror.matrix, up = [m[2], m[5], m[8]];
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
    this.#draw({ ...main, shadows: false }, [this.#mirrorFace(mirror, point)], 1);
    gl.enable(gl.DEPTH_TEST);
    gl.colorMask(true, true, true, true);
    gl.stencilFunc(gl.EQUAL, 1, 0xff);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.KEEP);
    gl.frontFace(gl.CW);
    /** @type {Pass} */
    const pass = {
      view: matrices.product(main.view, matrices.mirrored(point, up)), projection: main.projection,
      clip: [...up, -matrices.dot(point, up)], dim: mirror.reflectance, shadows: false,
    };
    this.#draw(pass, opaque.filter((geom) => geom !== mirror), 0);
    this.#drawClear(pass, clear, 0);
    gl.disable(gl.STENCIL_TEST);
    gl.frontFace(gl.CCW);
  }

  /** The upper face of a box as a plane; a plane is its own. @param {Geom} mirror @param {number[]} point @returns {Geom} */
  #mirrorFace(mirror, point) {
    const solids = /** @type {ModelSolids} */ (this.solids);
    const part = mirror.parts[0], data = part.data.slice();
    if (mirror.type === 6) {
      data[14] = 1;
      point.forEach((value, k) => { data[4 * k + 3] = value; });
      return { ...mirror, parts: [{ ...part, solid: solids.built.one, data, texture: -1, isTwoSided: true }] };
    }
    return { ...mirror, parts: [{ ...part, texture: -1 }] };
  }

  // Camera and lights ----------------------------------------------------------------------------------------------

  /** @param {number} aspect */
  #camera(aspect) {
    const f = this.words.floats;
    const view = matrices.lookingAt(f.subarray(8, 11), f.subarray(11, 14), f.subarray(14, 17));
    const [centre, wide, bottom, top, near, far] = f.subarray(17, 23);
    const half = wide || 0.5 * aspect * (top - bottom);
    const make = this.words.numbers[6] ? matrices.orthographic : matrices.frustum;
    return { view, projection: make(centre - half, centre + half, bottom, top, near, far) };
  }

  /** Numbers of the lights that cast shadows. @returns {number[]} */
  #shadowLights() {
    const f = this.words.floats, found = [];
    for (let i = 0; i < this.words.lights && found.length < MOST_SHADOWS; i++) {
      const at = HEAD + LIGHT * i;
      if (f[at + 1] && f[at + 2]) {
        found.push(i);
      }
    }
    return found;
  }

  /** @param {Parts} parts @param {number} light @param {number} k @param {Quality} quality @returns {Matrix} */
  #castShadows(parts, light, k, quality) {
    const { gl } = this, f = this.words.floats, at = HEAD + LIGHT * light;
    const visual = /** @type {ModelSolids} */ (this.solids).model.visual;
    const size = Math.min(visual.shadow, quality.shadow, gl.getParameter(gl.MAX_TEXTURE_SIZE));
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
    const map = this.#shadowMap(k, size);
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
    gl.useProgram(this.casting.program);
    gl.uniformMatrix4fv(this.casting.uniforms.u_shadow, false, seen);
    for (const group of this.#groups(parts.geoms, false)) {
      if (group[0].solid !== null && group[0].casts) {
        this.#drawGroup(group, false);
      }
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
    return seen;
  }

  /** @param {number} k @param {number} size @returns {ShadowMap} */
  #shadowMap(k, size) {
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

  /** @param {Program} program @param {Pass} pass */
  #setLights({ uniforms }, pass) {
    const { gl, words } = this, f = words.floats;
    const at = new Float32Array(32), spot = new Float32Array(32), fade = new Float32Array(32);
    const ambient = new Float32Array(24), diffuse = new Float32Array(24), specular = new Float32Array(24);
    const shadowOf = new Int32Array(8).fill(-1);
    let drawn = 0;
    for (let i = 0; i < words.lights; i++) {
      const start = HEAD + LIGHT * i;
      const isDirectional = f[start] === DIRECTIONAL;
      if (!f[start + 2]) {
        continue;
      }
      const way = matrices.unit(matrices.applied(pass.view, f.subarray(start + 6, start + 9), 0));
      if (isDirectional) {
        at.set([-way[0], -way[1], -way[2], 0], 4 * drawn);
      } else {
        at.set([...matrices.applied(pass.view, f.subarray(start + 3, start + 6), 1), 1], 4 * drawn);
      }
      const cutoff = f[start + 12];
      spot.set([...way, cutoff <= 90 ? Math.cos(cutoff / 180 * Math.PI) : -2], 4 * drawn);
      fade.set([...f.subarray(start + 9, start + 12), f[start + 13]], 4 * drawn);
      ambient.set(f.subarray(start + 14, start + 17), 3 * drawn);
      diffuse.set(f.subarray(start + 17, start + 20), 3 * drawn);
      specular.set(f.subarray(start + 20, start + 23), 3 * drawn);
      shadowOf[drawn] = pass.shadows ? (this.shadowLights ?? []).indexOf(i) : -1;
      drawn++;
    }
    gl.uniform1i(uniforms.u_lights, drawn);
    gl.uniform1f(uniforms.u_everywhere, drawn ? 0 : 0.3);
    gl.uniform4fv(uniforms.u_at, at);
    gl.uniform4fv(uniforms.u_spot, spot);
    gl.uniform4fv(uniforms.u_fade, fade);
    gl.uniform3fv(uniforms.u_ambient, ambient);
    gl.uniform3fv(uniforms.u_diffuse, diffuse);
    gl.uniform3fv(uniforms.u_specular, specular);
    gl.uniform1iv(uniforms.u_shadowOf, shadowOf);
  }

  // Drawing ----------------------------------------------------------------------------------------------------------

  /**
   * Parts that are drawn with one call: the same solid and texture. Where order matters only neighbours are.
   * @param {Geom[]} geoms @param {boolean} inOrder @returns {Part[][]}
   */
  #groups(geoms, inOrder) {
    /** @type {Map<string, Part[]>} */
    const groups = new Map();
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
        const group = groups.get(key);
        if (group === undefined) {
          groups.set(key, [part]);
        } else {
          group.push(part);
        }
      }
    }
    return [...groups.values()];
  }

  /**
   * @param {Pass} pass @param {Geom[]} geoms
   * @param {number} plain 0: lit, 1: one colour, 2: depth
   * @param {boolean} inOrder
   */
  #draw(pass, geoms, plain, inOrder = false) {
    const { gl } = this, flags = this.flags ?? 0, isWire = (flags & WIRE) !== 0 && plain === 0;
    const shadows = pass.shadows ? (this.shadowViews ?? []).length : 0;
    const solids = /** @type {ModelSolids} */ (this.solids);
    /** @type {Program | null} */
    let current = null;
    for (const group of this.#groups(geoms, inOrder)) {
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
      if ((flags & CULL) && !first.isTwoSided) {
        gl.enable(gl.CULL_FACE);
      } else {
        gl.disable(gl.CULL_FACE);
      }
      this.#drawGroup(group, isWire);
    }
  }

  /** @param {Part[]} group @param {boolean} isWire */
  #drawGroup(group, isWire) {
    const { gl } = this, solid = /** @type {Solid} */ (group[0].solid);
    const data = new Float32Array(INSTANCE * group.length);
    group.forEach((part, i) => data.set(part.data, INSTANCE * i));
    gl.bindVertexArray(solid.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    for (let k = 0; k < 7; k++) {
      gl.enableVertexAttribArray(3 + k);
      gl.vertexAttribPointer(3 + k, 4, gl.FLOAT, false, 4 * INSTANCE, 16 * k);
      gl.vertexAttribDivisor(3 + k, 1);
    }
    solid.draw(group.length, isWire);
    gl.bindVertexArray(null);
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
    this.#setFog(uniforms);
    this.#setLights(program, pass);
    const names = ["u_map0", "u_map1", "u_map2"];
    gl.uniform1i(uniforms.u_flat, 0);
    gl.uniform1i(uniforms.u_cube, 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_CUBE_MAP, this.white.cube);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.white.flat);
    const views = this.shadowViews ?? [];
    if (pass.shadows && views.length) {
      const all = new Float32Array(48);
      views.forEach((view, k) => all.set(view, 16 * k));
      gl.uniformMatrix4fv(uniforms.u_shadow, false, all);
    }
    names.forEach((name, k) => {
      gl.uniform1i(uniforms[name], 2 + k);
      if (pass.shadows && k < views.length) {
        gl.activeTexture(gl.TEXTURE2 + k);
        gl.bindTexture(gl.TEXTURE_2D, this.maps[k].texture);
      }
    });
    gl.activeTexture(gl.TEXTURE0);
  }

  /** @param {Program["uniforms"]} uniforms */
  #setFog(uniforms) {
    const { fog, fogStart, fogEnd } = /** @type {ModelSolids} */ (this.solids).model.visual;
    const isOn = ((this.flags ?? 0) & FOG) !== 0;
    this.gl.uniform4f(uniforms.u_fog, fog[0], fog[1], fog[2], isOn ? 1 : 0);
    this.gl.uniform2f(uniforms.u_fogRange, fogStart, fogEnd);
  }

  /** @param {Pass} pass @param {Part[]} group */
  #drawLines(pass, group) {
    const { gl } = this, { uniforms } = this.lines, [width, height] = this.size ?? [1, 1];
    const wide = Math.max(1, width / Math.max(1, this.words.width));
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
    this.#setFog(uniforms);
    gl.disable(gl.CULL_FACE);
    gl.bindVertexArray(this.lineArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    for (const [location, size, start] of [[3, 3, 0], [4, 4, 12], [5, 4, 28]]) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 44, start);
      gl.vertexAttribDivisor(location, 1);
    }
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, group.length);
    gl.bindVertexArray(null);
  }

  /** @param {Parts} parts @param {{view: Matrix, projection: Matrix}} camera */
  #drawSky(parts, camera) {
    const { gl } = this, solids = /** @type {ModelSolids} */ (this.solids), { visual, textures } = solids.model;
    const number = textures.findIndex((texture) => texture.type === 2), cube = solids.textures.get(number);
    if (cube === undefined) {
      return;
    }
    const { uniforms } = this.sky, eye = this.words.floats.subarray(8, 11), reach = 0.7 * this.words.floats[22];
    gl.useProgram(this.sky.program);
    gl.uniformMatrix4fv(uniforms.u_view, false, camera.view);
    gl.uniformMatrix4fv(uniforms.u_projection, false, camera.projection);
    gl.uniformMatrix4fv(uniforms.u_place, false, new Float32Array([reach, 0, 0, 0, 0, reach, 0, 0, 0, 0, reach, 0, eye[0], eye[1], eye[2], 1]));
    gl.uniform4f(uniforms.u_haze, 0, 0, 0, 0);
    gl.uniform1i(uniforms.u_cube, 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_CUBE_MAP, cube);
    gl.activeTexture(gl.TEXTURE0);
    this.#setFog(uniforms);
    gl.disable(gl.CULL_FACE);
    const { cylinder } = solids.built;
    gl.bindVertexArray(cylinder.array);
    for (let k = 0; k < 7; k++) {
      gl.disableVertexAttribArray(3 + k);
    }
    cylinder.draw(1, false);
    const floor = parts.geoms.find((geom) => geom.type === 0 && geom.size[0] === 0 && geom.size[1] === 0);
    if (((this.flags ?? 0) & HAZE) && floor !== undefined) {
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
    const { uniforms } = this.sky;
    gl.uniformMatrix4fv(uniforms.u_place, false, place);
    gl.uniform4f(uniforms.u_haze, visual.haze[0], visual.haze[1], visual.haze[2], 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindVertexArray(this.haze.array);
    gl.drawArrays(gl.TRIANGLES, 0, this.haze.count);
    gl.disable(gl.BLEND);
  }

  /** Give every geom its colour of the segmentation. @param {Geom[]} geoms @param {boolean} byNumber */
  #colourSegments(geoms, byNumber) {
    for (const geom of geoms) {
      const id = geom.segment, colour = byNumber
        ? [id + 1 & 255, id + 1 >> 8 & 255, id + 1 >> 16 & 255].map((value) => value / 255)
        : [2, 3, 5].map((base) => 0.1 + 0.8 * halton(id + 10, base));
      for (const part of geom.parts) {
        part.data.set([...colour, 1], part.solid === null ? 7 : 16);
      }
    }
  }

  /** Skins and flexes have new corners in every scene. */
  #moveSoftBodies() {
    const { words } = this, solids = /** @type {ModelSolids} */ (this.solids), { skins, flexes } = solids.model;
    if (!skins.length && !flexes.length) {
      return;
    }
    const soft = new Parts(words, solids).softBodies();
    skins.forEach((skin, i) => {
      const [start, end] = [3 * skin.start, 3 * (skin.start + skin.count)];
      solids.meshes.get(`skin ${i}`)?.move(soft.skinVertices.subarray(start, end), soft.skinNormals.subarray(start, end));
    });
    flexes.forEach((flex, i) => {
      const used = soft.faceUsed[i], start = flex.faces[0];
      solids.meshes.get(`flex ${i}`)?.free();
      solids.meshes.set(`flex ${i}`, new Solid(this.gl, {
        positions: soft.flexFaces.slice(9 * start, 9 * (start + used)), normals: soft.flexNormals.slice(9 * start, 9 * (start + used)),
        coords: soft.flexCoords.slice(6 * start, 6 * (start + used)), triangles: Uint32Array.from({ length: 3 * used }, (_, k) => k),
        edges: null,
      }));
    });
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
