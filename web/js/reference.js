// Plays the recording that a voice is made of, in Voice Prompt and Load Voice.
import { app } from "../../../scripts/app.js";
import { nodePlayers } from "./node_player.js";
import { outputHooks } from "./outputs.js";
import { ask } from "./server.js";
import { fileUrl, recordingUrl } from "./sounds.js";
import { say } from "./words.js";

/**
 * @typedef {import("./nodes.js").LGraphNode} LGraphNode
 *
 * @typedef {object} Reference
 * @property {number} [seconds]
 * @property {number[]} [peaks]  None where the voice has no recording.
 * @property {string} [text]  What is said in it; anybody's.
 * @property {import("./sounds.js").File} [file]
 */

const HEIGHT = 100;
const NONE_YET = "(none saved yet)"; // what Load Voice offers while the library is empty

const playerOf = nodePlayers({ height: HEIGHT });

/**
 * @param {import("./player.js").Player} player
 * @param {Reference} reference
 * @param {string | undefined} url
 */
function add(player, { seconds = 0, peaks, text }, url) {
  if (!peaks) player.tell(say("player.noRecording"));
  else player.add({ url, seconds, peaks, passages: text ? [{ text, start: 0 }] : [] });
}

/**
 * What each node was asked for last; answers to earlier questions come too late.
 *
 * @type {WeakMap<LGraphNode, string[]>}
 */
const wanted = new WeakMap();

/**
 * @param {LGraphNode} node
 * @param {string[]} names
 * @param {boolean} isQuiet  Shows nothing where there is nothing to play.
 */
async function showVoices(node, names, isQuiet) {
  wanted.set(node, names);
  /** @type {(Reference | Error)[]} */
  const found = await Promise.all(
    names.map((name) => ask(`/voices/sound?${new URLSearchParams({ name })}`).catch((error) => error)),
  );
  const hasSound = found.some((each) => "peaks" in each);
  if (wanted.get(node) !== names || !node.graph || (isQuiet && !hasSound)) return;
  const player = playerOf(node);
  for (const [index, each] of found.entries()) {
    if (each instanceof Error) player.tell(each.message);
    else add(player, each, recordingUrl(names[index]));
  }
}

/**
 * Plays what is chosen in the node, from the moment that it is there.
 *
 * @param {LGraphNode} node
 */
function followChoice(node) {
  const widget = node.widgets?.find(({ name }) => name === "name");
  if (!widget) return;
  /** @param {boolean} isQuiet */
  const show = (isQuiet) => {
    const name = String(widget.value);
    const isLinked = node.inputs.some((input) => input.widget?.name === "name" && input.link != null);
    const choices = /** @type {string[]} */ (widget.options?.values ?? []);
    if (!isLinked && name !== NONE_YET && choices.includes(name)) showVoices(node, [name], isQuiet);
  };
  const { callback } = widget;
  widget.callback = (...values) => {
    callback?.apply(widget, values);
    show(false);
  };
  queueMicrotask(() => show(true)); // by then a saved node has its values
}

const ofRun = outputHooks("mizuoto_sound", ["MizuotoVoicePrompt"], (node, references) => {
  const player = playerOf(node);
  for (const reference of references) add(player, reference, fileUrl(reference.file));
});
const ofLibrary = outputHooks("mizuoto_voice", ["MizuotoLoadVoice"], (node, names) => showVoices(node, names, false));

app.registerExtension({
  name: "mizuoto.reference",
  setup() {
    ofRun.setup();
    ofLibrary.setup();
  },
  onNodeOutputsUpdated(/** @type {{[place: string]: any}} */ outputs) {
    ofRun.onNodeOutputsUpdated(outputs);
    ofLibrary.onNodeOutputsUpdated(outputs);
  },
  nodeCreated(node) {
    if (node.comfyClass === "MizuotoLoadVoice") followChoice(node);
  },
});
