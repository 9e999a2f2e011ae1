// SPDX-License-Identifier: Apache-2.0
// Commits and aborts of each thread, and in words how uneven they are.
import * as charts from "../charts";
import { note, section } from "../dom";
import { figure, legend } from "../figure";
import * as format from "../format";
import { type ProfileReport, type Thread, threadName } from "../report";
import { type Column, table } from "../table";

const UNEVEN = 1.25; // times the average, from which a difference has a sentence
const FEW = 0.1; // of the average thread's attempts: too few for a share that says something
const MOST_BARS = 32;

const COMMITS = { title: "commits", colour: "var(--green)", ink: "var(--on-green)" };
const ABORTS = { title: "aborts", colour: "var(--red)", ink: "var(--on-red)" };

const attemptsOf = ({ commits, aborts }: Thread): number => commits + aborts;
const sumOf = (threads: Thread[], of: (thread: Thread) => number): number =>
  threads.reduce((sum, thread) => sum + of(thread), 0);
const abortShare = (thread: Thread): number => thread.aborts / attemptsOf(thread);

/** Whether any thread counted a transaction. */
export function haveTransactions(threads: Thread[]): boolean {
  return threads.some((thread) => attemptsOf(thread) > 0);
}

function most(threads: Thread[], of: (thread: Thread) => number): Thread {
  return threads.reduce((a, b) => (of(b) > of(a) ? b : a));
}

function unevenCommits(threads: Thread[]): string {
  const average = sumOf(threads, ({ commits }) => commits) / threads.length;
  if (average === 0) return "No transaction commits.";
  const first = most(threads, ({ commits }) => commits);
  const times = first.commits / average;
  return times < UNEVEN
    ? `Commits are even: no thread has more than ${times.toFixed(2)} times as many as the average thread.`
    : `Commits are uneven: ${threadName(first)} has ${times.toFixed(1)} times as many as the average thread.`;
}

function unevenAborts(threads: Thread[]): string {
  const attempts = sumOf(threads, attemptsOf);
  const share = sumOf(threads, ({ aborts }) => aborts) / attempts;
  const judged = threads.filter((thread) => attemptsOf(thread) >= (FEW * attempts) / threads.length);
  const worst = most(judged, abortShare);
  if (share === 0) return "No attempt aborts.";
  return abortShare(worst) < UNEVEN * share
    ? `Of all attempts ${format.percent(share)} abort, and in no thread many more.`
    : `Of all attempts ${format.percent(share)} abort, of those of ${threadName(worst)} ${format.percent(abortShare(worst))}.`;
}

/** How uneven transactions are over the threads. */
export function imbalance(threads: Thread[]): string {
  return threads.length === 1
    ? "All transactions are of one thread."
    : `${unevenCommits(threads)} ${unevenAborts(threads)}`;
}

const COLUMNS: Column<Thread>[] = [
  { title: "thread", cell: (thread) => threadName(thread) },
  {
    title: "commits",
    number: true,
    cell: ({ commits }) => ({ text: format.count(commits), key: commits }),
  },
  { title: "aborts", number: true, cell: ({ aborts }) => ({ text: format.count(aborts), key: aborts }) },
  {
    title: "attempts that abort",
    number: true,
    cell: (thread) =>
      attemptsOf(thread) === 0
        ? { text: "–" }
        : { text: format.percent(abortShare(thread)), key: abortShare(thread) },
  },
];

export function threads({ threads: all }: ProfileReport): HTMLElement {
  const sorted = [...all].sort((a, b) => attemptsOf(b) - attemptsOf(a));
  const shown = sorted.slice(0, MOST_BARS);
  const parts = shown.flatMap((thread) => [
    { name: threadName(thread), part: "commits", value: thread.commits, ...COMMITS },
    { name: threadName(thread), part: "aborts", value: thread.aborts, ...ABORTS },
  ]);
  const options = { names: shown.map(threadName), axis: "transactions", tick: format.count };
  const label =
    "Bar chart of commits and aborts of each thread; the table below has the numbers, and a sentence says how uneven they are.";
  const left = all.length > shown.length ? ` The ${shown.length} threads with most attempts.` : "";
  return section(
    "threads",
    "Threads",
    note(imbalance(all) + left),
    figure(label, (width) => charts.stacks(parts, options, width), legend([COMMITS, ABORTS])),
    table(COLUMNS, sorted, { caption: "Commits and aborts by thread" }),
  );
}
