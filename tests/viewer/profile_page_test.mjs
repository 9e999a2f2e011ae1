// SPDX-License-Identifier: Apache-2.0
// The page of a profile in Chromium: every made-up one, and one that `elision report --html` wrote (ELISION_PROFILE_PAGE), in both colour
// schemes, wide, narrow and printed; then what a reader does with it. What is on the canvas is known from the calls that draw it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { checkEverywhere, fileOf, open, openUnchecked } from "./everywhere.mjs";
import * as profiles from "./profiles.mjs";

const ROW = 21;
const MOST_ROWS = 32;
const THIN = "\u202f";

for (const [name, make] of Object.entries(profiles))
  test(`profile '${name}' in light, in dark, wide, narrow and printed`, async () => {
    await checkEverywhere(fileOf(make()), name);
  });

test("page of a real profile", { skip: process.env.ELISION_PROFILE_PAGE === undefined }, async () => {
  const address = pathToFileURL(process.env.ELISION_PROFILE_PAGE).href;
  await checkEverywhere(address, "real");
  const { page } = await open(address);
  assert.match(await page.locator("h1").textContent(), /onelock/);
  assert.ok((await page.locator("#locks tbody tr").count()) > 0);
  assert.equal(await page.locator("#calls .flame").count(), 1);
  await page.close();
});

test(
  "page of real samples of aborts says what the report prints",
  { skip: process.env.ELISION_ABORTS_PAGE === undefined },
  async () => {
    const address = pathToFileURL(process.env.ELISION_ABORTS_PAGE).href;
    await checkEverywhere(address, "real aborts");
    const { page } = await open(address);
    const { causes, sources, bars } = abortsOf(page);
    const notes = await page.locator("#aborts > .note").allTextContents();
    assert.equal(await page.locator("#aborts .flame").count(), 1);
    assert.equal(notes.length, 3);
    for (const said of notes) assert.ok(process.env.ELISION_ABORTS_TEXT.includes(said), said);
    const wanted = process.env.ELISION_ABORTS_TEXT.match(
      / % (\S+) at (.*) \((.*)\), called by (.*) \((.*)\), in sections of (.*) \(/,
    );
    const first = sources.first();
    assert.equal(await first.locator("th .place > span").textContent(), wanted[2]);
    assert.equal(await first.locator("th .source").textContent(), wanted[3]);
    assert.equal(await first.locator("td .calls").textContent(), wanted[4] + wanted[5]);
    assert.equal(await first.locator("td").nth(2).textContent(), wanted[1]);
    assert.equal(await first.locator("td .place > span").last().textContent(), wanted[6]);
    assert.equal(await bars.count(), await sources.count());
    assert.ok((await causes.count()) > 0);
    await page.close();
  },
);

test(
  "page of real samples of accesses says what the report prints",
  { skip: process.env.ELISION_SHARING_PAGE === undefined },
  async () => {
    const address = pathToFileURL(process.env.ELISION_SHARING_PAGE).href;
    await checkEverywhere(address, "real accesses");
    const { page } = await open(address);
    const { rows, bars } = sharingOf(page);
    const text = process.env.ELISION_SHARING_TEXT;
    const sentences = await page.locator("#sharing > .note").allTextContents();
    assert.ok(text.includes(sentences[0]) && text.includes(sentences.at(-1)), sentences.join("\n"));
    const kinds = { "the same data": "same data", "different data in one cache line": "false sharing" };
    const [, kind, data, later] = text.match(/ % (the same data|different .*line): (.*?), \S+ at (\S+) \(/);
    const first = rows.first();
    assert.equal(await first.locator("th .place > span").textContent(), data);
    assert.equal(await first.locator("td").nth(1).textContent(), kinds[kind]);
    assert.ok((await first.locator("td").nth(3).textContent()).includes(later));
    assert.equal(await bars.count(), await rows.count());
    await page.close();
  },
);

/** Notes what is drawn: boxes since the last clearing of a canvas, and texts with their places in it. */
function noteDrawing() {
  window.drawn = {
    boxes: 0,
    narrowest: Infinity,
    texts: [],
    colours: new Set(),
  };
  const pen = CanvasRenderingContext2D.prototype;
  const { fillRect, fillText } = pen;
  const scale = pen.scale; // the first call of each drawing
  pen.scale = function (...place) {
    window.drawn = {
      boxes: 0,
      narrowest: Infinity,
      texts: [],
      colours: new Set(),
    };
    return scale.apply(this, place);
  };
  pen.fillRect = function (...place) {
    window.drawn.boxes += 1;
    window.drawn.narrowest = Math.min(window.drawn.narrowest, place[2]);
    window.drawn.colours.add(this.fillStyle);
    return fillRect.apply(this, place);
  };
  pen.fillText = function (text, x, y, width) {
    window.drawn.texts.push({ text, x, y, width, strength: this.globalAlpha });
    return fillText.call(this, text, x, y, width);
  };
}

async function openDrawn(report, options = {}) {
  const { page, problems } = await open(fileOf(report), options, noteDrawing);
  const texts = () => page.evaluate(() => window.drawn.texts);
  const placeOf = async (name) => (await texts()).find(({ text }) => text === name);
  return { page, problems, texts, placeOf };
}

const detailOf = async (page) => (await page.locator(".detail p").allInnerTexts()).join("\n");
const currentOf = async (page) => page.locator("[role=treeitem]").getAttribute("aria-label");

async function clickBox(page, place) {
  await page.locator(".flame").click({ position: { x: place.x + 1, y: place.y } });
}

const linksOf = (page) =>
  page.locator("nav .links a").evaluateAll((all) => all.map((link) => link.getAttribute("href").slice(1)));

const sharingOf = (page) => ({
  rows: page.locator("#sharing .table tbody tr"),
  bars: page.locator("#sharing .chart rect"),
});

/** The rows of both tables on aborts, and the bars of their chart. */
const abortsOf = (page) => ({
  causes: page.locator("#aborts .table").first().locator("tbody tr"),
  sources: page.locator("#aborts .table").last().locator("tbody tr"),
  bars: page.locator("#aborts .chart rect"),
});

test("sections follow the data, and the last one says what is not there", async () => {
  const { page } = await open(fileOf(profiles.sampled()));
  assert.deepEqual(await linksOf(page), [
    "verdict",
    "time",
    "locks",
    "aborts",
    "sharing",
    "calls",
    "threads",
    "about",
  ]);
  assert.equal(await page.locator("#about li").count(), 0);
  await page.goto(fileOf(profiles.exact()));
  assert.deepEqual(await linksOf(page), ["verdict", "time", "locks", "about"]);
  assert.deepEqual(await page.locator("#about li").allTextContents(), [
    "Aborts by instruction: none were recorded.",
    "Data that threads share: loads and stores were not sampled (elision record --accesses).",
    "Call paths: none were recorded.",
    "Commits and aborts by thread: no transactions were counted.",
  ]);
  await page.goto(fileOf(profiles.tooShort()));
  assert.deepEqual(await linksOf(page), ["verdict", "about"]);
  assert.equal((await page.locator("#about li").allTextContents()).length, 5);
  assert.equal(
    await page.locator("#verdict .sentence").textContent(),
    "The run was too short to say why: 12 samples.",
  );
  await page.close();
});

test("the verdict has its findings, each with what to change", async () => {
  const report = profiles.sampled();
  const { page } = await open(fileOf(report));
  const { sentence, findings } = report.diagnosis;
  assert.equal(await page.locator("#verdict .sentence").textContent(), sentence);
  assert.deepEqual(await page.locator("#verdict .findings li").allTextContents(), [
    `${findings[0].sentence}Change: ${findings[0].change}`,
    findings[1].sentence,
  ]);
  assert.equal(
    await page.locator(".summary").textContent(),
    `on this computer's own CPU · under htm-10 · 620${THIN}ms · 1840 samples`,
  );
  assert.equal(
    await page.locator("h1").textContent(),
    "./server --threads 4 --config '/etc/server/production config.toml'",
  );
  await page.close();
});

test("time has its share and interval by state; an exact one has no interval", async () => {
  const report = profiles.sampled();
  report.time_intervals.waiting = { low: 0.21, high: 0.26, confidence: 0.95 };
  const { page } = await open(fileOf(report));
  const titles = await page.locator("#time rect title").allTextContents();
  assert.ok(titles.includes(`htm-10, waiting: 23${THIN}%`), titles.join("\n"));
  const row = page.locator("#time tbody tr", {
    has: page.getByRole("rowheader", { name: "waiting" }),
  });
  assert.deepEqual(await row.locator("td").allTextContents(), [
    `23${THIN}%`,
    `21${THIN}% – 26${THIN}%`,
    "waits for a lock",
  ]);
  assert.match(
    await page.locator("#time .note").textContent(),
    /^From 1840 samples, while two or more threads were alive: 93.% of the run\. /,
  );
  await page.goto(fileOf(profiles.exact()));
  assert.match(await page.locator("#time .note").textContent(), /^Exact, while two/);
  assert.equal(await page.locator("#time thead th", { hasText: "interval" }).count(), 0);
  await page.close();
});

test("locks stand in the order of what is lost, with conflicts and advice", async () => {
  const report = profiles.sampled();
  const aborting = report.why.locks[2]; // hardly waited for
  aborting.aborted_seconds = 0.5;
  aborting.lost_seconds += 0.5;
  const { page } = await open(fileOf(report));
  const names = await page.locator("#locks > .table tbody th .place > span").allTextContents();
  assert.deepEqual(names, ["table_lock", "log_line", report.why.locks[1].name]);
  const first = page.locator("#locks > .table tbody tr").first();
  assert.deepEqual((await first.locator("td").allTextContents()).slice(0, 8), [
    `625${THIN}ms`,
    `30${THIN}%`,
    `260${THIN}ms`,
    `320${THIN}ms`,
    `45.0${THIN}ms`,
    "about 48.0k",
    `42${THIN}%`,
    "66.2k",
  ]);
  const details = page.locator("#locks details");
  assert.deepEqual(await details.locator("summary strong").allTextContents(), [
    "table_lock",
    `${report.why.locks[1].name} (lru_cache.cc:1187)`,
  ]);
  assert.match(await details.first().textContent(), /Change: Count table\.size by thread/);
  assert.deepEqual(await details.first().locator("thead th").allTextContents(), [
    "data",
    "conflicts",
    "kind",
    "victim",
    "other",
  ]);
  assert.deepEqual(await details.first().locator("tbody tr").nth(1).locator("td").allTextContents(), [
    "512",
    "false sharing",
    "count_hitsrc/storage/statistics.cc:12",
    "count_misssrc/storage/statistics.cc:19",
  ]);
  await page.close();
});

test("an older profile has no overhead by lock", async () => {
  const { page } = await open(fileOf(profiles.exact()));
  const heads = await page.locator("#locks > .table thead th").allTextContents();
  const cells = await page.locator("#locks > .table tbody tr").first().locator("td").allTextContents();
  assert.equal(cells[heads.indexOf("overhead") - 1], "–");
  assert.match(
    await page.locator("#locks .note").textContent(),
    /This older profile has no overhead by lock/,
  );
  await page.close();
});

test("aborts have their sentences, causes, and a bar and a row for each instruction", async () => {
  const report = profiles.sampled();
  const { heading, trust, shares_of: sharesOf } = report.abort_events;
  const { page } = await open(fileOf(report));
  const { causes, sources, bars } = abortsOf(page);
  assert.deepEqual(await page.locator("#aborts .note").allTextContents(), [
    heading,
    `Of ${sharesOf}:`,
    trust,
  ]);
  assert.deepEqual(await causes.allTextContents(), [
    `conflict21.5k81${THIN}%another thread accessed the same cache line`,
    `capacity399015${THIN}%the transaction accessed more than the CPU can keep track of`,
    `lock-busy4991.9${THIN}%the lock was held`,
    `instruction5322.0${THIN}%one that no transaction may execute, a system call or a fault`,
    `interrupt330.1${THIN}%an interrupt`,
  ]);
  assert.deepEqual((await sources.allTextContents()).slice(0, 5), [
    `HashTable::insertsrc/storage/hash_table.cc:120HashTable::putsrc/storage/hash_table.cc:9955${THIN}%conflictHashTable::putsrc/storage/hash_table.cc:97801`,
    `HashTable::growsrc/storage/hash_table.cc:31028${THIN}%capacityHashTable::putsrc/storage/hash_table.cc:97199`,
    `HashTable::insertsrc/storage/hash_table.cc:12015${THIN}%conflictunknown278`,
    `0x7f31c20a18d41.4${THIN}%instructionlog_linesrc/log.cc:7727`,
    `many places0.9${THIN}%lock-busy${report.abort_events.sources[4].section.name}${report.abort_events.sources[4].section.file}:118724`,
  ]);
  assert.deepEqual(await bars.locator("title").allTextContents(), [
    `HashTable::insert (hash_table.cc:120) #1, conflict: 55${THIN}%`,
    `HashTable::grow (hash_table.cc:310), capacity: 28${THIN}%`,
    `HashTable::insert (hash_table.cc:120) #2, conflict: 15${THIN}%`,
    `0x7f31c20a18d4, instruction: 1.4${THIN}%`,
    `many places, lock-busy: 0.9${THIN}%`,
    `compare_keys (hash_table.cc:44), interrupt: <${THIN}0.1${THIN}%`,
  ]);
  const widths = await bars.evaluateAll((all) => all.map((bar) => Number(bar.getAttribute("width"))));
  assert.ok(Math.abs(widths[1] / widths[0] - 0.283 / 0.547) < 0.01, widths.join(" "));
  await page.close();
});

test("calls in transactions are boxes below that of the transaction", async () => {
  const { page } = await open(fileOf(profiles.abortPaths()));
  const ids = await page.locator("[id]").evaluateAll((all) => all.map(({ id }) => id));
  assert.equal(new Set(ids).size, ids.length);
  const graph = page.locator("#aborts .paths");
  assert.deepEqual(await graph.locator("fieldset label").allTextContents(), ["conflict", "capacity"]);
  await graph.getByRole("tree", { name: "Call paths of aborts" }).focus();
  const current = () => graph.getByRole("treeitem").getAttribute("aria-label");
  for (const name of [
    "main",
    "HashTable::put",
    "[in a transaction]",
    "HashTable::put",
    "HashTable::insert",
  ]) {
    await page.keyboard.press("ArrowDown");
    assert.ok((await current()).startsWith(`${name}, `), await current());
  }
  assert.equal(await current(), `HashTable::insert, 66${THIN}% of the cycles shown`);
  const detail = await graph.locator(".detail").textContent();
  assert.ok(detail.includes("6.00M cycles") && detail.includes("801 samples"), detail);
  await graph.getByRole("checkbox", { name: "conflict" }).uncheck();
  await page.keyboard.press("Tab");
  assert.ok((await graph.locator(".detail").textContent()).includes("3.10M cycles"));
  await page.close();
});

test("shared data has its sentences, and a bar and a row for each", async () => {
  const report = profiles.sampled();
  const { heading, trust } = report.shared_data;
  const { page } = await open(fileOf(report));
  const { rows, bars } = sharingOf(page);
  assert.deepEqual(await page.locator("#sharing .note").allTextContents(), [heading, trust]);
  const insert = "HashTable::insertsrc/storage/hash_table.cc:120";
  assert.deepEqual(await rows.allTextContents(), [
    `table.size65${THIN}%same datastores at ${insert}stores at ${insert}812`,
    `statistics+0x832${THIN}%false sharingstores at count_hitsrc/storage/statistics.cc:12loads at count_misssrc/storage/statistics.cc:19400`,
    `many places3.0${THIN}%–––37`,
  ]);
  assert.deepEqual(await bars.locator("title").allTextContents(), [
    `table.size, same data: 65${THIN}%`,
    `statistics+0x8, false sharing: 32${THIN}%`,
    `many places, several kinds: 3.0${THIN}%`,
  ]);
  await page.close();
});

test("only the data with most samples are listed, and the page says so", async () => {
  const report = profiles.sampled();
  const [row, , many] = report.shared_data.rows;
  report.shared_data.rows = [...Array.from({ length: 31 }, () => structuredClone(row)), many];
  const { page } = await open(fileOf(report));
  const { rows, bars } = sharingOf(page);
  assert.equal(await rows.count(), 21);
  assert.equal(await bars.count(), 21);
  assert.ok((await rows.last().textContent()).startsWith("many places"));
  assert.equal(
    await page.locator("#sharing .note").nth(1).textContent(),
    "Shown are the 20 largest of 31 shares.",
  );
  await page.close();
});

test("without data that threads share there are sentences alone", async () => {
  const report = profiles.sampled();
  report.shared_data.rows = [];
  const { page } = await open(fileOf(report));
  assert.equal(await page.locator("#sharing .note").count(), 2);
  assert.equal(await page.locator("#sharing table, #sharing svg").count(), 0);
  await page.close();
});

test("causes of aborts differ in colour, in both schemes", async () => {
  const { page } = await open(fileOf(profiles.sampled()));
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const colours = await page
      .locator("#aborts .swatch")
      .evaluateAll((all) => all.map((swatch) => getComputedStyle(swatch).backgroundColor));
    assert.equal(new Set(colours).size, 5, colours.join("; "));
  }
  await page.close();
});

test("only the most frequent instructions of aborts are listed, and the page says so", async () => {
  const { page } = await open(fileOf(profiles.manyAborts(70)));
  const { sources, bars } = abortsOf(page);
  assert.equal(await sources.count(), 20);
  assert.equal(await bars.count(), 20);
  const said = () => page.locator("#aborts .note").nth(1).textContent();
  assert.equal(await said(), "Of the aborts, the 20 largest of 70 shares:");
  await page.goto(fileOf(profiles.manyAborts(20)));
  assert.equal(await said(), "Of the aborts:");
  await page.close();
});

test("tables of aborts are scrolled and sorted by keyboard", async () => {
  const { page } = await open(fileOf(profiles.sampled()), { viewport: { width: 400, height: 900 } });
  const region = page.getByRole("region", { name: "Aborts by instruction, cause and section" });
  await region.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((table) => table.scrollLeft > 0, await region.elementHandle());
  for (const key of ["Tab", "Tab", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
  assert.equal(
    await region.getByRole("columnheader", { name: "cause" }).getAttribute("aria-sort"),
    "ascending",
  );
  assert.deepEqual(await region.locator("tbody td:nth-child(4)").allTextContents(), [
    "capacity",
    "conflict",
    "conflict",
    "instruction",
    "interrupt",
    "lock-busy",
  ]);
  await page.close();
});

test("without events of aborts one line says why", async () => {
  const report = profiles.withoutAbortEvents();
  const { page } = await open(fileOf(report));
  const lines = async () => {
    assert.equal(await page.locator("#aborts").count(), 0);
    return page.locator("#about li").allTextContents();
  };
  assert.deepEqual(await lines(), [`Aborts by instruction: ${report.abort_events.missing}.`]);
  report.abort_events = null;
  await page.goto(fileOf(report));
  assert.deepEqual(await lines(), ["Aborts by instruction: none were recorded."]);
  report.abort_events = { ...profiles.sampled().abort_events, aborts: 0, by_cause: {}, sources: [] };
  await page.goto(fileOf(report));
  assert.deepEqual(await lines(), ["Aborts by instruction: no transaction aborted."]);
  await page.close();
});

test("aborts of which none was sampled have two sentences", async () => {
  const report = profiles.sampled();
  Object.assign(report.abort_events, { by_cause: {}, sources: [], trust: "No abort was sampled." });
  const { page } = await open(fileOf(report));
  assert.deepEqual(await page.locator("#aborts p").allTextContents(), [
    report.abort_events.heading,
    "No abort was sampled.",
  ]);
  assert.equal(await page.locator("#aborts .table, #aborts figure").count(), 0);
  await page.close();
});

test("threads have their bars, and words say how uneven they are", async () => {
  const report = profiles.sampled();
  const { page } = await open(fileOf(report));
  const said = () => page.locator("#threads .note").textContent();
  assert.equal(
    await said(),
    `Commits are uneven: worker-1 (4711) has 2.9 times as many as the average thread. Of all attempts 29${THIN}% abort, of those of worker-2 (4712) 63${THIN}%.`,
  );
  const titles = await page.locator("#threads rect title").allTextContents();
  assert.ok(titles.includes("worker-2 (4712), aborts: 15.4k"), titles.join("\n"));
  report.threads = [
    { id: 1, name: "a", commits: 1000, aborts: 100 },
    { id: 2, name: "b", commits: 1100, aborts: 110 },
  ];
  await page.goto(fileOf(report));
  assert.equal(
    await said(),
    `Commits are even: no thread has more than 1.05 times as many as the average thread. Of all attempts 9.1${THIN}% abort, and in no thread many more.`,
  );
  report.threads = [{ id: 1, commits: 5, aborts: 0 }];
  await page.goto(fileOf(report));
  assert.equal(await said(), "All transactions are of one thread.");
  report.threads = [
    { id: 1, commits: 5000, aborts: 100 },
    { id: 2, commits: 4900, aborts: 100 },
    { id: 3, commits: 0, aborts: 10 }, // all of them abort, but they are few
  ];
  await page.goto(fileOf(report));
  assert.match(await said(), /Of all attempts 2\.1\u202f% abort, and in no thread many more\.$/);
  await page.close();
});

test("a box is as wide as its time, and lies below its caller", async () => {
  const { page, placeOf } = await openDrawn(profiles.sampled());
  const width = await page.locator(".flame").evaluate((flame) => flame.clientWidth);
  const [all, insert, wait] = [
    await placeOf("all"),
    await placeOf("HashTable::insert"),
    await placeOf("wait_for_work"),
  ];
  const margin = 8;
  assert.ok(Math.abs(all.width + margin - width) < 1);
  assert.ok(Math.abs((insert.width + margin) / width - 795 / 2070) < 0.001, `${insert.width} of ${width}`);
  assert.ok(Math.abs((wait.width + margin) / width - 300 / 2070) < 0.001);
  assert.equal(Math.round((insert.y - all.y) / ROW), 5);
  assert.equal(insert.x, (await placeOf("store")).x);
  await page.close();
});

test("colours are those of the states, in each scheme", async () => {
  for (const [colorScheme, waiting] of [
    ["light", "#f0e442"],
    ["dark", "#e9dd45"],
  ]) {
    const { page } = await openDrawn(profiles.sampled(), { colorScheme });
    const colours = await page.evaluate(() => [...window.drawn.colours]);
    assert.ok(colours.includes(waiting), colours.join(" "));
    assert.equal(colours.length, 8);
    if (colorScheme === "light") {
      await page.emulateMedia({ colorScheme: "dark" });
      await page.waitForFunction(() => window.drawn.colours.has("#e9dd45"));
    }
    await page.close();
  }
});

test("a click zooms and says what is known of the function", async () => {
  const { page, placeOf, problems } = await openDrawn(profiles.sampled());
  const width = (await placeOf("all")).width;
  const whole = page.getByRole("button", { name: "Whole graph" });
  assert.equal(await whole.isDisabled(), true);
  await clickBox(page, await placeOf("HashTable::insert"));
  assert.equal((await placeOf("HashTable::insert")).width, width);
  assert.equal((await placeOf("main")).width, width);
  assert.equal(await placeOf("lookup"), undefined);
  const detail = await detailOf(page);
  for (const part of [
    "HashTable::insert src/server.cc:176\n",
    `38${THIN}% of the time shown · 795${THIN}ms · in the function itself 250${THIN}ms · 401 samples\n`,
    `waiting 40${THIN}%`,
    `At locks: table_lock 795${THIN}ms`,
  ])
    assert.ok(detail.includes(part), `${part} in ${detail}`);
  await whole.click();
  assert.ok((await placeOf("lookup")) !== undefined);
  assert.deepEqual(problems, []);
  await page.close();
});

test("the mouse shows a function without a click", async () => {
  const { page, placeOf } = await openDrawn(profiles.sampled());
  const place = await placeOf("evict");
  await page.locator(".flame").hover({ position: { x: place.x + 1, y: place.y } });
  assert.match(await detailOf(page), /^evict /);
  assert.equal(await page.locator(".hover").isVisible(), true);
  await page.mouse.move(5, 5);
  assert.match(await detailOf(page), /^all/);
  assert.equal(await page.locator(".hover").isVisible(), false);
  await page.close();
});

test("the graph is used by keyboard, with a visible focus", async () => {
  const { page, placeOf } = await openDrawn(profiles.sampled());
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Tab"); // the button is disabled
  const tree = page.getByRole("tree", { name: "Call paths" });
  assert.equal(await tree.evaluate((flame) => flame === document.activeElement), true);
  const outline = () => page.locator(".mark").evaluate((mark) => getComputedStyle(mark).outlineStyle);
  assert.equal(await outline(), "solid");
  const steps = [
    ["ArrowDown", "main", 2],
    ["ArrowDown", "serve", 3],
    ["ArrowDown", "handle", 4],
    ["ArrowRight", "wait_for_work", 4],
    ["ArrowLeft", "handle", 4],
    ["ArrowDown", "store", 5],
    ["ArrowRight", "lookup", 5],
    ["ArrowUp", "handle", 4],
    ["ArrowDown", "store", 5],
  ];
  for (const [key, name, level] of steps) {
    await page.keyboard.press(key);
    assert.match(await currentOf(page), new RegExp(`^${name}, \\d+.% of the time shown$`), key);
    assert.equal(await page.locator("[role=treeitem]").getAttribute("aria-level"), String(level));
    assert.match(await detailOf(page), new RegExp(`^${name} `));
    const box = await page.locator(".mark").boundingBox();
    const place = await placeOf(name);
    const { x, y } = await tree.boundingBox();
    assert.ok(Math.abs(box.x - x - place.x + 4) < 1 && box.y < y + place.y && y + place.y < box.y + ROW);
  }
  const item = page.locator("[role=treeitem]");
  assert.equal(await item.getAttribute("aria-posinset"), "1");
  assert.equal(await item.getAttribute("aria-setsize"), "5");
  assert.equal(await tree.getAttribute("aria-activedescendant"), await item.getAttribute("id"));
  await page.keyboard.press("Enter");
  const width = (await placeOf("all")).width;
  assert.equal((await placeOf("store")).width, width);
  await page.keyboard.press("Escape");
  assert.match(await currentOf(page), /^handle, /);
  await page.keyboard.press("Home");
  assert.match(await currentOf(page), /^all, 100/);
  await page.keyboard.press("ArrowUp");
  assert.match(await currentOf(page), /^all, 100/);
  await page.getByRole("searchbox").focus();
  assert.equal(await outline(), "none");
  await page.close();
});

test("a search says how much time its functions have, and dims the others", async () => {
  const { page, placeOf } = await openDrawn(profiles.sampled());
  const found = page.locator("#calls output");
  await page.getByRole("searchbox").fill("HASHTABLE");
  // insert and what it calls count once, beside find
  assert.equal(await found.textContent(), `3 functions, 51${THIN}% of the time shown`);
  assert.equal((await placeOf("HashTable::insert")).strength, 1);
  assert.ok((await placeOf("lookup")).strength < 1);
  await page.getByRole("searchbox").fill("no such function");
  assert.equal(await found.textContent(), `0 functions, 0${THIN}% of the time shown`);
  await page.getByRole("searchbox").fill("");
  assert.equal(await found.textContent(), "");
  assert.equal((await placeOf("lookup")).strength, 1);
  await page.close();
});

test("states and a thread are chosen, and the zoom stays", async () => {
  const { page, placeOf } = await openDrawn(profiles.sampled());
  await clickBox(page, await placeOf("store"));
  for (const state of await page.locator(".states label").allTextContents())
    if (state !== "waiting") await page.getByLabel(state, { exact: true }).uncheck();
  assert.match(await detailOf(page), new RegExp(`^store .*\n.*68.% of the time shown · 320${THIN}ms`));
  await page.locator(".choices select").selectOption("worker-2 (4712)");
  assert.match(await detailOf(page), new RegExp(`^store .*\n.*68.% of the time shown · 96\\.0${THIN}ms`));
  assert.match(await detailOf(page), /At locks: table_lock 96\.0.ms$/);
  await page.getByLabel("waiting", { exact: true }).uncheck();
  assert.equal(await detailOf(page), "No time in this choice.");
  await page.getByLabel("waiting", { exact: true }).check();
  await page.locator(".choices select").selectOption("all");
  assert.match(await detailOf(page), new RegExp(`^all\\s+100.% of the time shown · 472${THIN}ms`));
  await page.close();
});

test("a path without functions is shown as one whose callers are not known", async () => {
  const { page, placeOf } = await openDrawn(profiles.sampled());
  for (const state of await page.locator(".states label").allTextContents())
    if (state !== "outside") await page.getByLabel(state, { exact: true }).uncheck();
  assert.ok((await placeOf("main")) !== undefined);
  await page.getByRole("searchbox").fill("callers not known");
  assert.equal(
    await page.locator("#calls output").textContent(),
    `1 function, 1.7${THIN}% of the time shown`,
  );
  await page.close();
});

test("200,000 call paths take a few elements, and no row more boxes than it has pixels", async () => {
  const { page, problems } = await openDrawn(profiles.manyPaths(200000));
  const elements = await page.locator("#calls *").count();
  assert.ok(elements <= 80, `${elements} elements`);
  const width = await page.locator(".flame").evaluate((flame) => flame.clientWidth);
  const most = () => page.evaluate(() => window.drawn.boxes);
  // A part of a box is a whole pixel at least, and is drawn twice: a tint and a strip.
  const limit = width * MOST_ROWS * 2;
  assert.ok((await most()) > 1000);
  assert.ok((await page.evaluate(() => window.drawn.narrowest)) >= 1);
  assert.ok((await most()) <= limit, `${await most()} of ${limit}`);
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "Enter", "ArrowDown", "ArrowRight", "Enter", "Escape", "End"]) {
    await page.keyboard.press(key);
    assert.ok((await most()) <= limit, key);
  }
  await page.getByRole("searchbox").fill("function_3");
  assert.ok((await most()) <= limit);
  assert.ok((await page.locator("#calls *").count()) <= 80);
  assert.deepEqual(problems, []);
  await page.close();
});

/** `count` functions that main calls, all with the same time. */
function wideReport(count) {
  const report = profiles.sampled();
  const { states, locks } = report.call_paths;
  const numbers = Array.from({ length: count }, (_, i) => i);
  report.call_paths = {
    states,
    locks,
    frames: [{ name: "main" }, ...numbers.map((i) => ({ name: `callee_${i}` }))],
    stacks: {
      caller: [-1, ...numbers.map(() => 0)],
      frame: [0, ...numbers.map((i) => i + 1)],
    },
    paths: {
      state: numbers.map(() => 5),
      lock: numbers.map(() => 0),
      thread: numbers.map(() => 0),
      stack: numbers.map((i) => i + 1),
      ns: numbers.map(() => 1000),
      samples: numbers.map(() => 1),
    },
    lost: 3,
  };
  return report;
}

test("functions narrower than a pixel are one box, which opens", async () => {
  const { page, texts, placeOf } = await openDrawn(wideReport(50000));
  assert.deepEqual(
    (await texts()).slice(0, 3).map(({ text }) => text),
    ["all", "main", "50000 more functions"],
  );
  assert.match(await page.locator("#calls").textContent(), /3 samples had no room and are not shown\./);
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await currentOf(page), /^50000 more functions, 100/);
  for (const wanted of [/^3125/, /^196/, /^13/, /^ca.*\d$/]) {
    assert.ok(
      (await texts()).some(({ text }) => wanted.test(text)),
      `${wanted} in ${(await texts()).map(({ text }) => text)}`,
    );
    await clickBox(
      page,
      (await texts()).find(({ text }) => wanted.test(text)),
    );
  }
  assert.match(await currentOf(page), /^callee_\d+, </);
  await page.keyboard.press("Escape");
  assert.match(await currentOf(page), /^main, 100/);
  assert.ok((await placeOf("50000 more functions")) !== undefined);
  await page.close();
});

test("deep calls are scrolled, and only the rows in sight are drawn", async () => {
  const { page, texts } = await openDrawn(profiles.deep());
  assert.ok((await texts()).length <= 2 * (MOST_ROWS + 1));
  const flame = page.locator(".flame");
  await flame.focus();
  for (let i = 0; i < 60; ++i) await page.keyboard.press("ArrowDown");
  assert.match(await currentOf(page), /^visit_1, /); // main and all above 59 calls
  const tops = (await texts()).map(({ y }) => y);
  assert.ok(Math.min(...tops) > 20 * ROW, "rows above are not drawn");
  const seen = await flame.boundingBox();
  const mark = await page.locator(".mark").boundingBox();
  assert.ok(mark.y >= seen.y - 1 && mark.y + mark.height <= seen.y + seen.height + 1);
  await page.close();
});

test("recursion and equal names of different places are one function", async () => {
  const report = profiles.sampled();
  const { states, locks } = report.call_paths;
  report.call_paths = {
    states,
    locks,
    frames: [
      { name: "main" },
      { name: "work", file: "w.c", line: 5 },
      { name: "work", file: "w.c", line: 9 },
    ],
    stacks: { caller: [-1, 0, 0], frame: [0, 1, 2] },
    paths: {
      state: [0, 0],
      lock: [-1, -1],
      thread: [0, 0],
      stack: [1, 2],
      ns: [1e6, 3e6],
      samples: [1, 3],
    },
    lost: 0,
  };
  const { page, texts, placeOf } = await openDrawn(report);
  assert.equal((await texts()).filter(({ text }) => text === "work").length, 1);
  await clickBox(page, await placeOf("work"));
  assert.match(await detailOf(page), /^work w\.c:9 and 1 other line\n100.% of the time shown · 4\.00.ms/);
  await page.close();
});

test("no name becomes markup", async () => {
  const { page } = await openDrawn(profiles.hostileProfile());
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await currentOf(page), /^<\/script><script>window\.broken = 1<\/script>/);
  assert.match(await detailOf(page), /<img src=x onerror=.*At locks: <\/script>/s);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.doesNotMatch(await page.locator("main").innerHTML(), /\u202e/);
  await page.close();
});

test("the profile is saved as it came", async () => {
  const report = profiles.sampled();
  const { page } = await open(fileOf(report));
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the report" }).click();
  assert.deepEqual(JSON.parse(readFileSync(await (await download).path(), "utf8")), report);
  await page.close();
});

test("a profile that cannot be read is said so", async () => {
  for (const [report, said] of [
    [{ version: 2, kind: "profile", program: [], threads: [] }, "version 2"],
    [{ version: 1, kind: "profile" }, "version 1"],
  ]) {
    const page = await openUnchecked(fileOf(report));
    assert.match(await page.getByRole("alert").textContent(), new RegExp(said));
    await page.close();
  }
});
