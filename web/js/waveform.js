// A picture of a sound, in which a place can be chosen by the mouse and by the keyboard.
import { say } from "./words.js";

const QUIETEST = 20; // of peaks up to 99: what is below stays low, so that silence looks like it
const COLUMNS = 600;
const STEP = 1; // second
const MAX_MARKS = 150; // more of them would hide the sound

/** A number of seconds as "1:02", for people. @param {number} seconds */
export function clock(seconds) {
  const whole = Math.floor(Math.max(seconds, 0));
  const pair = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const rest = `${whole >= 3600 ? pair(Math.floor(whole / 60) % 60) : Math.floor(whole / 60)}:${pair(whole % 60)}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${rest}` : rest;
}

export class Waveform {
  /** @param {(seconds: number) => void} onSeek */
  constructor(onSeek) {
    this.seconds = 0;
    this.position = 0;
    this.onSeek = onSeek;
    this.element = document.createElement("div");
    this.element.className = "mizuoto-waveform";
    this.element.tabIndex = 0;
    this.element.role = "slider";
    this.element.ariaLabel = say("player.position");
    // It scales with the node and with the zoom of the canvas, and takes its colours from the theme.
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 -1 1 2");
    svg.setAttribute("preserveAspectRatio", "none");
    this.sound = document.createElementNS(svg.namespaceURI, "path");
    this.sound.setAttribute("class", "sound");
    this.marks = document.createElementNS(svg.namespaceURI, "path");
    this.marks.setAttribute("class", "marks");
    svg.append(this.marks, this.sound);
    this.current = document.createElement("div");
    this.current.className = "current";
    this.playhead = document.createElement("div");
    this.playhead.className = "playhead";
    this.element.append(svg, this.current, this.playhead);
    this.element.addEventListener("pointerdown", (event) => this.choose(event));
    this.element.addEventListener("keydown", (event) => this.press(event));
  }

  /**
   * @param {{peaks: number[], seconds: number}[]} sounds  One after the other.
   * @param {number[]} marks  Seconds.
   */
  draw(sounds, marks) {
    this.seconds = sounds.reduce((sum, { seconds }) => sum + seconds, 0);
    this.element.ariaValueMin = "0";
    this.element.ariaValueMax = String(Math.round(this.seconds));
    const columns = heights(sounds, this.seconds);
    const edge = columns.map((height, index) => `${index / columns.length} ${height}`);
    const mirrored = columns.map((height, index) => `${index / columns.length} ${-height}`).reverse();
    this.sound.setAttribute("d", edge.length ? `M${edge.join("L")}L1 0L${mirrored.join("L")}Z` : "");
    const shown = marks.length > MAX_MARKS ? [] : marks;
    this.marks.setAttribute("d", shown.map((seconds) => `M${seconds / this.seconds} -1V1`).join(""));
    this.move(Math.min(this.position, this.seconds));
  }

  /** @param {number} seconds  Where it plays. */
  move(seconds) {
    this.position = seconds;
    this.playhead.style.left = this.share(seconds);
    this.element.ariaValueNow = String(Math.round(seconds));
    this.element.ariaValueText = clock(seconds);
  }

  /**
   * @param {number} start  Of the part that is lit up.
   * @param {number} end
   */
  light(start, end) {
    this.current.style.left = this.share(start);
    this.current.style.width = this.share(end - start);
  }

  /** @param {number} seconds */
  share(seconds) {
    return `${this.seconds ? (100 * seconds) / this.seconds : 0}%`;
  }

  /** @param {PointerEvent} event */
  choose(event) {
    if (event.button !== 0) return;
    const { left, width } = this.element.getBoundingClientRect(); // as it is on the screen, at any zoom
    this.onSeek(Math.min(Math.max((event.clientX - left) / width, 0), 1) * this.seconds);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const places = {
      ArrowLeft: this.position - STEP,
      ArrowDown: this.position - STEP,
      ArrowRight: this.position + STEP,
      ArrowUp: this.position + STEP,
      PageDown: this.position - 10 * STEP,
      PageUp: this.position + 10 * STEP,
      Home: 0,
      End: this.seconds,
    };
    const place = places[/** @type {keyof typeof places} */ (event.key)];
    if (place === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // the page moves nodes by these keys
    this.onSeek(Math.min(Math.max(place, 0), this.seconds));
  }
}

/**
 * How high each column is, 0 to 1, the loudest as high as there is room.
 *
 * @param {{peaks: number[], seconds: number}[]} sounds
 * @param {number} total  Seconds.
 */
function heights(sounds, total) {
  const columns = new Array(total ? COLUMNS : 0).fill(0);
  let start = 0;
  for (const { peaks, seconds } of sounds) {
    const place = (/** @type {number} */ index) => ((start + (index * seconds) / peaks.length) / total) * COLUMNS;
    for (const [index, peak] of peaks.entries()) {
      const end = Math.min(Math.ceil(place(index + 1)), COLUMNS);
      for (let column = Math.floor(place(index)); column < end; column++)
        columns[column] = Math.max(columns[column], peak);
    }
    start += seconds;
  }
  const loudest = Math.max(QUIETEST, ...columns);
  return columns.map((peak) => (0.95 * peak) / loudest);
}
