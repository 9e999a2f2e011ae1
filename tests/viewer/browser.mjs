// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium by playwright-core, and pages with reports. ELISION_VIEWER is a folder with the viewer's packages, else viewer/.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const OWN_VIEWER = fileURLToPath(new URL("../../viewer", import.meta.url));
const { chromium } = createRequire(join(process.env.ELISION_VIEWER ?? OWN_VIEWER, "package.json"))(
  "playwright-core",
);
const TEMPLATE = readFileSync(join(OWN_VIEWER, "dist", "report.html"), "utf8");
const PLACE = '<script type="application/json" id="report">';

/** Chromium's sandbox does not work for root, as in a container. */
export function openBrowser() {
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: "/usr/bin/chromium", args });
}

/** The page as src/cli/show/html.cc makes it. */
export function pageWith(report) {
  return TEMPLATE.replace(PLACE, () => PLACE + JSON.stringify(report).replaceAll("<", "\\u003c"));
}
