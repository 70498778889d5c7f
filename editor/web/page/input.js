/** Input: what the user does goes to the editor, and what the editor asks of the browser's cursor and text comes back. */

import { Keyboard } from "./keyboard.js";
import { Pointers } from "./pointers.js";

/** @typedef {import("./connection.js").Connection} Connection */

/** The cursors of Dear ImGui, as CSS calls them. */
const CURSORS = ["default", "text", "move", "ns-resize", "ew-resize", "nesw-resize", "nwse-resize", "pointer", "wait", "progress", "not-allowed"];

export class Input {
  /**
   * @param {HTMLCanvasElement} canvas @param {HTMLTextAreaElement} typing @param {Connection} connection
   * @param {(x: number, y: number) => [number, number]} placed from the page to the window of the editor
   */
  constructor(canvas, typing, connection, placed) {
    this.canvas = canvas;
    this.typing = typing;
    this.connection = connection;
    this.commands = false;
    this.hadPad = false;
    this.keyboard = new Keyboard(typing, connection);
    this.pointers = new Pointers(canvas, this.keyboard, connection, placed);
    window.addEventListener("blur", () => this.connection.send("f", false));
    window.addEventListener("focus", () => this.connection.send("f", true));
  }

  /** What the frame asks for: the shape of the cursor, where text is typed. @param {import("./messages.js").Frame} frame @param {{x: number, y: number, scale: number}} fit */
  show(frame, fit) {
    const shape = this.commands ? frame.cursor < 0 ? "none" : CURSORS[frame.cursor] ?? "default" : "default";
    if (this.canvas.style.cursor !== shape) {
      this.canvas.style.cursor = shape;
    }
    const ratio = window.devicePixelRatio || 1;
    this.typing.style.left = `${(fit.x + frame.typedX * fit.scale) / ratio}px`;
    this.typing.style.top = `${(fit.y + frame.typedY * fit.scale) / ratio}px`;
    this.typing.inputMode = frame.types ? "text" : "none";
  }

  /** Once per frame: the sticks of a gamepad. */
  readPad() {
    const pad = navigator.getGamepads?.().find((found) => found !== null && found !== undefined);
    if (pad) {
      this.hadPad = true;
      const axes = pad.axes.slice(0, 4).map((value) => Math.round(value * 1000) / 1000);
      if (axes.join() !== this.padWas) {
        this.padWas = axes.join();
        this.connection.send("g", axes);
      }
    } else if (this.hadPad) {
      this.hadPad = false;
      this.connection.send("g", []);
    }
    return this.hadPad;
  }
}
