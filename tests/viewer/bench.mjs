// SPDX-License-Identifier: Apache-2.0
// How long the page of a profile with 200,000 call paths takes in Chromium (`make bench-viewer`): medians of some repetitions, in milliseconds.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openBrowser, pageWith } from "./browser.mjs";
import { manyPaths } from "./profiles.mjs";

const PATHS = 200000;
const REPETITIONS = 7;

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Milliseconds that `act` takes inside of the page until the next frame is drawn. */
async function timed(page, act, argument) {
  const times = [];
  for (let i = 0; i < REPETITIONS; ++i)
    times.push(
      await page.evaluate(
        async ([source, value]) => {
          const begin = performance.now();
          new Function("value", `(${source})(value)`)(value);
          await new Promise((resolve) => {
            requestAnimationFrame(() => setTimeout(resolve));
          });
          return performance.now() - begin;
        },
        [String(act), argument],
      ),
    );
  return median(times);
}

function press(key) {
  document.querySelector(".flame").dispatchEvent(new KeyboardEvent("keydown", { key }));
}

const folder = mkdtempSync(join(tmpdir(), "elision-viewer-"));
const browser = await openBrowser();
try {
  const file = join(folder, "report.html");
  const text = pageWith(manyPaths(PATHS));
  writeFileSync(file, text);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
  const opened = [];
  for (let i = 0; i < 3; ++i) {
    const begin = performance.now();
    await page.goto(pathToFileURL(file).href);
    opened.push(performance.now() - begin);
  }
  await page.locator(".flame").scrollIntoViewIfNeeded();
  const rows = [
    ["open the page", median(opened)],
    ["choose a state", await timed(page, () => document.querySelector(".states input").click())],
    [
      "search",
      await timed(page, () => {
        const input = document.querySelector("input[type=search]");
        input.value = input.value === "" ? "function_3" : "";
        input.dispatchEvent(new Event("input"));
      }),
    ],
    ["draw once more", await timed(page, press, "Home")],
    [
      "go to a callee and zoom",
      await timed(page, () => {
        for (const key of ["Home", "ArrowDown", "Enter"])
          document.querySelector(".flame").dispatchEvent(new KeyboardEvent("keydown", { key }));
      }),
    ],
    ["zoom out", await timed(page, press, "Escape")],
  ];
  console.log(`${PATHS} call paths, ${(text.length / 1e6).toFixed(0)} MB`);
  for (const [what, time] of rows) console.log(`${what.padEnd(24)} ${time.toFixed(0).padStart(5)} ms`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
