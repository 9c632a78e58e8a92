// Plays the finished segments of a node's speech, in the node, while the rest is made.
import { api } from "../../../scripts/api.js";
import { app } from "../../../scripts/app.js";
import { nodeOf } from "./nodes.js";

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
 * @property {number} total_seconds  Of speech so far.
 * @property {{filename: string, subfolder: string, type: string}} file
 */

const NODES = new Set(["MizuotoSpeak", "MizuotoSpeakScript", "MizuotoSpeakSubtitles", "MizuotoCodecDecoder"]);
const HEIGHT = 150;

/** A player under the other widgets of a node, of which nothing is saved. */
class Player {
  /** @param {LGraphNode} node */
  constructor(node) {
    /** @type {string[]} */
    this.urls = [];
    this.promptId = "";
    this.current = 0;
    this.isWaiting = false; // for a segment that is not made yet
    this.audio = document.createElement("audio");
    this.audio.controls = true;
    this.audio.style.cssText = "width: 100%; height: 40px; flex: none";
    this.audio.addEventListener("play", () => (this.isWaiting = false));
    this.audio.addEventListener("ended", () => this.play(this.current + 1));
    this.list = document.createElement("ol");
    this.list.style.cssText =
      "flex: 1; min-height: 0; margin: 0; padding: 0; overflow-y: auto; position: relative; list-style: none;" +
      "background: var(--comfy-input-bg); border: 1px solid var(--border-color); border-radius: 4px";
    this.attach(node);
  }

  /** @param {LGraphNode} node */
  attach(node) {
    const box = document.createElement("div");
    box.style.cssText = "display: flex; flex-direction: column; gap: 4px; color: var(--input-text); font-size: 11px";
    box.append(this.audio, this.list);
    const widget = /** @type {any} */ (node).addDOMWidget("mizuoto_preview", "mizuoto_preview", box, {
      serialize: false, // not in the prompt
      getMinHeight: () => HEIGHT,
    });
    widget.serialize = false; // nor in the workflow
    const { onRemoved } = node;
    node.onRemoved = () => {
      onRemoved?.call(node);
      this.audio.pause();
    };
    // Added to what the node has, so that its text keeps the room that the user gave it.
    const width = Math.max(node.size[0], node.computeSize()[0]);
    node.setSize([width, node.size[1] + HEIGHT]);
    node.setDirtyCanvas(true, true);
  }

  clear() {
    this.urls = [];
    this.current = 0;
    this.isWaiting = false;
    this.list.replaceChildren();
    this.audio.removeAttribute("src");
    this.audio.load();
  }

  /** @param {Segment} segment */
  add(segment) {
    if (this.promptId !== segment.prompt_id) {
      this.promptId = segment.prompt_id;
      this.clear();
    }
    const index = this.urls.push(api.apiURL(`/view?${new URLSearchParams(segment.file)}`)) - 1;
    this.list.append(this.row(segment, index));
    if (this.isWaiting) this.play(index);
    else if (index === 0) this.load(index);
  }

  /**
   * @param {Segment} segment
   * @param {number} index
   */
  row({ text, speaker }, index) {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.style.cssText =
      "display: block; width: 100%; padding: 2px 6px; border: 0; background: none; color: inherit; font: inherit;" +
      "text-align: start; cursor: pointer; overflow: hidden; white-space: nowrap; text-overflow: ellipsis";
    button.textContent = `${index + 1}. ${speaker && `${speaker}: `}${text}`;
    button.title = text;
    button.addEventListener("click", () => this.play(index));
    row.append(button);
    return row;
  }

  /** @param {number} index */
  play(index) {
    this.isWaiting = index >= this.urls.length;
    if (this.isWaiting) return;
    this.load(index);
    this.audio.play().catch(() => {}); // the page may not play yet, or another segment was chosen meanwhile
  }

  /** @param {number} index */
  load(index) {
    this.current = index;
    this.audio.src = this.urls[index];
    for (const [number, row] of [...this.list.children].entries()) {
      const button = /** @type {HTMLElement} */ (row.firstElementChild);
      button.ariaCurrent = String(number === index);
      button.style.background = number === index ? "var(--border-color)" : "none";
      if (number === index) this.list.scrollTop = /** @type {HTMLElement} */ (row).offsetTop;
    }
  }
}

/** @type {WeakMap<LGraphNode, Player>} */
const players = new WeakMap();

/**
 * @param {string} id
 * @returns {LGraphNode | undefined}
 */
function speaking(id) {
  const node = nodeOf(id);
  return node?.comfyClass && NODES.has(node.comfyClass) ? node : undefined;
}

/** @param {Event} event */
function onExecuting(event) {
  const id = /** @type {CustomEvent<string | null>} */ (event).detail;
  const node = id === null ? undefined : speaking(id);
  if (node) players.get(node)?.clear();
}

/** @param {Event} event */
function onSegment(event) {
  const segment = /** @type {CustomEvent<Segment>} */ (event).detail;
  const node = speaking(segment.node);
  if (!node) return;
  // Older front ends save the line that they show of the progress as if it were the value of an input.
  const line = node.widgets?.find((widget) => widget.name === "$$node-text-preview");
  if (line) line.serialize = false;
  const player = players.get(node) ?? new Player(node);
  players.set(node, player);
  player.add(segment);
}

app.registerExtension({
  name: "mizuoto.preview",
  setup() {
    const events = /** @type {EventTarget} */ (api); // which takes any name
    events.addEventListener("executing", onExecuting);
    events.addEventListener("mizuoto.segment", onSegment);
  },
});
