// A tab beside the canvas: which speech models are loaded, where their weights are and why, and what the last run did.
import { api } from "../../../scripts/api.js";
import { app } from "../../../scripts/app.js";
import { ModelList } from "./panel_models.js";
import { element, legend, textButton, write } from "./panel_parts.js";
import { Timeline } from "./panel_timeline.js";
import { ask } from "./server.js";
import { needStyle } from "./style.js";
import { bytes } from "./units.js";
import { loadWords, say } from "./words.js";

/**
 * @typedef {object} Snapshot
 * @property {import("./panel_models.js").Model[]} models
 * @property {{name: string, free_bytes: number, total_bytes: number}[]} devices
 * @property {string} vram_mode
 * @property {import("./panel_timeline.js").Run | null} last_run
 */

const CHANGED = "mizuoto.runtime";
const events = /** @type {EventTarget} */ (api); // which takes any name

/** @param {Snapshot} snapshot */
function devicesOf({ devices, vram_mode }) {
  const parts = devices.map(({ name, free_bytes, total_bytes }) => {
    const values = { device: name, free: bytes(free_bytes), total: bytes(total_bytes) };
    return say(name === "cpu" ? "panel.ram" : "panel.device", values);
  });
  return [...parts, say("panel.mode", { mode: vram_mode })].join(" · ");
}

/** What the tab shows from its opening to its closing: asked for once, then told by the server. */
class Panel {
  /** @param {HTMLElement} container */
  constructor(container) {
    needStyle("panel");
    this.hasNews = false; // told by the server since it was last asked
    this.isOpen = true;
    this.isRunning = false;
    this.models = new ModelList((name) => this.release(name));
    this.timeline = new Timeline();
    this.timeline.element.hidden = true;
    this.status = element("p", "status");
    this.status.role = "status";
    this.devices = element("p", "faint");
    this.releaseAll = textButton(say("panel.releaseAll"), () => this.release());
    this.legend = legend(["resident", "streamed", "copy"]);
    this.heading = element("h2", "", say("panel.title"));
    this.heading.tabIndex = -1;
    const head = element("div", "line", this.heading, this.releaseAll);
    const { devices, status, models, timeline } = this;
    const parts = [head, devices, status, this.legend, models.element, timeline.element];
    this.element = element("div", "mizuoto-panel", ...parts);
    this.showWhetherEmpty(true);
    container.replaceChildren(this.element);
    /** @type {[string, (event: Event) => void][]} */
    this.listeners = [
      [CHANGED, (event) => this.onChange(/** @type {CustomEvent<Snapshot>} */ (event).detail)],
      ["reconnecting", () => this.say("panel.reconnecting")],
      ["reconnected", () => this.refresh()],
    ];
    for (const [name, listener] of this.listeners) events.addEventListener(name, listener);
    this.refresh();
  }

  close() {
    this.isOpen = false;
    for (const [name, listener] of this.listeners) events.removeEventListener(name, listener);
    this.element.remove();
  }

  /** @param {boolean} isEmpty */
  showWhetherEmpty(isEmpty) {
    this.legend.hidden = isEmpty;
    this.releaseAll.hidden = isEmpty;
  }

  /**
   * @param {string} key
   * @param {{[name: string]: string | number}} [values]
   */
  say(key, values) {
    this.tell(say(key, values));
  }

  /** @param {string} sentence */
  tell(sentence) {
    write(this.status, sentence);
    this.status.hidden = !sentence;
  }

  /** @param {string} [sentence]  What to say when it is done. */
  async refresh(sentence = "") {
    this.hasNews = false;
    try {
      const snapshot = /** @type {Snapshot} */ (await ask("/runtime"));
      if (!this.isOpen) return;
      if (!this.hasNews) this.show(snapshot);
      this.tell(sentence);
    } catch (error) {
      this.tell(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {Snapshot} snapshot */
  onChange(snapshot) {
    this.hasNews = true;
    this.show(snapshot);
  }

  /** @param {Snapshot} snapshot */
  show(snapshot) {
    const hadFocus = this.element.contains(document.activeElement);
    write(this.devices, devicesOf(snapshot));
    this.showWhetherEmpty(!this.models.show(snapshot.models));
    this.timeline.show(snapshot.last_run);
    const isRunning = Boolean(snapshot.last_run?.running);
    if (this.isRunning && !isRunning) this.tell(""); // it was about that
    this.isRunning = isRunning;
    // A button that had the keyboard may be gone.
    if (hadFocus && !this.element.contains(document.activeElement)) this.heading.focus();
  }

  /** @param {string} [name]  Of a model; all of them without. */
  async release(name) {
    const body = name === undefined ? {} : { model: name };
    try {
      const { released_bytes: freed } = await ask("/runtime/release", "POST", body);
      this.say(freed ? "panel.released" : "panel.nothing", { size: bytes(freed) }); // the server tells what is left
    } catch (error) {
      await this.refresh(error instanceof Error ? error.message : String(error));
    }
  }
}

/** @type {Panel | undefined} */
let panel;

function close() {
  panel?.close();
  panel = undefined;
}

app.registerExtension({
  name: "mizuoto.panel",
  async setup() {
    await loadWords();
    // The page complains of an event that it has never heard of, and forgets none.
    events.addEventListener(CHANGED, close);
    events.removeEventListener(CHANGED, close);
    app.extensionManager.registerSidebarTab({
      id: "mizuoto.memory",
      title: say("panel.title"),
      tooltip: say("panel.tooltip"),
      label: say("panel.title"),
      icon: "pi pi-microchip",
      type: "custom",
      render(container) {
        if (panel?.element.parentElement === container) return; // the page renders a tab again when it likes
        close();
        panel = new Panel(container);
      },
      destroy: close,
    });
  },
});
