// SPDX-License-Identifier: Apache-2.0
// The report of `elision compare` as types. src/cli/show/report_json.cc, why_json.cc and src/cli/compare_origin.cc write it.

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
}

export interface Why {
  basis: "exact" | "sampled";
  samples?: number;
  parallel_share: number;
  time: Record<string, number>;
  lock_count?: number; // with those that the list leaves out
  locks: Lock[];
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
  diagnosis?: {
    locks_matter: boolean;
    sentence: string;
    findings: { code: string; lock: string; sentence: string }[];
  };
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

export function isGood(row: Row): row is GoodRow {
  return row.state === "good" && row.value !== undefined;
}

/** `text` without characters that show as nothing or turn the direction of what follows. */
function printable(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, "\ufffd");
}

/** The report in `text`. Throws an Error that says what is wrong. */
export function parseReport(text: string): Report {
  if (text.trim() === "")
    throw new Error("This page has no report. elision compare --html FILE writes one with it.");
  const report = JSON.parse(text, (_key, value: unknown) =>
    typeof value === "string" ? printable(value) : value,
  ) as Partial<Report>;
  if (report.version !== 1 || !Array.isArray(report.blocks) || !Array.isArray(report.runs))
    throw new Error(`This page cannot read a report of version ${String(report.version)}.`);
  return report as Report;
}
