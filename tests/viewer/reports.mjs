// SPDX-License-Identifier: Apache-2.0
// Made-up reports of `elision compare`, in the form that src/cli/show/report_json.cc writes: what a user may get, and the extremes.

/** Numbers that look measured, the same in every run. */
function noise(seed) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648 - 0.5;
  };
}

const DESIGNS = {
  pthread: { alone: 13.3, contention: 0.1 },
  tatas: { alone: 14.1, contention: 0.16 },
  ticket: { alone: 12.5, contention: 0.5 },
  "htm-1": { alone: 13.0, contention: -0.02, elides: true },
  "htm-10": { alone: 12.9, contention: -0.07, elides: true },
  "tatas-aahtm": { alone: 13.9, contention: 0.05, speculates: true },
  "ticket-aahtm": { alone: 12.4, contention: 0.3, speculates: true },
};

const NO_COUNTS = {
  locks_seen: true,
  acquisitions: null,
  commits: null,
  aborts: {},
  fallbacks: null,
  speculations: null,
  longest_wait_seconds: null,
};

function countsOf(design, threads) {
  const { elides, speculates } = DESIGNS[design] ?? {};
  if (elides) {
    const aborts = {
      conflict: 1500 * threads,
      "lock-busy": 40 * threads,
      capacity: 22,
      other: 34,
    };
    return {
      ...NO_COUNTS,
      acquisitions: 9 * threads,
      commits: 6200,
      fallbacks: 9 * threads,
      aborts,
      longest_wait_seconds: 4e-6 * threads,
    };
  }
  if (speculates)
    return {
      ...NO_COUNTS,
      acquisitions: 5100,
      speculations: 800 * threads,
      aborts: { conflict: 90 * threads, explicit: 700 * threads },
    };
  return {
    ...NO_COUNTS,
    acquisitions: design === "pthread" ? null : 6000,
    longest_wait_seconds: design === "pthread" ? null : 2e-6 * threads,
  };
}

function rangeOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    low: sorted[0],
    median: sorted[Math.floor(sorted.length / 2)],
    high: sorted.at(-1),
  };
}

function commandOf(design, threads, seed) {
  const count = threads === null ? "" : ` --threads ${threads}`;
  return `elision vm --machine xeon-gold-5520plus --seed ${seed} --variation 0 --lock ${design} -- build/workloads/onelock --structure hash${count}`;
}

const MACHINE = [
  { field: "name", value: "Intel Xeon Gold 5520+", others: [], source: "" },
  {
    field: "cpuid.brand",
    value: "INTEL(R) XEON(R) GOLD 5520+",
    others: [],
    source: "InstLatx64, GenuineIntel C06F2",
  },
  {
    field: "clock.frequency_mhz",
    value: "2200",
    others: [],
    source: "brand page; base 2.2 GHz",
  },
  {
    field: "l3.latency_ns",
    value: "74",
    others: ["66", "91"],
    source: "InstLatx64 memory latencies; 33.6 ns at 2.2 GHz, turbo not known",
  },
  {
    field: "transactions.aborted_lines",
    value: "l1",
    others: ["lost"],
    source: "probe write_set on real machines",
  },
  {
    field: "core.sibling_issue_percent",
    value: "60",
    others: ["50", "80"],
    source:
      "estimate: two threads alternate at decode and allocation, so each has half, and what a stalled sibling leaves",
  },
];

/** How each design scales, as src/cli/show/scaling_table.cc writes it. */
function scalingOf(blocks) {
  const one = blocks[0].rows[0].value.median;
  const designs = blocks[0].rows.map(({ design }) => {
    const points = blocks.flatMap(({ threads, rows }) => {
      const value = rows.find((row) => row.design === design)?.value;
      return value ? [{ threads, throughput: value, relative: value.median / one }] : [];
    });
    const best = points.reduce((a, b) => (b.relative > a.relative ? b : a));
    return {
      design,
      stops_at: best === points.at(-1) ? null : best.threads,
      points,
    };
  });
  return {
    throughput: "result",
    threads: blocks.map(({ threads }) => threads),
    designs,
  };
}

/** A comparison by throughput over several numbers of threads, without reasons. */
export function plain(counts = [1, 2, 4, 8, 16, 36, 72]) {
  const random = noise(7);
  const runs = [];
  const blocks = counts.map((threads) => {
    const rows = Object.entries(DESIGNS).map(([design, { alone, contention }]) => {
      const scale = threads ?? 8;
      const typical =
        (1e6 * alone * (1 + (contention < 0 ? 0.4 : 0) * Math.min(1, Math.log2(scale) / 3))) /
        (1 + contention * Math.log2(scale));
      const values = [1, 2, 3].map(() => typical * (1 + 0.08 * random()));
      values.forEach((metric, run) => {
        runs.push({
          threads,
          design,
          run,
          seed: run + 1,
          variation: 0,
          command: commandOf(design, threads, run + 1),
          outcome: "ended",
          status: 0,
          deadlocked: false,
          seconds: 0.002 + 1 / metric,
          cpu_seconds: 0.004,
          host_seconds: 0.1,
          locks: NO_COUNTS,
          metric,
        });
      });
      return {
        design,
        state: "good",
        best: false,
        value: rangeOf(values),
        runs: 3,
        speedup: 1,
        cpu_seconds: 0.0018 * scale,
        locks: countsOf(design, scale),
      };
    });
    for (const row of rows) {
      row.speedup = row.value.median / rows[0].value.median;
      row.ratios = [0.99, 1, 1.01].map((factor) => row.speedup * factor);
      row.interval = {
        low: 0.96 * row.speedup,
        high: 1.04 * row.speedup,
        confidence: 0.95,
      };
    }
    const best = rows.reduce((a, b) => (b.value.median > a.value.median ? b : a));
    best.best = best.interval.low > 1.1;
    const interval = `[${best.interval.low.toFixed(2)} - ${best.interval.high.toFixed(2)}]`;
    const sentence = best.best
      ? `Use ${best.design}: ${best.speedup.toFixed(2)} times the result of pthread ${interval}.`
      : `Stay with pthread: no design gains more than the 10 % that a virtual machine can be wrong by (${best.design}, the best, reaches ${best.speedup.toFixed(2)} times the result of pthread ${interval}).`;
    return {
      threads,
      rows,
      cold_rounds: 0,
      verdict: { kind: best.best ? "use" : "no-gain", sentence },
    };
  });
  return {
    version: 1,
    elision: "0.1.0",
    command:
      "elision compare --machine xeon-gold-5520plus --threads 1,2,4,8,16,36,72 --metric 'throughput: ([0-9.]+)' --html report.html -- build/workloads/onelock --structure hash --threads '{threads}'",
    program: "build/workloads/onelock",
    where: "xeon-gold-5520plus",
    virtual: true,
    metric: "throughput: ([0-9.]+)",
    lower_is_better: false,
    reference: "pthread",
    machine: MACHINE,
    blocks,
    runs,
    ...(counts.length > 1 ? { scaling: scalingOf(blocks) } : {}),
  };
}

const LOCKS = [
  {
    name: "table_lock",
    kind: "symbol",
    file: "src/storage/hash_table.cc",
    line: 41,
  },
  {
    name: "storage::LruCache::LruCache(unsigned long, std::shared_ptr<storage::Allocator>)",
    kind: "called-from",
    file: "src/storage/very/deep/folder/with/a/long/name/lru_cache.cc",
    line: 1187,
  },
  { name: "log_line", kind: "called-from", file: "src/log.cc", line: 77 },
  { name: "0x7f3a12c04e40", kind: "address" },
];

function lockOf(place, i, design, threads) {
  const { elides } = DESIGNS[design] ?? {};
  const wait = (threads * (elides ? 0.002 : 0.03)) / (1 + 3 * i);
  const conflicts = [
    {
      address: "0x55d0c2a41080",
      name: "table.size",
      count: 210 * threads,
      sharing: "same-data",
      places: 300,
      sites: [
        { name: "insert", file: "src/storage/hash_table.cc", line: 120 },
        { name: "insert", file: "src/storage/hash_table.cc", line: 120 },
      ],
    },
    {
      address: "0x55d0c2a410c0",
      name: "statistics",
      count: 64 * threads,
      sharing: "false-sharing",
      sites: [
        { name: "count_hit", file: "src/storage/statistics.cc", line: 12 },
        { name: "count_miss", file: "src/storage/statistics.cc", line: 19 },
      ],
    },
    {
      address: "0x55d0c2b00000",
      count: 3,
      sharing: "unknown",
      sites: [{ name: "0x401a3c" }, { name: "erase" }],
    },
  ];
  return {
    ...place,
    other_sites: [],
    sections: 48000 / (i + 1),
    sections_estimated: i > 1,
    contended_share: 0.62 / (1 + i),
    wait_seconds: { total: wait, mean: wait / 48000, longest: wait / 90 },
    hold_seconds: { total: 0.011 / (1 + i), mean: 2.3e-7 },
    line_wait_seconds: i > 1 ? null : 0.0004 * i,
    aborts: elides && i < 2 ? { conflict: 1500 * threads, capacity: 22 } : {},
    conflicts: elides && i === 0 ? conflicts : [],
  };
}

function whyOf(design, threads) {
  const { elides, speculates } = DESIGNS[design];
  const waiting = Math.min(0.8, 0.1 * Math.log2(threads) * (elides ? 0.15 : 1));
  const aborted = elides ? Math.min(0.3, 0.05 * Math.log2(threads)) : 0;
  const time = {
    outside: 0,
    section: elides ? 0.002 : 0.2,
    attempt: elides ? 0.24 : 0,
    aborted,
    fallback: elides ? 0.02 : 0,
    waiting,
    overhead: 0.04,
    speculating: speculates ? 0.1 : 0,
    blocked: 0.01,
  };
  const sum = Object.values(time).reduce((a, b) => a + b, 0);
  if (sum > 1) for (const part of Object.keys(time)) time[part] /= sum;
  else time.outside = 1 - sum;
  return {
    basis: "exact",
    parallel_share: 0.93,
    time,
    lock_count: 257,
    locks: LOCKS.map((place, i) => lockOf(place, i, design, threads)),
  };
}

/** The same with reasons, a diagnosis and next steps. */
export function explained(counts) {
  const report = plain(counts);
  for (const block of report.blocks) {
    for (const row of block.rows) row.why = whyOf(row.design, block.threads ?? 8);
    block.diagnosis = {
      locks_matter: true,
      sentence:
        "Threads spend 38 % of their time waiting for locks under pthread, nearly all of it for table_lock.",
      findings: [
        {
          code: "conflict",
          lock: "table_lock",
          sentence:
            "Transactions under table_lock conflict on table.size: std::_Hashtable<...>::_M_insert_unique_node(...) writes it.",
        },
        {
          code: "false-sharing",
          lock: "table_lock",
          sentence:
            "count_hit and count_miss write different fields of statistics, which share a cache line.",
        },
      ],
    };
  }
  report.next_steps = [
    {
      sentence: "Run it with elision:",
      command: "elision run --lock htm-10 -- build/workloads/onelock --structure hash --threads 8",
    },
    {
      sentence: "This CPU has no transactions. Xeons from Ice Lake on have them.",
    },
    {
      sentence: "Count table.size by thread, so that insert no longer writes one line from every thread.",
    },
  ];
  return report;
}

/** Native and sampled, by time, without {threads}; designs that failed or were left out. */
export function failed() {
  const report = explained([null]);
  const [block] = report.blocks;
  Object.assign(report, {
    where: "native",
    virtual: false,
    metric: "",
    lower_is_better: true,
    command: "elision compare -- ./server --requests 1000",
  });
  report.machine = [
    {
      field: "cpu.brand",
      value: "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz",
      others: [],
      source: "CPUID",
    },
  ];
  for (const row of block.rows) {
    row.value = { low: 0.41, median: 0.44, high: 0.47 };
    Object.assign(row.why, { basis: "sampled", samples: 1840 });
  }
  const broken = {
    tatas: [
      "failed",
      "ended with exit code 3: assertion 'size == expected' failed in check_table, called from main with arguments that go on for quite a while",
    ],
    ticket: ["timed-out", "did not end within 60 s"],
    "htm-1": ["different-output", "printed something else"],
    "tatas-aahtm": ["not-run", "not run on a real CPU without --rtm-always-abort"],
    "ticket-aahtm": ["no-metric", "printed nothing that the metric matches"],
  };
  block.rows = block.rows.map((row) =>
    broken[row.design]
      ? {
          design: row.design,
          state: broken[row.design][0],
          best: false,
          remark: broken[row.design][1],
        }
      : { ...row, best: false },
  );
  block.verdict = {
    kind: "unsettled",
    sentence:
      "Stay with pthread: these runs do not show whether a design is better (htm-10, the best, reaches 1.02 times as fast as pthread [0.91 - 1.14]).",
  };
  report.runs[4].outcome = "killed";
  report.runs[4].status = 11;
  report.runs[5].deadlocked = true;
  return report;
}

/** Over variations of the machine. */
export function varied(count = 12) {
  const report = plain([16]);
  const random = noise(3);
  const [block] = report.blocks;
  report.variations = Array.from({ length: count }, (_, variation) => ({
    variation,
    seed: variation + 1,
    drawn: {
      "l3.latency_ns": Math.round(74 + 20 * random()),
      "transactions.aborted_lines": variation % 2 ? "lost" : "l1",
      "prefetch.snoops": variation % 3 === 0,
    },
  }));
  report.runs = [];
  for (const row of block.rows) {
    row.ratios = report.variations.map(({ variation }) =>
      variation === 5 && row.design === "ticket"
        ? null
        : row.speedup * (1 + (row.design === "pthread" ? 0 : 0.5 * random())),
    );
    const ratios = row.ratios.filter((value) => value !== null);
    Object.assign(row, {
      runs: ratios.length,
      ratio: rangeOf(ratios),
      leads: row.best ? count : 0,
    });
    for (const { variation, seed } of report.variations)
      report.runs.push({
        threads: 16,
        design: row.design,
        run: variation,
        seed,
        variation,
        outcome: "ended",
        status: 0,
        deadlocked: false,
        seconds: 0.002,
        cpu_seconds: 0.01,
        host_seconds: 0.1,
        locks: NO_COUNTS,
        metric: row.value.median,
      });
  }
  block.verdict = {
    kind: "not-in-every-variation",
    sentence:
      "Perhaps htm-10: htm-10 beats pthread in 11 of 12, by 0.97x to 3.04x. It depends on l3.latency_ns.",
  };
  return report;
}

/** Names that would be markup, quotes, control characters, letters of other scripts, a name without spaces. */
export function hostile() {
  const evil = `</script><script>window.broken = 1</script><img src=x onerror="window.broken = 1">'"&amp;\u0000\u202e\ufffd`;
  const report = explained([2]);
  const [block] = report.blocks;
  report.program = evil;
  report.command = `elision compare -- ${evil}`;
  report.metric = evil;
  report.where = evil;
  report.machine = [{ field: evil, value: evil, others: [evil], source: evil }];
  block.verdict.sentence = evil;
  block.diagnosis = {
    locks_matter: true,
    sentence: evil,
    findings: [{ code: evil, lock: evil, sentence: evil }],
  };
  report.next_steps = [{ sentence: evil, command: evil }];
  for (const row of block.rows) {
    for (const lock of row.why.locks) Object.assign(lock, { name: evil, file: evil });
    for (const conflict of row.why.locks[0].conflicts)
      Object.assign(conflict, {
        name: evil,
        sites: [{ name: evil, file: evil, line: 1 }, { name: evil }],
      });
    row.why.locks[1].name = "x".repeat(300);
  }
  block.rows[1] = { design: evil, state: "failed", best: false, remark: evil };
  report.runs[0].command = evil;
  return report;
}

/** A program without locks: a sentence and no rows with results. */
export function nothing() {
  const report = plain([4]);
  report.blocks[0].rows = report.blocks[0].rows.map(({ design }) => ({
    design,
    state: "not-run",
    best: false,
    remark: "the program took no lock",
  }));
  report.blocks[0].verdict = {
    kind: "no-locks",
    sentence:
      "ls took no lock that Elision can replace in this run, so the design of the lock makes no difference to it.",
  };
  report.runs = [];
  return report;
}

/** Without all that is optional, as an older program or one that was stopped writes it. */
export function bare() {
  const { version, program, where, metric, lower_is_better, reference, blocks, runs } = plain([1, 2]);
  for (const run of runs) delete run.command;
  return {
    version,
    program,
    where,
    virtual: true,
    metric,
    lower_is_better,
    reference,
    blocks,
    runs,
  };
}

/** Of transactional memory: other modes, another reference, other counts. */
export function transactions() {
  const modes = {
    pthread: "libitm",
    tatas: "libitm-ml_wt",
    ticket: "serial",
    "htm-1": "hle",
    "htm-10": "ale",
  };
  const report = plain([1, 4, 16]);
  report.reference = "libitm";
  report.program = "build/workloads/list";
  for (const block of report.blocks) {
    block.rows = block.rows.filter(({ design }) => modes[design]);
    for (const row of block.rows) {
      row.design = modes[row.design];
      Object.assign(row.locks, { speculations: null, longest_wait_seconds: null });
    }
    const ale = block.rows.at(-1);
    ale.locks.transactional_memory = {
      segments: 200,
      segment_accesses: 7100,
      segment_aborts: 50,
      write_backs: 40,
      write_backs_under_lock: 4,
    };
    block.verdict.sentence = block.verdict.sentence.replace(
      /pthread|tatas|ticket|htm-10?/g,
      (design) => modes[design],
    );
  }
  report.runs = report.runs
    .filter(({ design }) => modes[design])
    .map(({ design, command, ...run }) => ({
      ...run,
      design: modes[design],
      command: command.replace(`--lock ${design}`, `--tm ${modes[design]}`),
    }));
  report.scaling = scalingOf(report.blocks);
  return report;
}

/** Every design with several forms, more lines than colours. */
export function crowded() {
  const report = explained([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 72]);
  const more = [
    "htm-2",
    "htm-3",
    "htm-5",
    "hle-scm",
    "tatas-pri-aahtm",
    "pthread-aahtm",
    "htm-10-fb-aahtm",
    "glibc-elision",
  ];
  for (const block of report.blocks) {
    more.forEach((design, i) => {
      const row = structuredClone(block.rows[1 + (i % 6)]);
      const factor = 0.96 + 0.01 * i;
      row.value = {
        low: row.value.low * factor,
        median: row.value.median * factor,
        high: row.value.high * factor,
      };
      block.rows.push({ ...row, design, best: false });
    });
  }
  report.scaling = scalingOf(report.blocks);
  return report;
}
