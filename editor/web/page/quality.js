/** How finely the world is drawn, by the time that drawing takes. */

/** @typedef {import("./world/world.js").Quality} Quality */

/** @type {Quality[]} */
export const LEVELS = [
  { scale: 0.5, samples: 0, shadow: 0, reflection: false, isCoarse: true },
  { scale: 0.75, samples: 0, shadow: 1024, reflection: false, isCoarse: true },
  { scale: 1, samples: 0, shadow: 2048, reflection: true, isCoarse: false },
  { scale: 1, samples: 4, shadow: 8192, reflection: true, isCoarse: false },
];
const SLOW = 40, FAST = 14, COUNTED = 12;
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

export class Adapting {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    this.renderer = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    this.isSoftware = SOFTWARE.test(this.renderer);
    this.level = this.isSoftware ? 0 : LEVELS.length - 1;
    /** Set: this level, whatever it costs. @type {number | null} */
    this.fixed = null;
    /** @type {number[]} */
    this.times = [];
  }

  /** @returns {Quality} */
  get now() { return LEVELS[this.fixed ?? this.level]; }

  /** For a picture that stands still. @returns {Quality} */
  get still() { return LEVELS[this.fixed ?? LEVELS.length - (this.isSoftware ? 2 : 1)]; }

  /** A frame with the world in it took that long. @param {number} time [ms] */
  note(time) {
    this.times.push(time);
    if (this.times.length < COUNTED) {
      return;
    }
    const middle = this.times.sort((a, b) => a - b)[COUNTED >> 1];
    this.times = [];
    if (middle > SLOW && this.level > 0) {
      this.level--;
    } else if (middle < FAST && this.level < LEVELS.length - (this.isSoftware ? 2 : 1)) {
      this.level++;
    }
  }
}
