// SPDX-License-Identifier: Apache-2.0
// The page of a profile: its sections in their order, and what it has no data for.
import { element, note, section } from "./dom";
import { flame, TIME_LOOK } from "./flame";
import * as format from "./format";
import type { ProfileReport } from "./report";
import { aborts, noAborts } from "./views/aborts";
import { diagnosis, heading, time } from "./views/profile";
import { locks } from "./views/profile_locks";
import { saveButton } from "./views/repeat";
import { noSharedData, sharedData } from "./views/shared_data";
import { haveTransactions, threads } from "./views/threads";

function calls({ call_paths: paths, threads: all }: ProfileReport): HTMLElement | null {
  if (paths === null) return null;
  const lost =
    paths.lost > 0 ? note(`${format.plural(paths.lost, "sample")} had no room and are not shown.`) : null;
  return section("calls", "Call paths", ...flame(paths, all, TIME_LOOK), lost);
}

/** A line for each part that the profile has no data for. */
function missing(report: ProfileReport): string[] {
  const { why, call_paths: paths, threads: all } = report;
  return [
    why === null ? "Time and locks: the run tells too little, as the verdict says." : "",
    why?.locks.length === 0 ? "Locks: the program took none." : "",
    noAborts(report),
    noSharedData(report),
    paths === null ? "Call paths: none were recorded." : "",
    haveTransactions(all) ? "" : "Commits and aborts by thread: no transactions were counted.",
  ].filter((line) => line !== "");
}

function about(report: ProfileReport): HTMLElement {
  const left = missing(report).map((line) => element("li", {}, line));
  return section(
    "about",
    "About this page",
    left.length > 0 ? element("p", {}, "Not on this page:") : null,
    left.length > 0 ? element("ul", { class: "findings" }, ...left) : null,
    report.elision === undefined ? null : note(`Elision ${report.elision}.`),
    saveButton(report),
  );
}

/** The heading, and the sections below it. */
export function profilePage(report: ProfileReport): { head: HTMLElement; sections: HTMLElement[] } {
  const sections = [
    diagnosis(report),
    time(report),
    locks(report),
    aborts(report),
    sharedData(report),
    calls(report),
    haveTransactions(report.threads) ? threads(report) : null,
    about(report),
  ];
  return { head: heading(report), sections: sections.filter((part) => part !== null) };
}
