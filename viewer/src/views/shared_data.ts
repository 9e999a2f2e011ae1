// SPDX-License-Identifier: Apache-2.0
// Data that threads share, as the CPU's samples of loads and stores show them.
import * as charts from "../charts";
import { note, section } from "../dom";
import { figure, legend } from "../figure";
import * as format from "../format";
import type { Place, ProfileReport, SharedData, SharedRow } from "../report";
import { type Cell, type Column, table } from "../table";
import { distinct, placeCell, SHARING } from "./why";

const MOST_ROWS = 20;

/** Why there is no section on shared data, or "" if there is one. */
export function noSharedData({ shared_data: data }: ProfileReport): string {
  return data === null
    ? "Data that threads share: loads and stores were not sampled (elision record --accesses)."
    : "";
}

const MANY = {
  word: "several kinds",
  means: "rows that are not told apart",
  colour: "var(--grey)",
  ink: "var(--on-grey)",
};

const kindOf = ({ false_sharing: isFalse }: SharedRow) =>
  isFalse === null ? MANY : SHARING[isFalse ? "false-sharing" : "same-data"];

/** "stores at" or "loads at", and where. */
function accessCell(place: Place, stores: boolean, isKnown: boolean): Cell {
  return isKnown ? placeCell(place, stores ? "stores at" : "loads at") : { text: "–" };
}

const isKnown = ({ false_sharing: isFalse }: SharedRow): boolean => isFalse !== null;

const COLUMNS: Column<SharedRow>[] = [
  { title: "data", cell: ({ title, data }) => placeCell({ ...data, name: title }) },
  { title: "share", number: true, cell: ({ share }) => ({ text: format.percent(share), key: share }) },
  { title: "kind", cell: (row) => (isKnown(row) ? kindOf(row).word : "–") },
  {
    title: "one thread",
    cell: (row) => accessCell(row.earlier, row.earlier_stores, isKnown(row)),
  },
  {
    title: "another, after it",
    cell: (row) => accessCell(row.later, row.later_stores, isKnown(row)),
  },
  {
    title: "samples",
    number: true,
    cell: ({ samples }) => ({ text: format.count(samples), key: samples }),
  },
];

function chart(rows: SharedRow[]): HTMLElement {
  const names = distinct(rows.map(({ title }) => title));
  const parts = rows.map((row, i) => {
    const { word, colour, ink } = kindOf(row);
    return { name: names[i] ?? "", part: word, value: row.share, colour, ink };
  });
  const options = { names, axis: "share", tick: format.percent };
  const entries = [...new Set(rows.map(kindOf))].map(({ word, means, colour }) => ({
    title: `${word}: ${means}`,
    colour,
  }));
  return figure(
    "Bar chart of the data that threads share, by kind of sharing; the table below has the numbers.",
    (width) => charts.stacks(parts, options, width),
    legend(entries),
  );
}

/** The rows with most samples and the sum of many places, which comes last, as bars and as a table. */
function places({ rows }: SharedData): Node[] {
  if (rows.length === 0) return [];
  const known = rows.filter(isKnown);
  const largest = known.slice(0, MOST_ROWS);
  const shown = [...largest, ...rows.filter((row) => !isKnown(row))];
  return [
    known.length > largest.length
      ? note(`Shown are the ${largest.length} largest of ${known.length} shares.`)
      : null,
    chart(shown),
    table(COLUMNS, shown, { caption: "Data that threads share" }),
  ].filter((part) => part !== null);
}

export function sharedData({ shared_data: data }: ProfileReport): HTMLElement | null {
  if (data === null) return null;
  return section("sharing", "Shared data", note(data.heading), ...places(data), note(data.trust));
}
