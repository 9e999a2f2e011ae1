// SPDX-License-Identifier: Apache-2.0
// Throughput over the number of threads.
import * as charts from "../charts";
import { note, section } from "../dom";
import { figure } from "../figure";
import * as format from "../format";
import type { Report, ScalingCurve } from "../report";
import { type Column, table } from "../table";

function columnsOf(counts: number[]): Column<ScalingCurve>[] {
  const relative = (threads: number): Column<ScalingCurve> => ({
    title: String(threads),
    number: true,
    cell: ({ points }) => {
      const point = points.find((candidate) => candidate.threads === threads);
      return point === undefined
        ? { text: "–" }
        : { text: format.ratio(point.relative), key: point.relative };
    },
  });
  return [
    { title: "design", cell: ({ design }) => design },
    ...counts.map(relative),
    {
      title: "stops at",
      number: true,
      cell: ({ stops_at: threads }) =>
        threads === null ? { text: "–" } : { text: format.threads(threads), key: threads },
    },
  ];
}

export function scaling(report: Report): HTMLElement | null {
  if (report.scaling === undefined) return null;
  const { threads: counts, designs } = report.scaling;
  const points = designs.flatMap(({ design, points: all }, number) =>
    all.map(({ threads, relative }) => ({ name: design, number, threads, value: relative })),
  );
  const one = `${report.reference} with ${format.threads(counts[0] ?? 1)}`;
  const axis = `throughput (${one} = 1)`;
  const label = `Line chart of the ${axis} over the number of threads, one line a design; the table below has its numbers.`;
  return section(
    "scaling",
    "Scaling",
    figure(label, (width) => charts.scaling(points, axis, format.ratio, width)),
    note(
      `Medians of the runs, relative to ${one}. A design stops at the smallest number of threads after which no larger one is a gain; a dash: it gains up to the last.${report.metric === "" ? " Times show this for work that is the same with all numbers of threads." : ""}`,
    ),
    table(columnsOf(counts), designs, { caption: "Throughput over the number of threads" }),
  );
}
