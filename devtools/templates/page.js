// Functions that run inside the front end's page: make.py sends this file there.

/** Gives a node its place, and a seed that stays. */
function place(node, { pos, size }) {
  const unsaved = node.size[1] - node.serialize().size[1]; // the room of what is only shown, such as a download
  const [width, height] = node.computeSize();
  if (size[0] < width || size[1] < height - unsaved) {
    throw new Error(`${node.title} needs ${[width, height - unsaved]} and the layout gives ${size}`);
  }
  node.pos = pos;
  node.setSize([size[0], size[1] + unsaved]);
  keepSeed(node);
}

/** With a seed that stays, a second run is answered from the cache. */
function keepSeed(node) {
  for (const widget of node.widgets ?? []) {
    if (widget.name === "control_after_generate") widget.value = "fixed";
  }
}

/** What the page would save of the open workflow. */
async function saved() {
  const { workflow } = await window.app.graphToPrompt();
  delete workflow.extra.ds; // where this window happened to look
  return JSON.parse(JSON.stringify(workflow));
}

/** The UI form of `prompt` as the front end exports it, laid out as `layout` says. */
async function arrange({ prompt, layout, name }) {
  const { app, LiteGraph } = window;
  await app.loadApiJson(prompt, name);
  const { graph } = app;
  for (const [id, box] of Object.entries(layout.nodes)) {
    place(graph.getNodeById(Number(id)), box);
  }
  for (const { id, title, text, ...box } of layout.notes) {
    const note = LiteGraph.createNode("MarkdownNote", title);
    note.id = id;
    graph.add(note);
    place(note, box);
    note.widgets[0].value = text;
  }
  for (const { title, bounding } of layout.groups) {
    const group = new LiteGraph.LGraphGroup(title);
    group.configure({ ...group.serialize(), bounding });
    graph.add(group);
  }
  return saved();
}

/** The UI form of `prompt` in the front end's own layout. */
async function open({ prompt, name }) {
  const { app } = window;
  await app.loadApiJson(prompt, name);
  app.graph.nodes.forEach(keepSeed);
  return saved();
}

/** `blueprint` as a saved workflow with one node, which holds all others. */
async function fold({ blueprint, name }) {
  const { app } = window;
  await app.loadApiJson(blueprint.inside, name);
  for (const [id, box] of Object.entries(blueprint.nodes)) place(app.graph.getNodeById(Number(id)), box);
  const { subgraph, node } = app.graph.convertToSubgraph(new Set(app.graph.nodes));
  subgraph.name = node.title = name;
  subgraph.description = blueprint.description;
  for (const input of [...subgraph.inputs]) subgraph.removeInput(input); // the page's own idea of them
  const slotOf = (end, side) => {
    const [id, slot] = end.split(".");
    const inner = subgraph.getNodeById(Number(id));
    return [inner[side].find((it) => it.name === slot), inner];
  };
  for (const [label, end] of Object.entries(blueprint.inputs)) {
    const [slot, inner] = slotOf(end, "inputs");
    subgraph.addInput(label, slot.type).connect(slot, inner);
  }
  for (const [label, end] of Object.entries(blueprint.outputs)) {
    const [slot, inner] = slotOf(end, "outputs");
    subgraph.addOutput(label, slot.type).connect(slot, inner);
  }
  place(node, { pos: [0, 0], size: blueprint.size });
  return saved();
}

/** Load `graph` as a saved workflow, bring `area` into view; where on the page it is. */
async function showWhole({ graph, name, area, margin }) {
  const { app } = window;
  await app.loadGraphData(graph, true, true, name);
  const { ds, canvas } = app.canvas;
  const box = canvas.getBoundingClientRect();
  const [left, top] = [90, 130]; // clear of the side bar and the tabs
  ds.scale = 1;
  ds.offset = [left + margin - box.x - area.x, top + margin - box.y - area.y];
  app.canvas.setDirty(true, true);
  const clip = { x: left, y: top, width: area.width + 2 * margin, height: area.height + 2 * margin };
  if (left + clip.width > innerWidth || top + clip.height > innerHeight) {
    throw new Error(`${name}: ${clip.width} x ${clip.height} do not fit into the window`);
  }
  return clip;
}

/** How far the open graph reaches below `area`, by what nodes show after a run. */
function grown({ area }) {
  const bottoms = window.app.graph.nodes.map(({ pos, size }) => pos[1] + size[1]);
  return Math.max(0, Math.max(...bottoms) - area.y - area.height);
}

/** Where on the page the title of a node is. */
function titleOf({ id }) {
  const { app, LiteGraph } = window;
  const { pos } = app.graph.getNodeById(id);
  const { ds, canvas } = app.canvas;
  const box = canvas.getBoundingClientRect();
  const [x, y] = [pos[0] + 70, pos[1] - LiteGraph.NODE_TITLE_HEIGHT / 2];
  return [(x + ds.offset[0]) * ds.scale + box.x, (y + ds.offset[1]) * ds.scale + box.y];
}

/** A PNG scaled down to `width` pixels, as base64 of a JPEG. */
async function imageOf({ png, width }) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = new OffscreenCanvas(width, Math.round((image.height * width) / image.width));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const jpeg = new Uint8Array(await (await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 })).arrayBuffer());
  return btoa(Array.from(jpeg, (byte) => String.fromCharCode(byte)).join(""));
}
