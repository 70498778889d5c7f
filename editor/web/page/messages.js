/**
 * Messages of the server, little-endian. The first byte says which:
 *
 * 1 frame    u8 1, u8 whole, u16 lists, u32 number, u32 last input shown, f32 width, height, pixel ratio, unit,
 *            i8 cursor, u8 text is typed, u16 0, u16 x, u16 y of the typed text, u8 red, green, blue of the background,
 *            u8 0; per list u32 id, u8 what, u8 0, u16 commands, u32 vertices, u32 indices; then the parts of the
 *            lists. A list that is not named is gone.
 * 2 texture  u8 2, u8 channels, u16 0, u32 id, u16 width, height, x, y, w, h; pixels
 * 3 scene    u8 3, u8 difference, u16 texture, u32 generation of the model, u32 n; n words as 4 planes of bytes
 * 5 free     u8 5, u8 0, u16 0, u32 id of a texture
 * 6 nothing but the scene changed   u8 6, u8 0, u16 0, u32 number, u32 last input shown
 *
 * Words of a scene: head (HEAD), lights (LIGHT each), geoms (GEOM each), then floats of skins and flexes.
 * Head: width, height, flags, geoms, lights, flex options, orthographic, skins; from 8 on floats: camera position,
 * forward, up, frustum centre, width, bottom, top, near, far.
 * Light, all floats: type, casts a shadow, is drawn, position 3, direction 3, attenuation 3, cutoff, exponent,
 * ambient 3, diffuse 3, specular 3.
 * Geom: type, dataid, objid, category, matid, texid, texuniform, texcoord, segid; floats: size 3, position 3,
 * matrix 9, colour 4, emission, specular, shininess, reflectance, texrepeat 2, bound.
 */

export const FRAME = 1, TEXTURE = 2, SCENE = 3, FREE = 5, SCENE_ONLY = 6;
export const HEAD = 24, LIGHT = 24, GEOM = 36;
/** What is drawn of a scene: the bits of `mjtRndFlag`. */
export const FLAGS = {
  SHADOW: 1, WIRE: 2, REFLECTION: 4, ADDITIVE: 8, SKYBOX: 16, FOG: 32, HAZE: 64, DEPTH: 128, SEGMENT: 256, IDCOLOR: 512, CULL: 1024,
};
const VERTICES = 1, INDICES = 2, COMMANDS = 4, DIFFERENCE = 8, FLOATS = 16, WIDE = 32;

/**
 * @typedef {{clip: Float32Array, texture: number, first: number, start: number, count: number}} Command
 * @typedef {object} DrawList
 * @property {number} id
 * @property {number} vertices how many
 * @property {Uint16Array | null} rows x, y, u, v, colour low, colour high, one after the other
 * @property {Float32Array | null} floats the same rows, where a vertex lies too far away for 16 bits
 * @property {Uint16Array | Uint32Array} indices
 * @property {Command[]} commands
 * @property {boolean} newVertices
 * @property {boolean} newIndices
 * @typedef {object} Frame
 * @property {number} number
 * @property {number} input number of the last input that it shows
 * @property {number} width
 * @property {number} height
 * @property {number} ratio
 * @property {number} unit
 * @property {number} cursor
 * @property {boolean} types
 * @property {number} typedX
 * @property {number} typedY
 * @property {number[]} background red, green, blue [0 to 1]
 * @property {DrawList[]} lists
 */

/**
 * Decode a frame on top of the lists of the one before.
 * @param {Uint8Array} bytes
 * @param {Map<number, DrawList>} known changed: afterwards it holds the lists of this frame
 * @returns {Frame}
 */
export function decodeFrame(bytes, known) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint16(2, true);
  /** @type {DrawList[]} */
  const lists = [];
  let head = 40, body = 40 + 16 * count;
  for (let i = 0; i < count; i++, head += 16) {
    const id = view.getUint32(head, true), what = view.getUint8(head + 4);
    const vertices = view.getUint32(head + 8, true), indices = view.getUint32(head + 12, true);
    const list = known.get(id) ?? emptyList(id);
    if (what & VERTICES) {
      body = readVertices(bytes, body, list, vertices, what);
    }
    if (what & INDICES) {
      body = readIndices(bytes, body, list, indices, (what & WIDE) !== 0);
    }
    if (what & COMMANDS) {
      body = readCommands(view, body, list, view.getUint16(head + 6, true));
    }
    lists.push(list);
  }
  known.clear();
  for (const list of lists) {
    known.set(list.id, list);
  }
  return {
    number: view.getUint32(4, true), input: view.getUint32(8, true),
    width: view.getFloat32(12, true), height: view.getFloat32(16, true),
    ratio: view.getFloat32(20, true), unit: view.getFloat32(24, true),
    cursor: view.getInt8(28), types: view.getUint8(29) !== 0,
    typedX: view.getUint16(32, true), typedY: view.getUint16(34, true),
    background: [36, 37, 38].map((at) => view.getUint8(at) / 255), lists,
  };
}

/** @param {number} id @returns {DrawList} */
function emptyList(id) {
  return {
    id, vertices: 0, rows: new Uint16Array(0), floats: null, indices: new Uint16Array(0), commands: [],
    newVertices: true, newIndices: true,
  };
}

/**
 * @param {Uint8Array} bytes @param {number} at @param {DrawList} list @param {number} count @param {number} what
 * @returns {number} where the next part begins
 */
function readVertices(bytes, at, list, count, what) {
  list.newVertices = true;
  list.vertices = count;
  if (what & FLOATS) {
    const raw = bytes.slice(at, at + 20 * count).buffer;
    const floats = new Float32Array(raw), halves = new Uint16Array(raw);
    const rows = new Float32Array(6 * count);
    for (let i = 0; i < count; i++) {
      for (let k = 0; k < 4; k++) {
        rows[k * count + i] = floats[5 * i + k];
      }
      rows[4 * count + i] = halves[10 * i + 8];
      rows[5 * count + i] = halves[10 * i + 9];
    }
    list.rows = null;
    list.floats = rows;
    return at + 20 * count;
  }
  const total = 6 * count;
  const rows = new Uint16Array(total);
  const high = at + total;
  if (what & DIFFERENCE) {
    const before = /** @type {Uint16Array} */ (list.rows);
    for (let i = 0; i < total; i++) {
      rows[i] = before[i] + (bytes[at + i] | bytes[high + i] << 8);
    }
  } else {
    for (let row = 0; row < 6; row++) {
      const start = row * count;
      for (let i = 0; i < count; i++) {
        const k = start + i;
        const step = bytes[at + k] | bytes[high + k] << 8;
        rows[k] = i < 4 ? step : rows[k - 4] + step;
      }
    }
  }
  list.rows = rows;
  list.floats = null;
  return at + 2 * total;
}

/**
 * @param {Uint8Array} bytes @param {number} at @param {DrawList} list @param {number} count @param {boolean} wide
 * @returns {number} where the next part begins
 */
function readIndices(bytes, at, list, count, wide) {
  list.newIndices = true;
  const size = wide ? 4 : 2;
  const raw = bytes.slice(at, at + size * count).buffer;
  const indices = wide ? new Uint32Array(raw) : new Uint16Array(raw);
  for (let i = 6; i < count; i++) {
    indices[i] += indices[i - 6];
  }
  list.indices = indices;
  return at + size * count;
}

/**
 * @param {DataView} view @param {number} at @param {DrawList} list @param {number} count
 * @returns {number} where the next part begins
 */
function readCommands(view, at, list, count) {
  list.commands = [];
  for (let i = 0; i < count; i++, at += 32) {
    const clip = new Float32Array(4);
    for (let k = 0; k < 4; k++) {
      clip[k] = view.getFloat32(at + 4 * k, true);
    }
    list.commands.push({
      clip, texture: view.getUint32(at + 16, true), first: view.getUint32(at + 20, true),
      start: view.getUint32(at + 24, true), count: view.getUint32(at + 28, true),
    });
  }
  return at;
}

/** The words of the last scene, as numbers of both kinds. */
export class SceneWords {
  constructor() {
    this.generation = 0;
    this.numbers = new Int32Array(0);
    this.floats = new Float32Array(0);
  }

  /** Take a scene over. @param {Uint8Array} bytes */
  take(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const isDifference = view.getUint8(1) !== 0, n = view.getUint32(8, true);
    this.generation = view.getUint32(4, true);
    if (!isDifference || this.numbers.length !== n) {
      this.numbers = new Int32Array(n);
      this.floats = new Float32Array(this.numbers.buffer);
    }
    const words = this.numbers;
    for (let i = 0, at = 12; i < n; i++, at++) {
      const word = bytes[at] | bytes[at + n] << 8 | bytes[at + 2 * n] << 16 | bytes[at + 3 * n] << 24;
      words[i] = isDifference ? words[i] ^ word : word;
    }
  }

  get width() { return this.numbers[0]; }
  get height() { return this.numbers[1]; }
  get flags() { return this.numbers[2]; }
  get geoms() { return this.numbers[3]; }
  get lights() { return this.numbers[4]; }
}
