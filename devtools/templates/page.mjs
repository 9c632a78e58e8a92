// Functions that run inside the front end's page; each is sent there as text, so it uses nothing from outside itself.

/** The UI form of `prompt` as the front end exports it, laid out as `layout` says. */
export async function arrange({ prompt, layout, name }) {
  const { app, LiteGraph } = window;
  await app.loadApiJson(prompt, name);
  const { graph } = app;
  const place = (node, { pos, size }) => {
    const least = node.computeSize();
    if (size[0] < least[0] || size[1] < least[1]) {
      throw new Error(`${name}: ${node.title} needs ${[...least]} and the layout gives ${size}`);
    }
    node.pos = pos;
    node.setSize(size);
  };
  for (const [id, box] of Object.entries(layout.nodes)) {
    const node = graph.getNodeById(Number(id));
    place(node, box);
    for (const widget of node.widgets ?? []) {
      // With a seed that stays, a second run is answered from the cache.
      if (widget.name === "control_after_generate") widget.value = "fixed";
    }
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
  const { workflow } = await app.graphToPrompt();
  delete workflow.extra.ds; // where this window happened to look
  return JSON.parse(JSON.stringify(workflow));
}

/** Load `graph` as a saved workflow, bring `area` into view; the prompt it leads to, and where on the page it is. */
export async function showWhole({ graph, name, area, margin }) {
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
  const { output } = await app.graphToPrompt();
  return { prompt: output, clip };
}

/** Where on the page the title of a node is. */
export function titleOf(id) {
  const { app, LiteGraph } = window;
  const { pos } = app.graph.getNodeById(id);
  const { ds, canvas } = app.canvas;
  const box = canvas.getBoundingClientRect();
  const [x, y] = [pos[0] + 70, pos[1] - LiteGraph.NODE_TITLE_HEIGHT / 2];
  return [(x + ds.offset[0]) * ds.scale + box.x, (y + ds.offset[1]) * ds.scale + box.y];
}

/** A PNG scaled down to `width` pixels, as base64 of a JPEG. */
export async function imageOf({ png, width }) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = new OffscreenCanvas(width, Math.round((image.height * width) / image.width));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const jpeg = new Uint8Array(await (await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 })).arrayBuffer());
  return btoa(Array.from(jpeg, (byte) => String.fromCharCode(byte)).join(""));
}
