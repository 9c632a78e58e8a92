// The sentences of the front end, in the language that the user chose; they stand in locales/<language>/main.json.
import { api } from "../../../scripts/api.js";
import { app } from "../../../scripts/app.js";

/** @typedef {{[key: string]: string | Words}} Words */

/** @type {{[language: string]: Words}} */
let languages = {};
/** @type {Promise<void> | undefined} */
let loading;

/** Fetches the sentences, once for all who ask; without them `say` gives back its keys. */
export function loadWords() {
  loading ??= api.getCustomNodesI18n().then((found) => {
    languages = /** @type {{[language: string]: Words}} */ (found);
  }, console.error);
  return loading;
}

/**
 * A sentence with its {values} filled in.
 *
 * @param {string} key  "section.name" below `mizuoto`.
 * @param {{[name: string]: string | number}} [values]
 */
export function say(key, values = {}) {
  const sentence = translated(`mizuoto.${key}`) ?? find(languages.en, `mizuoto.${key}`);
  return (sentence ?? key).replace(/\{(\w+)\}/g, (gap, name) => String(values[name] ?? gap));
}

/**
 * What stands at `path` in the locale files of the language that the user chose, if anything does.
 *
 * @param {string} path  "nodeDefs.MizuotoSpeak.inputs.text.tooltip".
 */
export function translated(path) {
  const language = String(app.extensionManager.setting.get("Comfy.Locale") ?? "en");
  return find(languages[language], path) ?? find(languages[language.split("-")[0]], path);
}

/**
 * @param {Words | undefined} words
 * @param {string} key
 * @returns {string | undefined}
 */
function find(words, key) {
  /** @type {string | Words | undefined} */
  let found = words;
  for (const part of key.split(".")) found = typeof found === "object" ? found[part] : undefined;
  return typeof found === "string" ? found : undefined;
}
