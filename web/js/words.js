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
    languages = Object.fromEntries(Object.entries(found).map(([language, { mizuoto }]) => [language, mizuoto ?? {}]));
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
  const language = String(app.extensionManager.setting.get("Comfy.Locale") ?? "en");
  const sentence = find(languages[language], key) ?? find(languages[language.split("-")[0]], key) ?? find(languages.en, key);
  return (sentence ?? key).replace(/\{(\w+)\}/g, (gap, name) => String(values[name] ?? gap));
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
