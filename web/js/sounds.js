// Where the page fetches the sounds that it plays.
import { api } from "../../../scripts/api.js";

/** @typedef {{filename: string, subfolder: string, type: string}} File  As ComfyUI's /view takes it. */

/** @param {File | undefined} file */
export function fileUrl(file) {
  return file && api.apiURL(`/view?${new URLSearchParams(file)}`);
}

/** @param {string} name  Of a recording in the voice library. */
export function recordingUrl(name) {
  return api.apiURL(`/mizuoto/voices/recording?${new URLSearchParams({ name })}`);
}
