// SPDX-License-Identifier: Apache-2.0
// What the CPU's performance events tell about aborts: how many, why, and at which instructions of which sections.
import * as charts from "../charts";
import { causeColour, inOrder, type Part } from "../colours";
import { element, note, section } from "../dom";
import { figure, legend } from "../figure";
import { flame } from "../flame";
import * as format from "../format";
import type { AbortEvents, AbortPaths, AbortSource, CallPaths, ProfileReport } from "../report";
import { type Column, table } from "../table";
import { distinct, placeCell, placeWithSource } from "./why";

const MOST_SOURCES = 20;
const MOST_CALLS = 3;

const MEANINGS: Record<string, string> = {
  conflict: "another thread accessed the same cache line",
  capacity: "the transaction accessed more than the CPU can keep track of",
  "lock-busy": "the lock was held",
  explicit: "another XABORT",
  instruction: "one that no transaction may execute, a system call or a fault",
  interrupt: "an interrupt",
  unknown: "the CPU did not say",
};

/** Why there is no section on aborts, or "" if there is one. */
export function noAborts({ abort_events: events }: ProfileReport): string {
  const reason =
    events === null
      ? "none were recorded"
      : "missing" in events
        ? events.missing
        : events.aborts === 0
          ? "no transaction aborted"
          : "";
  return reason === "" ? "" : `Aborts by instruction: ${reason}.`;
}

function causes({ by_cause: counts }: AbortEvents): HTMLElement {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const columns: Column<string>[] = [
    { title: "cause", cell: (cause) => cause },
    {
      title: "aborts, estimated",
      number: true,
      cell: (cause) => ({ text: format.count(Math.round(counts[cause] ?? 0)), key: counts[cause] ?? 0 }),
    },
    {
      title: "share of aborts",
      number: true,
      cell: (cause) => {
        const share = (counts[cause] ?? 0) / all;
        return { text: format.percent(share), key: share };
      },
    },
    {
      title: "meaning",
      cell: (cause) => {
        const meaning = MEANINGS[cause];
        return meaning === undefined
          ? { text: "–" }
          : { text: element("span", { class: "words" }, meaning), key: meaning };
      },
    },
  ];
  return table(columns, inOrder(Object.keys(counts)), { caption: "Aborts by cause" });
}

const PLACE: Column<AbortSource> = { title: "aborted at", cell: ({ place }) => placeCell(place) };

/** Only of CPUs that record branches. */
const CALLS: Column<AbortSource> = {
  title: "called by",
  cell: ({ inside }) => ({
    text: element(
      "div",
      { class: "calls" },
      ...inside.slice(0, MOST_CALLS).map((call) => placeCell(call).text),
    ),
    key: inside[0]?.name,
  }),
};

const OTHER_COLUMNS: Column<AbortSource>[] = [
  { title: "share", number: true, cell: ({ share }) => ({ text: format.percent(share), key: share }) },
  { title: "cause", cell: ({ cause }) => cause },
  {
    title: "in sections of",
    cell: ({ section: begin }) => (begin === null ? { text: "unknown" } : placeCell(begin)),
  },
  {
    title: "samples",
    number: true,
    cell: ({ samples }) => ({ text: format.count(samples), key: samples }),
  },
];

function chart(sources: AbortSource[]): HTMLElement {
  const names = distinct(sources.map(({ place }) => placeWithSource(place)));
  const parts = sources.map(({ cause, share }, i) => ({
    name: names[i] ?? "",
    part: cause,
    value: share,
    colour: causeColour(cause),
    ink: "",
  }));
  const options = { names, axis: "share", tick: format.percent };
  const entries = inOrder([...new Set(sources.map(({ cause }) => cause))]).map((cause) => ({
    title: cause,
    colour: causeColour(cause),
  }));
  return figure(
    "Bar chart of the instructions at which transactions aborted, by cause; the table below has the numbers.",
    (width) => charts.stacks(parts, options, width),
    legend(entries),
  );
}

/** The rows with the largest shares, as bars and as a table. */
function instructions({ sources, shares_of: sharesOf }: AbortEvents): Node[] {
  if (sources.length === 0) return [];
  const shown = sources.slice(0, MOST_SOURCES);
  const left =
    sources.length > shown.length ? `, the ${shown.length} largest of ${sources.length} shares` : "";
  const hasCalls = shown.some(({ inside }) => inside.length > 0);
  const columns = [PLACE, ...(hasCalls ? [CALLS] : []), ...OTHER_COLUMNS];
  return [
    note(`Of ${sharesOf}${left}:`),
    chart(shown),
    table(columns, shown, { caption: "Aborts by instruction, cause and section" }),
  ];
}

/** Causes in place of states, and no locks and threads. */
function asCallPaths({ causes: names, frames, stacks, paths }: AbortPaths): CallPaths {
  const none = paths.stack.map(() => -1);
  const { cause, stack, weight, samples } = paths;
  return {
    states: names,
    locks: [],
    frames,
    stacks,
    paths: { state: cause, lock: none, thread: none, stack, ns: weight, samples },
    lost: 0,
  };
}

/** A flame graph: the calls that led to transactions, and those in them. */
function calls({ call_paths: paths }: AbortEvents): HTMLElement | null {
  if (paths === undefined || paths === null) return null;
  const parts: Part[] = inOrder(paths.causes).map((cause) => ({
    key: cause,
    title: cause,
    meaning: MEANINGS[cause] ?? "",
    colour: causeColour(cause),
    ink: "",
  }));
  const isCycles = paths.unit === "cycles";
  const look = {
    id: "abort-flame",
    name: "Call paths of aborts",
    kinds: "Causes",
    parts,
    amount: (weight: number) => `${format.count(Math.round(weight))} ${paths.unit}`,
    shown: isCycles ? "of the cycles shown" : "of the aborts shown",
    noun: isCycles ? "aborted cycles" : "aborts",
  };
  return element(
    "div",
    { class: "paths" },
    note(
      "Above the box \u201c[in a transaction]\u201d are the calls that led to the transaction, below it those in it and the instruction.",
    ),
    ...flame(asCallPaths(paths), [], look),
  );
}

export function aborts({ abort_events: events }: ProfileReport): HTMLElement | null {
  if (events === null || "missing" in events || events.aborts === 0) return null;
  return section(
    "aborts",
    "Aborts",
    note(events.heading),
    Object.keys(events.by_cause).length > 0 ? causes(events) : null,
    ...instructions(events),
    calls(events),
    note(events.trust),
  );
}
