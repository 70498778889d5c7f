/**
 * The solids that geoms are drawn with, tessellated as MuJoCo tessellates them: light is computed at corners, so that
 * the same corners give the same shades.
 */

/**
 * @typedef {object} Shape
 * @property {Float32Array} positions
 * @property {Float32Array | Int16Array} normals
 * @property {Float32Array | null} coords
 * @property {Uint32Array} triangles
 * @property {Uint32Array | null} edges for wire frames; null: those of the triangles
 */

const TURN = 2 * Math.PI;

/** Collects corners; `corner` returns the number of a new one. */
class Builder {
  constructor() {
    /** @type {number[]} */ this.positions = [];
    /** @type {number[]} */ this.normals = [];
    /** @type {number[]} */ this.coords = [];
    /** @type {number[]} */ this.triangles = [];
    /** @type {number[]} */ this.edges = [];
  }

  /** @param {number[]} position @param {number[]} normal @param {number[]} coords @returns {number} */
  corner(position, normal, coords) {
    this.positions.push(...position);
    this.normals.push(...normal);
    this.coords.push(...coords);
    return this.positions.length / 3 - 1;
  }

  /** @param {number[]} corners counter-clockwise, three or more */
  face(corners) {
    for (let i = 2; i < corners.length; i++) {
      this.triangles.push(corners[0], corners[i - 1], corners[i]);
    }
    corners.forEach((corner, i) => this.edges.push(corner, corners[(i + 1) % corners.length]));
  }

  /**
   * Faces between rows of corners, going round; a row may be a single point.
   * @param {(row: number, step: number) => [number[], number[], number[]]} corner
   * @param {number} rows @param {number} steps @param {boolean} flipped
   */
  lathe(corner, rows, steps, flipped = false) {
    /** @type {number[][]} */
    const made = [];
    for (let row = 0; row <= rows; row++) {
      made.push([]);
      for (let step = 0; step <= steps; step++) {
        made[row].push(this.corner(...corner(row, step)));
      }
    }
    for (let row = 0; row < rows; row++) {
      for (let step = 0; step < steps; step++) {
        const face = [made[row][step], made[row][step + 1], made[row + 1][step + 1], made[row + 1][step]];
        this.face(flipped ? face.reverse() : face);
      }
    }
  }

  /** @returns {Shape} */
  shape() {
    return {
      positions: new Float32Array(this.positions), normals: new Float32Array(this.normals),
      coords: new Float32Array(this.coords), triangles: new Uint32Array(this.triangles),
      edges: new Uint32Array(this.edges),
    };
  }
}

/** @param {number} slices @param {number} stacks @returns {Shape} */
export function sphere(slices, stacks) {
  const built = new Builder(), half = Math.floor(stacks / 2);
  built.lathe((row, step) => {
    const up = Math.PI / 2 * (row - half) / half, round = TURN * step / slices;
    const at = [Math.cos(round) * Math.cos(up), Math.sin(round) * Math.cos(up), Math.sin(up)];
    return [at, at, [step / slices, 0.5 - (row - half) / (2 * half)]];
  }, 2 * half, slices);
  return built.shape();
}

/** Half a sphere on the end of a cylinder. @param {number} sign 1: top @param {number} slices @param {number} stacks @returns {Shape} */
export function halfSphere(sign, slices, stacks) {
  const built = new Builder();
  built.lathe((row, step) => {
    const up = Math.PI / 2 * sign * row / stacks, round = TURN * step / slices;
    const at = [Math.cos(round) * Math.cos(up), Math.sin(round) * Math.cos(up), Math.sin(up)];
    const v = row / stacks;
    return [[at[0], at[1], at[2] + sign], at, [step / slices, sign > 0 ? 1 - v : v]];
  }, stacks, slices, sign < 0);
  return built.shape();
}

/** @param {Builder} built @param {number} z @param {number} up 1 or -1 @param {number} slices @param {number} stacks */
function disk(built, z, up, slices, stacks) {
  built.lathe((row, step) => {
    const r = row / stacks, round = TURN * step / slices;
    const x = Math.cos(round) * r, y = Math.sin(round) * r;
    return [[x, y, z], [0, 0, up], [0.5 + 0.5 * x, 0.5 + 0.5 * y]];
  }, stacks, slices, up > 0);
}

/** @param {number} slices @param {number} stacks @param {boolean} closed @returns {Shape} */
export function cylinder(slices, stacks, closed) {
  const built = new Builder();
  built.lathe((row, step) => {
    const z = 2 * row / stacks - 1, round = TURN * step / slices;
    const x = Math.cos(round), y = Math.sin(round);
    return [[x, y, z], [x, y, 0], [step / slices, (1 - z) / 2]];
  }, stacks, slices);
  if (closed) {
    disk(built, -1, -1, slices, Math.floor(stacks / 2));
    disk(built, 1, 1, slices, Math.floor(stacks / 2));
  }
  return built.shape();
}

/** @param {number} slices @param {number} stacks @returns {Shape} */
export function cone(slices, stacks) {
  const built = new Builder(), slope = Math.SQRT1_2;
  built.lathe((row, step) => {
    const r = 1 - row / stacks, round = TURN * step / slices;
    const x = Math.cos(round), y = Math.sin(round);
    return [[x * r, y * r, 1 - r], [x * slope, y * slope, slope], [step / slices, r]];
  }, stacks, slices);
  disk(built, 0, -1, slices, stacks);
  return built.shape();
}

/** @param {number} quads @returns {Shape} */
export function box(quads) {
  const built = new Builder();
  for (const [axis, sign] of [[2, 1], [2, -1], [0, 1], [0, -1], [1, -1], [1, 1]]) {
    const [a, b] = axis === 2 ? [0, 1] : axis === 0 ? [1, 2] : [0, 2];
    const flipped = axis === 1 ? sign > 0 : sign < 0;
    const normal = [0, 0, 0];
    normal[axis] = sign;
    built.lathe((row, step) => {
      const at = [0, 0, 0], u = step / quads, v = row / quads;
      at[axis] = sign;
      at[a] = 2 * u - 1;
      at[b] = 2 * v - 1;
      return [at, normal, [u, 1 - v]];
    }, quads, quads, flipped);
  }
  return built.shape();
}

/** From -1 to 1 in x and y. @param {number} quads @returns {Shape} */
export function plane(quads) {
  const built = new Builder();
  built.lathe((row, step) => {
    const u = step / quads, v = row / quads;
    return [[2 * u - 1, 2 * v - 1, 0], [0, 0, 1], [u, 1 - v]];
  }, quads, quads);
  return built.shape();
}

/** The same with ever smaller squares towards the middle: depths of a square that reaches to the horizon are too coarse. @returns {Shape} */
export function endlessPlane() {
  const built = new Builder(), steps = [-1, -0.3, -0.1, -0.03, -0.01, 0, 0.01, 0.03, 0.1, 0.3, 1];
  built.lathe((row, step) => [[steps[step], steps[row], 0], [0, 0, 1], [0, 0]], steps.length - 1, steps.length - 1);
  return built.shape();
}

/** @returns {Shape} */
export function triangle() {
  const built = new Builder(), up = [0, 0, 1];
  built.face([built.corner([0, 0, 0], up, [0, 1]), built.corner([1, 0, 0], up, [1, 1]), built.corner([0, 1, 0], up, [0, 0])]);
  return built.shape();
}

/**
 * A height field with its sides and its bottom, faces flat.
 * @param {Float32Array} heights @param {number} rows @param {number} columns @param {number[]} size @param {number} quads
 * @returns {Shape}
 */
export function heightField(heights, rows, columns, size, quads) {
  const built = new Builder(), none = [0, 0];
  const x = (/** @type {number} */ c) => size[0] * (2 * c / (columns - 1) - 1);
  const y = (/** @type {number} */ r) => size[1] * (2 * r / (rows - 1) - 1);
  const z = (/** @type {number} */ r, /** @type {number} */ c) => heights[r * columns + c] * size[2];
  /** @param {number[][]} points @param {number[] | null} normal */
  const flat = (points, normal) => {
    const facing = normal ?? normalOf(points);
    built.face(points.map((point) => built.corner(point, facing, none)));
  };
  const point = (/** @type {number} */ r, /** @type {number} */ c) => [x(c), y(r), z(r, c)];
  for (let r = 0; r < rows - 1; r++) {
    for (let c = 0; c < columns - 1; c++) {
      flat([point(r + 1, c), point(r, c), point(r + 1, c + 1)], null);
      flat([point(r, c), point(r, c + 1), point(r + 1, c + 1)], null);
    }
    for (const [c, side] of [[0, -1], [columns - 1, 1]]) {
      const wall = [[x(c), y(r), -size[3]], [x(c), y(r + 1), -size[3]], point(r + 1, c), point(r, c)];
      flat(side > 0 ? wall : wall.reverse(), [side, 0, 0]);
    }
  }
  for (let c = 0; c < columns - 1; c++) {
    for (const [r, side] of [[0, -1], [rows - 1, 1]]) {
      const wall = [[x(c), y(r), -size[3]], [x(c + 1), y(r), -size[3]], point(r, c + 1), point(r, c)];
      flat(side < 0 ? wall : wall.reverse(), [0, side, 0]);
    }
  }
  built.lathe((row, step) => [
    [size[0] * (2 * step / quads - 1), size[1] * (2 * row / quads - 1), -size[3]], [0, 0, -1], none,
  ], quads, quads, true);
  return built.shape();
}

/** @param {number[][]} points @returns {number[]} */
function normalOf([a, b, c]) {
  const u = [b[0] - a[0], b[1] - a[1], b[2] - a[2]], v = [c[0] - a[0], c[1] - a[1], c[2] - a[2]];
  const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const length = Math.hypot(...n);
  return length < 1e-10 ? [0, 0, 1] : n.map((value) => value / length);
}

/**
 * The band around the horizon that hides where the floor ends: positions and how opaque, as triangles.
 * @param {number} slices @param {number} size @returns {Float32Array}
 */
export function haze(slices, size) {
  const alpha = Math.atan2(1, size), beta = 0.75 * Math.PI - alpha;
  const middle = Math.SQRT1_2 * size * Math.sin(alpha) / Math.sin(beta);
  const out = [];
  for (const [low, high, below, above] of [[0, middle, 0, 1], [middle, 1, 1, 0]]) {
    for (let step = 0; step < slices; step++) {
      const corner = (/** @type {number} */ j, /** @type {number} */ h, /** @type {number} */ opaque) => {
        const r = 1 - size * (1 - h), round = TURN * j / slices;
        return [Math.cos(round) * r, Math.sin(round) * r, h, opaque];
      };
      const [a, b] = [corner(step, low, below), corner(step + 1, low, below)];
      const [c, d] = [corner(step + 1, high, above), corner(step, high, above)];
      out.push(...a, ...b, ...c, ...a, ...c, ...d);
    }
  }
  return new Float32Array(out);
}
