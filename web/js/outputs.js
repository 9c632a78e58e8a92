// What a node shows of a run: when it has run, and when the page brings that run back.
import { api } from "../../../scripts/api.js";
import { nodeAt, nodeOf } from "./nodes.js";
import { loadWords } from "./words.js";

/** @typedef {import("./nodes.js").LGraphNode} LGraphNode */

/**
 * Calls `show` with what the nodes of a class put under `key` of their `ui` output, unless the node shows it already.
 *
 * @param {string} key
 * @param {string[]} classes
 * @param {(node: LGraphNode, values: any[]) => void} show
 * @returns {{setup: () => void, onNodeOutputsUpdated: (outputs: {[place: string]: any}) => void}}  For an extension.
 */
export function outputHooks(key, classes, show) {
  /** @type {WeakMap<LGraphNode, string>} */
  const shown = new WeakMap();

  /**
   * @param {LGraphNode | undefined} node
   * @param {any} output
   */
  const take = async (node, output) => {
    const values = output?.[key];
    if (!node?.comfyClass || !classes.includes(node.comfyClass) || !Array.isArray(values)) return;
    const text = JSON.stringify(values);
    if (shown.get(node) === text) return;
    shown.set(node, text);
    await loadWords();
    show(node, values);
  };

  return {
    setup() {
      api.addEventListener("executed", ({ detail: { node, display_node, output } }) => {
        take(nodeOf(String(display_node ?? node)), output);
      });
    },
    onNodeOutputsUpdated(outputs) {
      for (const [place, output] of Object.entries(outputs)) take(nodeAt(place), output);
    },
  };
}
