// A box of our own under the widgets of a node.

/** @typedef {import("./nodes.js").LGraphNode} LGraphNode */

const GAP = 4; // between widgets
const MARGIN = 10; // that the page leaves above and below an element

const style = document.createElement("link");
style.rel = "stylesheet";
style.href = new URL("../css/nodes.css", import.meta.url).href;
document.head.append(style);

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
  element.classList.add("mizuoto-box");
  element.style.minHeight = `${height - 2 * MARGIN}px`;
  // Else the page would move the node, copy it, and zoom.
  for (const name of ["pointerdown", "copy"]) element.addEventListener(name, (event) => event.stopPropagation());
  element.dataset.captureWheel = "true";
  const widget = /** @type {any} */ (node).addDOMWidget("mizuoto_box", "mizuoto_box", element, {
    serialize: false, // not in the prompt
    getMinHeight: () => height,
    ...(grows ? {} : { getMaxHeight: () => height }),
  });
  widget.serialize = false; // nor in the workflow
  let isShown = true;
  const { onSerialize, onRemoved: removeRest } = node;
  node.onSerialize = (data) => {
    onSerialize?.call(node, data);
    if (isShown) data.size = [data.size[0], data.size[1] - height - GAP];
  };
  node.onRemoved = () => {
    removeRest?.call(node);
    onRemoved();
  };
  // Added to what the node has, so that its text keeps the room that the user gave it.
  node.setSize([Math.max(node.size[0], node.computeSize()[0], width), node.size[1] + height + GAP]);
  node.setDirtyCanvas(true, true);
  return (wanted) => {
    if (wanted === isShown) return;
    isShown = wanted;
    widget.hidden = !wanted;
    const { widgets = [] } = node;
    if (wanted) widgets.push(widget);
    else widgets.splice(widgets.indexOf(widget), 1);
    node.setSize([node.size[0], node.size[1] + (wanted ? 1 : -1) * (height + GAP)]);
    node.setDirtyCanvas(true, true);
  };
}
