// A box of our own under the widgets of a node.
import { needStyle } from "./style.js";

/** @typedef {import("./nodes.js").LGraphNode} LGraphNode */

const GAP = 4; // between widgets
const MARGIN = 10; // that the page leaves above and below an element

/** The room that a node has for what is not saved with it. @type {WeakMap<LGraphNode, number>} */
const rooms = new WeakMap();

/**
 * Makes a node that much higher, so that its text keeps the room that the user gave it; as saved it is as before.
 *
 * @param {LGraphNode} node
 * @param {number} height  Of what is there beside its widgets from now on; less than nothing where it goes away.
 */
export function addRoom(node, height) {
  const room = rooms.get(node);
  rooms.set(node, (room ?? 0) + height + Math.sign(height) * GAP);
  if (room === undefined) {
    const { onSerialize } = node;
    node.onSerialize = (data) => {
      onSerialize?.call(node, data);
      data.size = [data.size[0], data.size[1] - (rooms.get(node) ?? 0)];
    };
  }
  node.setSize([node.size[0], node.size[1] + (rooms.get(node) ?? 0) - (room ?? 0)]);
  node.setDirtyCanvas(true, true);
}

/**
 * Keeps a widget from taking of the room that is left, which is its node's text's.
 *
 * @param {any} widget
 * @param {number} height
 */
export function fixHeight(widget, height) {
  widget.computeSize = () => [0, height];
  widget.computeLayoutSize = undefined;
}

/**
 * Shows `element` in the node. Nothing of it is saved, not even the room that it takes.
 *
 * @param {LGraphNode} node
 * @param {HTMLElement} element
 * @param {{height: number, width?: number, grows: boolean, onRemoved: () => void}} options  The room that it takes in
 *   the node, or the least of it where it grows with the node; the node's least width; what to do when that is removed.
 * @returns {(isShown: boolean) => void}  Takes it away and brings it back.
 */
export function addBox(node, element, { height, width = 0, grows, onRemoved }) {
  needStyle("nodes");
  element.classList.add("mizuoto-box");
  element.style.minHeight = `${height - 2 * MARGIN}px`;
  // Else the page would move the node, copy it, and zoom.
  for (const name of ["pointerdown", "copy"]) element.addEventListener(name, (event) => event.stopPropagation());
  element.dataset.captureWheel = "true";
  const widget = /** @type {any} */ (node).addDOMWidget("mizuoto_box", "mizuoto_box", element, {
    serialize: false, // not in the prompt
    getMinHeight: () => height,
  });
  if (!grows) fixHeight(widget, height);
  widget.serialize = false; // nor in the workflow
  let isShown = true;
  const { onRemoved: removeRest } = node;
  node.onRemoved = () => {
    removeRest?.call(node);
    onRemoved();
  };
  if (node.size[0] < width) node.setSize([width, node.size[1]]);
  addRoom(node, height);
  return (wanted) => {
    if (wanted === isShown) return;
    isShown = wanted;
    widget.hidden = !wanted;
    const { widgets = [] } = node;
    if (wanted) widgets.push(widget);
    else widgets.splice(widgets.indexOf(widget), 1);
    addRoom(node, wanted ? height : -height);
  };
}
