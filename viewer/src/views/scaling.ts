// SPDX-License-Identifier: Apache-2.0
// Results over the number of threads.
import * as charts from "../charts";
import { note, section } from "../dom";
import { figure } from "../figure";
import * as format from "../format";
import { isGood, type Range, type Report } from "../report";
import { type Column, table } from "../table";

interface Design {
  name: string;
  number: number;
  values: Map<number, Range>;
}

function designsOf(report: Report): Design[] {
  const designs = new Map<string, Design>();
  for (const { threads, rows } of report.blocks) {
    for (const row of rows) {
      const design = designs.get(row.design) ?? {
        name: row.design,
        number: designs.size,
        values: new Map<number, Range>(),
      };
      designs.set(row.design, design);
      if (threads !== null && isGood(row)) design.values.set(threads, row.value);
    }
  }
  return [...designs.values()];
}

/** The number of threads with the best result. */
function bestAt(design: Design, lower: boolean): number | undefined {
  const results = [...design.values].map(([threads, { median }]) => ({ threads, median }));
  if (results.length === 0) return undefined;
  return results.reduce((a, b) => ((lower ? b.median < a.median : b.median > a.median) ? b : a)).threads;
}

export function scaling(report: Report): HTMLElement | null {
  const counts = report.blocks
    .flatMap(({ threads }) => (threads === null ? [] : [threads]))
    .sort((a, b) => a - b);
  const designs = designsOf(report);
  const points = designs.flatMap(({ name, number, values }) =>
    [...values].map(([threads, { median }]) => ({ name, number, threads, value: median })),
  );
  if (counts.length < 2 || points.length === 0) return null;
  const show = format.resultFormat(report);
  const columns: Column<Design>[] = [
    { title: "design", cell: ({ name }) => name },
    ...counts.map(
      (threads): Column<Design> => ({
        title: String(threads),
        number: true,
        cell: ({ values }) => {
          const median = values.get(threads)?.median;
          return median === undefined ? { text: "–" } : { text: show(median), key: median };
        },
      }),
    ),
    {
      title: "best at",
      number: true,
      cell: (design) => {
        const best = bestAt(design, report.lower_is_better);
        return best === undefined ? { text: "–" } : { text: format.threads(best), key: best };
      },
    },
  ];
  const axis = format.resultName(report);
  const label = `Line chart of the ${axis} over the number of threads, one line a design; the table below has its numbers.`;
  return section(
    "scaling",
    "Scaling",
    figure(label, (width) => charts.scaling(points, axis, show, width)),
    note(
      "Medians of the runs. The last column is the number of threads at which the design's own result is best: beyond it the design does not scale.",
    ),
    table(columns, designs, { caption: "Results over the number of threads" }),
  );
}
