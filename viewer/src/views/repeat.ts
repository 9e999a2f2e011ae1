// SPDX-License-Identifier: Apache-2.0
// What repeats the comparison: commands, seeds, the machine with the source of every value, the variations.
import { command, element, note, section } from "../dom";
import * as format from "../format";
import type { MachineValue, ProfileReport, Report, Run, Variation } from "../report";
import { type Column, table } from "../table";

function howItEnded({ outcome, status, deadlocked }: Run): string {
  if (deadlocked) return "deadlock";
  if (outcome === "ended") return status === 0 ? "ended" : `exit code ${status}`;
  return outcome === "killed" ? `signal ${status}` : outcome;
}

function runColumns(report: Report): Column<Run>[] {
  const columns: Column<Run>[] = [
    { title: "design", cell: ({ design }) => design },
    {
      title: "threads",
      number: true,
      cell: ({ threads }) => (threads === null ? { text: "–" } : { text: String(threads), key: threads }),
    },
    { title: "run", number: true, cell: ({ run }) => ({ text: String(run + 1), key: run }) },
    {
      title: format.timeName(report),
      number: true,
      cell: ({ seconds }) => ({ text: format.seconds(seconds), key: seconds }),
    },
    { title: "ended", cell: howItEnded },
    {
      title: "command",
      cell: ({ command: text }) =>
        text === undefined ? { text: "–" } : { text: element("code", {}, text), key: text },
    },
  ];
  if (report.virtual)
    columns.splice(3, 0, {
      title: "seed",
      number: true,
      cell: ({ seed }) => ({ text: String(seed), key: seed }),
    });
  if (report.variations)
    columns.splice(4, 0, {
      title: "variation",
      number: true,
      cell: ({ variation }) => ({ text: String(variation), key: variation }),
    });
  if (report.metric !== "")
    columns.splice(-2, 0, {
      title: "result",
      number: true,
      cell: ({ metric }) =>
        metric === undefined ? { text: "–" } : { text: format.count(metric), key: metric },
    });
  return columns;
}

/** "1 to 3", "1, 5". */
function listed(numbers: number[]): string {
  const all = [...new Set(numbers)].sort((a, b) => a - b);
  const first = all[0];
  const last = all.at(-1);
  if (first === undefined || last === undefined) return "none";
  return all.length > 2 && last - first === all.length - 1 ? `${first} to ${last}` : all.join(", ");
}

export function saveButton(report: Report | ProfileReport): HTMLElement {
  const button = element("button", { type: "button" }, "Save the report as JSON");
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(
      new Blob([JSON.stringify(report, null, 2), "\n"], { type: "application/json" }),
    );
    element("a", { href: address, download: "elision-report.json" }).click();
    URL.revokeObjectURL(address);
  });
  return button;
}

export function repeat(report: Report): HTMLElement {
  const exact =
    report.virtual && report.runs.length > 0
      ? ` Seeds ${listed(report.runs.map(({ seed }) => seed))}. The same seed and variation repeat a virtual run exactly.`
      : "";
  return section(
    "repeat",
    "Repeat it",
    report.command === undefined ? null : command(report.command),
    note(`${report.elision === undefined ? "" : `Elision ${report.elision}.`}${exact}`),
    element(
      "details",
      {},
      element(
        "summary",
        {},
        element("strong", {}, "Every run"),
        element("span", {}, ` ${format.plural(report.runs.length, "run")}, with the command of each`),
      ),
      table(runColumns(report), report.runs, { caption: "Every run" }),
    ),
    saveButton(report),
  );
}

/** The values of one variation beside the others, one row a field. */
function variationTable(variations: Variation[]): HTMLElement {
  const fields = [...new Set(variations.flatMap(({ drawn }) => Object.keys(drawn)))];
  const columns: Column<string>[] = [
    { title: "value", cell: (field) => field },
    ...variations.map(
      ({ variation, drawn }): Column<string> => ({
        title: String(variation),
        number: true,
        cell: (field) => {
          const value = drawn[field];
          return value === undefined
            ? { text: "–" }
            : { text: String(value), key: typeof value === "number" ? value : String(value) };
        },
      }),
    ),
  ];
  return table(columns, fields, { caption: "Values drawn for each variation of the machine" });
}

const isNumber = (text: string | undefined): boolean =>
  text !== undefined && text.trim() !== "" && Number.isFinite(Number(text));

/** "53 to 59"; "or lost". */
function uncertainty({ others }: MachineValue): string {
  if (others.length === 0) return "";
  return others.length === 2 && others.every(isNumber) ? others.join(" to ") : `or ${others.join(", ")}`;
}

export function machine(report: Report): HTMLElement | null {
  const values = report.machine ?? [];
  if (values.length === 0) return null;
  const columns: Column<MachineValue>[] = [
    { title: "value", cell: ({ field }) => field },
    {
      title: "best guess",
      number: true,
      cell: ({ value }) => ({ text: value, key: isNumber(value) ? Number(value) : value }),
    },
    { title: "uncertain", number: true, cell: (value) => uncertainty(value) || { text: "–" } },
    { title: "source", cell: ({ source }) => source || { text: "–" } },
  ];
  const uncertain = values.filter(({ others }) => others.length > 0).length;
  const parts = [
    note(
      report.virtual
        ? `The description of ${report.where}: ${format.plural(values.length, "value")}, ${uncertain} of them uncertain.`
        : "The computer that ran the program.",
    ),
    element(
      "details",
      report.virtual ? {} : { open: "" },
      element("summary", {}, element("strong", {}, "Values and sources")),
      table(columns, values, { caption: "Machine description" }),
    ),
  ];
  if (report.variations)
    parts.push(
      element(
        "details",
        {},
        element(
          "summary",
          {},
          element("strong", {}, "Variations"),
          element("span", {}, " what was drawn for each"),
        ),
        variationTable(report.variations),
      ),
    );
  return section("machine", "Machine", ...parts);
}
