/** Connection: the live line to the editor. It comes back by itself. */

/**
 * @typedef {object} Listener
 * @property {(bytes: Uint8Array) => void} onBytes
 * @property {(message: Record<string, any>) => void} onMessage
 * @property {() => void} onOpen
 * @property {(reason: string, comesBack: boolean) => void} onLost
 */

const WRONG_TOKEN = 4403, ENDED = 1001;

export class Connection {
  /** @param {string} token @param {Listener} listener */
  constructor(token, listener) {
    this.token = token;
    this.listener = listener;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.wait = 250;
    this.hasEnded = false;
    this.inputs = 0;
    this.received = 0;
    this.#open();
  }

  #open() {
    const socket = new WebSocket(new URL("live", document.baseURI.replace(/^http/, "ws")));
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      socket.send(JSON.stringify({ token: this.token }));
      this.wait = 250;
      this.hasEnded = false;
      this.listener.onOpen();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") {
        this.listener.onMessage(JSON.parse(data));
      } else {
        this.received += data.byteLength;
        this.listener.onBytes(new Uint8Array(data));
      }
    };
    socket.onclose = ({ code, reason }) => this.#lost(code, reason);
  }

  /** @param {number} code @param {string} reason */
  #lost(code, reason) {
    this.socket = null;
    if (code === WRONG_TOKEN) {
      this.listener.onLost("This address is not valid (any more). Open the one that `mjrig edit --web` printed.", false);
      return;
    }
    this.hasEnded ||= code === ENDED;  // and stays so while nothing answers
    const said = this.hasEnded ? "The editor has ended." : reason || "The connection is lost.";
    this.listener.onLost(`${said}\nIt comes back by itself as soon as the editor can be reached.`, true);
    setTimeout(() => this.#open(), this.wait);
    this.wait = Math.min(2 * this.wait, 4000);
  }

  get isOpen() { return this.socket?.readyState === WebSocket.OPEN; }

  /** Send a message. @param {any[]} message */
  send(...message) {
    if (this.isOpen) {
      this.socket?.send(JSON.stringify(message, wellFormed));
    }
  }

  /** Send an input; frames tell which was the last they show. @param {any[]} message */
  input(...message) {
    this.inputs = (this.inputs + 1) % 0x40000000;
    this.send(...message, this.inputs);
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  sendBytes(bytes) {
    if (this.isOpen) {
      this.socket?.send(bytes);
    }
  }

  /** Wait until little of what was sent is still here. */
  async drained() {
    while (this.isOpen && (this.socket?.bufferedAmount ?? 0) > 1 << 20) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/**
 * A value as the server takes it: texts may have halves of surrogate pairs, and fingers no distance.
 * @param {string} _key @param {any} value @returns {any}
 */
function wellFormed(_key, value) {
  if (typeof value === "string") {
    return value.replace(/\p{Surrogate}/gu, "\ufffd");
  }
  return typeof value !== "number" || Number.isFinite(value) ? value : 0;
}
