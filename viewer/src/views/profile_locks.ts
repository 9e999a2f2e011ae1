// SPDX-License-Identifier: Apache-2.0
// Locks of a profile by the time that is lost at them, each with its conflicts and with what to change.
import * as charts from "../charts";
import { TIME_PARTS } from "../colours";
import { element, note, section } from "../dom";
import { figure, legend } from "../figure";
import * as format from "../format";
import type { Conflict, Finding, Lock, ProfileReport } from "../report";
import { type Column, table } from "../table";
import { findings } from "./profile";
import { dataCell, distinct, lockCount, nameWithSource, placeCell, secondsCell, SHARING } from "./why";
import { causesOf } from "./results";

const LOST = TIME_PARTS.filter(({ key }) => ["waiting", "aborted", "overhead"].includes(key));

function lostPart(lock: Lock, key: string): number {
  if (key === "waiting") return lock.waiting_seconds ?? 0;
  return (key === "aborted" ? lock.aborted_seconds : lock.overhead_seconds) ?? 0;
}

const lostAt = (lock: Lock): number => lock.lost_seconds ?? 0;

function columnsOf(threadSeconds: number): Column<Lock>[] {
  return [
    { title: "lock", cell: (lock) => placeCell(lock, lock.kind) },
    { title: "lost", number: true, cell: (lock) => secondsCell(lostAt(lock)) },
    {
      title: "of thread time",
      number: true,
      cell: (lock) => {
        const share = threadSeconds > 0 ? lostAt(lock) / threadSeconds : 0;
        return { text: format.percent(share), key: share };
      },
    },
    ...LOST.map(
      ({ key, title }): Column<Lock> => ({
        title,
        number: true,
        cell: (lock) => secondsCell(lostPart(lock, key)),
      }),
    ),
    {
      title: "acquired",
      number: true,
      cell: (lock) => ({
        text: `${lock.sections_estimated ? "about " : ""}${format.count(lock.sections)}`,
        key: lock.sections,
      }),
    },
    {
      title: "after a wait",
      number: true,
      cell: ({ contended_share: share }) =>
        share === null ? { text: "–" } : { text: format.percent(share), key: share },
    },
    {
      title: "commits",
      number: true,
      cell: ({ commits = 0 }) => ({ text: commits > 0 ? format.count(commits) : "–", key: commits }),
    },
    {
      title: "aborts by cause",
      cell: ({ aborts }) => {
        const text = causesOf(aborts);
        return text === "" ? { text: "–" } : { text: element("span", { class: "words" }, text), key: text };
      },
    },
  ];
}

const CONFLICT_COLUMNS: Column<Conflict>[] = [
  { title: "data", cell: dataCell },
  { title: "conflicts", number: true, cell: ({ count }) => ({ text: format.count(count), key: count }) },
  { title: "kind", cell: ({ sharing }) => SHARING[sharing].word },
  { title: "victim", cell: ({ sites }) => (sites[0] ? placeCell(sites[0]) : { text: "–" }) },
  { title: "other", cell: ({ sites }) => (sites[1] ? placeCell(sites[1]) : { text: "–" }) },
];

function chart(locks: Lock[]): HTMLElement {
  const names = distinct(locks.map(nameWithSource));
  const parts = locks.flatMap((lock, i) =>
    LOST.map(({ key, title, colour }) => ({
      name: names[i] ?? "",
      part: title,
      value: lostPart(lock, key),
      colour,
      ink: "",
    })),
  );
  const present = LOST.filter(({ key }) => locks.some((lock) => lostPart(lock, key) > 0));
  const options = { names, axis: "lost time of all threads", tick: format.seconds };
  return figure(
    "Bar chart of the time lost at each lock; the table below has the numbers.",
    (width) => charts.stacks(parts, options, width),
    legend(present),
  );
}

/** What there is to say about one lock beside its numbers. */
function details(lock: Lock, found: Finding[]): HTMLElement | null {
  if (lock.conflicts.length === 0 && found.length === 0) return null;
  const caption = `Conflicts at ${nameWithSource(lock)}`;
  return element(
    "details",
    { open: "" },
    element(
      "summary",
      {},
      element("strong", {}, nameWithSource(lock)),
      element("span", {}, ` ${format.seconds(lostAt(lock))} lost`),
    ),
    findings(found),
    lock.conflicts.length > 0 ? table(CONFLICT_COLUMNS, lock.conflicts, { caption }) : null,
  );
}

export function locks(report: ProfileReport): HTMLElement | null {
  const { why, diagnosis } = report;
  if (why === null || why.locks.length === 0) return null;
  const sorted = [...why.locks].sort((a, b) => lostAt(b) - lostAt(a));
  const overhead = sorted.some((lock) => lock.overhead_seconds !== null)
    ? ""
    : " This older profile has no overhead by lock.";
  return section(
    "locks",
    "Locks by lost time",
    sorted.some((lock) => lostAt(lock) > 0) ? chart(sorted) : null,
    note(
      `${lockCount(why)}. Lost is what another design of the lock or of its sections may win back: waiting, attempts that aborted, and the lock's own code.${overhead}`,
    ),
    table(columnsOf(report.thread_seconds), sorted, { caption: "Locks by lost time" }),
    ...sorted.map((lock) =>
      details(lock, diagnosis?.findings.filter((finding) => finding.lock === lock.title) ?? []),
    ),
  );
}
