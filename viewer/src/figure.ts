// SPDX-License-Identifier: Apache-2.0
// Charts in the page: each is drawn for the width that it has, and again when that changes or the page is printed.
import { element } from "./dom";

/** What draws a chart `width` pixels wide. */
export type Draw = (width: number) => Element;

const PRINTED_WIDTH = 680; // A4 and Letter with our margins, in CSS pixels

const drawn: { place: HTMLElement; draw: Draw; label: string }[] = [];
const kept: ((width: number) => void)[] = [];

/** A chart with a legend and with its text alternative, which also says where its numbers are. */
export function figure(label: string, draw: Draw, legend?: HTMLElement): HTMLElement {
  const place = element("div", { class: "chart" });
  drawn.push({ place, draw, label });
  return element("figure", {}, legend, place);
}

/** Calls `draw` whenever charts are drawn, with their width. */
export function keepWidth(draw: (width: number) => void): void {
  kept.push(draw);
}

function drawAll(width: number): void {
  for (const { place, draw, label } of drawn) {
    const chart = draw(width);
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", label);
    place.replaceChildren(chart);
  }
  for (const draw of kept) draw(width);
}

/** Draws all figures in `page`, now and whenever its width changes. */
export function keepDrawn(page: HTMLElement): void {
  let width = 0;
  const redraw = (wanted: number): void => {
    if (wanted === width || wanted <= 0) return;
    width = wanted;
    drawAll(width);
  };
  const paper = matchMedia("print");
  const fit = (): void => {
    const { paddingLeft, paddingRight } = getComputedStyle(page);
    redraw(
      paper.matches
        ? PRINTED_WIDTH
        : Math.floor(page.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)),
    );
  };
  fit();
  new ResizeObserver(fit).observe(page);
  paper.addEventListener("change", fit);
  addEventListener("beforeprint", () => {
    redraw(PRINTED_WIDTH);
  });
  addEventListener("afterprint", fit);
}

export interface LegendEntry {
  title: string;
  colour: string;
  meaning?: string;
}

export function legend(entries: LegendEntry[]): HTMLElement {
  return element(
    "ul",
    { class: "legend" },
    ...entries.map(({ title, colour, meaning }) =>
      element(
        "li",
        meaning === undefined ? {} : { title: meaning },
        element("span", { class: "swatch", style: `background:${colour}` }),
        title,
      ),
    ),
  );
}
