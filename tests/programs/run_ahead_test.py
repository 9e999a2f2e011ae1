# SPDX-License-Identifier: Apache-2.0
"""How far private work may run ahead decides nothing that is measured.

Runs each case (contention.cc and ArrayBench, under several designs) with `--run-ahead` 100, 1000 and 10000 and every
seed, and compares virtual time, commits and aborts by cause with those at 1000. Prints the comparisons that stand
out and, for each case, how many events were served out of order.

What fails. A comparison is one measure of one case at one bound against the same at 1000: d is the difference of the
two medians over the seeds. It fails if |d| is more than 1 % of the median at 1000 and more than the half-width of d's
confidence interval. The interval is z times the standard error of d, which comes from a bootstrap that draws seeds
(both runs of a seed together, so that whatever a seed decides in both counts once). There are hundreds of comparisons:
at 95 % each, several would fail by chance in any build. So z is that of a family: 95 % for all comparisons of a run
together (Bonferroni). The interval at 95 % for each alone is printed beside it (* where d lies outside), and at most
one comparison in ten may: with no effect it would be one in twenty. Since even so one build in twenty would fail by
chance, the cases of comparisons that fail (all of them if too many lie outside) are run again with as many other seeds,
and what fails both times fails.

Seeds are fixed and the bootstrap draws from a fixed sequence: a build either passes or fails.
"""

import math
import random
import statistics

REFERENCE = 1000
OTHERS = (100, 10000)
TOLERANCE = 0.01
CONFIDENCE = 0.95
RESAMPLES = 1000
MOST_OUTSIDE = 0.10  # of all comparisons, outside the interval of each alone


def cases(elision):
    """Name -> (program, options)."""
    program = elision.test_program("contention")

    def contention(mode, threads, sections, *options):
        return [program, mode, threads, sections], list(options)

    def array(design, *options):
        words = [elision.workload("arraybench"), "--threads", 8, "--sections", 400, "--warmup", 20, "--size", 20000,
                 "--contention", "high"]
        return words, ["--lock", design, *options]

    return {
        "counter-pthread": contention("lock", 8, 300, "--lock", "pthread"),
        "counter-ticket": contention("lock", 8, 200, "--lock", "ticket", "--wait", "spin"),
        "counter-htm-10": contention("lock", 8, 200, "--lock", "htm-10"),
        "counter-tatas-aahtm": contention("lock", 8, 200, "--lock", "tatas-aahtm"),
        "array-ticket": array("ticket"),
        "array-htm-10": array("htm-10"),
        "array-ticket-aahtm": array("ticket-aahtm", "--wait", "spin"),
        "private": contention("private", 8, 1000),
        "large-pthread": contention("large", 4, 60, "--lock", "pthread"),
        "large-htm-10": contention("large", 4, 60, "--lock", "htm-10"),
        "raw-rtm": contention("rtm", 8, 300),
        "raw-aahtm": contention("aahtm", 4, 300),
        "raw-rtm-siblings": contention("rtm", 16, 150, "--machine", "core-i7-5960x"),
    }


def measure(elision, words, options, bound, seed):
    ending, totals = elision.totals(words, [*options, "--run-ahead", bound, "--seed", seed])
    assert ending.status == 0
    measures = {"virtual cycles": totals["virtual_cycles"], "commits": totals["commits"]}
    measures.update({f"{cause} aborts": count for cause, count in totals["aborts"].items()})
    if ending.stdout.startswith("cycles "):
        measures["contended cycles"] = int(ending.stdout.split()[1])
    return measures, totals["out_of_order"]


def median_difference(pairs):
    return statistics.median(one for one, _ in pairs) - statistics.median(other for _, other in pairs)


def standard_error(pairs, draw):
    return statistics.pstdev(median_difference(draw.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))


def compare(name, bound, runs, reference):
    """Every measure that is not always zero: (what, medians, difference, standard error)."""
    for measure_name in runs[0]:
        pairs = [(run[measure_name], other[measure_name]) for run, other in zip(runs, reference)]
        if not any(any(pair) for pair in pairs):
            continue
        draw = random.Random(f"{name} {bound} {measure_name}")
        yield (f"{name}, {measure_name}, {bound}", statistics.median(other for _, other in pairs),
               median_difference(pairs), standard_error(pairs, draw))


def judge(comparisons):
    """Prints what stands out. The names of the comparisons that fail, and whether too many lie outside their own interval."""
    each = statistics.NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    family = statistics.NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(comparisons))
    failed, outside = set(), 0
    for what, reference, difference, error in comparisons:
        percent = 100 * difference / reference if reference else math.copysign(math.inf, difference)
        beyond = abs(difference) > TOLERANCE * abs(reference)
        wrong = beyond and abs(difference) > family * error
        star = beyond and abs(difference) > each * error
        outside += star
        if wrong:
            failed.add(what)
        if wrong or star:
            label = "FAILS" if wrong else "    *"
            print(f"{label} {what}: {difference:+g} ({percent:+.2f} %) of "
                  f"{reference:g}, interval +-{each * error:.1f}, of all +-{family * error:.1f}")
    print(f"{len(comparisons)} comparisons: {len(failed)} fail, {outside} lie outside their own interval")
    return failed, outside > MOST_OUTSIDE * len(comparisons)


def look(elision, chosen, seeds):
    """All comparisons of the chosen cases."""
    comparisons = []
    for name, (words, options) in cases(elision).items():
        if name not in chosen:
            continue
        runs, out_of_order = {}, {}
        for bound in (REFERENCE, *OTHERS):
            results = [measure(elision, words, options, bound, seed) for seed in seeds]
            runs[bound] = [result[0] for result in results]
            out_of_order[bound] = sum(result[1] for result in results)
        print(f"{name}: out of order", ", ".join(f"{out_of_order[b]} at {b}" for b in sorted(out_of_order)), flush=True)
        for bound in OTHERS:
            comparisons += compare(name, bound, runs[bound], runs[REFERENCE])
    return comparisons


def test_bound_decides_no_result(elision, seeds):
    chosen = list(cases(elision))
    failed, too_many = judge(look(elision, chosen, seeds))
    if failed or too_many:
        again = chosen if too_many else {what.partition(",")[0] for what in failed}
        print("again with other seeds:", ", ".join(sorted(again)))
        failed_again, too_many_again = judge(look(elision, again, range(seeds.stop, 2 * seeds.stop - 1)))
        failed, too_many = failed & failed_again, too_many and too_many_again
    assert not failed, "they fail twice"
    assert not too_many, "too many lie outside their own interval, twice"
