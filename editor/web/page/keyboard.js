/** Keys, text and the clipboard, whatever the keyboard's layout, input method or system. */

/** @typedef {import("./connection.js").Connection} Connection */

/** Keys that stay the browser's, and those that it keeps together with Ctrl: its zoom. */
const BROWSERS = new Set(["F5", "F11"]), ZOOM = new Set(["+", "-", "=", "0"]);
/** Keys of an input method or of half a character: what they write comes as text. */
const UNFINISHED = new Set(["Dead", "Process", "Unidentified", "Compose"]);
/** Keys by what they write, where layouts differ. */
const SIGNS = /** @type {Record<string, string>} */ ({
  "-": "Minus", "=": "Equal", "[": "BracketLeft", "]": "BracketRight", ";": "Semicolon", "'": "Quote", ",": "Comma",
  ".": "Period", "/": "Slash", "\\": "Backslash", "`": "Backquote",
});
/** What a keyboard on the screen reports instead of keys. */
const EDITS = /** @type {Record<string, string>} */ ({ deleteContentBackward: "Backspace", deleteContentForward: "Delete", insertLineBreak: "Enter" });

/** @param {KeyboardEvent | MouseEvent} event @returns {number} 1 Ctrl or Cmd, 2 Shift, 4 Alt */
export function modifiers(event) {
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
  return event.location === KeyboardEvent.DOM_KEY_LOCATION_NUMPAD ? event.code : SIGNS[event.key] ?? event.code;
}

/** Whether a key writes with the third level of its layout: AltGr, or Option on a Mac. @param {KeyboardEvent} event */
function isThirdLevel(event) {
  const isSign = [...event.key].length === 1;
  const isOption = event.altKey && !event.ctrlKey && !event.metaKey && /Mac|iP/.test(navigator.platform);
  // Some browsers on Windows call AltGr Ctrl and Alt; letters with both are chords all the same.
  const isBoth = event.ctrlKey && event.altKey && !/^[a-zA-Z0-9]$/.test(event.key);
  return isSign && (event.getModifierState("AltGraph") || isOption || isBoth);
}

export class Keyboard {
  /** @param {HTMLTextAreaElement} typing has the focus, so that input methods work @param {Connection} connection */
  constructor(typing, connection) {
    this.typing = typing;
    this.connection = connection;
    this.isComposing = false;
    /** What the editor copied last; `isKept`: whether the browser's clipboard has it. */
    this.copied = "";
    this.isKept = true;
    /** @type {Set<string>} */
    this.held = new Set();
    window.addEventListener("keydown", (event) => this.#key(event, true));
    window.addEventListener("keyup", (event) => this.#key(event, false));
    window.addEventListener("blur", () => this.held.clear());
    this.#listenToText();
    this.#listenToClipboard();
    if (window === window.top) {  // in a notebook, who types in a cell goes on there
      this.focus();
    }
  }

  focus() { this.typing.focus({ preventScroll: true }); }

  /** Where keys are on the screen, a field that is typed into brings them; only the user's finger may. */
  showKeys() {
    if (this.typing.inputMode === "text") {
      this.typing.blur();
      this.focus();
    }
  }

  /** Whether Ctrl itself is held; browsers also say so of two fingers that pinch. */
  get holdsCtrl() { return this.held.has("ControlLeft") || this.held.has("ControlRight"); }

  /** @param {KeyboardEvent} event @param {boolean} isDown */
  #key(event, isDown) {
    const mods = modifiers(event), isChord = (mods & 1) !== 0;
    const isBrowsers = BROWSERS.has(event.code) || (isChord && ZOOM.has(event.key) && !(mods & 4));
    if (this.isComposing || event.isComposing || UNFINISHED.has(event.key) || isBrowsers || this.#isForPage(event)) {
      return;
    }
    if (document.activeElement !== this.typing) {
      this.focus();  // a button of the page had it
    }
    this.#keepCopied();
    if (isThirdLevel(event)) {  // a sign such as @ or {, of which only the text counts
      return;
    }
    const name = keyName(event);
    if (name === "KeyV" && isChord && isDown) {
      return;  // the browser fires `paste`, which needs no permission
    }
    if (event.key.length > 1 || isChord || event.altKey) {
      event.preventDefault();
    }
    this.#send(name, isDown, mods);
    if (isDown && event.metaKey && !name.startsWith("Control")) {
      this.#send(name, false, mods);  // a Mac does not tell when a key is let go while Cmd is held
    }
  }

  /** Buttons of the page itself are used by keys too. @param {KeyboardEvent} event */
  #isForPage(event) {
    return event.target instanceof HTMLButtonElement && ["Enter", " ", "Tab"].includes(event.key);
  }

  /** @param {string} name @param {boolean} isDown @param {number} mods */
  #send(name, isDown, mods) {
    this.held[isDown ? "add" : "delete"](name);
    this.connection.input("k", name, isDown, mods);
  }

  #listenToText() {
    const { typing } = this;
    const flush = () => {
      if (typing.value) {
        this.connection.input("t", typing.value);
        typing.value = "";
      }
    };
    typing.addEventListener("compositionstart", () => { this.isComposing = true; });
    typing.addEventListener("compositionend", () => {
      this.isComposing = false;
      flush();
    });
    typing.addEventListener("beforeinput", (event) => {
      const name = EDITS[event.inputType];
      if (name !== undefined && !this.isComposing && !event.isComposing) {
        event.preventDefault();
        this.#send(name, true, 0);
        this.#send(name, false, 0);
      }
    });
    typing.addEventListener("input", (event) => {
      if (!this.isComposing && !(/** @type {InputEvent} */ (event)).isComposing) {
        flush();
      }
    });
  }

  // Clipboard ------------------------------------------------------------------------------------------------------------

  #listenToClipboard() {
    window.addEventListener("paste", (event) => {
      event.preventDefault();
      this.connection.input("p", event.clipboardData?.getData("text/plain") ?? "");
      this.connection.input("k", "KeyV", true, 1);
      this.connection.input("k", "KeyV", false, 1);
    });
    window.addEventListener("pointerup", () => this.#keepCopied());
    for (const kind of /** @type {const} */ (["copy", "cut"])) {
      window.addEventListener(kind, (event) => {
        event.clipboardData?.setData("text/plain", this.copied);
        event.preventDefault();
        this.isKept = true;
      });
    }
  }

  /** The editor copied a text. @param {string} text */
  copy(text) {
    this.copied = text;
    this.isKept = false;
    if (navigator.clipboard === undefined) {  // neither localhost nor https
      this.#keepCopied();
    } else {
      navigator.clipboard.writeText(text).then(() => { this.isKept = true; }, () => this.#keepCopied());
    }
  }

  /** The old way into the clipboard; some browsers allow it only while a key or a button is used, so it is tried again then. */
  #keepCopied() {
    if (this.isKept || this.isComposing || !document.hasFocus()) {
      return;
    }
    const { typing } = this;
    typing.value = this.copied || " ";  // nothing is copied without a selection
    typing.select();
    document.execCommand("copy");
    typing.value = "";
  }
}
