// SPDX-License-Identifier: Apache-2.0
// The results of each design: a chart, and the table that the terminal shows.
import * as charts from "../charts";
import { element, note } from "../dom";
import { figure } from "../figure";
import * as format from "../format";
import { type Block, type GoodRow, isGood, type Report, type Row, type TransactionCounts } from "../report";
import { type Cell, type Column, table } from "../table";

const NOTHING: Cell = { text: "–" };

function nameOf(row: Row): Cell {
  const star = row.best
    ? element("span", { class: "star", title: "the design that the verdict names" }, "★ ")
    : null;
  return { text: element("span", {}, star, row.design), key: row.design };
}

/** A column of numbers of designs with a result. Without `zero`, a 0 is a dash: nothing of the kind happened. */
function numbers(
  title: string,
  of: (row: GoodRow) => number | null | undefined,
  show: (value: number) => string,
  zero = false,
): Column<Row> {
  return {
    title,
    number: true,
    cell: (row) => {
      const value = isGood(row) ? (of(row) ?? null) : null;
      return value === null || (value === 0 && !zero) ? NOTHING : { text: show(value), key: value };
    },
  };
}

export function causesOf(aborts: Record<string, number>): string {
  const causes = Object.entries(aborts).sort(([, a], [, b]) => b - a);
  return causes.map(([cause, number]) => `${cause} ${format.count(number)}`).join(", ");
}

const lockColumns: Column<Row>[] = [
  numbers("speculations", (row) => row.locks.speculations, format.count),
  numbers("longest wait", (row) => row.locks.longest_wait_seconds, format.seconds),
];

/** Of the fallback of libelision-tm. Null: it was not used. */
function fallbacks(
  of: (counts: TransactionCounts) => [part: number, whole: number],
): (row: GoodRow) => number | null {
  return ({ locks: { transactional_memory: counts } }) => {
    const [part, whole] = counts ? of(counts) : [0, 0];
    return whole === 0 ? null : part / whole;
  };
}

const transactionColumns: Column<Row>[] = [
  numbers(
    "accesses a segment",
    fallbacks((counts) => [counts.segment_accesses, counts.segments]),
    format.count,
    true,
  ),
  numbers(
    "segments aborted",
    fallbacks((counts) => [counts.segment_aborts, counts.segments + counts.segment_aborts]),
    format.percent,
    true,
  ),
  numbers(
    "write-backs",
    fallbacks((counts) => [counts.write_backs - counts.write_backs_under_lock, counts.write_backs]),
    format.percent,
    true,
  ),
];

function ofTransactions(report: Report): boolean {
  return report.blocks.some(({ rows }) => rows.some(({ locks }) => locks?.transactional_memory));
}

function columnsOf(report: Report): Column<Row>[] {
  const confidence =
    report.blocks.flatMap(({ rows }) => rows).find((row) => row.interval)?.interval?.confidence ?? 0.95;
  const value = format.resultFormat(report);
  const range = (low: number, high: number, show: (number: number) => string) =>
    `${show(low)} – ${show(high)}`;
  const remarks: Column<Row> = {
    title: "aborts by cause",
    cell: (row) => {
      const text = isGood(row) ? causesOf(row.locks.aborts) : (row.remark ?? row.state);
      return text === "" ? NOTHING : { text: element("span", { class: "words" }, text), key: text };
    },
  };
  const variation: Column<Row>[] = [
    numbers(`to ${report.reference}`, (row) => row.ratio?.median, format.ratio),
    {
      title: "least to most",
      number: true,
      cell: (row) =>
        row.ratio
          ? { text: range(row.ratio.low, row.ratio.high, format.ratio), key: row.ratio.low }
          : NOTHING,
    },
    numbers(
      "best in",
      (row) => row.leads,
      (leads) => `${leads} of ${report.variations?.length ?? 0}`,
      true,
    ),
  ];
  const plain: Column<Row>[] = [
    numbers("speedup", (row) => row.speedup, format.ratio),
    {
      title: `${format.percent(confidence)} interval`,
      number: true,
      cell: (row) => {
        const text = format.interval(report, row);
        return text === "" ? NOTHING : { text, key: row.interval?.low };
      },
    },
  ];
  return [
    { title: "design", cell: nameOf },
    numbers(report.metric === "" ? "time" : "result", (row) => row.value.median, value, true),
    ...(report.variations ? variation : plain),
    numbers("CPU time", (row) => row.cpu_seconds, format.seconds),
    numbers("commits", (row) => row.locks.commits, format.count),
    numbers("fallbacks", (row) => row.locks.fallbacks, format.count),
    ...(ofTransactions(report) ? transactionColumns : lockColumns),
    remarks,
  ];
}

function valuesOf(report: Report, block: Block, design: string): number[] {
  const runs = report.runs.filter(
    (run) => run.threads === block.threads && run.design === design && run.run >= block.cold_rounds,
  );
  return runs.flatMap((run) =>
    report.metric === "" ? [run.seconds] : run.metric === undefined ? [] : [run.metric],
  );
}

function chart(report: Report, block: Block, rows: GoodRow[]): HTMLElement {
  const show = format.resultFormat(report);
  const facts = rows
    .map((row) => `${row.design} ${show(row.value.median)}, ${format.ratio(row.speedup)}`)
    .join("; ");
  const axis = format.resultName(report);
  if (report.variations) {
    const bars = rows.flatMap(({ design, best, ratio, ratios }) =>
      ratio ? [{ name: design, best, ratio, ratios: (ratios ?? []).filter((value) => value !== null) }] : [],
    );
    const title = `speed relative to ${report.reference}`;
    return figure(`Chart of the ${title}, ${format.threads(block.threads)}: ${facts}.`, (width) =>
      charts.ratios(bars, title, width),
    );
  }
  const bars = rows.map((row) => ({
    name: row.design,
    value: row.value,
    best: row.best,
    runs: valuesOf(report, block, row.design),
    label: row.speedup > 0 ? format.ratio(row.speedup) : "",
    interval: format.interval(report, row),
  }));
  return figure(
    `Bar chart of the ${axis} of each design, ${format.threads(block.threads)}: ${facts}.`,
    (width) => charts.results(bars, axis, show, width),
  );
}

function coldRounds({ cold_rounds: cold }: Block): string {
  if (cold === 0) return "";
  return ` Without the first ${cold === 1 ? "round, which was" : `${cold} rounds, which were`} cold.`;
}

export function results(report: Report, block: Block): Node[] {
  if (block.verdict.kind === "no-locks") return []; // the sentence says all
  const good = block.rows.filter(isGood);
  const parts: Node[] = [];
  if (good.length > 0) {
    parts.push(chart(report, block, good));
    parts.push(
      note(
        report.variations
          ? `Each design against ${report.reference} on the same variation of the machine. Line: from the worst to the best variation. Mark: median. Dots: each variation. Both directions have the same scale: 2× is as far from 1× as 0.5× is.`
          : `Bar: median of the runs. Line: from the lowest to the highest. Dots: each run. At the end: the speedup over ${report.reference} and its interval.${coldRounds(block)}`,
      ),
    );
  }
  const rowClass = (row: Row): string => (isGood(row) ? (row.best ? "best" : "") : "failed");
  parts.push(
    table(columnsOf(report), block.rows, {
      caption: `Results of each design, ${format.threads(block.threads)}`,
      rowClass,
    }),
  );
  return parts;
}
