// SPDX-License-Identifier: Apache-2.0
// The answer: what was compared, the sentence for each number of threads, its reasons, and what to do next.
import { command, element, section } from "../dom";
import * as format from "../format";
import type { Block, Report } from "../report";

/** How sure a verdict is, by its kind in the report. */
function tone(kind: string): "use" | "perhaps" | "keep" | "nothing" {
  if (kind === "use") return "use";
  if (["one-run", "not-in-every-variation", "unsettled"].includes(kind)) return "perhaps";
  if (["keep", "no-gain"].includes(kind)) return "keep";
  return "nothing";
}

function runsOf(report: Report): string {
  if (report.variations) return ` · ${format.plural(report.variations.length, "variation")} of the machine`;
  const counts = report.blocks.flatMap(({ rows }) => rows.flatMap(({ runs }) => runs ?? []));
  if (counts.length === 0) return "";
  const least = Math.min(...counts);
  const most = Math.max(...counts);
  return ` · ${least === most ? "" : `${least} to `}${format.plural(most, report.windows ? "window" : "run")} a design`;
}

export function heading(report: Report): HTMLElement {
  const where = report.virtual ? `virtual ${report.where}` : "this computer's own CPU";
  return element(
    "header",
    {},
    element("p", { class: "kicker" }, "elision compare"),
    element("h1", {}, report.program),
    element(
      "p",
      { class: "summary" },
      `on ${where}${report.part === undefined ? "" : ` · ${report.part.text}`}${runsOf(report)}${report.metric === "" ? "" : " · result: "}`,
      report.metric === "" ? null : element("code", {}, report.metric),
    ),
  );
}

/** The sentence with the words up to its colon emphasised: "Use htm-10: ...". */
function emphasised(sentence: string): (Node | string)[] {
  const colon = sentence.indexOf(": ");
  if (colon < 0 || colon > 40) return [sentence];
  return [element("strong", {}, sentence.slice(0, colon + 1)), sentence.slice(colon + 1)];
}

export function verdict(report: Report): HTMLElement {
  const byThreads = [...report.blocks].sort((a, b) => (b.threads ?? 0) - (a.threads ?? 0));
  const items = byThreads.map((block) =>
    element(
      "li",
      { class: `verdict ${tone(block.verdict.kind)}` },
      block.threads === null ? null : element("span", { class: "label" }, format.threads(block.threads)),
      element("span", { class: "sentence" }, ...emphasised(block.verdict.sentence)),
    ),
  );
  return section(
    "verdict",
    "Verdict",
    element("ul", { class: items.length > 1 ? "verdicts" : "verdicts single" }, ...items),
  );
}

/** What is in the way, with one number of threads, or why that is not known. */
export function diagnosis({ diagnosis: found, unexplained }: Block): Node[] {
  if (found === undefined) return unexplained === undefined ? [] : [element("p", {}, unexplained.sentence)];
  const findings = found.findings.map(({ sentence }) => element("li", {}, sentence));
  return [
    element("p", {}, found.sentence),
    ...(findings.length > 0 ? [element("ul", { class: "findings" }, ...findings)] : []),
  ];
}

export function nextSteps(report: Report): HTMLElement | null {
  const steps = report.next_steps ?? [];
  if (steps.length === 0) return null;
  const items = steps.map((step) =>
    element(
      "li",
      {},
      element("p", {}, step.sentence),
      step.command === undefined ? null : command(step.command),
    ),
  );
  return section("next", "What to do next", element("ol", {}, ...items));
}
