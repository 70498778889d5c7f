/** Matrices of 4 by 4, column by column, as WebGL takes them. */

/** @typedef {Float32Array} Matrix */
/** @typedef {ArrayLike<number>} Vector */

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export function product(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      out[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
    }
  }
  return out;
}

/** @param {Vector} a @param {Vector} b */
export function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** @param {Vector} a @param {Vector} b */
export function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

/** @param {Vector} v */
export function unit(v) {
  const length = Math.hypot(v[0], v[1], v[2]);
  return length < 1e-10 ? [0, 0, 1] : [v[0] / length, v[1] / length, v[2] / length];
}

/** @param {Vector} eye @param {Vector} forward @param {Vector} up @returns {Matrix} */
export function lookingAt(eye, forward, up) {
  const f = unit(forward), s = unit(cross(f, up)), u = unit(cross(s, f));
  return new Float32Array([
    s[0], u[0], -f[0], 0, s[1], u[1], -f[1], 0, s[2], u[2], -f[2], 0, -dot(s, eye), -dot(u, eye), dot(f, eye), 1,
  ]);
}

/** @param {number} l @param {number} r @param {number} b @param {number} t @param {number} n @param {number} f @returns {Matrix} */
export function frustum(l, r, b, t, n, f) {
  return new Float32Array([
    2 * n / (r - l), 0, 0, 0, 0, 2 * n / (t - b), 0, 0,
    (r + l) / (r - l), (t + b) / (t - b), -(f + n) / (f - n), -1, 0, 0, -2 * f * n / (f - n), 0,
  ]);
}

/** @param {number} l @param {number} r @param {number} b @param {number} t @param {number} n @param {number} f @returns {Matrix} */
export function orthographic(l, r, b, t, n, f) {
  return new Float32Array([
    2 / (r - l), 0, 0, 0, 0, 2 / (t - b), 0, 0, 0, 0, -2 / (f - n), 0,
    -(r + l) / (r - l), -(t + b) / (t - b), -(f + n) / (f - n), 1,
  ]);
}

/** The mirror image at a plane. @param {Vector} point @param {Vector} normal @returns {Matrix} */
export function mirrored(point, normal) {
  const [x, y, z] = [normal[0], normal[1], normal[2]], away = 2 * dot(point, normal);
  return new Float32Array([
    1 - 2 * x * x, -2 * x * y, -2 * x * z, 0, -2 * x * y, 1 - 2 * y * y, -2 * y * z, 0,
    -2 * x * z, -2 * y * z, 1 - 2 * z * z, 0, away * x, away * y, away * z, 1,
  ]);
}

/** @param {Matrix} m @param {Vector} v @param {number} w @returns {number[]} */
export function applied(m, v, w) {
  return [0, 1, 2].map((r) => m[r] * v[0] + m[4 + r] * v[1] + m[8 + r] * v[2] + m[12 + r] * w);
}
