// SPDX-License-Identifier: Apache-2.0
// Why a design is fast or slow: where time goes, which locks threads wait for, conflicts, aborts. A report may lack each of these.
import * as charts from "../charts";
import { causeColour, inOrder, TIME_PARTS } from "../colours";
import { breakable, element, note } from "../dom";
import { figure, legend } from "../figure";
import * as format from "../format";
import { type Block, type Conflict, isGood, type Lock, type Place, type Row, type Why } from "../report";
import { type Cell, type Column, table } from "../table";
import { causesOf } from "./results";

type Explained = Row & { why: Why };

function explained(block: Block): Explained[] {
  return block.rows.filter((row): row is Explained => row.why !== undefined);
}

function basis(rows: Explained[]): string {
  const sampled = rows.filter(({ why }) => why.basis === "sampled");
  if (sampled.length === 0) return "Exact: the virtual machine counts every cycle.";
  const samples = sampled.map(({ design, why }) => `${design} ${format.count(why.samples ?? 0)}`).join(", ");
  return `Estimated from samples (${samples}).`;
}

export function time(block: Block): Node[] {
  const rows = explained(block);
  if (rows.length === 0) return [];
  const present = TIME_PARTS.filter(({ key }) => rows.some(({ why }) => (why.time[key] ?? 0) > 0));
  const parts = rows.flatMap(({ design, why }) =>
    present.map(({ key, title, colour, ink }) => ({
      name: design,
      part: title,
      value: why.time[key] ?? 0,
      colour,
      ink,
    })),
  );
  const options = {
    names: rows.map(({ design }) => design),
    axis: "share of thread time",
    tick: format.percent,
    most: 1,
  };
  const columns: Column<Explained>[] = [
    { title: "design", cell: ({ design }) => design },
    ...present.map(
      ({ key, title }): Column<Explained> => ({
        title,
        number: true,
        cell: ({ why }) => ({ text: format.percent(why.time[key] ?? 0), key: why.time[key] ?? 0 }),
      }),
    ),
    {
      title: "two or more threads alive",
      number: true,
      cell: ({ why }) => ({ text: format.percent(why.parallel_share), key: why.parallel_share }),
    },
  ];
  return [
    figure(
      `Stacked bars, ${format.threads(block.threads)}: where the time of the threads goes under each design; the table below has the numbers.`,
      (width) => charts.stacks(parts, options, width),
      legend(present),
    ),
    note(
      `${basis(rows)} The last column is the share of the run's time in which two or more threads were alive; the rest is start-up and one thread alone.`,
    ),
    table(columns, rows, { caption: `Where time goes, ${format.threads(block.threads)}` }),
  ];
}

function sourceOf({ file, line }: Place): string {
  return file === undefined ? "" : line === undefined ? file : `${file}:${line}`;
}

const KINDS: Record<string, string> = {
  symbol: "",
  "called-from": "locked at",
  address: "at address",
};

export function placeCell(place: Place, kind = ""): Cell {
  const source = sourceOf(place);
  const before = KINDS[kind] ?? kind;
  return {
    text: element(
      "span",
      { class: "place" },
      before === "" ? null : element("small", {}, `${before} `),
      element("span", {}, ...breakable(place.name)),
      source === "" ? null : element("small", { class: "source" }, ...breakable(source)),
    ),
    key: place.name,
  };
}

/** "push() (queue.cc:12)", without folders. */
export function placeWithSource(place: Place): string {
  const source = sourceOf(place).replace(/^.*\//, "");
  return source === "" ? place.name : `${place.name} (${source})`;
}

export function nameWithSource(lock: Lock): string {
  return lock.kind === "symbol" ? lock.name : placeWithSource(lock);
}

export const secondsCell = (value: number | null): Cell =>
  value !== null && value > 0 ? { text: format.seconds(value), key: value } : { text: "–", key: 0 };

const LOCK_COLUMNS: Column<Lock>[] = [
  { title: "lock", cell: (lock) => placeCell(lock, lock.kind) },
  {
    title: "sections",
    number: true,
    cell: (lock) => ({
      text: `${lock.sections_estimated ? "about " : ""}${format.count(lock.sections)}`,
      key: lock.sections,
    }),
  },
  {
    title: "contended",
    number: true,
    cell: ({ contended_share: share }) =>
      share === null ? { text: "–", key: 0 } : { text: format.percent(share), key: share },
  },
  { title: "wait, total", number: true, cell: (lock) => secondsCell(lock.wait_seconds.total) },
  { title: "mean", number: true, cell: (lock) => secondsCell(lock.wait_seconds.mean) },
  { title: "longest", number: true, cell: (lock) => secondsCell(lock.wait_seconds.longest) },
  { title: "held, total", number: true, cell: (lock) => secondsCell(lock.hold_seconds.total) },
  { title: "mean", number: true, cell: (lock) => secondsCell(lock.hold_seconds.mean) },
  {
    title: "aborts by cause",
    cell: ({ aborts: counts }) =>
      causesOf(counts) === ""
        ? { text: "–" }
        : { text: element("span", { class: "words" }, causesOf(counts)), key: causesOf(counts) },
  },
];

/** The part about each design, folded but for the reference and the best one. */
function byDesign(
  block: Block,
  has: (row: Explained) => boolean,
  summary: (row: Explained) => string,
  content: (row: Explained) => Node[],
): Node[] {
  return explained(block)
    .filter(has)
    .map((row, i) =>
      element(
        "details",
        i === 0 || row.best ? { open: "" } : {},
        element("summary", {}, element("strong", {}, row.design), element("span", {}, summary(row))),
        ...content(row),
      ),
    );
}

/** Names that are equal are told apart by numbers: a chart has one bar a name. */
export function distinct(names: string[]): string[] {
  return names.map((name, i) =>
    names.indexOf(name) === names.lastIndexOf(name)
      ? name
      : `${name} #${names.slice(0, i + 1).filter((other) => other === name).length}`,
  );
}

function locksOf(block: Block, { design, why }: Explained): Node[] {
  const names = distinct(why.locks.map(nameWithSource));
  const parts = why.locks.flatMap((lock, i) => [
    {
      name: names[i] ?? "",
      part: "waiting",
      value: lock.wait_seconds.total,
      colour: "var(--yellow)",
      ink: "",
    },
    { name: names[i] ?? "", part: "held", value: lock.hold_seconds.total, colour: "var(--blue)", ink: "" },
  ]);
  const label = `Bar chart of the locks with most waiting under ${design}, ${format.threads(block.threads)}; the table below has the numbers.`;
  const options = { names, axis: "time of all threads", tick: format.seconds };
  const entries = [
    { title: "waiting", colour: "var(--yellow)" },
    { title: "held", colour: "var(--blue)" },
  ];
  return [
    figure(label, (width) => charts.stacks(parts, options, width), legend(entries)),
    table(LOCK_COLUMNS, why.locks, {
      caption: `Locks with most waiting under ${design}, ${format.threads(block.threads)}`,
    }),
  ];
}

/** "3 locks", or "10 of 257 locks" if only those with most waiting are listed. */
export function lockCount({ locks: listed, lock_count: all = listed.length }: Why): string {
  return `${all > listed.length ? `${listed.length} of ` : ""}${format.plural(all, "lock")}`;
}

export function locks(block: Block): Node[] {
  return byDesign(
    block,
    ({ why }) => why.locks.length > 0,
    ({ why }) =>
      ` ${lockCount(why)}, ${format.seconds(why.locks.reduce((sum, lock) => sum + lock.wait_seconds.total, 0))} of waiting`,
    (row) => locksOf(block, row),
  );
}

interface LockConflict extends Conflict {
  lock: string;
}

function conflictsOf({ why }: Explained): LockConflict[] {
  const all = why.locks.flatMap((lock) =>
    lock.conflicts.map((conflict) => ({ ...conflict, lock: nameWithSource(lock) })),
  );
  return all.sort((a, b) => b.count - a.count);
}

export const SHARING: Record<
  Conflict["sharing"],
  { word: string; means: string; colour: string; ink: string }
> = {
  "same-data": {
    word: "same data",
    means: "both sides use the same bytes",
    colour: "var(--red)",
    ink: "var(--on-red)",
  },
  "false-sharing": {
    word: "false sharing",
    means: "different data in one cache line",
    colour: "var(--orange)",
    ink: "#10151c",
  },
  prefetch: {
    word: "prefetch",
    means: "one side fetched the cache line, and used another one",
    colour: "var(--yellow)",
    ink: "#10151c",
  },
  unknown: {
    word: "not known",
    means: "the access of one side is not known",
    colour: "var(--grey)",
    ink: "#10151c",
  },
};

const dataOf = ({ name, address, places }: Conflict): string =>
  places === undefined ? (name ?? address) : `${name ?? "memory without a name"} (${places} places)`;

export const dataCell = (conflict: Conflict): Cell =>
  placeCell({
    name: dataOf(conflict),
    ...(conflict.name === undefined || conflict.places !== undefined ? {} : { file: conflict.address }),
  });

const CONFLICT_COLUMNS: Column<LockConflict>[] = [
  { title: "data", cell: dataCell },
  { title: "conflicts", number: true, cell: ({ count }) => ({ text: format.count(count), key: count }) },
  { title: "kind", cell: ({ sharing }) => SHARING[sharing].word },
  { title: "lock", cell: ({ lock }) => lock },
  { title: "one side", cell: ({ sites }) => (sites[0] ? placeCell(sites[0]) : { text: "–" }) },
  { title: "other side", cell: ({ sites }) => (sites[1] ? placeCell(sites[1]) : { text: "–" }) },
];

function conflictChart(block: Block, row: Explained): Node[] {
  const conflicts = conflictsOf(row);
  const names = distinct(conflicts.map(dataOf));
  const parts = conflicts.map((conflict, i) => ({
    name: names[i] ?? "",
    part: SHARING[conflict.sharing].word,
    value: conflict.count,
    colour: SHARING[conflict.sharing].colour,
    ink: SHARING[conflict.sharing].ink,
  }));
  const label = `Bar chart of the data on which transactions conflict under ${row.design}, ${format.threads(block.threads)}; the table below has the numbers.`;
  const options = { names, axis: "conflicts", tick: format.count };
  const entries = Object.entries(SHARING)
    .filter(([kind]) => conflicts.some(({ sharing }) => sharing === kind))
    .map(([, { word, means, colour }]) => ({ title: `${word}: ${means}`, colour }));
  return [
    figure(label, (width) => charts.stacks(parts, options, width), legend(entries)),
    table(CONFLICT_COLUMNS, conflicts, {
      caption: `Conflicts under ${row.design}, ${format.threads(block.threads)}`,
    }),
  ];
}

export function conflicts(block: Block): Node[] {
  return byDesign(
    block,
    (row) => conflictsOf(row).length > 0,
    (row) =>
      ` ${format.plural(
        conflictsOf(row).reduce((sum, { count }) => sum + count, 0),
        "conflict",
      )} on ${format.plural(
        conflictsOf(row).reduce((sum, { places }) => sum + (places ?? 1), 0),
        "place",
      )}`,
    (row) => conflictChart(block, row),
  );
}

/** Aborts of every design by cause, from the counters of the lock library. */
export function aborts(block: Block): Node[] {
  const rows = block.rows.filter(isGood).filter((row) => Object.keys(row.locks.aborts).length > 0);
  if (rows.length === 0) return [];
  const present = inOrder([...new Set(rows.flatMap((row) => Object.keys(row.locks.aborts)))]);
  const parts = rows.flatMap((row) =>
    present.map((cause) => ({
      name: row.design,
      part: cause,
      value: row.locks.aborts[cause] ?? 0,
      colour: causeColour(cause),
      ink: "",
    })),
  );
  const options = {
    names: rows.map(({ design }) => design),
    axis: "aborted transactions of the median run",
    tick: format.count,
  };
  const entries = present.map((cause) => ({ title: cause, colour: causeColour(cause) }));
  const label = `Stacked bars of the aborted transactions of each design by cause, ${format.threads(block.threads)}; the table of results has the numbers.`;
  return [figure(label, (width) => charts.stacks(parts, options, width), legend(entries))];
}
