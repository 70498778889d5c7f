/** Target: a texture that is drawn into, with several samples per pixel where that is wanted. */

export class Target {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.texture = gl.createTexture();
    this.framebuffer = gl.createFramebuffer();
    this.sampled = gl.createFramebuffer();
    this.colour = gl.createRenderbuffer();
    this.depth = gl.createRenderbuffer();
    this.width = this.height = this.samples = -1;
  }

  /** Draw into it from now on. @param {number} width @param {number} height @param {number} samples */
  use(width, height, samples) {
    const { gl } = this;
    samples = Math.min(samples, gl.getParameter(gl.MAX_SAMPLES));
    if (width !== this.width || height !== this.height || samples !== this.samples) {
      this.#resize(width, height, samples);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, samples ? this.sampled : this.framebuffer);
    gl.viewport(0, 0, width, height);
  }

  /** @param {number} width @param {number} height @param {number} samples */
  #resize(width, height, samples) {
    const { gl } = this;
    [this.width, this.height, this.samples] = [width, height, samples];
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    }
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
    gl.bindRenderbuffer(gl.RENDERBUFFER, this.depth);
    gl.renderbufferStorageMultisample(gl.RENDERBUFFER, samples, gl.DEPTH24_STENCIL8, width, height);
    if (samples) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_STENCIL_ATTACHMENT, gl.RENDERBUFFER, null);
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.colour);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, samples, gl.RGBA8, width, height);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.sampled);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.colour);
    }
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_STENCIL_ATTACHMENT, gl.RENDERBUFFER, this.depth);
  }

  /** All of it is drawn: the texture shows it. */
  resolve() {
    const { gl, width, height } = this;
    if (this.samples) {
      gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.sampled);
      gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, this.framebuffer);
      gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** What is in the texture, the lowest row first. @returns {Uint8Array} */
  pixels() {
    const { gl, width, height } = this, out = new Uint8Array(4 * width * height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, out);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return out;
  }
}
