// SPDX-License-Identifier: Apache-2.0
// node speedscope.mjs PACKAGES FILE: opens FILE in the speedscope that is in the folder PACKAGES, and prints as JSON what it shows: its title, the
// rows (number, name, total) of its profiles, and of the first one the rows (total, self, function) of its functions.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, file] = process.argv.slice(2);
const { chromium } = createRequire(join(packages, "package.json"))("playwright-core");
const PAGE = pathToFileURL(join(packages, "node_modules/speedscope/dist/release/index.html")).href;
const SCRIPT = `speedscope.loadFileFromBase64("profile", "${readFileSync(file).toString("base64")}")`;

// Chromium's sandbox does not work for root, as in a container.
const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
try {
  // So high that the list shows all of its rows.
  const page = await browser.newPage({ viewport: { width: 1600, height: 4000 } });
  // As speedscope's own command line hands a file to the page.
  await page.route("**/profile.js", (route) => route.fulfill({ contentType: "text/javascript", body: SCRIPT }));
  await page.goto(`${PAGE}#localProfilePath=/profile.js&view=sandwich`);
  // A row of the list of profiles has three cells, too, but a title.
  const PROFILE = "tr[title]";
  const FUNCTION = "tr:not([title]):has(td)";
  for (const row of [PROFILE, FUNCTION]) await page.locator(row).first().waitFor({ state: "attached" });
  const cells = (selector) =>
    page.locator(selector).evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const shown = { title: await page.title(), profiles: await cells(PROFILE), functions: await cells(FUNCTION) };
  console.log(JSON.stringify(shown));
} finally {
  await browser.close();
}
