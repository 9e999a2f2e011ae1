// SPDX-License-Identifier: Apache-2.0
// Made-up reports of `elision report`, in the form that src/cli/report.cc writes: what a user may get, and the extremes.

const STATES = [
  "outside",
  "section",
  "attempt",
  "aborted",
  "fallback",
  "waiting",
  "speculating",
  "overhead",
  "blocked",
];

const LOCKS = [
  {
    name: "table_lock",
    kind: "symbol",
    title: "table_lock",
    file: "src/storage/hash_table.cc",
    line: 210,
  },
  {
    name: "cache::ShardedLruCache<std::string, std::shared_ptr<storage::Page>>::evict",
    kind: "called-from",
    title: "the lock taken at lru_cache.cc:1187",
    file: "src/storage/very/deep/folder/with/a/long/name/lru_cache.cc",
    line: 1187,
  },
  {
    name: "log_line",
    kind: "called-from",
    title: "the lock taken at log.cc:77",
    file: "src/log.cc",
    line: 77,
  },
];

/** Functions of call paths, the outermost first: [state, lock, milliseconds, functions]. */
const PATHS = [
  ["outside", -1, 210, "main serve handle parse_request read_headers"],
  ["outside", -1, 90, "main serve handle parse_request decode_url"],
  ["outside", -1, 160, "main serve handle reply format_body"],
  ["attempt", 0, 260, "main serve handle lookup HashTable::find compare_keys"],
  ["attempt", 0, 60, "main serve handle store HashTable::insert"],
  ["aborted", 0, 190, "main serve handle store HashTable::insert"],
  ["aborted", 0, 70, "main serve handle store HashTable::insert HashTable::grow"],
  ["waiting", 0, 320, "main serve handle store HashTable::insert elision::lock_slow"],
  ["waiting", 1, 140, "main serve handle lookup evict elision::lock_slow"],
  ["fallback", 0, 110, "main serve handle store HashTable::insert HashTable::grow operator_new malloc"],
  ["overhead", 0, 45, "main serve handle store HashTable::insert elision::lock"],
  ["overhead", 1, 15, "main serve handle lookup evict elision::lock"],
  ["section", 1, 80, "main serve handle lookup evict"],
  ["blocked", -1, 300, "main serve wait_for_work"],
  ["waiting", 2, 12, "main serve handle log_line elision::lock_slow"],
  ["outside", -1, 8, ""],
];

function placesOf(names) {
  const files = {
    "elision::lock_slow": "src/runtime/mutex.h",
    malloc: undefined,
    operator_new: undefined,
  };
  return names.map((name, i) => {
    const file = name in files ? files[name] : "src/server.cc";
    return file === undefined ? { name } : { name, file, line: 20 + 13 * i };
  });
}

/** Paths of [state, lock, ns, thread, functions] as columns. */
function columnsOf(paths, locks) {
  const names = [...new Set(paths.flatMap(([, , , , functions]) => functions))];
  const numbers = new Map(names.map((name, i) => [name, i]));
  const stacks = { caller: [], frame: [] };
  const known = new Map();
  const stackOf = (functions) => {
    let stack = -1;
    for (const name of functions) {
      const frame = numbers.get(name);
      const key = `${stack},${frame}`;
      if (!known.has(key)) {
        known.set(key, stacks.frame.length);
        stacks.caller.push(stack);
        stacks.frame.push(frame);
      }
      stack = known.get(key);
    }
    return stack;
  };
  return {
    states: STATES,
    locks,
    frames: placesOf(names),
    stacks,
    paths: {
      state: paths.map(([state]) => STATES.indexOf(state)),
      lock: paths.map(([, lock]) => lock),
      ns: paths.map(([, , ns]) => ns),
      samples: paths.map(([, , ns]) => Math.max(1, Math.round(ns / 2e6))),
      thread: paths.map(([, , , thread]) => thread),
      stack: paths.map(([, , , , functions]) => stackOf(functions)),
    },
    lost: 0,
  };
}

const THREADS = [
  { id: 4711, name: "worker-1", commits: 48200, aborts: 9100 },
  { id: 4712, name: "worker-2", commits: 9100, aborts: 15400 },
  { id: 4713, name: "worker-3", commits: 8800, aborts: 2100 },
  { id: 4714, commits: 120, aborts: 3 },
];
const SHARES = [0.4, 0.3, 0.2, 0.1]; // of each path's time

function conflictsOf(i) {
  if (i > 0) return [];
  return [
    {
      address: "0x55d0c2a41080",
      name: "table.size",
      count: 1680,
      sharing: "same-data",
      sites: [
        {
          name: "HashTable::insert",
          file: "src/storage/hash_table.cc",
          line: 120,
        },
        {
          name: "HashTable::insert",
          file: "src/storage/hash_table.cc",
          line: 120,
        },
      ],
    },
    {
      address: "0x55d0c2a410c0",
      name: "statistics",
      count: 512,
      sharing: "false-sharing",
      sites: [
        { name: "count_hit", file: "src/storage/statistics.cc", line: 12 },
        { name: "count_miss", file: "src/storage/statistics.cc", line: 19 },
      ],
    },
  ];
}

function lockOf(lock, i) {
  const waiting = [0.32, 0.14, 0.012][i],
    aborted = i === 0 ? 0.26 : 0,
    overhead = [0.045, 0.015, 0][i];
  return {
    ...lock,
    other_sites: [],
    sections: 48000 / (i + 1),
    sections_estimated: true,
    contended_share: i === 2 ? null : 0.42 / (1 + i),
    wait_seconds: {
      total: 1.1 * (waiting + aborted + overhead),
      mean: 1.2e-5,
      longest: 0.0031,
    },
    hold_seconds: { total: [0.43, 0.08, 0.001][i], mean: 2.3e-7 },
    line_wait_seconds: null,
    attempts: i === 0 ? 92800 : 0,
    commits: i === 0 ? 66220 : 0,
    fallbacks: i === 0 ? 900 : 0,
    lost_seconds: waiting + aborted + overhead,
    waiting_seconds: waiting,
    aborted_seconds: aborted,
    overhead_seconds: overhead,
    aborts: i === 0 ? { conflict: 22100, capacity: 4200, "lock-busy": 303 } : {},
    conflicts: conflictsOf(i),
  };
}

/** As src/cli/show/aborts_json.cc sums them up; `rows` are left out. */
const ABORT_EVENTS = {
  heading:
    "The CPU counted 26.6k aborts and 66.2k commits; an aborted transaction took 412 cycles on average.",
  shares_of: "the cycles that aborted transactions took",
  trust:
    "How far to trust these shares: they are from 1331 samples that the CPU took at aborts, one in 13 of a thread, so each is known to 4 points or better; the CPU counted 1.04 times the cycles that the samples stand for; 12 more were lost; aborts were counted 50 % of the time, and the rest is extrapolated; a sample interrupts the program, which may abort one more transaction: at most 5 % of the aborts.",
  counted: true,
  aborts: 26600,
  commits: 66220,
  cycles: 1.096e7,
  counted_cycles: 1.14e7,
  by_cause: { capacity: 3990, conflict: 21546, instruction: 532, interrupt: 33, "lock-busy": 499 },
  samples: 1331,
  period: 13,
  sampled_aborts: 17303,
  lost: 12,
  running_share: 0.5,
  sources: [
    {
      cause: "conflict",
      place: { name: "HashTable::insert", file: "src/storage/hash_table.cc", line: 120 },
      inside: [{ name: "HashTable::put", file: "src/storage/hash_table.cc", line: 99 }],
      section: { name: "HashTable::put", file: "src/storage/hash_table.cc", line: 97 },
      samples: 801,
      aborts: 16000,
      cycles: 6.0e6,
      share: 0.547,
    },
    {
      cause: "capacity",
      place: { name: "HashTable::grow", file: "src/storage/hash_table.cc", line: 310 },
      inside: [],
      section: { name: "HashTable::put", file: "src/storage/hash_table.cc", line: 97 },
      samples: 199,
      aborts: 3990,
      cycles: 3.1e6,
      share: 0.283,
    },
    {
      cause: "conflict",
      place: { name: "HashTable::insert", file: "src/storage/hash_table.cc", line: 120 },
      inside: [],
      section: null,
      samples: 278,
      aborts: 5546,
      cycles: 1.6e6,
      share: 0.146,
    },
    {
      cause: "instruction",
      place: { name: "0x7f31c20a18d4" },
      inside: [],
      section: { name: "log_line", file: "src/log.cc", line: 77 },
      samples: 27,
      aborts: 532,
      cycles: 1.5e5,
      share: 0.014,
    },
    {
      cause: "lock-busy",
      place: { name: "many places" },
      inside: [],
      section: {
        name: "cache::ShardedLruCache<std::string, std::shared_ptr<storage::Page>>::evict",
        file: "src/storage/very/deep/folder/with/a/long/name/lru_cache.cc",
        line: 1187,
      },
      samples: 24,
      aborts: 499,
      cycles: 1.0e5,
      share: 0.009,
    },
    {
      cause: "interrupt",
      place: { name: "compare_keys", file: "src/storage/hash_table.cc", line: 44 },
      inside: [],
      section: { name: "HashTable::find", file: "src/storage/hash_table.cc", line: 61 },
      samples: 2,
      aborts: 33,
      cycles: 1.0e4,
      share: 0.0009,
    },
  ],
};

const INSERT = { name: "HashTable::insert", file: "src/storage/hash_table.cc", line: 120 };
const SHARED_DATA = {
  heading:
    "The CPU sampled 41,200 loads and 18,300 stores, one in 1009 of a thread. 2.1 % of them met data that threads share: another thread was at their cache line less than 10 ms before, and one of the two stored. Of these:",
  trust:
    "Each of these shares is known to 3 points or better. A sample interrupts the program, and aborts the transaction that it finds.",
  rows: [
    {
      title: "table.size",
      data: { name: "table.size", address: 94356183257216 },
      false_sharing: false,
      earlier: INSERT,
      earlier_stores: true,
      later: INSERT,
      later_stores: true,
      samples: 812,
      share: 0.65,
    },
    {
      title: "statistics+0x8",
      data: { name: "statistics+0x8", address: 94356183257288 },
      false_sharing: true,
      earlier: { name: "count_hit", file: "src/storage/statistics.cc", line: 12 },
      earlier_stores: true,
      later: { name: "count_miss", file: "src/storage/statistics.cc", line: 19 },
      later_stores: false,
      samples: 400,
      share: 0.32,
    },
    {
      title: "many places",
      data: { name: "many places", address: 0 },
      false_sharing: null,
      earlier: { name: "many places" },
      earlier_stores: false,
      later: { name: "many places" },
      later_stores: false,
      samples: 37,
      share: 0.03,
    },
  ],
};

/** By samples, under a design that elides. */
export function sampled() {
  const paths = PATHS.flatMap(([state, lock, ms, functions]) =>
    THREADS.map((_, thread) => [
      state,
      lock,
      1e6 * ms * SHARES[thread],
      thread,
      functions.split(" ").filter((name) => name !== ""),
    ]),
  );
  const all = PATHS.reduce((sum, [, , ms]) => sum + ms, 0);
  const time = Object.fromEntries(
    STATES.map((state) => [
      state,
      PATHS.filter(([own]) => own === state).reduce((sum, [, , ms]) => sum + ms / all, 0),
    ]),
  );
  return {
    version: 1,
    kind: "profile",
    elision: "0.9.0",
    program: ["./server", "--threads", "4", "--config", "/etc/server/production config.toml"],
    where: "native",
    design: "htm-10",
    seconds: 0.62,
    thread_seconds: all / 1000,
    why: {
      basis: "sampled",
      samples: 1840,
      parallel_share: 0.93,
      time,
      lock_count: 17,
      locks: LOCKS.map(lockOf),
    },
    diagnosis: {
      locks_matter: true,
      sentence:
        "Threads spend 38 % of their time at locks, nearly all of it for table_lock, one of 17 locks.",
      findings: [
        {
          code: "true-sharing",
          lock: "table_lock",
          sentence: "Sections of table_lock conflict on table.size, which HashTable::insert writes.",
          change: "Count table.size by thread, and add the counts where the size is asked for.",
        },
        {
          code: "held-long",
          lock: "the lock taken at lru_cache.cc:1187",
          sentence: "Threads hold the lock taken at lru_cache.cc:1187 for 13 % of the time.",
        },
      ],
    },
    unexplained: null,
    time_intervals: Object.fromEntries(
      STATES.map((state) => [
        state,
        {
          low: 0.9 * time[state],
          high: 1.1 * time[state] + 0.002,
          confidence: 0.95,
        },
      ]),
    ),
    threads: THREADS,
    call_paths: columnsOf(
      paths,
      LOCKS.map(({ title }) => title),
    ),
    abort_events: structuredClone(ABORT_EVENTS),
    shared_data: structuredClone(SHARED_DATA),
  };
}

/** By samples, where the CPU has no events of aborts. */
export function withoutAbortEvents() {
  return { ...sampled(), abort_events: { missing: "this CPU has no event of aborted transactions" } };
}

/** With the calls that led to transactions and those in them. */
export function abortPaths() {
  const report = sampled();
  report.abort_events.call_paths = {
    causes: ["conflict", "capacity"],
    unit: "cycles",
    frames: [
      { name: "main", file: "src/main.cc", line: 12 },
      { name: "HashTable::put", file: "src/storage/hash_table.cc", line: 97 },
      { name: "[in a transaction]" },
      { name: "HashTable::put", file: "src/storage/hash_table.cc", line: 99 },
      { name: "HashTable::insert", file: "src/storage/hash_table.cc", line: 120 },
      { name: "HashTable::grow", file: "src/storage/hash_table.cc", line: 310 },
    ],
    stacks: { caller: [-1, 0, 1, 2, 3, 3], frame: [0, 1, 2, 3, 4, 5] },
    paths: { cause: [0, 1], stack: [4, 5], weight: [6e6, 3.1e6], samples: [801, 199] },
  };
  return report;
}

/** Aborts at more instructions than the page lists, known from samples alone and without the cycles that they took. */
export function manyAborts(count = 70) {
  const report = sampled();
  const all = (count * (count + 1)) / 2;
  report.abort_events = {
    ...report.abort_events,
    heading: `The samples stand for ${all} aborts.`,
    shares_of: "the aborts",
    counted: false,
    aborts: all,
    by_cause: { conflict: all },
    sources: Array.from({ length: count }, (_, i) => ({
      cause: "conflict",
      place: { name: `update_${i}`, file: "src/update.cc", line: 10 + i },
      inside: [],
      section: { name: "serve", file: "src/server.cc", line: 20 },
      samples: count - i,
      aborts: count - i,
      cycles: 0,
      share: (count - i) / all,
    })),
  };
  return report;
}

/** Of the virtual machine, without call paths and without transactions. */
export function exact() {
  const report = sampled();
  delete report.why.samples;
  report.why.basis = "exact";
  for (const lock of report.why.locks)
    Object.assign(lock, {
      commits: 0,
      aborts: {},
      lost_seconds: lock.lost_seconds - lock.overhead_seconds,
      overhead_seconds: null,
    });
  return {
    ...report,
    where: "xeon-e5-2697v4",
    design: "pthread",
    time_intervals: null,
    threads: [],
    call_paths: null,
    abort_events: null,
    shared_data: null,
  };
}

/** Too short to say anything. */
export function tooShort() {
  return {
    ...exact(),
    where: "native",
    why: null,
    diagnosis: null,
    unexplained: {
      samples: 12,
      one_thread: false,
      sentence: "The run was too short to say why: 12 samples.",
    },
  };
}

/** Names that would be markup, quotes, control characters, a name without spaces. */
export function hostileProfile() {
  const evil = `</script><script>window.broken = 1</script><img src=x onerror="window.broken = 1">'"&amp;\u0000\u202e\ufffd`;
  const report = sampled();
  report.program = [evil, "x".repeat(300)];
  report.where = evil;
  report.design = evil;
  report.diagnosis = {
    locks_matter: true,
    sentence: evil,
    findings: [{ code: evil, lock: evil, sentence: evil, change: evil }],
  };
  for (const lock of report.why.locks) Object.assign(lock, { name: evil, file: evil, title: evil });
  report.why.locks[1].name = "y".repeat(300);
  for (const conflict of report.why.locks[0].conflicts)
    Object.assign(conflict, {
      name: evil,
      sites: [{ name: evil, file: evil, line: 1 }, { name: evil }],
    });
  report.why.locks[0].aborts = { [evil]: 12 };
  report.call_paths.locks = report.call_paths.locks.map(() => evil);
  report.call_paths.frames = report.call_paths.frames.map((place, i) => ({
    name: `${evil} ${i}`,
    file: evil,
    line: i,
  }));
  report.threads = report.threads.map((thread) => ({ ...thread, name: evil }));
  report.abort_events = {
    ...report.abort_events,
    heading: evil,
    shares_of: evil,
    trust: evil,
    by_cause: { [evil]: 7 },
    sources: report.abort_events.sources.map((source, i) => ({
      ...source,
      cause: evil,
      place: { name: i === 0 ? "z".repeat(300) : evil, file: evil, line: 1 },
      section: { name: evil, file: evil, line: 1 },
    })),
  };
  return report;
}

/** Numbers that look measured, the same in every run. */
function noise(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** `count` call paths up to 60 deep, in a tree whose functions have up to 12 different callees, some far more often. */
export function manyPaths(count = 200000) {
  const random = noise(7);
  const report = sampled();
  const paths = Array.from({ length: count }, () => {
    const depth = 4 + Math.floor(56 * random() ** 4);
    const functions = Array.from(
      { length: depth },
      (_, i) => `level_${i}::function_${Math.floor(12 * random() ** 5)}`,
    );
    const state = STATES[Math.floor(9 * random())];
    return [state, Math.floor(3 * random()), 1000 + 1e6 * random(), Math.floor(4 * random()), functions];
  });
  report.call_paths = columnsOf(paths, report.call_paths.locks);
  return report;
}

/** Calls of calls: more rows than the graph shows at once. */
export function deep() {
  const report = sampled();
  const recursion = Array.from({ length: 300 }, (_, i) => `visit_${i % 3}`);
  report.call_paths = columnsOf(
    [
      ["waiting", 0, 6e6, 0, ["main", ...recursion]],
      ["outside", -1, 4e6, 0, ["main", ...recursion.slice(0, 40), "leaf"]],
    ],
    report.call_paths.locks,
  );
  return report;
}
