// Writes workflows/*.json with their thumbnails, and web/images/speak.png: see README.md beside this file.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { arrange, imageOf, showWhole, titleOf } from "./page.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "..", "..");
const WORKFLOWS = join(ROOT, "workflows");
const THUMBNAIL_WIDTH = 800;
const MARGIN = 30; // the badge above a node has room in it
const NODE_WITH_TIP = 2;
// What a person with a fresh installation sees, without the welcome dialog and the figures in the corner.
const SETTINGS = {
  "Comfy.TutorialCompleted": true,
  "Comfy.Graph.CanvasInfo": false,
  "Comfy.Minimap.Visible": false,
  "Comfy.Locale": "en",
};

async function openFrontEnd(browser, url, viewport) {
  const page = await browser.newPage({ viewport, deviceScaleFactor: 2, reducedMotion: "reduce" });
  page.on("pageerror", (error) => console.error(`page: ${error}`));
  // Answered here, so that the settings of whoever uses that server neither matter nor change.
  await page.route("**/api/settings**", (route) =>
    route.request().method() === "GET" ? route.fulfill({ json: SETTINGS }) : route.fulfill({ status: 200 }),
  );
  await page.goto(url, { waitUntil: "domcontentloaded" });
  const isLoaded = () => window.app?.extensionManager && window.LiteGraph?.registered_node_types.MizuotoSpeak;
  await page.waitForFunction(isLoaded, null, { timeout: 120_000 });
  await page.waitForLoadState("networkidle");
  return page;
}

/** A name-based UUID: the same at every run, another one for every template. */
function graphId(name) {
  const hex = createHash("sha1").update(`mizuoto/${name}`).digest("hex");
  const [version, variant] = [`5${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`];
  return [hex.slice(0, 8), hex.slice(8, 12), version, variant, hex.slice(20, 32)].join("-");
}

function withoutMeta(prompt) {
  return Object.fromEntries(
    Object.entries(prompt).map(([id, node]) => [id, { class_type: node.class_type, inputs: node.inputs }]),
  );
}

function bounds(graph) {
  const titleHeight = 30;
  const boxes = graph.groups.map(({ bounding: [x, y, width, height] }) => [x, y, x + width, y + height]);
  boxes.push(...graph.nodes.map(({ pos: [x, y], size: [w, h] }) => [x, y - titleHeight, x + w, y + h]));
  const edge = (index, pick) => pick(...boxes.map((box) => box[index]));
  const [left, top] = [edge(0, Math.min), edge(1, Math.min)];
  return { x: left, y: top, width: edge(2, Math.max) - left, height: edge(3, Math.max) - top };
}

async function makeTemplate(page, name, layout) {
  const prompt = JSON.parse(readFileSync(join(WORKFLOWS, "api", layout.prompt), "utf8"));
  const graph = await page.evaluate(arrange, { prompt, layout, name });
  graph.id = graphId(name);
  graph.nodes.sort((a, b) => a.id - b.id);
  const back = await page.evaluate(showWhole, { graph, name, area: bounds(graph), margin: MARGIN });
  if (!isDeepStrictEqual(withoutMeta(back.prompt), withoutMeta(prompt))) {
    const got = JSON.stringify(back.prompt, null, 1);
    throw new Error(`${name}: the graph leads to another prompt than its source:\n${got}`);
  }
  writeFileSync(join(WORKFLOWS, `${name}.json`), `${JSON.stringify(graph, null, 2)}\n`);
  if (isReady(prompt)) {
    await speak(page);
  }
  const shot = await page.screenshot({ clip: back.clip });
  const thumbnail = await page.evaluate(imageOf, { png: shot.toString("base64"), width: THUMBNAIL_WIDTH });
  writeFileSync(join(WORKFLOWS, `${name}.jpg`), Buffer.from(thumbnail, "base64"));
  console.log(`${name}: ${graph.nodes.length} nodes, ${graph.links.length} links`);
}

/** Whether a workflow runs on a fresh installation without fetching gigabytes. */
function isReady(prompt) {
  return !Object.values(prompt).some(({ inputs }) => String(inputs.model).endsWith("(download)"));
}

/** Run the loaded workflow, so that its preview has a player in it. */
async function speak(page) {
  await page.evaluate(() => window.app.queuePrompt(0));
  await page.waitForFunction(() => document.querySelector("audio")?.duration > 0, null, { timeout: 60_000 });
  // Until the notice of the finished job is gone.
  await page.waitForTimeout(6000);
}

/** The whole window after a run and with one tooltip, as the README shows it. */
async function picture(page, name, file) {
  const graph = JSON.parse(readFileSync(join(WORKFLOWS, `${name}.json`), "utf8"));
  await page.evaluate(([data, title]) => window.app.loadGraphData(data, true, true, title), [graph, name]);
  await speak(page);
  await page.mouse.move(...(await page.evaluate(titleOf, NODE_WITH_TIP)), { steps: 5 });
  const hasTip = () => document.querySelector(".node-tooltip")?.checkVisibility();
  await page.waitForFunction(hasTip, null, { timeout: 10_000 });
  await page.screenshot({ path: join(ROOT, "web", "images", file), scale: "css" });
}

async function main(url, ...names) {
  // From the folder of the caller: the browser driver is no part of the pack.
  const { chromium } = createRequire(join(process.cwd(), "_"))("playwright-core");
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const layouts = JSON.parse(readFileSync(join(HERE, "layouts.json"), "utf8"));
    const page = await openFrontEnd(browser, url, { width: 1600, height: 900 });
    for (const name of names.length ? names : Object.keys(layouts)) {
      await makeTemplate(page, name, layouts[name]);
    }
    await page.close();
    if (names.length) return;
    const whole = await openFrontEnd(browser, url, { width: 1280, height: 720 });
    await picture(whole, "Speak", "speak.png");
  } finally {
    await browser.close();
  }
}

await main(process.argv[2] ?? "http://127.0.0.1:8188", ...process.argv.slice(3));
