// SPDX-License-Identifier: Apache-2.0
// Pictures of the page to look at: node tests/viewer/pictures.mjs FOLDER [REPORT...]. Every report in light and dark, wide and narrow,
// and as printed.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, pageWith } from "./browser.mjs";
import * as profiles from "./profiles.mjs";
import * as comparisons from "./reports.mjs";

const reports = { ...comparisons, ...profiles };
const [folder, ...chosen] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const name of chosen.length > 0 ? chosen : Object.keys(reports)) {
  const report = name.endsWith(".json") ? JSON.parse(readFileSync(name, "utf8")) : reports[name]();
  const title = name.replace(/^.*\//, "").replace(/\.json$/, "");
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 400]) {
      const page = await browser.newPage({
        colorScheme,
        viewport: { width, height: 900 },
      });
      await page.setContent(pageWith(report));
      await page.screenshot({
        path: join(folder, `${title}-${colorScheme}-${width}.png`),
        fullPage: true,
      });
      if (colorScheme === "light" && width === 1280)
        await page.pdf({
          path: join(folder, `${title}.pdf`),
          format: "A4",
          printBackground: true,
        });
      await page.close();
    }
  }
}
await browser.close();
