// Load Speech Model shows how to get a model that is not on this computer, and follows its download.
import { api } from "../../../scripts/api.js";
import { app } from "../../../scripts/app.js";
import { addBox } from "./box.js";
import { DownloadBox } from "./download_box.js";
import { ask } from "./server.js";

/**
 * @typedef {import("./nodes.js").LGraphNode} LGraphNode
 * @typedef {import("./download_box.js").Model} Model
 * @typedef {import("./download_box.js").Job} Job
 */

const NODE = "MizuotoLoadModel";
const HEIGHT = 172;
const WIDTH = 300;

/** @type {Promise<void> | undefined}  Of the first list, which is fetched when it is needed. */
let loading;
/** @type {Model[]} */
let models = [];
/** @type {Map<string, number>}  Name -> number of what was told last. */
const told = new Map();
/** @type {WeakMap<LGraphNode, {box: DownloadBox, show: (isShown: boolean) => void}>} */
const boxes = new WeakMap();

/**
 * Whether nothing newer was told of the model; an answer may come later than the event that followed it.
 *
 * @param {string} name
 * @param {number} number
 */
function isNews(name, number) {
  if (number < (told.get(name) ?? 0)) return false;
  told.set(name, number);
  return true;
}

async function load() {
  /** @type {{models: Model[], number: number}} */
  let answer;
  try {
    answer = await ask("/models");
  } catch (error) {
    console.warn("ComfyUI-Mizuoto offers no downloads:", error);
    return;
  }
  const jobs = new Map(models.map(({ name, job }) => [name, job]));
  models = answer.models;
  for (const model of models) {
    if (!isNews(model.name, answer.number)) model.job = jobs.get(model.name) ?? null;
  }
}

/**
 * The model that a combo names: an installed one, or an official one in whatever folder its author had it.
 *
 * @param {string} value
 */
function modelOf(value) {
  const folder = value.split("/").pop();
  return (
    models.find(({ installed }) => installed === value) ??
    models.find(({ choice, name }) => choice === value || name === folder)
  );
}

/** @param {LGraphNode} node */
function widgetOf(node) {
  return node.widgets?.find(({ name }) => name === "model");
}

/** @param {LGraphNode} node */
function update(node) {
  const widget = widgetOf(node);
  if (!widget) return;
  const model = modelOf(String(widget.value));
  if (model?.installed && widget.value !== model.installed) {
    widget.value = model.installed;
    node.setDirtyCanvas(true, true);
  }
  const isMissing = model !== undefined && !model.installed;
  if (isMissing) boxOf(node).box.show(model);
  boxes.get(node)?.show(isMissing);
}

/** @param {LGraphNode} node */
function boxOf(node) {
  const found = boxes.get(node);
  if (found) return found;
  const box = new DownloadBox(take);
  const show = addBox(node, box.element, { height: HEIGHT, width: WIDTH, grows: false, onRemoved: () => {} });
  const entry = { box, show };
  boxes.set(node, entry);
  return entry;
}

/**
 * @param {any} [graph]
 * @returns {Generator<LGraphNode>}
 */
function* loaders(graph = app.rootGraph ?? app.graph) {
  for (const node of graph?.nodes ?? []) {
    if (node.subgraph) yield* loaders(node.subgraph);
    else if (node.comfyClass === NODE) yield node;
  }
}

async function reload() {
  if (!loading) return; // nothing was shown so far
  await load();
  for (const node of loaders()) update(node);
}

/** @param {Job} job */
async function take(job) {
  if (!loading) return;
  await loading;
  if (!isNews(job.model, job.number)) return;
  if (job.installed) {
    await app.refreshComboInNodes().catch(console.warn); // which comes back to `reload`
    return;
  }
  const model = models.find(({ name }) => name === job.model);
  if (!model) return;
  model.job = job.state === "cancelled" ? null : job;
  for (const node of loaders()) boxes.get(node)?.box.name === model.name && update(node);
}

app.registerExtension({
  name: "mizuoto.downloads",
  setup() {
    const events = /** @type {EventTarget} */ (api); // which takes any name
    events.addEventListener("mizuoto.download", (event) => take(/** @type {CustomEvent<Job>} */ (event).detail));
    events.addEventListener("reconnected", reload);
  },
  refreshComboInNodes: reload,
  async nodeCreated(node) {
    if (node.comfyClass !== NODE) return;
    const widget = widgetOf(node);
    if (widget) {
      const { callback } = widget;
      widget.callback = function (...rest) {
        callback?.apply(this, rest);
        update(node);
      };
    }
    loading ??= load();
    await loading;
    update(node); // its values are loaded by now
  },
});
