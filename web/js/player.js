// Plays sounds one after the other as if they were one, with a picture of them and what is said in them.
import { iconButton, setIcon } from "./buttons.js";
import { clock, Waveform } from "./waveform.js";
import { say } from "./words.js";

/**
 * @typedef {object} Passage  Its text is anybody's.
 * @property {string} text
 * @property {number} start  Seconds from the beginning of its sound.
 * @property {number} [shown]  The time to show of it, in seconds, where that is not its place among the sounds.
 *
 * @typedef {object} Sound
 * @property {string} [url]  None where it can be seen only.
 * @property {number} seconds
 * @property {number[]} peaks
 * @property {Passage[]} passages  In order.
 *
 * @typedef {{url: string | undefined, seconds: number, peaks: number[], start: number}} Track
 * @typedef {{start: number, text: string, button: HTMLButtonElement, row: HTMLElement}} Row
 */

const START = 0.02; // s; a browser may stop that much before the place that it was told

/** The one that plays: two at once are a noise. @type {Player | undefined} */
let playing;

export class Player {
  constructor() {
    /** @type {Track[]} */
    this.tracks = [];
    /** @type {Row[]} */
    this.rows = [];
    this.loaded = -1; // which track
    this.isWaiting = false; // for a track that is not made yet
    this.frame = 0; // that `follow` waits for
    this.audio = document.createElement("audio");
    this.audio.preload = "auto";
    this.button = iconButton(() => this.toggle());
    this.waveform = new Waveform((seconds) => this.seek(seconds));
    this.time = document.createElement("time");
    this.note = document.createElement("p");
    this.note.setAttribute("role", "status");
    this.list = document.createElement("ol");
    this.list.className = "mizuoto-list";
    this.list.tabIndex = 0; // in focus it scrolls, by keyboard and by wheel
    this.list.ariaLabel = say("player.passages");
    this.element = document.createElement("div");
    this.bar = document.createElement("div");
    this.bar.className = "mizuoto-bar";
    this.bar.append(this.button, this.waveform.element, this.time, this.audio);
    this.element.append(this.bar, this.note, this.list);
    this.listen();
    this.clear();
  }

  listen() {
    this.audio.addEventListener("play", () => this.onPlay());
    this.audio.addEventListener("pause", () => this.showButton());
    this.audio.addEventListener("ended", () => this.onEnded());
    this.audio.addEventListener("error", () => this.onError());
  }

  /** Nothing to play. */
  clear() {
    this.tracks = [];
    this.rows = [];
    this.list.replaceChildren();
    this.list.hidden = true;
    this.unload();
    this.waveform.draw([], []);
    this.waveform.light(0, 0);
    this.tell("");
    this.show();
    this.showButton();
  }

  /** Lets go of the sound; called when its node is removed. */
  unload() {
    this.loaded = -1;
    this.isWaiting = false;
    this.audio.pause();
    this.audio.removeAttribute("src");
    this.audio.load();
    if (playing === this) playing = undefined;
  }

  /** @param {string} sentence  For the user, in place of a sound or beside it. */
  tell(sentence) {
    this.note.textContent = sentence;
    this.note.hidden = !sentence;
    this.bar.hidden = !!sentence && !this.tracks.length;
  }

  /** @param {Sound} sound  Comes after those that are there. */
  add({ url, seconds, peaks, passages }) {
    const start = this.seconds;
    this.tracks.push({ url, seconds, peaks, start });
    this.bar.hidden = false;
    for (const { text, start: offset, shown } of passages) this.addRow(text, start + offset, shown);
    this.waveform.draw(this.tracks, this.rows.map((row) => row.start).filter(Boolean));
    if (this.isWaiting) this.playFrom(start);
    this.show();
    this.showButton();
  }

  get seconds() {
    const last = this.tracks.at(-1);
    return last ? last.start + last.seconds : 0;
  }

  /** All that is said, a passage a line. */
  get text() {
    return this.rows.map(({ text }) => text).join("\n");
  }

  get position() {
    const track = this.tracks[this.loaded];
    return track ? track.start + Math.min(this.audio.currentTime, track.seconds) : 0;
  }

  /**
   * @param {string} text
   * @param {number} start
   * @param {number} [shown]
   */
  addRow(text, start, shown = start) {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = clock(shown);
    button.ariaLabel = say("player.playFrom", { time: clock(shown), text });
    const words = document.createElement("span");
    words.textContent = text;
    row.append(button, words);
    row.addEventListener("click", () => {
      if (getSelection()?.isCollapsed !== false) this.playFrom(start); // else the words were marked, to be copied
    });
    this.list.append(row);
    this.list.hidden = false;
    this.rows.push({ start, text, button, row });
  }

  toggle() {
    if (!this.audio.paused) this.audio.pause();
    else this.playFrom(this.position >= this.seconds - START ? 0 : this.position);
  }

  /** @param {number} seconds */
  playFrom(seconds) {
    this.seek(seconds);
    this.audio.play().catch(() => {}); // the page may not play yet, or another place was chosen meanwhile
  }

  /** Goes on from there if it plays. @param {number} seconds */
  seek(seconds) {
    const wasPlaying = !this.audio.paused;
    const found = this.tracks.findLastIndex((track) => track.start <= seconds + START);
    if (found < 0) return;
    this.load(found);
    this.audio.currentTime = Math.max(seconds - this.tracks[found].start, 0);
    if (wasPlaying) this.audio.play().catch(() => {});
    this.show();
  }

  /** @param {number} index */
  load(index) {
    this.isWaiting = false;
    if (index === this.loaded) return;
    this.loaded = index;
    this.audio.src = this.tracks[index].url ?? "";
  }

  onPlay() {
    if (playing !== this) playing?.audio.pause();
    playing = this;
    this.showButton();
    this.follow();
  }

  onEnded() {
    const next = this.tracks[this.loaded + 1];
    if (next) this.playFrom(next.start);
    else this.isWaiting = true;
    this.showButton();
  }

  onError() {
    if (this.audio.getAttribute("src")) this.tell(say("player.gone"));
    this.showButton();
  }

  /** Moves along with the sound, once a frame while it plays. */
  follow() {
    cancelAnimationFrame(this.frame); // a change of place or track starts it anew
    this.show();
    if (!this.audio.paused) this.frame = requestAnimationFrame(() => this.follow());
  }

  show() {
    const { position } = this;
    this.waveform.move(position);
    this.time.textContent = `${clock(position)} / ${clock(this.seconds)}`;
    this.light(Math.max(this.rows.findLastIndex((row) => row.start <= position + START), 0));
  }

  /** @param {number} index  Of the row that is said now. */
  light(index) {
    if (this.rows.length < 2) return; // it is the only one
    const { start, button, row } = this.rows[index];
    this.waveform.light(start, this.rows[index + 1]?.start ?? this.seconds);
    if (button.ariaCurrent === "true") return;
    for (const each of this.rows) each.button.ariaCurrent = String(each.button === button);
    const { scrollTop, clientHeight } = this.list;
    const isSeen = row.offsetTop >= scrollTop && row.offsetTop + row.offsetHeight <= scrollTop + clientHeight;
    if (!isSeen) this.list.scrollTop = row.offsetTop;
  }

  showButton() {
    const name = this.audio.paused ? "play" : "pause";
    this.button.disabled = !this.tracks.some((track) => track.url);
    setIcon(this.button, name, say(`player.${name}`));
  }
}
