// SPDX-License-Identifier: Apache-2.0
// The parts of a profile beside its locks, calls and threads: what was run, the diagnosis, and time by state.
import * as charts from "../charts";
import { TIME_PARTS } from "../colours";
import { element, note, section } from "../dom";
import { figure, legend } from "../figure";
import * as format from "../format";
import type { Finding, ProfileReport, Why } from "../report";
import { type Column, table } from "../table";

/** As it is typed in a shell. */
export function commandOf(words: string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

export function heading({ program, where, design, seconds, why }: ProfileReport): HTMLElement {
  const place = where === "native" ? "this computer's own CPU" : `virtual ${where}`;
  const samples = why?.samples === undefined ? "" : ` · ${format.plural(why.samples, "sample")}`;
  return element(
    "header",
    {},
    element("p", { class: "kicker" }, "elision report"),
    element("h1", {}, commandOf(program)),
    element(
      "p",
      { class: "summary" },
      `on ${place} · under ${design} · ${format.seconds(seconds)}${samples}`,
    ),
  );
}

/** What is so, and below it what to change. */
export function findings(found: Finding[]): HTMLElement | null {
  if (found.length === 0) return null;
  const items = found.map(({ sentence, change }) =>
    element(
      "li",
      {},
      sentence,
      change === undefined
        ? null
        : element("p", { class: "change" }, element("strong", {}, "Change: "), change),
    ),
  );
  return element("ul", { class: "findings" }, ...items);
}

export function diagnosis({ diagnosis: found, unexplained }: ProfileReport): HTMLElement {
  const sentence = found?.sentence ?? unexplained?.sentence ?? "There is no diagnosis.";
  const tone = found === null ? "nothing" : found.locks_matter ? "perhaps" : "keep";
  return section(
    "verdict",
    "Verdict",
    element(
      "ul",
      { class: "verdicts single" },
      element("li", { class: `verdict ${tone}` }, element("span", { class: "sentence" }, sentence)),
    ),
    findings(found?.findings ?? []),
  );
}

function basis({ samples, parallel_share: share }: Why): string {
  const part = `while two or more threads were alive: ${format.percent(share)} of the run.`;
  return samples === undefined
    ? `Exact, ${part}`
    : `From ${format.plural(samples, "sample")}, ${part} An interval holds the true share with a confidence of 95\u202f%, if samples are independent of each other.`;
}

/** One bar of the time of all threads, by what they did. */
export function time({ design, why, time_intervals: intervals }: ProfileReport): HTMLElement | null {
  if (why === null) return null;
  const present = TIME_PARTS.filter(({ key }) => (why.time[key] ?? 0) > 0);
  const parts = present.map(({ key, title, colour, ink }) => ({
    name: design,
    part: title,
    value: why.time[key] ?? 0,
    colour,
    ink,
  }));
  const options = { names: [design], axis: "share of thread time", tick: format.percent, most: 1 };
  const columns: Column<(typeof present)[number]>[] = [
    { title: "threads are", cell: ({ title }) => title },
    {
      title: "share of time",
      number: true,
      cell: ({ key }) => ({ text: format.percent(why.time[key] ?? 0), key: why.time[key] ?? 0 }),
    },
    {
      title: "meaning",
      cell: ({ meaning }) => ({ text: element("span", { class: "words" }, meaning), key: meaning }),
    },
  ];
  if (intervals !== null)
    columns.splice(2, 0, {
      title: "95\u202f% interval",
      number: true,
      cell: ({ key }) => {
        const { low = 0, high = 1 } = intervals[key] ?? {};
        return { text: `${format.percent(low)} – ${format.percent(high)}`, key: low };
      },
    });
  return section(
    "time",
    "Where time goes",
    figure(
      "Stacked bar of the time of all threads by state; the table below has the numbers.",
      (width) => charts.stacks(parts, options, width),
      legend(present),
    ),
    note(basis(why)),
    table(columns, present, { caption: "Time of all threads by state" }),
  );
}
