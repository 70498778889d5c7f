/** Mouse, touch, keys, text, clipboard and gamepad go to the editor. */

/** @typedef {import("./connection.js").Connection} Connection */

const CURSORS = ["default", "text", "move", "ns-resize", "ew-resize", "nesw-resize", "nwse-resize", "pointer", "wait", "progress", "not-allowed"];
/** Keys that stay the browser's. */
const BROWSERS = new Set(["F5", "F11"]);
/** Keys by what they write, where layouts differ. */
const SIGNS = /** @type {Record<string, string>} */ ({
  "-": "Minus", "=": "Equal", "[": "BracketLeft", "]": "BracketRight", ";": "Semicolon", "'": "Quote", ",": "Comma",
  ".": "Period", "/": "Slash", "\\": "Backslash", "`": "Backquote",
});
/** How long a finger rests for the second button [ms], and how far it may stray [pixels]. */
const LONG = 550, STRAY = 10;

/** @param {KeyboardEvent | MouseEvent} event */
function modifiers(event) {
  return (event.ctrlKey || event.metaKey ? 1 : 0) | (event.shiftKey ? 2 : 0) | (event.altKey ? 4 : 0);
}

/** The name of a key as the editor knows it: letters by what is written on them. @param {KeyboardEvent} event */
function keyName(event) {
  if (/^[a-zA-Z]$/.test(event.key)) {
    return `Key${event.key.toUpperCase()}`;
  }
  if (event.code === "MetaLeft" || event.code === "MetaRight") {
    return event.code === "MetaLeft" ? "ControlLeft" : "ControlRight";
  }
  if (/^Digit\d$/.test(event.code) && !/^\d$/.test(event.key) && SIGNS[event.key] !== undefined) {
    return SIGNS[event.key];
  }
  return event.location === 3 ? event.code : SIGNS[event.key] ?? event.code;
}

export class Input {
  /**
   * @param {HTMLCanvasElement} canvas @param {HTMLTextAreaElement} typing @param {Connection} connection
   * @param {(x: number, y: number) => [number, number]} placed from the page to the window of the editor
   */
  constructor(canvas, typing, connection, placed) {
    this.canvas = canvas;
    this.typing = typing;
    this.connection = connection;
    this.placed = placed;
    this.commands = false;
    /** @type {Map<number, {x: number, y: number}>} */
    this.fingers = new Map();
    this.touch = { button: 0, apart: 0, timer: 0, startX: 0, startY: 0 };
    this.hadPad = false;
    this.copied = "";
    this.#listenToMouse();
    this.#listenToKeys();
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
    this.types = frame.types;
  }

  // Mouse and touch ----------------------------------------------------------------------------------------------------

  #listenToMouse() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.typing.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      if (event.pointerType === "touch") {
        this.#fingerDown(event);
      } else {
        this.#move(event);
        this.connection.input("b", [1, 3, 2, 4, 5][event.button] ?? 1, modifiers(event));
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") {
        this.#fingerMoves(event);
      } else {
        this.#move(event);
      }
    });
    for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) {
      canvas.addEventListener(kind, (event) => {
        if (event.pointerType === "touch") {
          this.#fingerUp(event);
        } else {
          this.#move(event);
          this.connection.input("b", -([1, 3, 2, 4, 5][event.button] ?? 1), modifiers(event));
        }
      });
    }
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 1 / 3 : event.deltaMode === 2 ? 1 : 0.01;
      this.connection.input("w", -event.deltaX * unit, -event.deltaY * unit, modifiers(event) & ~(event.deltaMode === 0 ? 1 : 0));
    }, { passive: false });
  }

  /** @param {{clientX: number, clientY: number}} event */
  #move(event) {
    this.connection.input("m", ...this.placed(event.clientX, event.clientY));
  }

  /** @param {number} button 0: none */
  #hold(button) {
    const { touch } = this;
    if (touch.button !== button) {
      if (touch.button) {
        this.connection.input("b", -touch.button, 0);
      }
      if (button) {
        this.connection.input("b", button, 0);
      }
      touch.button = button;
    }
  }

  #middle() {
    const all = [...this.fingers.values()];
    return { clientX: all.reduce((sum, f) => sum + f.x, 0) / all.length, clientY: all.reduce((sum, f) => sum + f.y, 0) / all.length };
  }

  #apart() {
    const [a, b] = [...this.fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  }

  /** @param {PointerEvent} event */
  #fingerDown(event) {
    const { touch, fingers } = this;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    clearTimeout(touch.timer);
    if (fingers.size === 1) {
      [touch.startX, touch.startY] = [event.clientX, event.clientY];
      this.#move(event);
      this.#hold(1);
      touch.timer = setTimeout(() => {  // a long press is the second button
        this.#hold(0);
        this.#hold(2);
        this.#hold(0);
      }, LONG);
    } else if (fingers.size === 2) {  // two fingers move, and pinch to zoom
      this.#hold(0);
      touch.apart = this.#apart();
      this.#move(this.#middle());
      this.#hold(2);
    }
  }

  /** @param {PointerEvent} event */
  #fingerMoves(event) {
    const { touch, fingers } = this, finger = fingers.get(event.pointerId);
    if (finger === undefined) {
      return;
    }
    [finger.x, finger.y] = [event.clientX, event.clientY];
    if (Math.hypot(event.clientX - touch.startX, event.clientY - touch.startY) > STRAY) {
      clearTimeout(touch.timer);
    }
    if (fingers.size === 1) {
      this.#move(event);
    } else if (fingers.size === 2) {
      this.#move(this.#middle());
      const apart = this.#apart();
      if (touch.apart > 0 && Math.abs(apart - touch.apart) > 2) {
        this.connection.input("w", 0, 12 * Math.log(apart / touch.apart), 0);
        touch.apart = apart;
      }
    }
  }

  /** @param {PointerEvent} event */
  #fingerUp(event) {
    clearTimeout(this.touch.timer);
    this.fingers.delete(event.pointerId);
    if (this.fingers.size === 0 || this.touch.button === 2) {
      this.#hold(0);
    }
    if (this.fingers.size === 0) {  // nothing is pointed at any more
      this.connection.input("m", -10000, -10000);
      if (this.types) {
        this.typing.focus({ preventScroll: true });
      }
    }
  }

  // Keys and text -------------------------------------------------------------------------------------------------------

  #listenToKeys() {
    const { typing } = this;
    let isComposing = false;
    const key = (/** @type {KeyboardEvent} */ event, /** @type {boolean} */ isDown) => {
      if (isComposing || event.isComposing || event.key === "Process" || BROWSERS.has(event.code)) {
        return;
      }
      const mods = modifiers(event), name = keyName(event);
      const isPaste = name === "KeyV" && (mods & 1) && isDown;
      if (isPaste) {
        return;  // the browser fires `paste`, which needs no permission
      }
      const writes = event.key.length === 1 && !(mods & 1) && (!event.altKey || event.getModifierState("AltGraph"));
      if (!writes) {
        event.preventDefault();
      }
      this.connection.input("k", name, isDown, writes && event.getModifierState("AltGraph") ? mods & ~5 : mods);
    };
    window.addEventListener("keydown", (event) => key(event, true));
    window.addEventListener("keyup", (event) => key(event, false));
    const flush = () => {
      if (typing.value) {
        this.connection.input("t", typing.value);
        typing.value = "";
      }
    };
    typing.addEventListener("compositionstart", () => { isComposing = true; });
    typing.addEventListener("compositionend", () => {
      isComposing = false;
      flush();
    });
    typing.addEventListener("input", (event) => {
      if (!isComposing && !(/** @type {InputEvent} */ (event)).isComposing) {
        flush();
      }
    });
    window.addEventListener("paste", (event) => {
      event.preventDefault();
      this.connection.input("p", event.clipboardData?.getData("text/plain") ?? "");
      this.connection.input("k", "KeyV", true, 1);
      this.connection.input("k", "KeyV", false, 1);
    });
    for (const kind of /** @type {const} */ (["copy", "cut"])) {
      window.addEventListener(kind, (event) => {
        event.clipboardData?.setData("text/plain", this.copied);
        event.preventDefault();
      });
    }
  }

  /** The editor copied a text. @param {string} text */
  copy(text) {
    this.copied = text;
    navigator.clipboard?.writeText(text).catch(() => {
      if (document.hasFocus()) {
        document.execCommand("copy");
      }
    });
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
