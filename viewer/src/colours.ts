// SPDX-License-Identifier: Apache-2.0
// Colours of parts, designs and causes. The hues are those of Okabe and Ito (Color Universal Design), which people with the common
// kinds of colour blindness can tell apart. style.css gives them their values for light, dark and paper.

export interface Part {
  key: string;
  title: string;
  meaning: string;
  colour: string;
  ink: string; // of text on it
}

const DARK_INK = "#10151c";

/** The parts of thread time, useful ones first. */
export const TIME_PARTS: Part[] = [
  {
    key: "section",
    title: "in sections",
    meaning: "holds the lock",
    colour: "var(--blue)",
    ink: "var(--on-blue)",
  },
  {
    key: "attempt",
    title: "in transactions",
    meaning: "in transactions that committed",
    colour: "var(--green)",
    ink: "var(--on-green)",
  },
  {
    key: "aborted",
    title: "aborted",
    meaning: "in transactions that aborted",
    colour: "var(--red)",
    ink: "var(--on-red)",
  },
  {
    key: "fallback",
    title: "fallback",
    meaning: "holds the lock because elision was given up",
    colour: "var(--orange)",
    ink: DARK_INK,
  },
  { key: "waiting", title: "waiting", meaning: "waits for a lock", colour: "var(--yellow)", ink: DARK_INK },
  {
    key: "speculating",
    title: "speculating",
    meaning: "in transactions that only warm the caches",
    colour: "var(--sky)",
    ink: DARK_INK,
  },
  {
    key: "overhead",
    title: "overhead",
    meaning: "in the lock's own code",
    colour: "var(--pink)",
    ink: DARK_INK,
  },
  {
    key: "blocked",
    title: "blocked",
    meaning: "waits for a condition or at a barrier",
    colour: "var(--grey)",
    ink: "var(--on-grey)",
  },
  { key: "outside", title: "outside", meaning: "none of these", colour: "var(--pale)", ink: "var(--text)" },
];

/** The causes of src/abi/counters.h and of the CPU's samples (src/profile/abort_account.h), in the order of the bars. */
const CAUSES: [string, string][] = [
  ["conflict", "red"],
  ["capacity", "sky"],
  ["lock-busy", "yellow"],
  ["explicit", "pink"],
  ["nested", "green"],
  ["debug", "blue"],
  ["instruction", "orange"],
  ["interrupt", "green"],
  ["other", "grey"],
];

/** Known causes first, in their order. */
export function inOrder(causes: string[]): string[] {
  const known = CAUSES.map(([name]) => name);
  return [
    ...known.filter((name) => causes.includes(name)),
    ...causes.filter((name) => !known.includes(name)).sort(),
  ];
}

export function causeColour(cause: string): string {
  return `var(--${CAUSES.find(([name]) => name === cause)?.[1] ?? "pale"})`;
}

const LINE_COLOURS = ["blue", "red", "green", "pink", "orange", "sky"];
const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "hexagon"] as const;

export interface LineStyle {
  colour: string;
  symbol: (typeof SYMBOLS)[number];
  dash: string;
}

/** Line, symbol and dashes of the design with that number; design 0 is the reference. Any two of the first 42 differ. */
export function lineStyle(number: number): LineStyle {
  if (number === 0) return { colour: "var(--text)", symbol: "circle", dash: "5 3" };
  return {
    colour: `var(--${LINE_COLOURS[(number - 1) % LINE_COLOURS.length] ?? "grey"})`,
    symbol: SYMBOLS[number % SYMBOLS.length] ?? "circle",
    dash: number > LINE_COLOURS.length ? "2 2" : "none",
  };
}
