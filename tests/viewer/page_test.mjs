// SPDX-License-Identifier: Apache-2.0
// The page in Chromium: every made-up report, and one that `elision compare --html` wrote (ELISION_PAGE), in both colour schemes, wide,
// narrow and printed; then what a reader does with it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { checkEverywhere, fileOf, open, openUnchecked } from "./everywhere.mjs";
import * as reports from "./reports.mjs";

const EXPLAINED_SECTIONS = ["diagnosis", "next", "time", "locks", "conflicts"];
for (const [name, make] of Object.entries(reports)) {
  test(`report '${name}' in light, in dark, wide, narrow and printed`, async () => {
    await checkEverywhere(fileOf(make()), name);
  });
}

test("report of a real comparison", { skip: process.env.ELISION_PAGE === undefined }, async () => {
  const address = pathToFileURL(process.env.ELISION_PAGE).href;
  await checkEverywhere(address, "real");
  const { page } = await open(address);
  assert.match(await page.locator("h1").textContent(), /onelock/);
  assert.ok((await page.locator("#machine tbody tr").count()) > 50);
  await page.close();
});

test("a report with reasons has their sections, one without has none", async () => {
  const { page } = await open(fileOf(reports.explained()));
  const links = () =>
    page.locator("nav .links a").evaluateAll((all) => all.map((link) => link.getAttribute("href").slice(1)));
  const order = [
    "verdict",
    "diagnosis",
    "next",
    "scaling",
    "results",
    "time",
    "locks",
    "conflicts",
    "aborts",
    "repeat",
    "machine",
  ];
  assert.deepEqual(await links(), order);
  await page.goto(fileOf(reports.plain()));
  assert.deepEqual(
    await links(),
    order.filter((id) => !EXPLAINED_SECTIONS.includes(id)),
  );
  await page.goto(fileOf(reports.nothing()));
  assert.deepEqual(await links(), ["verdict", "repeat", "machine"]);
  await page.close();
});

test("the charts show the report's numbers", async () => {
  const report = reports.explained([1, 8]);
  const { page } = await open(fileOf(report));
  const bars = await page.locator("#results .panel:not(.other) rect title").allTextContents();
  assert.equal(bars.length, report.blocks[1].rows.length);
  assert.match(bars[4], /^htm-10: 2\d\.\dM, from /);
  const time = await page.locator("#time .panel:not(.other) rect title").allTextContents();
  assert.ok(time.includes("htm-10, aborted: 15\u202f%"), time.join("\n"));
  const locks = await page
    .locator("#locks .panel:not(.other) details")
    .first()
    .locator("rect title")
    .allTextContents();
  assert.ok(locks.includes("table_lock, waiting: 240\u202fms"), locks.join("\n"));
  const conflicts = await page.locator("#conflicts .panel:not(.other) rect title").allTextContents();
  assert.ok(conflicts.includes("statistics, false sharing: 512"), conflicts.join("\n"));
  assert.ok(conflicts.includes("table.size (300 places), same data: 1680"), conflicts.join("\n"));
  const lines = await page.locator("#scaling svg title").allTextContents();
  assert.equal(lines.length, 2 * report.blocks[0].rows.length);
  await page.close();
});

test("numbers of runs and of locks are whole, and small speedups have digits", async () => {
  const report = reports.explained([8]);
  const [, second, third] = report.blocks[0].rows;
  Object.assign(second, {
    runs: 12,
    speedup: 0.0034,
    interval: { low: 0.0031, high: 0.0037, confidence: 0.95 },
  });
  delete third.why.lock_count;
  const { page } = await open(fileOf(report));
  assert.match(await page.locator(".summary").textContent(), / 3 to 12 runs a design/);
  const locks = await page.locator("#locks summary").allTextContents();
  assert.match(locks[0], /^pthread 4 of 257 locks, /);
  assert.match(locks[2], /^ticket 4 locks, /);
  const results = await page.locator("#results").textContent();
  assert.ok(results.includes("0.0034×"));
  assert.ok(results.includes("[0.0031 – 0.0037]"));
  await page.goto(fileOf(reports.plain()));
  assert.match(await page.locator(".summary").textContent(), / 3 runs a design/);
  await page.close();
});

test("a block without a diagnosis says why it has none", async () => {
  const report = reports.explained([8]);
  delete report.blocks[0].diagnosis;
  report.blocks[0].unexplained = { samples: 12, one_thread: false, sentence: "Only 12 samples: too few." };
  const { page } = await open(fileOf(report));
  assert.equal(await page.locator("#diagnosis .panel").textContent(), "Only 12 samples: too few.");
  await page.close();
});

test("the part that is timed stands above the verdict", async () => {
  const report = { ...reports.plain(), part: { options: [], text: "from the second thread on" } };
  const { page } = await open(fileOf(report));
  assert.match(
    await page.locator(".summary").textContent(),
    / · from the second thread on · 3 runs a design/,
  );
  await page.close();
});

test("a sampled comparison says what its times are", async () => {
  const report = {
    ...reports.plain(),
    metric: "",
    lower_is_better: true,
    part: { options: [], text: "windows of 300 us" },
    windows: { count: 3, length_seconds: 3e-4 },
  };
  const { page } = await open(fileOf(report));
  assert.match(await page.locator(".summary").textContent(), / · windows of 300 us · 3 windows a design/);
  const axes = await page.locator("#results svg text").allTextContents();
  assert.ok(axes.includes("time of a section (lower is better)"), axes.join("\n"));
  await page.close();
});

test("a comparison of transactional memory has its reference and its counts", async () => {
  const { page } = await open(fileOf(reports.transactions()));
  const text = await page.locator("body").innerText();
  assert.doesNotMatch(text, /pthread|speculations|longest wait/);
  assert.match(text, /relative to libitm with 1 thread\./);
  assert.match(text, /throughput \(libitm with 1 thread = 1\)/);
  assert.match(text, /the speedup over libitm and its interval/);
  const heads = await page.locator("#results thead th").allInnerTexts();
  const cells = async (mode, head, number) => {
    const row = page.locator("#results tbody tr", { has: page.getByRole("rowheader", { name: mode }) });
    const at = heads.findIndex((text) => text.startsWith(head)) - 1; // the first is a row's head
    return (await row.locator("td").allInnerTexts()).slice(at, at + number);
  };
  assert.deepEqual(await cells(/ale$/, "accesses a segment", 3), ["35.5", "20\u202f%", "90\u202f%"]);
  assert.deepEqual(await cells(/hle$/, "accesses a segment", 3), ["–", "–", "–"]);
  assert.deepEqual(await cells(/libitm$/, "speedup", 2), ["1.00×", "–"]);
  await page.close();
});

test("one conflict is not plural", async () => {
  const report = reports.explained([8]);
  const row = report.blocks[0].rows.find(({ why }) =>
    why.locks.some(({ conflicts }) => conflicts.length > 0),
  );
  row.why.locks = row.why.locks.slice(0, 1);
  const [conflict] = report.blocks[0].rows.flatMap(({ why }) =>
    why.locks.flatMap(({ conflicts }) => conflicts),
  );
  row.why.locks[0].conflicts = [{ ...conflict, count: 1, places: undefined }];
  const { page } = await open(fileOf(report));
  const summaries = await page.locator("#conflicts summary").allTextContents();
  assert.ok(
    summaries.some((text) => text.endsWith(" 1 conflict on 1 place")),
    summaries.join("\n"),
  );
  await page.close();
});

test("the number of threads is chosen by keyboard, and sections follow", async () => {
  const { page } = await open(fileOf(reports.explained([1, 4, 8])));
  const shown = () => page.locator("#results .panel:not(.other) h3").allTextContents();
  assert.deepEqual(await shown(), ["8 threads"]);
  await page.locator("input[value='8']").focus();
  await page.keyboard.press("ArrowLeft");
  assert.deepEqual(await shown(), ["4 threads"]);
  assert.equal(
    await page
      .locator(".panel:not(.other) h3")
      .evaluateAll((all) => new Set(all.map((h3) => h3.textContent)).size),
    1,
  );
  await page.close();
});

test("a table is sorted by keyboard in both directions, with what has no value last", async () => {
  const { page } = await open(fileOf(reports.failed()));
  const column = page.locator("#results thead button", { hasText: /^time$/ });
  const designs = () => page.locator("#results tbody th").allTextContents();
  const order = () => page.locator("#results thead th").nth(1).getAttribute("aria-sort");
  assert.equal((await designs())[0], "pthread");
  await page.locator("#results thead button", { hasText: "speedup" }).focus();
  await page.keyboard.press("Enter");
  assert.deepEqual((await designs()).slice(0, 2), ["htm-10", "pthread"]);
  await page.keyboard.press("Space");
  assert.deepEqual((await designs()).slice(0, 2), ["pthread", "htm-10"]);
  await column.click();
  assert.equal(await order(), "descending");
  assert.equal(await page.locator("#results th[aria-sort]").count(), 1);
  await page.close();
});

test("no name becomes markup", async () => {
  const { page } = await open(fileOf(reports.hostile()));
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.match(
    await page.locator("h1").textContent(),
    /^<\/script><script>window\.broken = 1<\/script><img .*'"&amp;\ufffd\ufffd\ufffd$/,
  );
  await page.close();
});

test("the page's policy refuses other scripts and requests", async () => {
  const { page, problems } = await open(fileOf(reports.plain([2])));
  const refused = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.injected = 1";
    document.body.append(script);
    const answer = await fetch("https://localhost:9/").then(
      () => "answered",
      () => "refused",
    );
    return [window.injected, answer];
  });
  assert.deepEqual(refused, [undefined, "refused"]);
  assert.ok(
    problems.every((problem) => problem.includes("Content Security Policy")),
    problems.join("\n"),
  );
  assert.ok(problems.length > 0);
  await page.close();
});

test("a report that cannot be read is said so", async () => {
  for (const [report, said] of [
    [{ version: 2, blocks: [], runs: [] }, "version 2"],
    [{}, "version undefined"],
    [[], "version undefined"],
  ]) {
    const page = await openUnchecked(fileOf(report));
    assert.match(await page.getByRole("alert").textContent(), new RegExp(said));
    await page.close();
  }
});

test("the report is saved as it came", async () => {
  const report = reports.varied(3);
  const { page } = await open(fileOf(report));
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the report" }).click();
  assert.deepEqual(JSON.parse(readFileSync(await (await download).path(), "utf8")), report);
  await page.close();
});

test("a command is copied", async () => {
  const report = reports.explained([2]);
  const address = fileOf(report);
  const { page } = await open(address, {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await page.locator("#next .command button").click();
  await page.locator("#next .command button", { hasText: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), report.next_steps[0].command);
  await page.close();
});
