// The last run as a picture: its phases as blocks over time, what was on each device as an area, streams and retries.
import { drawn, element, legend, seconds, timeOfDay, write } from "./panel_parts.js";
import { bytes } from "./units.js";
import { say } from "./words.js";

/**
 * @typedef {object} Phase  Times are seconds since the run began.
 * @property {string} name
 * @property {string[]} components
 * @property {number} start_s
 * @property {number | null} end_s  Null while it is under way.
 * @property {number} place_s  Until its weights were in place.
 * @property {number} busy_s
 * @property {number} streamed_bytes
 * @property {"" | "oom" | "stopped"} outcome
 * @property {number} count  How many it stands for.
 *
 * @typedef {object} Run
 * @property {boolean} running
 * @property {number} ago_s
 * @property {number} seconds
 * @property {number} streamed_bytes
 * @property {number} oom  How often device memory ran out.
 * @property {Phase[]} phases
 * @property {{name: string, samples: [number, number][]}[]} devices
 */

const WORDS = 16;
const BLOCK = 12;
const LANE = WORDS + BLOCK + 3;
const AREA = 64;

/**
 * A phase with the models that are at work in it.
 *
 * @param {Phase} phase
 */
function laneOf({ name, components }) {
  const models = new Set(components.map((component) => component.slice(0, component.lastIndexOf(":"))));
  return [...models, name].filter(Boolean).join(" · ");
}

/** @param {Phase} phase */
function outcomeOf({ outcome, end_s }) {
  return say(`panel.outcome.${end_s === null ? "running" : outcome || "done"}`);
}

/** @param {Phase} phase */
function describe(phase) {
  const { start_s, end_s, place_s, busy_s, streamed_bytes, count } = phase;
  const values = { phase: laneOf(phase), start: seconds(start_s), place: seconds(place_s), busy: seconds(busy_s) };
  const parts = [say(end_s === null ? "panel.blockRunning" : "panel.block", values)];
  if (count > 1) parts.push(say("panel.blockCount", { count }));
  if (streamed_bytes) parts.push(say("panel.blockStreamed", { size: bytes(streamed_bytes) }));
  if (phase.outcome) parts.push(outcomeOf(phase));
  return parts.join(" · ");
}

/** @param {Run} run */
function summary({ phases, seconds: length, streamed_bytes, oom, running }) {
  const count = phases.reduce((sum, phase) => sum + phase.count, 0);
  const parts = [say(running ? "panel.runRunning" : "panel.run", { count, time: seconds(length) })];
  if (streamed_bytes) parts.push(say("panel.runStreamed", { size: bytes(streamed_bytes) }));
  if (oom) parts.push(say("panel.runOom", { count: oom }));
  return parts.join(" · ");
}

/**
 * @param {Phase} phase
 * @param {number} y
 * @param {number} length  Of the run, in seconds.
 */
function block(phase, y, length) {
  const { start_s, place_s, streamed_bytes, outcome, count } = phase;
  const end = phase.end_s ?? length;
  const placed = count > 1 ? 0 : Math.min(place_s, end - start_s);
  /** @param {number} from @param {number} to @param {string} kind */
  const piece = (from, to, kind) => {
    const [x, width] = [from, to - from].map((at) => `${(100 * at) / length}%`);
    return drawn("rect", { class: kind, x, y, width, height: BLOCK });
  };
  const kind = outcome || (streamed_bytes ? "streamed" : "computed");
  const made = drawn("g", {}, drawn("title", {}, describe(phase)));
  if (placed > 0) made.append(piece(start_s, start_s + placed, "placed"));
  made.append(piece(start_s + placed, end, kind));
  if (outcome === "oom") {
    const at = Math.min(98, (100 * end) / length);
    made.append(drawn("text", { class: "mark", x: `${at}%`, y: y + BLOCK - 1, "text-anchor": "middle" }, "✕"));
  }
  return made;
}

/**
 * A line of words in the picture, of which the first are cut where there is no room for them.
 *
 * @param {number} y
 * @param {string} first
 * @param {string} last
 */
function words(y, first, last) {
  const line = element("div", "words", element("span", "", first), element("span", "faint", last));
  return drawn("foreignObject", { x: 0, y, width: "100%", height: WORDS }, line);
}

/**
 * The phases of one kind, under a line of words.
 *
 * @param {string} name
 * @param {Phase[]} phases
 * @param {number} y
 * @param {number} length
 */
function lane(name, phases, y, length) {
  const streamed = phases.reduce((sum, phase) => sum + phase.streamed_bytes, 0);
  const oom = phases.filter((phase) => phase.outcome === "oom").reduce((sum, phase) => sum + phase.count, 0);
  const notes = [];
  if (streamed) notes.push(say("panel.laneStreamed", { size: bytes(streamed) }));
  if (oom) notes.push(say("panel.laneOom", { count: oom }));
  return drawn(
    "g",
    {},
    words(y, name, notes.join(" · ")),
    drawn("rect", { class: "track", x: 0, y: y + WORDS, width: "100%", height: BLOCK }),
    ...phases.map((phase) => block(phase, y + WORDS, length)),
  );
}

/**
 * @param {{name: string, samples: [number, number][]}} device
 * @param {number} y
 * @param {number} length
 */
function area({ name, samples }, y, length) {
  const peak = Math.max(1, ...samples.map(([, count]) => count));
  /** @param {number} at @param {number} count */
  const point = (at, count) => `${((1000 * at) / length).toFixed(1)},${(100 - (98 * count) / peak).toFixed(1)}`;
  const [first, last] = [samples[0][0], samples[samples.length - 1][0]];
  const outline = [point(first, 0), ...samples.map(([at, count]) => point(at, count)), point(last, 0)].join(" ");
  return drawn(
    "g",
    {},
    words(y, say("panel.deviceBytes", { device: name }), say("panel.most", { size: bytes(peak) })),
    drawn("rect", { class: "track", x: 0, y: y + WORDS, width: "100%", height: AREA }),
    drawn(
      "svg",
      { x: 0, y: y + WORDS, width: "100%", height: AREA, viewBox: "0 0 1000 100", preserveAspectRatio: "none" },
      drawn("polygon", { class: "area", points: outline }),
    ),
  );
}

/** @param {Run} run */
function picture(run) {
  const length = Math.max(run.seconds, 0.001);
  const lanes = grouped(run.phases);
  const devices = run.devices.filter(({ samples }) => samples.some(([, count]) => count));
  const labels = [drawn("title", {}, say("panel.lastRun")), drawn("desc", {}, summary(run))];
  const made = drawn("svg", { role: "img", width: "100%" }, ...labels);
  let y = 0;
  for (const [name, phases] of lanes) {
    made.append(lane(name, phases, y, length));
    y += LANE;
  }
  for (const device of devices) {
    made.append(area(device, y, length));
    y += WORDS + AREA + 3;
  }
  made.append(words(y, seconds(0), seconds(run.seconds)));
  made.setAttribute("height", String(y + WORDS));
  return made;
}

/** @param {Phase[]} phases */
function grouped(phases) {
  /** @type {Map<string, Phase[]>} */
  const lanes = new Map();
  for (const phase of phases) lanes.set(laneOf(phase), [...(lanes.get(laneOf(phase)) ?? []), phase]);
  return lanes;
}

/** @param {Run} run */
function rows({ phases }) {
  const columns = ["phase", "start", "place", "busy", "streamed", "end"].map((key) => {
    const head = element("th", "", say(`panel.column.${key}`));
    head.scope = "col";
    return head;
  });
  const body = phases.map((phase) => {
    const { start_s, place_s, busy_s, streamed_bytes, count } = phase;
    const name = count > 1 ? `${laneOf(phase)} × ${count}` : laneOf(phase);
    const times = [start_s, place_s, busy_s].map(seconds);
    const cells = [name, ...times, streamed_bytes ? bytes(streamed_bytes) : "", outcomeOf(phase)];
    return element("tr", "", ...cells.map((cell) => element("td", "", cell)));
  });
  return [element("thead", "", element("tr", "", ...columns)), element("tbody", "", ...body)];
}

/** The part of the panel with the picture, and the same as a table for whoever wants it. */
export class Timeline {
  constructor() {
    /** @type {Run | null} */
    this.run = null;
    this.when = element("span", "faint");
    this.summary = element("p");
    this.picture = element("div");
    this.table = element("table");
    const scroll = element("div", "scroll", this.table);
    this.details = element("details", "", element("summary", "", say("panel.table")), scroll);
    this.details.addEventListener("toggle", () => this.showTable());
    const head = element("div", "line", element("h3", "", say("panel.lastRun")), this.when);
    this.element = element("section", "run", head, this.summary, this.picture, this.details);
    this.element.ariaLabel = say("panel.lastRun");
  }

  /** @param {Run | null} run */
  show(run) {
    this.run = run;
    this.element.hidden = !run;
    if (!run) return;
    write(this.when, timeOfDay(run.ago_s));
    write(this.summary, summary(run));
    const kinds = ["placed", "computed", "streamed", ...(run.oom ? ["oom"] : [])];
    this.picture.replaceChildren(picture(run), legend(kinds));
    this.showTable();
  }

  showTable() {
    if (this.run && this.details.open) this.table.replaceChildren(...rows(this.run));
  }
}
