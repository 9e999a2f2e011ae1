// SPDX-License-Identifier: Apache-2.0
// The reports of `elision compare` and `elision report` as types. src/cli/show/report_json.cc, why_json.cc, paths_json.cc,
// aborts_json.cc, shared_data.cc, src/cli/compare_origin.cc and report.cc write them.

export interface Range {
  median: number;
  low: number;
  high: number;
}

export interface LockCounts {
  locks_seen: boolean;
  // Null: not known, or the design has none.
  acquisitions: number | null;
  commits: number | null;
  aborts: Record<string, number>;
  fallbacks: number | null;
  speculations: number | null;
  longest_wait_seconds: number | null;
  transactional_memory?: TransactionCounts; // if libelision-tm ran
}

/** Of the fallbacks of libelision-tm. There are more of its counters, which the page does not show. */
export interface TransactionCounts {
  segments: number;
  segment_accesses: number;
  segment_aborts: number;
  write_backs: number;
  write_backs_under_lock: number;
}

export interface Place {
  name: string;
  file?: string;
  line?: number;
}

export interface Conflict {
  address: string;
  name?: string;
  count: number;
  sharing: "same-data" | "false-sharing" | "prefetch" | "unknown";
  places?: number; // more than one: addresses in the variable, or in memory without a name
  sites: Place[];
}

export interface Lock extends Place {
  kind: string;
  other_sites: Place[]; // calls that take it, beside that of the place
  sections: number; // entered, by the lock or by a transaction
  sections_estimated: boolean;
  // Null: not counted.
  contended_share: number | null;
  wait_seconds: { total: number; mean: number | null; longest: number | null };
  hold_seconds: { total: number; mean: number };
  line_wait_seconds: number | null; // of transactions, for contended cache lines
  aborts: Record<string, number>;
  conflicts: Conflict[];
  title?: string; // by which findings call it
  commits?: number;
  lost_seconds?: number; // the sum of the next three
  waiting_seconds?: number; // by state, unlike wait_seconds, in which aborted attempts may be
  aborted_seconds?: number;
  overhead_seconds?: number | null; // null: not known by lock
}

export interface Why {
  basis: "exact" | "sampled";
  samples?: number;
  parallel_share: number;
  time: Record<string, number>;
  lock_count?: number; // with those that the list leaves out
  locks: Lock[];
}

export interface Finding {
  code: string;
  lock: string; // empty: the whole program
  sentence: string;
  change?: string;
}

export interface Diagnosis {
  locks_matter: boolean;
  sentence: string;
  findings: Finding[];
}

export interface Row {
  design: string;
  state: string;
  best: boolean;
  remark?: string;
  // Of a design with a result:
  value?: Range;
  runs?: number;
  speedup?: number;
  cpu_seconds?: number;
  locks?: LockCounts;
  ratios?: (number | null)[]; // to the reference in the same round; null: a run is missing
  interval?: { low: number; high: number; confidence: number }; // of the speedup; not over variations
  // Over variations of the machine:
  ratio?: Range;
  leads?: number;
  why?: Why;
}

/** A row whose design has a result. */
export type GoodRow = Row & Required<Pick<Row, "value" | "runs" | "speedup" | "cpu_seconds" | "locks">>;

export interface Block {
  threads: number | null;
  cold_rounds: number;
  rows: Row[];
  verdict: { kind: string; sentence: string };
  diagnosis?: Diagnosis;
  unexplained?: { sentence: string }; // why there is no diagnosis
}

/** Throughput of a design over the number of threads. */
export interface ScalingCurve {
  design: string;
  stops_at: number | null; // null: it gains up to the largest number of threads
  points: { threads: number; relative: number }[]; // to the reference with the fewest threads
}

export interface Run {
  threads: number | null;
  design: string;
  run: number;
  seed: number;
  variation: number;
  command?: string;
  outcome: string;
  status: number;
  deadlocked: boolean;
  seconds: number;
  cpu_seconds: number;
  metric?: number;
}

export interface MachineValue {
  field: string;
  value: string;
  others: string[];
  source: string;
}

export interface Variation {
  variation: number;
  seed: number;
  drawn: Record<string, number | boolean | string>;
}

export interface Report {
  version: number;
  elision?: string;
  command?: string;
  program: string;
  where: string;
  virtual: boolean;
  part?: { text: string }; // of each run, if not the whole
  windows?: { count: number; length_seconds: number }; // of a sampled comparison; times are those of a section
  metric: string;
  lower_is_better: boolean;
  reference: string; // the design that others are compared with
  blocks: Block[];
  runs: Run[];
  machine?: MachineValue[];
  variations?: Variation[];
  scaling?: { threads: number[]; designs: ScalingCurve[] };
  next_steps?: { sentence: string; command?: string }[];
}

export interface Thread {
  id: number;
  name?: string;
  commits: number;
  aborts: number; // of its attempts
}

/** Columns: path i is in state[i], and so on. -1: no lock, or no function. */
export interface CallPaths {
  states: string[];
  locks: string[];
  frames: Place[];
  stacks: { caller: number[]; frame: number[] }; // a caller is a stack with a smaller number, or -1
  paths: {
    state: number[];
    lock: number[];
    thread: number[];
    stack: number[];
    ns: number[];
    samples: number[];
  };
  lost: number; // samples for which there was no room
}

/** Columns as those of CallPaths, of aborts. */
export interface AbortPaths {
  causes: string[];
  unit: "cycles" | "aborts"; // of paths.weight
  frames: Place[];
  stacks: { caller: number[]; frame: number[] };
  paths: { cause: number[]; stack: number[]; weight: number[]; samples: number[] };
}

/** Aborts at one instruction, for one cause, in the sections that begin at one place. */
export interface AbortSource {
  cause: string;
  place: Place;
  inside: Place[]; // calls in the transaction that led there, innermost first
  section: Place | null; // null: not known
  samples: number;
  share: number; // of AbortEvents.shares_of
}

/** What the CPU's performance events tell about aborts. There are more members, which the page does not show. */
export interface AbortEvents {
  heading: string; // a sentence
  shares_of: string;
  trust: string; // a sentence
  aborts: number;
  by_cause: Record<string, number>; // estimated
  sources: AbortSource[]; // largest share first
  call_paths?: AbortPaths | null;
}

/** Of one run, with a profile of its locks. */
export interface ProfileReport {
  version: number;
  kind: "profile";
  elision?: string;
  program: string[];
  where: string;
  design: string;
  seconds: number;
  thread_seconds: number; // of all threads, while two or more were alive
  why: Why | null;
  diagnosis: Diagnosis | null;
  unexplained: { sentence: string } | null; // why there is no diagnosis
  time_intervals: Record<string, { low: number; high: number }> | null; // null: exact
  threads: Thread[];
  call_paths: CallPaths | null;
  abort_events: AbortEvents | { missing: string } | null; // missing: why they tell nothing, a clause
  shared_data: SharedData | null; // null: loads and stores were not sampled
}

/** Accesses of two threads to one cache line, one of which stores. */
export interface SharedRow {
  title: string; // of the data
  data: Place;
  false_sharing: boolean | null; // null: many places
  earlier: Place;
  earlier_stores: boolean;
  later: Place;
  later_stores: boolean;
  samples: number;
  share: number; // of the samples that met another thread
}

/** What samples of loads and stores tell. The sentences are those of the text. */
export interface SharedData {
  heading: string;
  trust: string;
  rows: SharedRow[];
}

export function threadName({ id, name }: Thread): string {
  return name === undefined ? `thread ${id}` : `${name} (${id})`;
}

export function isProfile(report: Report | ProfileReport): report is ProfileReport {
  return "kind" in report;
}

export function isGood(row: Row): row is GoodRow {
  return row.state === "good" && row.value !== undefined;
}

/** `text` without characters that show as nothing or turn the direction of what follows. */
function printable(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, "\ufffd");
}

/** `value` with printable strings. Columns of numbers are long and have none. */
function cleaned(value: unknown): unknown {
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [printable(key), cleaned(member)]));
}

function isComplete(report: Partial<Report> & Partial<ProfileReport>): boolean {
  if (report.version !== 1) return false;
  return report.kind === "profile"
    ? Array.isArray(report.program) && Array.isArray(report.threads)
    : Array.isArray(report.blocks) && Array.isArray(report.runs);
}

/** The report in `text`. Throws an Error that says what is wrong. */
export function parseReport(text: string): Report | ProfileReport {
  if (text.trim() === "")
    throw new Error(
      "This page has no report. elision compare --html FILE or elision report --html FILE writes one with it.",
    );
  const report = cleaned(JSON.parse(text)) as Partial<Report> & Partial<ProfileReport>;
  if (!isComplete(report))
    throw new Error(`This page cannot read a report of version ${String(report.version)}.`);
  return report as Report | ProfileReport;
}
