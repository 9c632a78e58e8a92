// Nodes of the open workflow.
import { app } from "../../../scripts/app.js";

/**
 * @typedef {import("@comfyorg/comfyui-frontend-types").ComfyApp} ComfyApp
 * @typedef {NonNullable<ReturnType<ComfyApp["graph"]["getNodeById"]>>} LGraphNode
 */

/**
 * The node that the server calls by this id, wherever in the open workflow it stands.
 *
 * @param {string} id  With those of the subgraphs around it: "12:3".
 * @returns {LGraphNode | undefined}
 */
export function nodeOf(id) {
  const path = id.split(":");
  const last = path.pop() ?? "";
  /** @type {any} */
  let graph = app.rootGraph ?? app.graph;
  for (const outer of path) graph = graph?.getNodeById(outer)?.subgraph;
  return graph?.getNodeById(last) ?? undefined;
}

/**
 * The node at a place that the front end keeps outputs under.
 *
 * @param {string} place  "12", or in a subgraph "<id of the subgraph>:12".
 * @returns {LGraphNode | undefined}
 */
export function nodeAt(place) {
  const [id = "", subgraph] = place.split(":").reverse();
  /** @type {any} */
  const root = app.rootGraph ?? app.graph;
  return (subgraph === undefined ? root : root?.subgraphs?.get(subgraph))?.getNodeById(id) ?? undefined;
}
