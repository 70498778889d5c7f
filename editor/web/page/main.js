/** The page: draws what the editor sends, and sends what the user does. */

import { Connection } from "./connection.js";
import { Files } from "./files.js";
import { Input } from "./input.js";
import { decodeFrame, FRAME, FREE, SCENE, SCENE_ONLY, TEXTURE } from "./messages.js";
import { Panels } from "./panels.js";
import { Adapting } from "./quality.js";
import { World } from "./world/world.js";

/** @typedef {import("./messages.js").Frame} Frame */

/** After that long without a new scene it is drawn once more, as finely as it can be [ms]. */
const STANDS = 300;
/** The editor's window is never smaller, as on a phone, where all of it is drawn smaller instead [points]. */
const LEAST_WIDTH = 800, LEAST_HEIGHT = 400;

/** @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T} */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) {
    throw new Error(id);
  }
  return found;
}

const canvas = element("canvas", HTMLCanvasElement), notice = element("notice", HTMLDivElement);

/** @param {string} text empty: none */
function tell(text) {
  notice.hidden = !text;
  notice.textContent = text;
}

/** The token of the address; it does not stay there, where others could read it. */
function takeToken() {
  const given = location.hash.slice(1);
  try {
    if (given) {
      sessionStorage.setItem("token", given);
      history.replaceState(null, "", location.pathname);
    }
    return given || sessionStorage.getItem("token") || "";
  } catch {  // a browser that keeps nothing, as for frames of other pages
    return given;
  }
}

class Page {
  /** @param {WebGL2RenderingContext} gl @param {string} token */
  constructor(gl, token) {
    this.gl = gl;
    this.panels = new Panels(gl);
    this.quality = new Adapting(gl);
    this.world = new World(gl, (hash) => this.fetched(hash), () => this.redraw());
    /** @type {Map<number, import("./messages.js").DrawList>} */
    this.lists = new Map();
    /** @type {Frame | null} */
    this.frame = null;
    this.role = "";
    this.hasNewScene = false;
    this.isFine = true;
    this.isDue = false;
    this.last = 0;
    this.acknowledged = 0;
    this.fit = { x: 0, y: 0, scale: 1 };
    this.stillTimer = 0;
    this.sized = "";
    this.lastInput = 0;
    this.cameAt = 0;
    /** For tests and measurements. */
    this.statistics = { frames: 0, drawn: 0, input: 0, drawTime: 0, decodeTime: 0, errors: /** @type {string[]} */ ([]) };
    this.connection = new Connection(token, {
      onBytes: (bytes) => this.take(bytes),
      onMessage: (message) => this.hear(message),
      onOpen: () => tell(""),
      onLost: (reason) => this.lost(reason),
    });
    const placed = (/** @type {number} */ x, /** @type {number} */ y) => this.placed(x, y);
    this.input = new Input(canvas, element("typing", HTMLTextAreaElement), this.connection, placed);
    this.files = new Files(element("offers", HTMLDivElement), this.connection, placed);
    this.roleBar = element("role", HTMLDivElement);
    this.roleBar.querySelector("button")?.addEventListener("click", () => this.connection.send("take"));
    this.asks = element("asks", HTMLDivElement);
    /** Pages that ask for the command, oldest first. */
    this.requests = /** @type {{number: number, name: string}[]} */ ([]);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.watchRatio();
    setInterval(() => this.input.commands && this.input.readPad(), 33);
    this.resize();
  }

  /** @param {string} hash @returns {Promise<ArrayBuffer>} */
  async fetched(hash) {
    for (let wait = 200; ; wait = Math.min(2 * wait, 5000)) {
      try {
        const answer = await fetch(`asset/${hash}`, { headers: { Authorization: `Bearer ${this.connection.token}` } });
        if (answer.ok) {
          return await answer.arrayBuffer();
        }
        if (answer.status === 404) {
          throw new Error("the world has changed meanwhile");
        }
      } catch (error) {
        if (!(error instanceof TypeError)) {
          throw error;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  // Messages -------------------------------------------------------------------------------------------------------------

  /** @param {Uint8Array} bytes */
  take(bytes) {
    const began = performance.now();
    switch (bytes[0]) {
      case FRAME: {
        this.frame = decodeFrame(bytes, this.lists);
        this.number(this.frame.number, this.frame.input);
        break;
      }
      case SCENE_ONLY: {
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        this.number(view.getUint32(4, true), view.getUint32(8, true));
        break;
      }
      case SCENE:
        this.world.words.take(bytes);
        this.hasNewScene = true;
        break;
      case TEXTURE: this.panels.takeTexture(bytes); break;
      case FREE: this.panels.freeTexture(bytes); break;
    }
    this.statistics.decodeTime += performance.now() - began;
  }

  /** A frame is complete. @param {number} number @param {number} input */
  number(number, input) {
    this.last = number;
    this.lastInput = input;
    this.cameAt = performance.now();
    this.statistics.frames++;
    this.schedule();
  }

  /** @param {Record<string, any>} message */
  hear(message) {
    if (message.role !== undefined) {
      this.setRole(message.role, message.may, message.owners);
    }
    if (message.title !== undefined) {
      document.title = message.title || "mjrig";
    }
    if (message.model !== undefined) {
      this.world.setModel(message.model);
    }
    if (message.clipboard !== undefined) {
      this.input.keyboard.copy(message.clipboard);
    }
    if (message.offer !== undefined) {
      this.files.offer(message.offer);
    }
    if (message.upload !== undefined) {
      this.files.send();
    }
    if (message.photograph !== undefined) {
      this.photograph();
    }
    if (message.asks !== undefined) {
      this.ask(message.asks);
    }
  }

  /** @param {string} role @param {string} may @param {number} owners pages that could hand over the command */
  setRole(role, may, owners) {
    const wasCommanding = this.input.commands;
    this.role = role;
    this.input.commands = role === "command";
    this.roleBar.hidden = role === "command";
    const [text, button] = [this.roleBar.querySelector("span"), this.roleBar.querySelector("button")];
    if (text && button) {
      const isAlone = may !== "command" && owners === 0;
      text.textContent = isAlone ? "You are watching. Nobody who could hand over the command is connected." : "You are watching.";
      button.textContent = may === "command" ? "Take command" : "Ask for the command";
      button.hidden = isAlone;
    }
    if (this.input.commands && !wasCommanding) {
      this.sized = "";
      this.resize();
      this.connection.send("f", document.hasFocus());
    }
    this.schedule();
  }

  /** Somebody asks for the command. @param {{number: number, name: string}} who */
  ask(who) {
    this.requests.push(who);
    this.showRequest();
  }

  /** Show the oldest request that is not answered yet. */
  showRequest() {
    const [text, yes, no] = [this.asks.querySelector("span"), ...this.asks.querySelectorAll("button")];
    const request = this.requests[0];
    this.asks.hidden = request === undefined;
    if (request === undefined) {
      return;
    }
    if (text) {
      text.textContent = `Page ${request.number} (${request.name}) asks for the command.`;
    }
    const next = () => {
      this.requests.shift();
      this.showRequest();
    };
    yes.onclick = () => {
      this.connection.send("give", request.number);
      next();
    };
    no.onclick = () => {
      this.connection.send("deny", request.number);
      next();
    };
  }

  /** @param {string} reason */
  lost(reason) {
    this.lists.clear();
    this.input.commands = false;
    this.roleBar.hidden = true;
    this.requests = [];  // those that still wait are sent again
    this.showRequest();
    tell(reason);
  }

  // Sizes --------------------------------------------------------------------------------------------------------------

  resize() {
    const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
    }
    const wanted = `${box.width} ${box.height} ${ratio}`;
    if (this.input.commands && wanted !== this.sized) {
      this.sized = wanted;
      const shrunk = Math.max(1, LEAST_WIDTH / Math.max(1, box.width), LEAST_HEIGHT / Math.max(1, box.height));
      this.connection.send("r", box.width * shrunk, box.height * shrunk, ratio / shrunk);
    }
    this.schedule();
  }

  /** Another pixel ratio: the page is zoomed, or on another screen. */
  watchRatio() {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
      this.resize();
      this.watchRatio();
    }, { once: true });
  }

  /** From a place of the page to one of the editor's window. @param {number} x @param {number} y @returns {[number, number]} */
  placed(x, y) {
    const ratio = window.devicePixelRatio || 1, { fit } = this;
    const round = (/** @type {number} */ value) => Math.round(Math.max(-16000, Math.min(16000, value)) * 64) / 64;
    return [round((x * ratio - fit.x) / fit.scale), round((y * ratio - fit.y) / fit.scale)];
  }

  // Drawing -----------------------------------------------------------------------------------------------------------

  /** Draw the same once more, as a part of the model came. */
  redraw() {
    this.hasNewScene = true;
    this.schedule();
  }

  schedule() {
    if (!this.isDue) {
      this.isDue = true;
      requestAnimationFrame(() => {
        this.isDue = false;
        this.draw();
      });
    }
  }

  /** @param {boolean} isStill */
  draw(isStill = false) {
    const { frame, gl, quality } = this, number = this.last, input = this.lastInput, cameAt = this.cameAt;
    if (frame === null || gl.isContextLost()) {
      return;
    }
    const began = performance.now(), hasWorld = this.hasNewScene || isStill;
    if (hasWorld) {
      this.world.render(isStill ? quality.still : quality.now);
      this.hasNewScene = false;
      clearTimeout(this.stillTimer);
      if (!isStill && quality.now !== quality.still) {
        this.stillTimer = setTimeout(() => requestAnimationFrame(() => this.draw(true)), STANDS);
      }
    }
    const scale = Math.min(canvas.width / frame.width, canvas.height / frame.height);
    this.fit = { x: Math.round((canvas.width - scale * frame.width) / 2), y: Math.round((canvas.height - scale * frame.height) / 2), scale };
    this.panels.draw(frame, this.world.target.texture, this.fit);
    this.input.show(frame, this.fit);
    this.afterDrawing(() => {
      const took = performance.now() - began;
      this.statistics.drawn++;
      this.statistics.drawTime += took;
      this.statistics.input = input;
      if (hasWorld && !isStill) {
        quality.note(took);
      }
      if (number !== this.acknowledged) {
        this.acknowledged = number;
        this.connection.send("a", number, Math.round(performance.now() - cameAt));
      }
    });
  }

  /** Once the graphics card has drawn; else seconds of frames would queue where it is slow. @param {() => void} then */
  afterDrawing(then) {
    const { gl } = this, fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    const look = () => {
      if (fence === null || gl.isContextLost() || gl.clientWaitSync(fence, 0, 0) !== gl.TIMEOUT_EXPIRED) {
        gl.deleteSync(fence);
        then();
      } else {
        setTimeout(look, 2);
      }
    };
    setTimeout(look, 0);
  }

  /** What the world looks like, for a picture or a video of the editor. */
  photograph() {
    const { words, target } = this.world;
    if (!this.world.render(this.quality.still)) {
      this.connection.sendBytes(new Uint8Array([2]));
      return;
    }
    const { width, height } = target, pixels = target.pixels(), shown = document.createElement("canvas");
    [shown.width, shown.height] = [words.width, words.height];
    const flat = document.createElement("canvas"), context = flat.getContext("2d"), out = shown.getContext("2d");
    [flat.width, flat.height] = [width, height];
    const image = new ImageData(width, height);
    for (let row = 0; row < height; row++) {
      image.data.set(pixels.subarray(4 * width * row, 4 * width * (row + 1)), 4 * width * (height - 1 - row));
    }
    for (let i = 3; i < image.data.length; i += 4) {
      image.data[i] = 255;
    }
    context?.putImageData(image, 0, 0);
    out?.drawImage(flat, 0, 0, shown.width, shown.height);
    this.hasNewScene = true;
    this.schedule();
    shown.toBlob(async (blob) => {
      const content = new Uint8Array(blob ? await blob.arrayBuffer() : new ArrayBuffer(0));
      const message = new Uint8Array(1 + content.length);
      message[0] = 2;
      message.set(content, 1);
      this.connection.sendBytes(message);
    }, "image/png");
  }
}

function start() {
  const token = takeToken();
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, stencil: false, powerPreference: "high-performance" });
  if (gl === null) {
    tell("This browser cannot draw the editor: it has no WebGL 2. Another browser, or hardware acceleration switched on in its settings, helps.");
    return;
  }
  if (!token) {
    tell("The address lacks its token. Open the one that `mjrig edit --web` printed.");
    return;
  }
  const page = new Page(gl, token);
  canvas.addEventListener("webglcontextlost", (event) => {
    event.preventDefault();
    tell("The browser lost its graphics card; the page starts again.");
    setTimeout(() => location.reload(), 1000);
  });
  window.addEventListener("error", (event) => page.statistics.errors.push(event.message));
  window.addEventListener("unhandledrejection", (event) => page.statistics.errors.push(String(event.reason)));
  Object.assign(window, { mjrig: page });
}

start();
