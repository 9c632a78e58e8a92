// The style sheets of the pack.

/** Those that are in the page. @type {Set<string>} */
const there = new Set();

/**
 * Brings a style sheet into the page, unless it is there; one that could not be fetched is fetched again the next time.
 *
 * @param {"nodes" | "panel"} name
 */
export function needStyle(name) {
  if (there.has(name)) return;
  there.add(name);
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL(`../css/${name}.css`, import.meta.url).href;
  link.addEventListener("error", () => {
    there.delete(name);
    link.remove();
  });
  document.head.append(link);
}
