// What a person sees of a model that is not on this computer: what it is, a button that fetches it, and how far that is.
import { ask } from "./server.js";
import { bytes, MB } from "./units.js";
import { say } from "./words.js";

/**
 * @typedef {object} Job  How a download stands, as the server tells it.
 * @property {string} model
 * @property {"running" | "paused" | "done" | "failed" | "cancelled"} state
 * @property {number} done_bytes
 * @property {number} total_bytes
 * @property {number} bytes_per_second
 * @property {string} error
 * @property {string} installed  Under which name, "" while it is not.
 * @property {number} number  The greater, the newer.
 *
 * @typedef {object} Model  As the server lists it.
 * @property {string} name
 * @property {string} choice  What a combo shows to have it fetched.
 * @property {string} installed
 * @property {string} engine
 * @property {string} weights_license
 * @property {string} code_license
 * @property {boolean} is_commercial
 * @property {number} size_bytes
 * @property {string} folder
 * @property {{name: string, url: string}[]} sources
 * @property {Omit<Job, "number"> | null} job
 *
 * @typedef {"start" | "pause" | "cancel"} Action
 */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {(string | Node)[]} content
 */
function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

/** @param {Model} model */
function facts({ weights_license, code_license, is_commercial, size_bytes, folder, sources }) {
  const isOne = weights_license === code_license;
  const licence = isOne ? weights_license : say("downloads.licences", { weights: weights_license, code: code_license });
  const links = sources.flatMap(({ name, url }, index) => {
    const link = element("a", name);
    Object.assign(link, { href: url, target: "_blank", rel: "noopener noreferrer" });
    return index ? [", ", link] : [link];
  });
  const list = document.createElement("dl");
  /** @type {[string, (string | Node)[]][]} */
  const rows = [
    ["licence", [licence, ...(is_commercial ? [] : [element("strong", say("downloads.nonCommercial"))])]],
    ["size", [bytes(size_bytes)]],
    ["folder", [folder]],
    ["source", links],
  ];
  for (const [key, value] of rows) {
    const term = element("dd");
    term.append(...value);
    list.append(element("dt", say(`downloads.${key}`)), term);
  }
  return list;
}

/** The box of one model. Its parts stay while it changes, so that the keyboard does not lose its place. */
export class DownloadBox {
  /** @param {(job: Job) => void} onJob  Takes what the server answers to a button. */
  constructor(onJob) {
    this.onJob = onJob;
    this.element = document.createElement("div");
    this.element.classList.add("mizuoto-download");
    this.name = "";
    this.facts = document.createElement("div");
    this.progress = document.createElement("progress");
    this.line = document.createElement("span");
    this.line.className = "numbers";
    this.error = element("p");
    this.error.className = "error";
    this.error.role = "alert";
    this.start = this.button("start");
    this.pause = this.button("pause");
    this.cancel = this.button("cancel");
    this.running = element("div", this.progress, this.line);
    this.running.className = "running";
    const buttons = element("div", this.start, this.pause, this.cancel);
    buttons.className = "mizuoto-bar";
    const told = element("div", this.facts, this.running, this.error);
    told.className = "told";
    told.tabIndex = 0; // in focus it scrolls, by keyboard and by wheel
    told.role = "group";
    this.element.append(told, buttons);
  }

  /** @param {Action} action */
  button(action) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = say(`downloads.${action}`);
    button.addEventListener("click", () => this.act(action));
    return button;
  }

  /** @param {Action} action */
  async act(action) {
    if (this.element.ariaBusy === "true") return;
    this.element.ariaBusy = "true"; // a button that is disabled would lose the keyboard's place
    const { name } = this;
    try {
      this.onJob(await ask(`/downloads/${encodeURIComponent(name)}/${action}`, "POST", {}));
    } catch (error) {
      if (this.name === name) this.say(error instanceof Error ? error.message : String(error));
    } finally {
      this.element.ariaBusy = "false";
    }
  }

  /** @param {Model} model */
  show(model) {
    if (this.name !== model.name) {
      this.name = model.name;
      this.facts.replaceChildren(element("p", say("downloads.missing", { model: model.name })), facts(model));
    }
    this.showJob(model.job);
  }

  /** @param {Model["job"]} job */
  showJob(job) {
    const state = job?.state ?? "cancelled";
    const isUnderWay = state === "running" || state === "paused" || (state === "failed" && Boolean(job?.done_bytes));
    this.running.hidden = !isUnderWay;
    if (job && isUnderWay) this.showProgress(job);
    this.say(job?.error ?? "");
    const focused = document.activeElement;
    this.start.textContent = say(state === "paused" ? "downloads.resume" : state === "failed" ? "downloads.again" : "downloads.start");
    this.start.hidden = state === "running";
    this.pause.hidden = state !== "running";
    this.cancel.hidden = state === "cancelled" || state === "done";
    if (focused instanceof HTMLButtonElement && focused.hidden && this.element.contains(focused)) {
      (this.start.hidden ? this.pause : this.start).focus();
    }
  }

  /** @param {NonNullable<Model["job"]>} job */
  showProgress({ state, done_bytes: done, total_bytes: total, bytes_per_second: speed }) {
    const percent = Math.floor((100 * done) / Math.max(total, 1));
    const parts = [`${percent} %`, say("downloads.of", { done: bytes(done), total: bytes(total) })];
    if (state === "running") parts.push(`${(speed / MB).toFixed(1)} MB/s`);
    if (state === "paused") parts.push(say("downloads.paused"));
    this.line.textContent = parts.join(" · ");
    this.progress.max = Math.max(total, 1);
    this.progress.value = done;
    this.progress.ariaLabel = say("downloads.progress", { model: this.name });
  }

  /** @param {string} sentence */
  say(sentence) {
    if (this.error.textContent !== sentence) this.error.textContent = sentence;
    this.error.hidden = !sentence;
  }
}
