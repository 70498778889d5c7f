/** Programs of the graphics card. */

/** @typedef {{program: WebGLProgram, uniforms: Record<string, WebGLUniformLocation | null>}} Program */

/**
 * Compile a program.
 * @param {WebGL2RenderingContext} gl @param {string} vertex @param {string} fragment @param {string[]} names of uniforms
 * @returns {Program}
 */
export function program(gl, vertex, fragment, names) {
  const made = gl.createProgram();
  for (const [kind, text] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
    }
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(gl.getProgramInfoLog(made) ?? "program");
  }
  /** @type {Record<string, WebGLUniformLocation | null>} */
  const uniforms = {};
  for (const name of names) {
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return { program: made, uniforms };
}
