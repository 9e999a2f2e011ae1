// SPDX-License-Identifier: Apache-2.0
// The page of `elision compare --html` and `elision report --html`: reads the report that lies in the page and shows it.
import { element, note, section } from "./dom";
import { keepDrawn } from "./figure";
import * as format from "./format";
import { profilePage } from "./profile";
import { type Block, isProfile, parseReport, type ProfileReport, type Report } from "./report";
import "./style.css";
import { commandOf } from "./views/profile";
import { machine, repeat } from "./views/repeat";
import { results } from "./views/results";
import { scaling } from "./views/scaling";
import { diagnosis, heading, nextSteps, verdict } from "./views/verdict";
import { aborts, conflicts, locks, time } from "./views/why";

/** A section with one panel for each number of threads, of which the chosen one shows, on paper too. */
function panels(
  report: Report,
  id: string,
  title: string,
  content: (block: Block) => Node[],
): HTMLElement | null {
  const filled = report.blocks.map((block) => ({ block, parts: content(block) }));
  if (filled.every(({ parts }) => parts.length === 0)) return null;
  const several = filled.length > 1;
  return section(
    id,
    title,
    ...filled.map(({ block, parts }) =>
      element(
        "div",
        { class: "panel", "data-threads": String(block.threads) },
        several ? element("h3", {}, format.threads(block.threads)) : null,
        ...(parts.length > 0 ? parts : [note("Nothing of this kind.")]),
      ),
    ),
  );
}

function show(threads: string): void {
  for (const panel of document.querySelectorAll<HTMLElement>(".panel"))
    panel.classList.toggle("other", panel.dataset.threads !== threads);
}

function threadChoice(report: Report): HTMLElement | null {
  if (report.blocks.length < 2) return null;
  const most = report.blocks.reduce((a, b) => ((b.threads ?? 0) > (a.threads ?? 0) ? b : a));
  const choices = report.blocks.map((block) => {
    const value = String(block.threads);
    const input = element("input", {
      type: "radio",
      name: "threads",
      value,
      ...(block === most ? { checked: "" } : {}),
    });
    input.addEventListener("change", () => {
      show(value);
    });
    return element("label", {}, input, element("span", {}, value));
  });
  return element("fieldset", { class: "threads" }, element("legend", {}, "Threads"), ...choices);
}

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function comparisonPage(report: Report): { head: HTMLElement; sections: HTMLElement[] } {
  const sections = [
    verdict(report),
    panels(report, "diagnosis", "Diagnosis", diagnosis),
    nextSteps(report),
    scaling(report),
    panels(report, "results", "Results", (block) => results(report, block)),
    panels(report, "time", "Where time goes", time),
    panels(report, "locks", "Locks with most waiting", locks),
    panels(report, "conflicts", "Conflicts", conflicts),
    panels(report, "aborts", "Aborts by cause", aborts),
    repeat(report),
    machine(report),
  ].filter((part) => part !== null);
  return { head: heading(report), sections };
}

function build(report: Report | ProfileReport): Node[] {
  const { head, sections } = isProfile(report) ? profilePage(report) : comparisonPage(report);
  const links = sections.map((part) => element("a", { href: `#${part.id}` }, capitalised(part.id)));
  const bar = element(
    "nav",
    { "aria-label": "Sections" },
    element("div", { class: "links" }, ...links),
    isProfile(report) ? null : threadChoice(report),
  );
  return [head, bar, ...sections];
}

function start(page: HTMLElement): void {
  try {
    const report = parseReport(document.getElementById("report")?.textContent ?? "");
    document.title = isProfile(report)
      ? `${commandOf(report.program)} – elision report`
      : `${report.program} – elision compare`;
    page.replaceChildren(...build(report));
    if (!isProfile(report))
      show(
        document.querySelector<HTMLInputElement>("input[name=threads]:checked")?.value ??
          String(report.blocks[0]?.threads),
      );
    keepDrawn(page);
  } catch (error) {
    page.replaceChildren(
      element(
        "p",
        { class: "problem", role: "alert" },
        error instanceof Error ? error.message : String(error),
      ),
    );
    throw error;
  }
}

const page = document.getElementById("page");
if (page !== null) start(page);
