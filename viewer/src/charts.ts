// SPDX-License-Identifier: Apache-2.0
// The charts, by Observable Plot. Each function returns an SVG of the given width.
import * as Plot from "@observablehq/plot";
import { lineStyle } from "./colours";
import * as format from "./format";
import type { Range } from "./report";

const BAR = 26;
const FONT = "system-ui, sans-serif";
const FONT_SIZE = "12px";
const NAME_GAP = 14; // between a name and what it names

const ruler = document.createElement("canvas").getContext("2d");

/** The width of `text` in a chart, in pixels. */
function widthOf(text: string): number {
  if (ruler === null) return 8 * text.length;
  ruler.font = `${FONT_SIZE} ${FONT}`;
  return ruler.measureText(text).width;
}

/** The space that these names need, at most 40 % of the chart. */
function nameSpace(names: string[], width: number): number {
  return Math.ceil(Math.min(Math.max(...names.map(widthOf), 0) + NAME_GAP, 0.4 * width));
}

/** `name` with its middle left out if it does not fit into `space`; the end tells similar names apart. */
function shortened(name: string, space: number): string {
  if (widthOf(name) <= space - NAME_GAP) return name;
  const letters = Array.from(name);
  for (let kept = Math.min(letters.length - 1, 200); kept > 2; --kept) {
    const end = Math.floor(kept / 2);
    const short = `${letters.slice(0, kept - end).join("")}…${letters.slice(letters.length - end).join("")}`;
    if (widthOf(short) <= space - NAME_GAP) return short;
  }
  return "…";
}

function ticksFor(width: number): number {
  return Math.max(2, Math.floor(width / 110));
}

const base = (width: number, rows: number, marginLeft: number) => ({
  width,
  height: rows * BAR + 58,
  marginLeft,
  marginTop: 4,
  marginBottom: 44,
  style: { fontFamily: FONT, fontSize: FONT_SIZE, overflow: "visible", background: "transparent" },
});

export interface ResultBar {
  name: string;
  value: Range;
  runs: number[];
  best: boolean;
  label: string; // after the bar
  interval: string; // after the label, if there is room
}

/** One bar a design from zero to the median, every run as a dot, the range as a line. */
export function results(
  bars: ResultBar[],
  axis: string,
  tick: (value: number) => string,
  width: number,
): Element {
  const space = nameSpace(
    bars.map(({ name }) => name),
    width,
  );
  const dots = bars.flatMap(({ name, runs }) => runs.map((value) => ({ name, value })));
  const most = Math.max(...bars.map(({ value }) => value.high));
  const labels = bars.map((bar) => ({
    ...bar,
    text: width < 640 || bar.interval === "" ? bar.label : `${bar.label}  ${bar.interval}`,
  }));
  return Plot.plot({
    ...base(width, bars.length, space),
    marginRight: 24 + Math.max(...labels.map(({ text }) => 1.1 * widthOf(text))), // bold
    x: {
      label: axis,
      labelArrow: "none",
      labelAnchor: "center",
      domain: [0, most],
      nice: false,
      tickFormat: format.shortly(tick),
      ticks: ticksFor(width - space),
      grid: true,
    },
    y: {
      label: null,
      domain: bars.map(({ name }) => name),
      tickSize: 0,
      tickFormat: (name: string) => shortened(name, space),
    },
    marks: [
      Plot.barX(bars, {
        x: (bar: ResultBar) => bar.value.median,
        y: "name",
        fill: (bar: ResultBar) => (bar.best ? "var(--accent)" : "var(--bar)"),
        insetTop: 2,
        insetBottom: 2,
        title: (bar: ResultBar) =>
          `${bar.name}: ${tick(bar.value.median)}, from ${tick(bar.value.low)} to ${tick(bar.value.high)}`,
      }),
      Plot.ruleY(bars, {
        x1: (bar: ResultBar) => bar.value.low,
        x2: (bar: ResultBar) => bar.value.high,
        y: "name",
        stroke: "var(--text)",
        strokeWidth: 1.5,
      }),
      Plot.dot(dots, {
        x: "value",
        y: "name",
        r: 2.5,
        fill: "var(--surface)",
        stroke: "var(--text)",
        strokeWidth: 1,
      }),
      Plot.text(labels, {
        x: (bar: ResultBar) => bar.value.high,
        y: "name",
        text: "text",
        textAnchor: "start",
        dx: 8,
        fill: "var(--text)",
        fontWeight: 600,
      }),
      Plot.ruleX([0], { stroke: "var(--faint)" }),
    ],
  });
}

export interface RatioBar {
  name: string;
  ratio: Range;
  ratios: number[];
  best: boolean;
}

/** Ratios to the reference over variations of the machine, on a logarithmic scale: twice and half are equally far from 1. */
export function ratios(bars: RatioBar[], axis: string, width: number): Element {
  const space = nameSpace(
    bars.map(({ name }) => name),
    width,
  );
  const dots = bars.flatMap(({ name, ratios: all, best }) => all.map((value) => ({ name, value, best })));
  const low = Math.min(0.5, ...bars.map(({ ratio }) => ratio.low));
  const high = Math.max(2, ...bars.map(({ ratio }) => ratio.high));
  return Plot.plot({
    ...base(width, bars.length, space),
    marginRight: 64,
    x: {
      type: "log",
      label: axis,
      labelArrow: "none",
      labelAnchor: "center",
      domain: [low * 0.95, high * 1.05],
      tickFormat: (value: number) => `${value}×`,
      ticks: ticksFor(width - space),
      grid: true,
    },
    y: {
      label: null,
      domain: bars.map(({ name }) => name),
      tickSize: 0,
      tickFormat: (name: string) => shortened(name, space),
    },
    marks: [
      Plot.ruleX([1], { stroke: "var(--text)", strokeDasharray: "4 3" }),
      Plot.ruleY(bars, {
        x1: (bar: RatioBar) => bar.ratio.low,
        x2: (bar: RatioBar) => bar.ratio.high,
        y: "name",
        stroke: (bar: RatioBar) => (bar.best ? "var(--accent)" : "var(--bar)"),
        strokeWidth: 7,
        strokeLinecap: "round",
        strokeOpacity: 0.55,
      }),
      Plot.dot(dots, { x: "value", y: "name", r: 2.5, fill: "var(--text)", fillOpacity: 0.6 }),
      Plot.tickX(bars, {
        x: (bar: RatioBar) => bar.ratio.median,
        y: "name",
        stroke: "var(--text)",
        strokeWidth: 2.5,
        inset: 5,
      }),
      Plot.text(bars, {
        x: (bar: RatioBar) => bar.ratio.high,
        y: "name",
        text: (bar: RatioBar) => format.ratio(bar.ratio.median),
        textAnchor: "start",
        dx: 10,
        fill: "var(--text)",
        fontWeight: 600,
      }),
    ],
  });
}

export interface StackPart {
  name: string; // of the bar
  part: string;
  value: number;
  colour: string;
  ink: string;
}

interface StackOptions {
  names: string[];
  axis: string;
  tick: (value: number) => string;
  most?: number; // the end of the axis; else the longest bar
}

/** One stacked bar a name. Parts that have room for it show their value. */
export function stacks(parts: StackPart[], options: StackOptions, width: number): Element {
  const { names, axis, tick } = options;
  const space = nameSpace(names, width);
  const ends = new Map<string, number>();
  const segments = parts.map((part) => {
    const start = ends.get(part.name) ?? 0;
    ends.set(part.name, start + part.value);
    return { ...part, start, end: start + part.value };
  });
  const most = options.most ?? Math.max(...ends.values(), 1e-12);
  const pixels = (width - space - 20) / most;
  const wide = segments.filter(({ value, ink }) => ink !== "" && value * pixels > widthOf(tick(value)) + 6);
  return Plot.plot({
    ...base(width, names.length, space),
    marginRight: 20,
    x: {
      label: axis,
      labelArrow: "none",
      labelAnchor: "center",
      domain: [0, most],
      tickFormat: format.shortly(tick),
      ticks: ticksFor(width - space),
      grid: true,
    },
    y: { label: null, domain: names, tickSize: 0, tickFormat: (name: string) => shortened(name, space) },
    marks: [
      Plot.barX(segments, {
        x1: "start",
        x2: "end",
        y: "name",
        fill: "colour",
        stroke: "var(--edge)",
        strokeWidth: 0.75,
        insetTop: 2,
        insetBottom: 2,
        title: (segment: StackPart) => `${segment.name}, ${segment.part}: ${tick(segment.value)}`,
      }),
      Plot.text(wide, {
        x: (segment: { start: number; end: number }) => (segment.start + segment.end) / 2,
        y: "name",
        text: (segment: StackPart) => tick(segment.value),
        fill: "ink",
        pointerEvents: "none",
      }),
    ],
  });
}

export interface ScalingPoint {
  name: string;
  number: number; // of the design
  threads: number;
  value: number;
}

/** Labels at the ends of lines, moved apart so that none hides another. Returns the y coordinate of each, in pixels. */
export function spreadLabels(wanted: number[], gap: number, top: number, bottom: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const result = [...wanted];
  let last = top - gap;
  for (const i of order) last = result[i] = Math.max(wanted[i] ?? 0, last + gap);
  let next = bottom + gap;
  for (const i of order.reverse()) next = result[i] = Math.min(result[i] ?? 0, next - gap);
  return result;
}

/** One line a design over the number of threads, named at its end. */
export function scaling(
  points: ScalingPoint[],
  axis: string,
  tick: (value: number) => string,
  width: number,
): Element {
  const names = [...new Set(points.map(({ name }) => name))];
  const space = nameSpace(names, width);
  const counts = [...new Set(points.map(({ threads }) => threads))].sort((a, b) => a - b);
  const lasts = names.map((name) =>
    points.filter((point) => point.name === name).reduce((a, b) => (b.threads > a.threads ? b : a)),
  );
  const last = counts.at(-1) ?? 1;
  const gap = 15;
  const height = Math.max(320, names.length * gap + 80);
  const style = (point: ScalingPoint) => lineStyle(point.number);
  const spacing = (width - 56 - space) / Math.max(1, Math.log2((counts.at(-1) ?? 2) / (counts[0] ?? 1)));
  const shown = counts.filter(
    (value, i) => i === 0 || Math.log2(value / (counts[i - 1] ?? 1)) * spacing > 18,
  );
  const options: Plot.PlotOptions = {
    width,
    height,
    marginLeft: 56,
    marginRight: space + 20,
    marginBottom: 44,
    marginTop: 24,
    style: { fontFamily: FONT, fontSize: FONT_SIZE, overflow: "visible", background: "transparent" },
    x: {
      type: "log",
      base: 2,
      label: "threads",
      labelArrow: "none",
      labelAnchor: "center",
      ticks: shown,
      tickFormat: (value: number) => String(value),
      domain: [counts[0] ?? 1, counts.at(-1) ?? 2],
    },
    y: {
      label: axis,
      labelArrow: "none",
      domain: [0, Math.max(...points.map(({ value }) => value))],
      nice: true,
      tickFormat: format.shortly(tick),
      grid: true,
    },
    symbol: { type: "identity" },
  };
  const y = Plot.plot({ ...options, marks: [Plot.frame()] }).scale("y");
  const ends = spreadLabels(
    lasts.map(({ value }) => Number(y?.apply(value))),
    gap,
    24,
    height - 44,
  );
  const labels = lasts.map((last, i) => ({ ...last, at: Number(y?.invert?.(ends[i])) }));
  const perDesign = names.flatMap((name) => {
    const own = points.filter((point) => point.name === name);
    const first = own[0];
    if (first === undefined) return [];
    const { colour, symbol, dash } = style(first);
    return [
      Plot.line(own, { x: "threads", y: "value", stroke: colour, strokeWidth: 2, strokeDasharray: dash }),
      Plot.dot(own, {
        x: "threads",
        y: "value",
        symbol,
        r: 4,
        fill: colour,
        stroke: "var(--surface)",
        strokeWidth: 0.8,
        title: (point: ScalingPoint) =>
          `${point.name}, ${format.threads(point.threads)}: ${tick(point.value)}`,
      }),
    ];
  });
  return Plot.plot({
    ...options,
    marks: [
      ...perDesign,
      ...labels.flatMap((label) => {
        const { colour, symbol } = style(label);
        return [
          Plot.dot([label], { x: last, y: "at", symbol, r: 4, fill: colour, dx: 14 }),
          Plot.text([label], {
            x: last,
            y: "at",
            text: [shortened(label.name, space)],
            textAnchor: "start",
            dx: 23,
            fill: "var(--text)",
          }),
        ];
      }),
    ],
  });
}
