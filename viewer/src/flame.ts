// SPDX-License-Identifier: Apache-2.0
// The flame graph: draws call paths (calls.ts) on a canvas. A reader zooms, searches and chooses by mouse or keyboard.
//
// The number of elements does not depend on the profile. For assistive technology the graph is a tree of which only the current function
// is an element; it lies over its place in the canvas and is the visible focus, too.
import { type Box, Calls, callersOf, type Placed } from "./calls";
import { type Part, TIME_PARTS } from "./colours";
import { element, note } from "./dom";
import { keepWidth } from "./figure";
import * as format from "./format";
import { type CallPaths, type Thread, threadName } from "./report";

const ROW = 21;
const MOST_ROWS = 32; // more are scrolled
const TINT = 0.3; // strength of a colour behind text
const PALE_TINT = 0.8; // of outside, which is pale itself
const STRIP = 4; // of the full colour, at the bottom of a box
const FONT = '12px ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", Menlo, Consolas, monospace';
const NARROW = 4; // boxes up to this width have one colour and no text
const FEWEST_LETTERS = 3;
const MOST_LOCKS = 3;

/** `name` in `letters` letters, with its middle left out if need be. */
function shortened(name: string, letters: number): string {
  const all = Array.from(name);
  if (all.length <= letters) return name;
  if (letters < FEWEST_LETTERS) return "";
  const end = Math.floor((letters - 1) / 2);
  return `${all.slice(0, letters - 1 - end).join("")}…${all.slice(all.length - end).join("")}`;
}

/** What a flame graph is of, and what its boxes are called. */
export interface Look {
  id: string; // begins the ids of its elements
  name: string;
  kinds: string; // what colours are
  parts: readonly Part[]; // the kinds, in their order within a box
  amount: (weight: number) => string;
  shown: string; // "of the time shown"
  noun: string; // "time": what the width of a box is
}

export const TIME_LOOK: Look = {
  id: "flame",
  name: "Call paths",
  kinds: "States",
  parts: TIME_PARTS,
  amount: (ns) => format.seconds(1e-9 * ns),
  shown: "of the time shown",
  noun: "time",
};

class Flame {
  readonly parts: HTMLElement[];
  private readonly calls: Calls;
  private readonly partOf: Part[]; // of a state
  private readonly canvas = element("canvas", { "aria-hidden": "true" });
  private readonly mark: HTMLElement;
  private readonly hover = element("div", { class: "hover", "aria-hidden": "true" });
  private readonly room: HTMLElement;
  private readonly tree: HTMLElement;
  private readonly detail = element("div", { class: "detail" });
  private readonly found = element("output", {});
  private readonly whole = element("button", { type: "button" }, "Whole graph");
  private readonly choice: { states: Set<number>; thread: number | null };
  private wanted = ""; // searched for, in lower case
  private zoomed: Box;
  private current: Box;
  private placed: Placed[] = [];
  private width = 0;

  constructor(
    data: CallPaths,
    threads: Thread[],
    private readonly look: Look,
  ) {
    this.calls = new Calls(
      data,
      look.parts.map(({ key }) => key),
    );
    this.partOf = data.states.map(
      (key) =>
        look.parts.find((part) => part.key === key) ?? { ...(TIME_PARTS.at(-1) as Part), key, title: key },
    );
    this.mark = element("div", { class: "mark", id: `${look.id}-current`, role: "treeitem" });
    this.room = element("div", { class: "room" }, this.canvas, this.hover, this.mark);
    this.choice = { states: new Set(this.calls.states), thread: null };
    this.zoomed = this.current = this.calls.root;
    this.tree = element(
      "div",
      {
        class: "flame",
        role: "tree",
        tabindex: "0",
        "aria-label": look.name,
        "aria-describedby": `${look.id}-keys`,
        "aria-activedescendant": `${look.id}-current`,
      },
      this.room,
    );
    this.parts = [
      this.controls(threads),
      this.detail,
      this.tree,
      element(
        "p",
        { class: "note", id: `${look.id}-keys` },
        `A box is a function, below it what it calls. Its width shows ${look.noun}, its colours show ${look.kinds.toLowerCase()}. A click or Enter makes a function as wide as the graph, Escape goes back; arrow keys move.`,
      ),
    ];
    this.listen();
    keepWidth(() => {
      this.draw();
    });
  }

  private controls(threads: Thread[]): HTMLElement {
    const search = element("input", { type: "search", spellcheck: "false" });
    search.addEventListener("input", () => {
      this.wanted = search.value.trim().toLowerCase();
      this.draw();
    });
    const controls = [
      this.stateChoice(),
      threads.length > 1 ? this.threadChoice(threads) : null,
      element("label", {}, "Search ", search),
      this.found,
      this.whole,
    ];
    return element("div", { class: "choices" }, ...controls);
  }

  private stateChoice(): HTMLElement {
    const choices = this.calls.states.map((state) => {
      const { title = "", meaning = "", colour = "" } = this.partOf[state] ?? {};
      const box = element("input", { type: "checkbox", checked: "", value: String(state) });
      box.addEventListener("change", () => {
        if (box.checked) this.choice.states.add(state);
        else this.choice.states.delete(state);
        this.choose();
      });
      const swatch = element("span", { class: "swatch", style: `background:${colour}` });
      return element("label", { title: meaning }, box, swatch, title);
    });
    return element("fieldset", { class: "states" }, element("legend", {}, this.look.kinds), ...choices);
  }

  private threadChoice(threads: Thread[]): HTMLElement {
    const options = threads.map((thread, i) => element("option", { value: String(i) }, threadName(thread)));
    const select = element("select", {}, element("option", { value: "" }, "all"), ...options);
    select.addEventListener("change", () => {
      this.choice.thread = select.value === "" ? null : Number(select.value);
      this.choose();
    });
    return element("label", {}, "Thread ", select);
  }

  private listen(): void {
    this.whole.addEventListener("click", () => {
      this.zoom(this.calls.root);
    });
    this.tree.addEventListener("scroll", () => {
      this.draw();
    });
    this.tree.addEventListener("keydown", (event) => {
      if (!event.altKey && !event.ctrlKey && !event.metaKey && this.move(event.key)) event.preventDefault();
    });
    this.room.addEventListener("mousemove", (event) => {
      this.point(this.placedAt(event));
    });
    this.room.addEventListener("mouseleave", () => {
      this.point(undefined);
    });
    this.room.addEventListener("click", (event) => {
      const target = this.placedAt(event);
      if (target !== undefined) this.zoom(target.box);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.draw();
    });
  }

  private choose(): void {
    const names = [...callersOf(this.zoomed), this.zoomed].slice(1).map(({ name }) => name);
    this.calls.choose(this.choice);
    this.zoom(this.calls.follow(names));
  }

  private zoom(box: Box): void {
    this.zoomed = this.current = box;
    this.draw();
    this.show(box);
  }

  private placedAt({ clientX, clientY }: MouseEvent): Placed | undefined {
    const { left, top } = this.room.getBoundingClientRect();
    const row = Math.floor((clientY - top) / ROW);
    const x = clientX - left;
    return this.placed.find(
      (placed) => placed.row === row && x >= placed.left && x < placed.left + placed.width,
    );
  }

  private point(target: Placed | undefined): void {
    this.hover.hidden = target === undefined;
    if (target !== undefined) this.lay(this.hover, target);
    this.show(target?.box ?? this.current);
  }

  private lay(mark: HTMLElement, { row, left, width }: Placed): void {
    mark.style.left = `${left}px`;
    mark.style.top = `${row * ROW}px`;
    mark.style.width = `${Math.max(width, 2)}px`;
    mark.style.height = `${ROW}px`;
  }

  /** Does what `key` asks for; false if it is none of ours. */
  private move(key: string): boolean {
    const from = this.placed.find(({ box }) => box === this.current);
    if (key === "Enter" || key === " ") this.zoom(this.current);
    else if (key === "Escape") this.zoom(this.zoomed.parent ?? this.zoomed);
    else if (key === "Home") this.goTo(this.placed.find(({ row }) => row === 0));
    else if (from !== undefined && key.startsWith("Arrow")) this.goTo(this.beside(from, key));
    else return false;
    return true;
  }

  private beside({ row, left, width }: Placed, key: string): Placed | undefined {
    const inRow = (wanted: number) => this.placed.filter((placed) => placed.row === wanted);
    if (key === "ArrowUp")
      return inRow(row - 1).find((above) => above.left <= left + 0.01 && above.left + above.width > left);
    if (key === "ArrowDown")
      return inRow(row + 1)
        .sort((a, b) => a.left - b.left)
        .find((below) => below.left >= left - 0.01 && below.left < left + width);
    return key === "ArrowRight"
      ? inRow(row)
          .sort((a, b) => a.left - b.left)
          .find((next) => next.left > left)
      : inRow(row)
          .sort((a, b) => b.left - a.left)
          .find((next) => next.left < left);
  }

  private goTo(target: Placed | undefined): void {
    if (target === undefined) return;
    this.current = target.box;
    const top = target.row * ROW;
    const { scrollTop, clientHeight } = this.tree;
    this.tree.scrollTop = Math.min(Math.max(scrollTop, top + ROW - clientHeight), top);
    this.draw();
    this.show(this.current);
  }

  private draw(): void {
    const first = Math.floor(this.tree.scrollTop / ROW);
    // One row more than is seen, for the arrow keys.
    const last = first + MOST_ROWS + 1;
    this.width = this.tree.clientWidth; // without a scroll bar
    this.placed = this.calls.layout(this.zoomed, this.width, last);
    const rows = this.rowsDownTo(last);
    const height = Math.min(rows, MOST_ROWS) * ROW;
    this.room.style.height = `${rows * ROW}px`;
    this.tree.style.height = `${height}px`;
    this.paint(height, first);
    if (!this.placed.some(({ box }) => box === this.current)) this.current = this.zoomed;
    this.markCurrent();
    this.hover.hidden = true;
    this.whole.disabled = this.zoomed === this.calls.root;
    this.showFound();
    if (this.detail.childElementCount === 0) this.show(this.current);
  }

  /** Rows of the graph; if those placed reach `last`, with all that may follow. */
  private rowsDownTo(last: number): number {
    const deepest = this.placed.reduce((most, { row }) => Math.max(most, row), 0);
    return deepest < last ? deepest + 1 : callersOf(this.zoomed).length + this.calls.rowsFrom(this.zoomed);
  }

  private paint(height: number, first: number): void {
    const pixels = devicePixelRatio;
    this.canvas.width = Math.round(this.width * pixels);
    this.canvas.height = Math.round(height * pixels);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    if (pen === null) return;
    pen.scale(pixels, pixels);
    pen.translate(0, -this.tree.scrollTop);
    pen.font = FONT;
    pen.textBaseline = "middle";
    const style = getComputedStyle(this.canvas);
    const value = (colour: string): string =>
      colour.replace(/^var\((--[a-z-]+)\)$/, (_, name: string) => style.getPropertyValue(name));
    const colours = this.partOf.map(({ colour }) => value(colour));
    const ink = value("var(--text)");
    const letter = pen.measureText("m").width;
    const callers = callersOf(this.zoomed).length;
    for (const placed of this.placed) {
      if (placed.row < first || placed.row > first + MOST_ROWS) continue;
      const isFaint = (this.wanted !== "" && !this.matches(placed.box)) || placed.row < callers;
      this.paintTimes(pen, placed, colours, isFaint ? 0.35 : 1);
      const letters = Math.floor((placed.width - 8) / letter);
      if (placed.width <= NARROW || letters < FEWEST_LETTERS) continue;
      pen.fillStyle = ink;
      pen.globalAlpha = isFaint ? 0.7 : 1;
      const text = shortened(placed.box.name, letters);
      pen.fillText(text, placed.left + 4, (placed.row + 0.5) * ROW - STRIP / 2, placed.width - 8);
    }
  }

  private paintTimes(
    pen: CanvasRenderingContext2D,
    { box, row, left, width }: Placed,
    colours: string[],
    strength: number,
  ): void {
    const times = this.calls.timesOf(box);
    const top = row * ROW;
    if (width <= NARROW) {
      const most = times.reduce((a, b) => (b.ns > a.ns ? b : a), { state: -1, ns: 0 });
      pen.fillStyle = colours[most.state] ?? "";
      pen.globalAlpha = 0.7 * strength;
      pen.fillRect(left, top, width > 2 ? width - 0.5 : width, ROW - 1);
      return;
    }
    // Whole pixels: a part that has none is not drawn, so a box has at most as many parts as pixels.
    let end = left;
    for (const { state, ns } of times) {
      const from = Math.round(end);
      end += ((width - 1) * ns) / box.ns;
      const part = Math.round(end) - from;
      if (part === 0) continue;
      pen.fillStyle = colours[state] ?? "";
      pen.globalAlpha = (this.partOf[state]?.key === "outside" ? PALE_TINT : TINT) * strength;
      pen.fillRect(from, top, part, ROW - 1 - STRIP);
      pen.globalAlpha = strength;
      pen.fillRect(from, top + ROW - 1 - STRIP, part, STRIP);
    }
  }

  private matches(box: Box): boolean {
    return box.together.length > 0
      ? box.together.some((each) => this.matches(each))
      : box.name.toLowerCase().includes(this.wanted);
  }

  private markCurrent(): void {
    const place = this.placed.find(({ box }) => box === this.current);
    if (place === undefined) return;
    const box = this.current;
    const siblings = box.parent === null ? [box] : this.calls.childrenOf(box.parent);
    this.lay(this.mark, place);
    this.mark.setAttribute("aria-level", String(place.row + 1));
    this.mark.setAttribute("aria-setsize", String(siblings.length));
    this.mark.setAttribute("aria-posinset", String(Math.max(siblings.indexOf(box), 0) + 1));
    this.mark.setAttribute("aria-label", `${box.name}, ${this.shareOf(box.ns)}`);
  }

  private shareOf(ns: number): string {
    const all = this.calls.root.ns;
    return `${format.percent(all > 0 ? ns / all : 0)} ${this.look.shown}`;
  }

  private showFound(): void {
    const { functions, ns } = this.wanted === "" ? { functions: 0, ns: 0 } : this.calls.find(this.wanted);
    this.found.textContent =
      this.wanted === "" ? "" : `${format.plural(functions, "function")}, ${this.shareOf(ns)}`;
  }

  /** Says all that is known of a box. */
  private show(box: Box): void {
    this.detail.replaceChildren(
      ...(this.calls.root.ns === 0 ? [note(`No ${this.look.noun} in this choice.`)] : this.factsOf(box)),
    );
  }

  private factsOf(box: Box): HTMLElement[] {
    const [place, ...others] = this.calls.placesOf(box);
    const source =
      place?.file === undefined
        ? ""
        : ` ${place.file}${place.line === undefined ? "" : `:${place.line}`}${others.length === 0 ? "" : ` and ${format.plural(others.length, "other line")}`}`;
    const samples = this.calls.samplesOf(box);
    const numbers = [
      this.shareOf(box.ns),
      this.look.amount(box.ns),
      box.parent === null || box.together.length > 0
        ? ""
        : `in the function itself ${this.look.amount(this.calls.ownTimeOf(box))}`,
      samples > 0 ? format.plural(samples, "sample") : "",
    ].filter((text) => text !== "");
    return [
      element("p", {}, element("strong", {}, box.name), element("small", {}, source)),
      element("p", {}, numbers.join(" · ")),
      element("p", {}, ...this.timesOf(box), this.locksOf(box)),
    ];
  }

  private timesOf(box: Box): HTMLElement[] {
    return this.calls
      .timesOf(box)
      .sort((a, b) => b.ns - a.ns)
      .map(({ state, ns }) => {
        const { colour = "", title = "" } = this.partOf[state] ?? {};
        const swatch = element("span", { class: "swatch", style: `background:${colour}` });
        return element("span", { class: "time" }, swatch, `${title} ${format.percent(ns / box.ns)} `);
      });
  }

  private locksOf(box: Box): string {
    const locks = this.calls.locksOf(box);
    if (locks.length === 0) return "";
    const named = locks.slice(0, MOST_LOCKS).map(({ lock, ns }) => `${lock} ${this.look.amount(ns)}`);
    const more = locks.length > MOST_LOCKS ? `, ${locks.length - MOST_LOCKS} more` : "";
    return `At locks: ${named.join(", ")}${more}`;
  }
}

/** The flame graph of these call paths, with its controls. */
export function flame(data: CallPaths, threads: Thread[], look: Look): HTMLElement[] {
  return new Flame(data, threads, look).parts;
}
