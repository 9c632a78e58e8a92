// Plays the finished segments of a node's speech, in the node, while the rest is made.
import { api } from "../../../scripts/api.js";
import { app } from "../../../scripts/app.js";
import { addBox, addRoom, fixHeight } from "./box.js";
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
 * @property {number | null} start  Its time in the finished sound, in seconds, where that is not right behind the rest.
 * @property {import("./sounds.js").File} file
 */

const NODES = ["MizuotoSpeak", "MizuotoSpeakScript", "MizuotoSpeakSubtitles", "MizuotoCodecDecoder"];
const TEXTS = ["text", "script", "subtitles"];
const HEIGHT = 150;
const LINE = "$$node-text-preview"; // in which the page shows how far a node is
const LINE_HEIGHT = 58;

/**
 * Which run a player plays, and how many of its segments it has.
 *
 * @type {WeakMap<LGraphNode, {player: Player, promptId: string, count: number}>}
 */
const shown = new WeakMap();

/** Those whose line has its room. @type {WeakSet<LGraphNode>} */
const withLine = new WeakSet();

/** @param {LGraphNode} node */
function addPlayer(node) {
  const player = new Player();
  const hasText = node.inputs.some(({ name }) => TEXTS.includes(name)); // which grows with the node
  addBox(node, player.element, { height: HEIGHT, grows: !hasText, onRemoved: () => player.unload() });
  const entry = { player, promptId: "", count: 0 };
  shown.set(node, entry);
  return entry;
}

/**
 * @param {LGraphNode} node
 * @param {Segment} segment
 */
function add(node, { prompt_id, number, text, speaker, seconds, peaks, file, start }) {
  const entry = shown.get(node) ?? addPlayer(node);
  if (entry.promptId !== prompt_id) {
    entry.player.clear();
    Object.assign(entry, { promptId: prompt_id, count: 0 });
  }
  if (number <= entry.count) return; // the node's output repeats what came while it ran
  entry.count = number;
  const said = speaker ? `${speaker}: ${text}` : text;
  entry.player.add({ url: fileUrl(file), seconds, peaks, passages: [{ text: said, start: 0, shown: start ?? undefined }] });
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
async function onProgressText(event) {
  const node = speaking(String(/** @type {CustomEvent<{nodeId: string | number}>} */ (event).detail.nodeId));
  if (!node || withLine.has(node)) return;
  await null; // by then the page has added the line
  const line = node.widgets?.find((widget) => widget.name === LINE);
  if (!line || withLine.has(node)) return;
  withLine.add(node);
  line.serialize = false; // older front ends save it as if it were the value of an input
  fixHeight(line, LINE_HEIGHT);
  addRoom(node, LINE_HEIGHT);
}

/** @param {Event} event */
async function onSegment(event) {
  const segment = /** @type {CustomEvent<Segment>} */ (event).detail;
  await loadWords();
  const node = speaking(segment.node);
  if (node) add(node, segment);
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
    events.addEventListener("progress_text", onProgressText);
    events.addEventListener("mizuoto.segment", onSegment);
  },
});
