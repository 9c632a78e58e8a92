// Shows the report of Speech Doctor: what is wrong first, each with what mends it, to be copied.
import { app } from "../../../scripts/app.js";
import { addBox } from "./box.js";
import { copyButton } from "./buttons.js";
import { outputHooks } from "./outputs.js";
import { say } from "./words.js";

/**
 * @typedef {import("./nodes.js").LGraphNode} LGraphNode
 * @typedef {"error" | "warning" | "info" | "ok"} Level
 * @typedef {{level: Level, what: string, why: string, fix: string}} Finding
 * @typedef {{name: string, findings: Finding[], facts: string[]}} Section
 * @typedef {{level: Level, sections: Section[]}} Report
 */

const HEIGHT = 260;
const WIDTH = 420;
/** @type {{[level in Level]: string}} */
const ICONS = { error: "times-circle", warning: "exclamation-triangle", info: "info-circle", ok: "check-circle" };
const LEVELS = /** @type {Level[]} */ (Object.keys(ICONS)); // the gravest first

/** @type {WeakMap<LGraphNode, HTMLElement>} */
const shown = new WeakMap();

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} text
 */
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** @param {Level} level */
function mark(level) {
  const icon = document.createElement("i");
  icon.className = `pi pi-${ICONS[level]} ${level}`;
  icon.role = "img";
  icon.ariaLabel = icon.title = say(`doctor.${level}`);
  return icon;
}

/** @param {Finding} finding */
function findingRow({ level, what, why, fix }) {
  const row = document.createElement("li");
  const words = document.createElement("div");
  words.append(element("div", what));
  if (why) words.append(element("p", why));
  if (fix) {
    const line = document.createElement("div");
    line.className = "fix";
    line.append(
      element("code", fix),
      copyButton(() => fix),
    );
    words.append(line);
  }
  row.append(mark(level), words);
  return row;
}

/** @param {Section} section */
function sectionPart({ name, findings, facts }) {
  const part = document.createElement("section");
  part.append(element("h4", name));
  const list = document.createElement("ul");
  list.append(...LEVELS.flatMap((level) => findings.filter((finding) => finding.level === level)).map(findingRow));
  part.append(list);
  if (facts.length) {
    const details = document.createElement("details");
    details.append(element("summary", say("doctor.facts")), element("pre", facts.join("\n")));
    part.append(details);
  }
  return part;
}

/** @param {Section} section  The gravest level in it, as a number; those with none come last. */
function rank({ findings }) {
  return Math.min(LEVELS.length, ...findings.map(({ level }) => LEVELS.indexOf(level)));
}

/** @param {Report} report */
function summary({ sections }) {
  const count = (/** @type {Level} */ level) =>
    sections.reduce((sum, { findings }) => sum + findings.filter((finding) => finding.level === level).length, 0);
  const [errors, warnings] = [count("error"), count("warning")];
  return errors || warnings ? say("doctor.summary", { errors, warnings }) : say("doctor.fine");
}

/** @param {LGraphNode} node */
function boxOf(node) {
  const found = shown.get(node);
  if (found) return found;
  const made = document.createElement("div");
  made.className = "mizuoto-report";
  made.tabIndex = 0; // scrolls by the keyboard
  made.role = "region";
  made.ariaLabel = say("doctor.report");
  const box = document.createElement("div");
  box.append(made);
  addBox(node, box, { height: HEIGHT, width: WIDTH, grows: true, onRemoved: () => {} });
  shown.set(node, made);
  return made;
}

app.registerExtension({
  name: "mizuoto.doctor",
  ...outputHooks("mizuoto_doctor", ["MizuotoDoctor"], (node, /** @type {Report[]} */ [report]) => {
    const head = document.createElement("h3");
    head.append(mark(report.level), ` ${summary(report)}`);
    const sections = [...report.sections].sort((one, other) => rank(one) - rank(other));
    boxOf(node).replaceChildren(head, ...sections.map(sectionPart));
  }),
});
