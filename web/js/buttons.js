// Buttons with a picture in place of words.
import { app } from "../../../scripts/app.js";
import { say } from "./words.js";

/** @param {() => void} onClick */
export function iconButton(onClick) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(document.createElement("i"));
  button.addEventListener("click", onClick);
  return button;
}

/**
 * @param {HTMLButtonElement} button  Of `iconButton`.
 * @param {string} icon  Of PrimeIcons.
 * @param {string} label  For those who do not see it, or do not know it.
 */
export function setIcon(button, icon, label) {
  const picture = /** @type {HTMLElement} */ (button.firstElementChild);
  picture.className = `pi pi-${icon}`;
  button.ariaLabel = button.title = label;
}

/**
 * A button that copies a text.
 *
 * @param {() => string} text
 */
export function copyButton(text) {
  const button = iconButton(() => copy(text()));
  setIcon(button, "copy", say("player.copy"));
  return button;
}

/** @param {string} text */
async function copy(text) {
  const isCopied = await write(text);
  app.extensionManager.toast.add({
    severity: isCopied ? "success" : "error",
    summary: say(isCopied ? "player.copied" : "player.notCopied"),
    life: 3000,
  });
}

/**
 * @param {string} text
 * @returns {Promise<boolean>}
 */
async function write(text) {
  // A browser has no clipboard for pages that come over plain HTTP from another machine.
  if (!navigator.clipboard) return writeSelected(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => writeSelected(text),
  );
}

/** @param {string} text */
function writeSelected(text) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const field = document.createElement("textarea");
  field.value = text;
  field.style.cssText = "position: fixed; opacity: 0";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}
