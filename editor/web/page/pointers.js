/** The mouse, a pen, and fingers. */

import { modifiers } from "./keyboard.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./keyboard.js").Keyboard} Keyboard */

/** The editor's buttons (left 1, right 2, middle 3) by the bits of `MouseEvent.buttons`. */
const BUTTONS = [1, 2, 3, 4, 5];
/** How long a finger rests for the second button [ms], and how far it may stray [pixels]. */
const LONG = 550, STRAY = 10;
/** Notches of a wheel for fingers e times as far apart. */
const PINCH = 12;

export class Pointers {
  /**
   * @param {HTMLCanvasElement} canvas @param {Keyboard} keyboard @param {Connection} connection
   * @param {(x: number, y: number) => [number, number]} placed from the page to the window of the editor
   */
  constructor(canvas, keyboard, connection, placed) {
    this.canvas = canvas;
    this.keyboard = keyboard;
    this.connection = connection;
    this.placed = placed;
    /** Bits of the buttons that the editor knows to be held. */
    this.held = 0;
    /** @type {Map<number, {x: number, y: number}>} */
    this.fingers = new Map();
    this.touch = { button: 0, apart: 0, timer: 0, startX: 0, startY: 0 };
    this.#listen();
  }

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.keyboard.focus();
      canvas.setPointerCapture(event.pointerId);
      if (event.pointerType === "touch") {
        this.#fingerDown(event);
      } else {
        this.#mouse(event);
      }
    });
    canvas.addEventListener("pointermove", (event) => event.pointerType === "touch" ? this.#fingerMoves(event) : this.#mouse(event));
    for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) {
      canvas.addEventListener(kind, (event) => event.pointerType === "touch" ? this.#fingerUp(event) : this.#mouse(event));
    }
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    window.addEventListener("mouseup", (event) => {
      if (event.button > 2) {
        event.preventDefault();  // else the browser goes back or forward
      }
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const isPinch = event.ctrlKey && !this.keyboard.holdsCtrl;
      const unit = event.deltaMode === 1 ? 1 / 3 : event.deltaMode === 2 ? 1 : isPinch ? PINCH / 100 : 0.01;
      this.connection.input("w", -event.deltaX * unit, -event.deltaY * unit, modifiers(event) & ~(isPinch ? 1 : 0));
    }, { passive: false });
  }

  /** Browsers tell of a second button, or of one of two that is let go, as of a move. @param {PointerEvent} event */
  #mouse(event) {
    this.#move(event);
    BUTTONS.forEach((button, bit) => {
      if ((event.buttons ^ this.held) >> bit & 1) {
        this.connection.input("b", event.buttons >> bit & 1 ? button : -button, modifiers(event));
      }
    });
    this.held = event.buttons;
  }

  /** @param {{clientX: number, clientY: number}} event */
  #move(event) {
    this.connection.input("m", ...this.placed(event.clientX, event.clientY));
  }

  // Fingers -------------------------------------------------------------------------------------------------------------

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
        this.connection.input("w", 0, PINCH * Math.log(apart / touch.apart), 0);
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
      this.keyboard.showKeys();
    }
  }
}
