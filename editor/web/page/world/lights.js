/** Light and fog, as MuJoCo's fixed-function OpenGL is given them. */

import * as matrices from "./matrices.js";
import { HEAD, LIGHT } from "../messages.js";
import { MOST_LIGHTS } from "./shaders.js";

/** @typedef {import("../programs.js").Program} Program */
/** @typedef {import("../messages.js").SceneWords} SceneWords */
/** @typedef {import("./matrices.js").Matrix} Matrix */

export const DIRECTIONAL = 1;

/**
 * Set the lights of a scene.
 * @param {WebGL2RenderingContext} gl @param {Program["uniforms"]} uniforms @param {SceneWords} words
 * @param {Matrix} view @param {number[]} casting the lights whose shadows are drawn
 */
export function setLights(gl, uniforms, words, view, casting) {
  const f = words.floats;
  const at = new Float32Array(4 * MOST_LIGHTS), spot = at.slice(), fade = at.slice();
  const ambient = new Float32Array(3 * MOST_LIGHTS), diffuse = ambient.slice(), specular = ambient.slice();
  const shadowOf = new Int32Array(MOST_LIGHTS).fill(-1);
  let drawn = 0;
  for (let i = 0; i < words.lights; i++) {
    const start = HEAD + LIGHT * i;
    const isDirectional = f[start] === DIRECTIONAL;
    if (!f[start + 2]) {
      continue;
    }
    const way = matrices.unit(matrices.applied(view, f.subarray(start + 6, start + 9), 0));
    if (isDirectional) {
      at.set([-way[0], -way[1], -way[2], 0], 4 * drawn);
    } else {
      at.set([...matrices.applied(view, f.subarray(start + 3, start + 6), 1), 1], 4 * drawn);
    }
    const cutoff = f[start + 12];
    spot.set([...way, cutoff <= 90 ? Math.cos(cutoff / 180 * Math.PI) : -2], 4 * drawn);
    fade.set([...f.subarray(start + 9, start + 12), f[start + 13]], 4 * drawn);
    ambient.set(f.subarray(start + 14, start + 17), 3 * drawn);
    diffuse.set(f.subarray(start + 17, start + 20), 3 * drawn);
    specular.set(f.subarray(start + 20, start + 23), 3 * drawn);
    shadowOf[drawn] = casting.indexOf(i);
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

/**
 * @param {WebGL2RenderingContext} gl @param {Program["uniforms"]} uniforms
 * @param {import("./solids.js").Visual} visual @param {boolean} isOn
 */
export function setFog(gl, uniforms, visual, isOn) {
  const { fog, fogStart, fogEnd } = visual;
  gl.uniform4f(uniforms.u_fog, fog[0], fog[1], fog[2], isOn ? 1 : 0);
  gl.uniform2f(uniforms.u_fogRange, fogStart, fogEnd);
}
