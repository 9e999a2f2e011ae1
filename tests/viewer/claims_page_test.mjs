// SPDX-License-Identifier: Apache-2.0
// The report of make repro (ELISION_CLAIMS_PAGE) in Chromium, in both colour schemes, wide and narrow.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { openBrowser } from "./browser.mjs";
import { badTexts, leastContrast } from "./checks.mjs";

const ADDRESS = pathToFileURL(process.env.ELISION_CLAIMS_PAGE).href;
let browser;

before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 400]) {
    test(`the report in ${colorScheme}, ${width} wide`, async () => {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      const problems = [];
      page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
      page.on("console", (message) => problems.push(`message: ${message.text()}`));
      page.on("request", (request) => {
        if (request.url() !== ADDRESS) problems.push(`request: ${request.url()}`);
      });
      await page.goto(ADDRESS);
      await page.evaluate(() => {
        for (const details of document.querySelectorAll("details")) details.open = true;
      });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
      assert.ok((await page.locator(".plot svg").count()) >= 7);
      assert.deepEqual(await page.evaluate(badTexts, ".plot"), []);
      const contrast = await page.evaluate(
        leastContrast,
        "p, li, th, td, summary, h1, h2, h3, h4, a, .verdict",
      );
      assert.ok(contrast >= 4.5, `contrast ${contrast}`);
      const letters = await page.evaluate(() =>
        Math.min(
          ...[...document.querySelectorAll(".plot svg text")].map(
            (text) => text.getBoundingClientRect().height,
          ),
        ),
      );
      assert.ok(letters >= 7, `letters of ${letters} pixels`);
      for (const link of await page.locator("nav a").all()) {
        const target = (await link.getAttribute("href")).slice(1);
        assert.equal(await page.locator(`[id="${target}"]`).count(), 1, target);
      }
      assert.deepEqual(problems, []);
      await page.close();
    });
  }
}
