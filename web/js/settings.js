// The pack's settings in ComfyUI's Settings dialog. The server has the values and says what there is to set; what the
// dialog stores by itself is a copy that follows.
import { app } from "../../../scripts/app.js";
import { ask } from "./server.js";
import { say, translated } from "./words.js";

/**
 * @typedef {object} Row  A setting as the server describes it.
 * @property {string} key
 * @property {string} group
 * @property {string} name
 * @property {string} description
 * @property {"boolean" | "integer" | "number" | "choice" | "text"} type
 * @property {unknown} value
 * @property {unknown} default
 * @property {"default" | "saved" | "environment"} source
 * @property {string} variable  Environment variable, "" if there is none.
 * @property {string} problem  With the value of that variable.
 * @property {boolean} read_only
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} step
 * @property {string[]} choices
 * @property {boolean} changes_results
 * @property {boolean} at_start
 *
 * @typedef {import("@comfyorg/comfyui-frontend-types").ComfyExtension} ComfyExtension
 * @typedef {NonNullable<ComfyExtension["settings"]>[number]} SettingParams
 */

const TYPES = { boolean: "boolean", integer: "number", number: "number", choice: "combo", text: textField };

/** @type {Map<string, Row>}  Id in the dialog -> what the server told last. */
const rows = new Map();
/** @type {Promise<void>}  Changes reach the server one after the other. */
let sending = Promise.resolve();

/** @returns {{get: (id: string) => unknown, set: (id: string, value: unknown) => Promise<void>}} */
function dialog() {
  return /** @type {any} */ (app.extensionManager.setting);
}

/** @param {Row[]} told */
function take(told) {
  for (const row of told) rows.set(`Mizuoto.${row.key}`, row);
}

/**
 * @param {string} id
 * @param {Row} row
 * @param {number} sortOrder
 * @returns {SettingParams}
 */
function paramsOf(id, row, sortOrder) {
  const words = textsOf(row, id.replaceAll(".", "_"));
  const isNumber = row.type === "integer" || row.type === "number";
  const range = { min: row.low, max: row.high, step: row.step, maxFractionDigits: row.type === "integer" ? 0 : 3 };
  return /** @type {any} */ ({
    id,
    name: row.source === "environment" ? `${words.name} (${row.variable})` : words.name,
    category: ["Mizuoto", translated(`settingsCategories.${row.group}`) ?? row.group, row.key],
    sortOrder,
    type: TYPES[row.type],
    defaultValue: row.value, // of the server, so that the page needs no copy of its own
    tooltip: tooltipOf(row, words.description),
    options: row.type === "choice" ? row.choices : undefined,
    attrs: { disabled: row.read_only, ...(isNumber ? { ...range, useGrouping: false } : {}) },
    onChange: (/** @type {unknown} */ value, /** @type {unknown} */ before) => {
      if (before !== undefined) sending = sending.then(() => send(id, value)); // undefined: it was only registered
    },
  });
}

/**
 * @param {Row} row
 * @param {string} entry  In settings.json of a language.
 */
function textsOf(row, entry) {
  const [engine, option] = row.key.split(".");
  const node = `Mizuoto${engine.split("_").map((part) => part[0].toUpperCase() + part.slice(1)).join("")}Options`;
  const input = `nodeDefs.${node}.inputs.${option}`; // an engine's options are explained where its node is
  return {
    name: translated(`settings.${entry}.label`) ?? translated(`${input}.name`) ?? row.name,
    description: translated(`settings.${entry}.description`) ?? translated(`${input}.tooltip`) ?? row.description,
  };
}

/**
 * @param {Row} row
 * @param {string} description
 */
function tooltipOf(row, description) {
  const fallback = typeof row.default === "string" && row.default === "" ? say("settings.nothing") : String(row.default);
  return [
    description,
    row.variable ? "" : say("settings.whenUnconnected"),
    row.changes_results ? say("settings.changesResults") : say("settings.keepsResults"),
    row.at_start ? say("settings.atStart") : "",
    row.low !== null && row.high !== null ? say("settings.range", { low: row.low, high: row.high }) : "",
    say("settings.default", { value: fallback }),
    row.source === "environment" ? say("settings.fixed", { variable: row.variable }) : "",
    row.source !== "environment" && row.variable ? say("settings.variable", { variable: row.variable }) : "",
    row.problem,
  ]
    .filter(Boolean)
    .join(" ");
}

/**
 * Text is sent when it is written to its end, not letter by letter as the dialog's own field would.
 *
 * @param {string} name
 * @param {(value: string) => void} set
 * @param {string} value
 * @param {{disabled?: boolean}} [attrs]
 */
function textField(name, set, value, attrs) {
  const field = document.createElement("input");
  field.type = "text";
  field.className = "p-inputtext p-component";
  field.disabled = attrs?.disabled ?? false;
  field.ariaLabel = name;
  field.value = value ?? "";
  field.addEventListener("change", () => set(field.value));
  return field;
}

/**
 * @param {string} id
 * @param {unknown} value  Null where a number was cleared, which stands for the default.
 */
async function send(id, value) {
  const row = rows.get(id);
  if (!row || value === row.value) return;
  const wanted = value === row.default ? null : value;
  try {
    take((await ask("/settings", "PUT", { [row.key]: wanted })).settings);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    app.extensionManager.toast.add({ severity: "error", summary: say("settings.refused"), detail, life: 10_000 });
  }
  // What was changed again meanwhile has a message of its own under way.
  if (value === null || dialog().get(id) === value) await dialog().set(id, rows.get(id)?.value);
}

app.registerExtension({
  name: "mizuoto.settings",
  async setup() {
    try {
      take((await ask("/settings")).settings);
    } catch (error) {
      console.warn("ComfyUI-Mizuoto shows no settings:", error);
      return;
    }
    const settings = [...rows].map(([id, row], index) => paramsOf(id, row, rows.size - index));
    app.registerExtension({ name: "mizuoto.settings.dialog", settings });
    for (const [id, row] of rows) await dialog().set(id, row.value); // over copies of another time
  },
});
