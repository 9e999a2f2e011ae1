// SPDX-License-Identifier: Apache-2.0
// Opens pages in Chromium and checks what holds of each of them, in both colour schemes, wide, narrow and printed.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { openBrowser, pageWith } from "./browser.mjs";
import { badTexts, leastContrast } from "./checks.mjs";

const folder = mkdtempSync(join(tmpdir(), "elision-viewer-"));
let browser;

before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** A page that may have errors. */
export async function openUnchecked(address) {
  const page = await browser.newPage();
  await page.goto(address);
  return page;
}

/** A page on which an error, a message or a request for anything but itself fails the test. `init` runs in it before its own script. */
export async function open(address, options = {}, init = () => {}) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => problems.push(`message: ${message.text()}`));
  page.on("request", (request) => {
    if (request.url() !== address && request.url() !== "data:,") problems.push(`request: ${request.url()}`);
  });
  await page.addInitScript(init);
  await page.goto(address);
  return { page, problems };
}

/** A report as a file, as a reader opens it. */
export function fileOf(report) {
  const file = join(folder, "report.html");
  writeFileSync(file, pageWith(report));
  return pathToFileURL(file).href;
}

/** What holds of every page, in every scheme and width. */
async function check(page, problems, what) {
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(overflow <= 0, `${what}: the page is ${overflow} pixels too wide`);
  assert.equal(await page.locator("section").first().getAttribute("id"), "verdict", what);
  assert.deepEqual(await page.evaluate(badTexts), [], what);
  for (const chart of await page.locator(".chart svg").all()) {
    if (!(await chart.evaluate((svg) => svg.parentElement.closest("svg") === null))) continue;
    assert.equal(await chart.getAttribute("role"), "img", what);
    assert.match(await chart.getAttribute("aria-label"), /^(Bar|Line|Stacked|Chart).*\.$/s, what);
  }
  const contrast = await page.evaluate(
    leastContrast,
    "p, li, th, td, label, .label, .sentence, summary, h3, button, a, small",
  );
  assert.ok(contrast >= 4.5, `${what}: contrast ${contrast}`);
  assert.deepEqual(problems, [], what);
}

/** Opens what is folded, so that all of it is checked. */
async function unfold(page) {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}

export async function checkEverywhere(address, what) {
  for (const colorScheme of ["light", "dark"]) {
    const { page, problems } = await open(address, { colorScheme });
    await unfold(page);
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForFunction(
        (most) => [...document.querySelectorAll(".chart > *")].every((svg) => svg.clientWidth <= most),
        width,
      );
      await check(page, problems, `${what}, ${colorScheme}, ${width} wide`);
    }
    await page.emulateMedia({ media: "print", colorScheme });
    assert.equal(await page.locator("nav").isVisible(), false);
    assert.equal(
      await page.evaluate(() => getComputedStyle(document.body).color),
      "rgb(24, 32, 43)",
      `${what}: print is light`,
    );
    const print = await page.pdf({ format: "A4" });
    assert.equal(print.subarray(0, 5).toString(), "%PDF-");
    assert.deepEqual(problems, []);
    await page.close();
  }
}
