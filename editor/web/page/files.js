/** Files that are dropped onto the page, and files of the editor to download. */

/** @typedef {import("./connection.js").Connection} Connection */

const PART = 256 * 1024;

/** @param {FileSystemEntry} entry @param {string} folder @returns {Promise<[string, File][]>} */
async function filesOf(entry, folder) {
  const name = `${folder}${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => (/** @type {FileSystemFileEntry} */ (entry)).file(resolve, reject));
    return [[name, file]];
  }
  const reader = (/** @type {FileSystemDirectoryEntry} */ (entry)).createReader();
  /** @type {[string, File][]} */
  const found = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) {
      return found;
    }
    for (const inner of some) {
      found.push(...await filesOf(inner, `${name}/`));
    }
  }
}

export class Files {
  /** @param {HTMLElement} offers @param {Connection} connection @param {(x: number, y: number) => [number, number]} placed */
  constructor(offers, connection, placed) {
    this.offers = offers;
    this.connection = connection;
    /** @type {[string, File][]} */
    this.waiting = [];
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      const entries = [...event.dataTransfer?.items ?? []].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
      const [x, y] = placed(event.clientX, event.clientY);
      Promise.all(entries.map((entry) => filesOf(entry, ""))).then((found) => {
        this.waiting = found.flat();
        this.connection.send("drop", x, y, this.waiting.map(([name, file]) => [name, file.size]));
      }).catch(() => this.connection.send("nodrop"));
    });
  }

  /** The user agreed: send them. */
  send() {
    const files = this.waiting;
    this.waiting = [];
    this.#sendAll(files).then(() => this.connection.send("dropped"), () => this.connection.send("nodrop"));
  }

  /** @param {[string, File][]} files */
  async #sendAll(files) {
    for (const [name, file] of files) {
      const called = new TextEncoder().encode(name);
      for (let at = 0; at === 0 || at < file.size; at += PART) {
        const content = new Uint8Array(await file.slice(at, at + PART).arrayBuffer());
        const part = new Uint8Array(3 + called.length + content.length);
        part.set([1, called.length & 255, called.length >> 8]);
        part.set(called, 3);
        part.set(content, 3 + called.length);
        this.connection.sendBytes(part);
        await this.connection.drained();
      }
    }
  }

  /** A file of the editor can be downloaded. @param {{id: string, name: string}} offer */
  offer({ id, name }) {
    const row = document.createElement("div"), text = document.createElement("span");
    const get = document.createElement("button"), close = document.createElement("button");
    text.textContent = name;
    get.textContent = "Download";
    close.textContent = "×";
    close.className = "quiet";
    close.setAttribute("aria-label", "Close");
    get.onclick = () => {
      this.download(id, name);
      row.remove();
    };
    close.onclick = () => row.remove();
    row.append(text, get, close);
    this.offers.append(row);
    while (this.offers.children.length > 4) {
      this.offers.firstChild?.remove();
    }
    setTimeout(() => row.remove(), 20000);
  }

  /** @param {string} id @param {string} name */
  async download(id, name) {
    const answer = await fetch(`download/${id}`, { headers: { Authorization: `Bearer ${this.connection.token}` } });
    if (!answer.ok) {
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
}
