// The loaded models in the memory panel: where the weights of each component are, and why.
import { element, textButton, timeOfDay, write } from "./panel_parts.js";
import { bytes } from "./units.js";
import { say } from "./words.js";

/**
 * @typedef {object} Partial  The numbers weighed when a component was placed partly.
 * @property {string} reason
 * @property {string} mode
 * @property {number} free_mb
 * @property {number} working_mb
 * @property {number} reserve_mb
 * @property {string} gave_up_for
 *
 * @typedef {object} Component
 * @property {string} name  "engine/model:component"; anybody's.
 * @property {string} device
 * @property {string} dtype
 * @property {"host" | "whole" | "streams" | "away"} state
 * @property {boolean} busy
 * @property {number | null} unused_s
 * @property {number} size_bytes
 * @property {number} loaded_bytes
 * @property {number} host_bytes
 * @property {number} streamed_bytes  So far.
 * @property {Partial | null} partial
 *
 * @typedef {object} Model
 * @property {string} name
 * @property {boolean} busy
 * @property {number | null} unused_s
 * @property {number} cache_bytes
 * @property {Component[]} components
 */

const MB = 1 << 20; // as the server divides
const ANOTHER = "another model of ComfyUI";
/** @type {{[reason: string]: string}} */
const REASONS = {
  budget: "budget",
  "mode low": "mode",
  "mode none": "mode",
  "capped after running out of memory": "capped",
  "gave way to another": "gaveWay",
};

/**
 * What a component's name ends with.
 *
 * @param {string} name
 */
export function lastName(name) {
  return name.slice(name.lastIndexOf(":") + 1);
}

/** @param {Partial} partial */
function why({ reason, mode, free_mb, working_mb, reserve_mb, gave_up_for }) {
  const [free, working, reserve] = [free_mb, working_mb, reserve_mb].map((count) => bytes(count * MB));
  const other = gave_up_for === ANOTHER ? say("panel.otherModel") : gave_up_for.split(", ").map(lastName).join(", ");
  return say(`panel.why.${REASONS[reason] ?? "other"}`, { reason, mode, free, working, reserve, other });
}

/** @param {Component} component */
function where({ state, device, size_bytes, loaded_bytes, host_bytes, streamed_bytes }) {
  const values = { device, size: bytes(size_bytes), loaded: bytes(loaded_bytes), streamed: bytes(streamed_bytes) };
  const parts = [say(`panel.where.${state}`, values)];
  if (state === "streams" && streamed_bytes) parts.push(say("panel.streamedSoFar", values));
  if (state !== "host" && host_bytes) parts.push(say("panel.hostCopy", { size: bytes(host_bytes) }));
  return parts.join(" · ");
}

/**
 * A bar of two rows: what is on the device, and below it what is in host memory; of the second alone where that is all.
 *
 * @param {Component} component
 */
function bar({ state, size_bytes, loaded_bytes, host_bytes }) {
  /** @param {string} kind @param {number} count */
  const piece = (kind, count) => {
    const made = element("span", kind);
    made.style.width = `${(100 * Math.min(count, size_bytes)) / Math.max(size_bytes, 1)}%`;
    return made;
  };
  const resident = state === "host" ? 0 : loaded_bytes;
  const streamed = state === "streams" ? size_bytes - resident : 0;
  const upper = element("div", "", piece("resident", resident), piece("streamed", streamed));
  const lower = element("div", "", piece("copy", host_bytes));
  const made = element("div", "bar", ...(state === "host" ? [lower] : [upper, lower]));
  made.ariaHidden = "true"; // the line below it says the same
  return made;
}

/** @param {Component} component */
function row(component) {
  const { name, device, dtype, busy, state, partial } = component;
  const place = element("span", "faint", `${device} · ${dtype}`);
  const title = element("div", "line", element("strong", "", lastName(name)), place);
  if (busy) title.append(element("span", "busy", say("panel.busy")));
  title.title = name;
  const made = element("li", "", title, bar(component), element("div", "faint", where(component)));
  if (state === "streams" && partial) made.append(element("p", "", why(partial)));
  return made;
}

/** One model. It stays while its numbers change, so that the keyboard does not lose its place. */
class Card {
  /**
   * @param {string} name
   * @param {(name: string) => void} onRelease
   */
  constructor(name, onRelease) {
    this.use = element("span", "faint");
    this.release = textButton(say("panel.release"), () => onRelease(name));
    this.release.ariaLabel = say("panel.releaseOne", { model: name });
    this.list = element("ul", "components");
    const head = element("div", "line", element("h3", "", name), this.release);
    this.element = element("section", "model", head, this.use, this.list);
    this.element.ariaLabel = name;
  }

  /** @param {Model} model */
  show({ busy, unused_s, cache_bytes, components }) {
    const isBusy = busy || components.some((component) => component.busy);
    const use = isBusy ? "panel.busy" : unused_s === null ? "panel.unused" : "panel.lastUse";
    this.use.classList.toggle("busy", isBusy);
    write(this.use, say(use, { time: timeOfDay(unused_s ?? 0) }));
    this.list.replaceChildren(...components.map(row));
    if (cache_bytes) this.list.append(element("li", "faint", say("panel.cache", { size: bytes(cache_bytes) })));
  }
}

/** All of them. */
export class ModelList {
  /** @param {(name: string) => void} onRelease */
  constructor(onRelease) {
    this.onRelease = onRelease;
    this.empty = element("p", "empty", say("panel.empty"));
    this.element = element("div", "models");
    /** @type {Map<string, Card>} */
    this.cards = new Map();
  }

  /**
   * @param {Model[]} models
   * @returns {boolean} Whether there are any.
   */
  show(models) {
    const cards = new Map();
    for (const model of models) {
      if (!model.components.length) continue; // dropped: it comes back when it is used
      let key = model.name;
      while (cards.has(key)) key += "\n"; // loaded twice, for another device say
      const card = this.cards.get(key) ?? new Card(model.name, this.onRelease);
      card.show(model);
      cards.set(key, card);
    }
    this.cards = cards;
    const wanted = cards.size ? [...cards.values()].map((card) => card.element) : [this.empty];
    const { children } = this.element;
    const isSame = wanted.length === children.length && wanted.every((each, at) => children[at] === each);
    if (!isSame) this.element.replaceChildren(...wanted); // else the keyboard would lose its place
    return cards.size > 0;
  }
}
