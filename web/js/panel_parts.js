// What the parts of the memory panel share: how they make elements, and how they write times.
import { say } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} [className]
 * @param {(string | Node)[]} content
 */
export function element(name, className = "", ...content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

/**
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {{[attribute: string]: string | number}} [attributes]
 * @param {(string | Node)[]} content
 */
export function drawn(name, attributes = {}, ...content) {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  made.append(...content);
  return made;
}

/**
 * @param {string} label
 * @param {() => void} onClick
 */
export function textButton(label, onClick) {
  const button = element("button", "", label);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

/** @param {number} count  Of seconds. */
export function seconds(count) {
  if (count < 60) return `${count.toFixed(count < 9.95 ? 1 : 0)} s`;
  const whole = Math.round(count);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/**
 * The time of day so many seconds ago, by this computer's clock.
 *
 * @param {number} ago
 */
export function timeOfDay(ago) {
  return new Date(Date.now() - ago * 1000).toLocaleTimeString();
}

/**
 * Changes a text only where it is another, so that what is selected or read aloud is left in peace.
 *
 * @param {Element} where
 * @param {string} text
 */
export function write(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/**
 * What colours mean.
 *
 * @param {string[]} kinds  Classes of a colour, and keys of `panel.legend`.
 */
export function legend(kinds) {
  const entries = kinds.map((kind) => {
    const sample = element("span", `sample ${kind}`);
    sample.ariaHidden = "true";
    return element("li", "", sample, say(`panel.legend.${kind}`));
  });
  return element("ul", "legend", ...entries);
}
