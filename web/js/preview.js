// Plays the finished segments of a node's speech, in the node, while the rest is made.
import { api } from "../../../scripts/api.js";
import { app } from "../../../scripts/app.js";
import { addBox } from "./box.js";
import { nodeOf } from "./nodes.js";
import { outputHooks } from "./outputs.js";
import { Player } from "./player.js";
import { fileUrl } from "./sounds.js";
import { loadWords } from "./words.js";

/**
 * @typedef {import("./nodes.js").LGraphNode} LGraphNode
 *
 * @typedef {object} Segment  What the server sends of each segment; its text is anybody's.
 * @property {string} node  Id of the node, with those of the subgraphs around it: "12:3".
 * @property {string} prompt_id
 * @property {number} number  From 1.
 * @property {string} text
 * @property {string} speaker
 * @property {number} seconds  Of the file.
 * @property {number[]} peaks
 * @property {number} total_seconds  Of speech so far.
 * @property {import("./sounds.js").File} file
 */

const NODES = ["MizuotoSpeak", "MizuotoSpeakScript", "MizuotoSpeakSubtitles", "MizuotoCodecDecoder"];
const HEIGHT = 150;

/**
 * Which run a player plays, and how many of its segments it has.
 *
 * @type {WeakMap<LGraphNode, {player: Player, promptId: string, count: number}>}
 */
const shown = new WeakMap();

/** @param {LGraphNode} node */
function addPlayer(node) {
  const player = new Player();
  addBox(node, player.element, { height: HEIGHT, grows: true, onRemoved: () => player.unload() });
  const entry = { player, promptId: "", count: 0 };
  shown.set(node, entry);
  return entry;
}

/**
 * @param {LGraphNode} node
 * @param {Segment} segment
 */
function add(node, { prompt_id, number, text, speaker, seconds, peaks, file }) {
  const entry = shown.get(node) ?? addPlayer(node);
  if (entry.promptId !== prompt_id) {
    entry.player.clear();
    Object.assign(entry, { promptId: prompt_id, count: 0 });
  }
  if (number <= entry.count) return; // the node's output repeats what came while it ran
  entry.count = number;
  const said = speaker ? `${speaker}: ${text}` : text;
  entry.player.add({ url: fileUrl(file), seconds, peaks, passages: [{ text: said, start: 0 }] });
}

/**
 * @param {string} id
 * @returns {LGraphNode | undefined}
 */
function speaking(id) {
  const node = nodeOf(id);
  return node?.comfyClass && NODES.includes(node.comfyClass) ? node : undefined;
}

/** @param {Event} event */
function onExecuting(event) {
  const id = /** @type {CustomEvent<string | null>} */ (event).detail;
  const node = id === null ? undefined : speaking(id);
  const entry = node && shown.get(node);
  if (!entry) return;
  entry.player.clear();
  Object.assign(entry, { promptId: "", count: 0 });
}

/** @param {Event} event */
async function onSegment(event) {
  const segment = /** @type {CustomEvent<Segment>} */ (event).detail;
  await loadWords();
  const node = speaking(segment.node);
  if (!node) return;
  // Older front ends save the line that they show of the progress as if it were the value of an input.
  const line = node.widgets?.find((widget) => widget.name === "$$node-text-preview");
  if (line) line.serialize = false;
  add(node, segment);
}

const hooks = outputHooks("mizuoto_speech", NODES, (node, runs) => {
  for (const { segments } of runs) for (const segment of segments) add(node, segment);
});

app.registerExtension({
  name: "mizuoto.preview",
  ...hooks,
  setup() {
    hooks.setup();
    const events = /** @type {EventTarget} */ (api); // which takes any name
    events.addEventListener("executing", onExecuting);
    events.addEventListener("mizuoto.segment", onSegment);
  },
});
