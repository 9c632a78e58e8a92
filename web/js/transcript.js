// Shows what Transcribe heard: passages with their times, and the sound from where one is chosen.
import { app } from "../../../scripts/app.js";
import { copyButton } from "./buttons.js";
import { nodePlayers } from "./node_player.js";
import { outputHooks } from "./outputs.js";
import { fileUrl } from "./sounds.js";
import { say } from "./words.js";

/**
 * @typedef {object} Heard
 * @property {import("./player.js").Passage[]} passages
 * @property {number} seconds
 * @property {number[]} peaks
 * @property {import("./sounds.js").File} [file]  None where the recording is too long to be played here.
 */

const HEIGHT = 200;
const WIDTH = 300;

const playerOf = nodePlayers({ height: HEIGHT, width: WIDTH }, (player) => {
  player.bar.append(copyButton(() => player.text));
});

/**
 * @param {Heard[]} found
 * @returns {string}
 */
function remark(found) {
  if (found.every(({ passages }) => !passages.length)) return say("player.noSpeech");
  return found.some(({ file }) => !file) ? say("player.noFile") : "";
}

app.registerExtension({
  name: "mizuoto.transcript",
  ...outputHooks("mizuoto_transcript", ["MizuotoTranscribe"], (node, /** @type {Heard[]} */ found) => {
    const player = playerOf(node);
    for (const { file, ...heard } of found) player.add({ url: fileUrl(file), ...heard });
    player.tell(remark(found));
  }),
});
