// SPDX-License-Identifier: Apache-2.0
#include "cli/texts/manual_words.h"

#include <map>
#include <stdexcept>

namespace elision::cli {
namespace {

const ExitCodeText kBadUsage = {
    "2", "Bad input or a file that cannot be written. One line on standard error names it."};

ManualWords whole_command() {
  return {
      .paragraphs =
          {"Elision runs a multithreaded program, unmodified, under several lock designs and says which "
           "one is fastest for it, and why. Some designs elide locks: their critical sections run as "
           "hardware transactions (Intel RTM). If the CPU has none, Elision runs the program on a virtual "
           "multicore that does, in virtual time.",
           "A preloaded library replaces the program's pthread and OpenMP locks. Everything behind the "
           "first -- belongs to the program."},
      .exit_codes = {{"0", "Success. Each command's page lists its other codes."}, kBadUsage},
      .examples = {{"Which lock design is best for a program?",
                    "elision compare -- ./server --threads {threads}"},
                   {"Do hardware transactions commit on this CPU?", "elision doctor"}},
      .variables = {{"ELISION_OFF", "1: all locks stay the C library's, whatever else is set."},
                    {"ELISION_TRANSACTIONS", "0: the design stays, but no transaction begins."},
                    {"ELISION_HIDE_RTM", "1: Elision treats the CPU as one without transactions."},
                    {"ELISION_VERBOSE", "1: the lock library says which design it uses."}}};
}

ManualWords compare() {
  return {
      .paragraphs =
          {"The designs take turns. The table has a row for each of them: the median result of its runs, "
           "how that compares with pthread, and how often its transactions committed and why they "
           "aborted. The sentence below it names the best design if the whole 95 % interval of its gain "
           "lies above 3 % on this CPU, or above 10 % on a virtual machine. Then the reasons follow: "
           "whether locks matter, which one, what is in its way, and what to do next.",
           "A design under which the program ends or prints otherwise than under pthread is not ranked.",
           "With --vary, each run draws the virtual machine's uncertain values anew, and the sentence "
           "says whether the result holds on every draw."},
      .exit_codes = {{"0", "The designs were compared; some may have failed."},
                     {"1", "There is nothing to compare: the program failed, or every other design did."},
                     kBadUsage,
                     {"130", "A signal stopped the comparison. The results so far are printed."}},
      .examples = {{"Compare the default designs with 1 and 8 threads:",
                    "elision compare --threads 1,8 -- ./server --threads {threads}"},
                   {"Use the program's own figure as the result, on a virtual Xeon:",
                    "elision compare --machine xeon-e5-2697v4 --metric 'throughput: ([0-9.]+)' -- ./bench"},
                   {"Compare two designs on eight draws of the machine's uncertain values:",
                    "elision compare --machine xeon-e5-2697v4 --locks tatas,htm-10 --vary 8 -- ./bench"}}};
}

ManualWords run() {
  return {
      .paragraphs =
          {"The command becomes the program: exit code, signals and job control are the program's. "
           "Without hardware transactions a design that elides uses its fallback lock, and one line on "
           "standard error says so.",
           "N in the name of a design is a number of tries, as in htm-10."},
      .exit_codes = {{"any", "The program's own."}, kBadUsage},
      .examples = {
          {"Run a program with elided locks, ten tries a section:", "elision run --lock htm-10 -- ./server"},
          {"Spin as the papers' locks do:", "elision run --lock ticket --wait spin -- ./server"}}};
}

ManualWords vm() {
  return {
      .paragraphs =
          {"The virtual CPUs have transactions (RTM) and transactions that always abort. Output, exit code "
           "and fatal signal are those of a native run. The same seed repeats a run of one process without "
           "input from outside to the byte, virtual time and statistics included.",
           "MACHINE,table.field=value changes one value of a machine."},
      .exit_codes = {{"any", "The program's own."},
                     {"124", "All threads of the program wait for ever. A report lists them."},
                     kBadUsage},
      .examples = {{"Run a program with elided locks, and write what happened into a file:",
                    "elision vm --lock htm-10 --stats statistics.json -- ./server"},
                   {"See how much the result depends on what is not known about the machine:",
                    "elision vm --machine core-i7-4770 --vary 16 -- ./server"}}};
}

ManualWords doctor() {
  return {.paragraphs =
              {"The answer comes from trial transactions, and the reasons from CPUID, the kernel, perf and "
               "the C library. The command changes nothing and needs no rights."},
          .exit_codes = {{"0", "Transactions commit here."}, {"1", "They do not."}, kBadUsage},
          .examples = {{"Ask in a script:", "elision doctor > /dev/null && echo transactions commit"}}};
}

ManualWords record() {
  return {
      .paragraphs =
          {"On this CPU a thread of this command looks at the program's threads, which are not interrupted. "
           "On a virtual machine each change at a lock is counted. If the program is killed, its profile "
           "is written all the same."},
      .exit_codes = {{"N", "The program's, or 128 and the number of the signal that ended it."}, kBadUsage},
      .examples = {
          {"Where does a server wait?", "elision record -o server.profile -- ./server"},
          {"The same on a machine with 36 CPUs:", "elision record --vm xeon-e5-2697v4 -- ./server"}}};
}

ManualWords report() {
  return {
      .paragraphs =
          {"The first sentence says whether locks matter. A bar shows what threads spent their time with, "
           "a table the locks that they waited for, and the last lines what is in the way and what to "
           "change."},
      .exit_codes = {{"0", "Success."}, kBadUsage},
      .examples = {{"Show the profile that elision-record(1) wrote last:", "elision report"},
                   {"As a page with charts and call paths, too:", "elision report --html profile.html"}}};
}

ManualWords annotate() {
  return {
      .paragraphs =
          {"The time of a line contains what the functions called from it took; it has a column for each "
           "state. Below a line stand the conflicts of its instructions, on that of the victim and on that "
           "of the other side.",
           "The program must have been compiled with -g and not stripped."},
      .exit_codes = {{"0", "Success."}, kBadUsage},
      .examples = {{"Where in the source do threads wait?", "elision annotate"},
                   {"Show one function of a program that was compiled elsewhere:",
                    "elision annotate --source-root ~/server elision.profile handle_request"}}};
}

ManualWords export_words() {
  return {
      .paragraphs =
          {"A call path is a state, a lock, a thread and a stack of calls, with the time spent so and the "
           "number of samples from which that is known.",
           "pprof and firefox write a file unless --output says otherwise, the other formats standard "
           "output. A binary file is never written onto a terminal."},
      .exit_codes = {{"0", "The file was written."}, kBadUsage},
      .examples = {{"Which functions wait?",
                    "elision export --format pprof && pprof -top -tagfocus=state=waiting elision.pb.gz"},
                   {"Draw a flame graph:",
                    "elision export --format folded | flamegraph.pl --countname=us > flames.svg"}}};
}

ManualWords diff() {
  return {
      .paragraphs =
          {"The first sentence says whether threads lose more or less time at locks in B, or that there is "
           "no "
           "difference beyond the uncertainty. Tables show time by state, the locks, how attempts to elide "
           "locks ended, and functions, those that changed most first. Differences are in points: 12 % "
           "against 41 % are 29.",
           "If the profiles are from samples, each difference has an interval of 95 %. It does not tell how "
           "much runs of one program differ."},
      .exit_codes = {{"0", "Success."}, kBadUsage},
      .examples = {{"Did a change help?", "elision diff before.profile after.profile"}}};
}

ManualWords merge() {
  return {
      .paragraphs =
          {"Times and counts are added. Locks are one in all processes if they have one name, or else one "
           "call site; functions and call paths are one by their names and lines. Threads stay apart, and "
           "their names begin with that of their file.",
           "Profiles of different machines or lock designs are refused."},
      .exit_codes = {{"0", "Success."}, kBadUsage},
      .examples = {{"One profile of all ranks:", "elision merge -o all.profile rank-*.profile"}}};
}

ManualWords import_words() {
  return {
      .paragraphs =
          {"Samples of CPU cycles or of a clock become call paths, and those of RTM_RETIRED.ABORTED become "
           "aborts, with their causes, weights and instructions. perf must have recorded call paths with "
           "--call-graph, and aborts with --weight and --transaction.",
           "Names come from the programs and libraries under the paths that the file names."},
      .exit_codes = {{"0", "The profile was written."}, kBadUsage},
      .examples = {{"Where does a program spend its time, and where do its transactions abort?",
                    "perf record --call-graph dwarf --weight --transaction -e cycles:u,cpu/tx-abort/upp -- "
                    "./server && elision import && elision report"}}};
}

ManualWords machines() {
  return {
      .paragraphs =
          {"Each value is shown with its source. A value that is not known well has an interval, from which "
           "each variation of the machine draws it anew.",
           "Option --machine of elision-compare(1) and elision-vm(1) takes a name of the list or a "
           "machine file (TOML)."},
      .exit_codes = {{"0", "Success."}, kBadUsage},
      .examples = {{"Show one machine with the sources of its values:", "elision machines xeon-e5-2697v4"},
                   {"Show what one draw makes of its uncertain values:",
                    "elision machines xeon-e5-2697v4 --variation 3"}}};
}

}  // namespace

ManualWords manual_words(const std::string& verb) {
  static const std::map<std::string, ManualWords (*)()> kWords = {
      {"", whole_command},      {"compare", compare},   {"run", run},       {"vm", vm},
      {"doctor", doctor},       {"machines", machines}, {"record", record}, {"report", report},
      {"export", export_words}, {"annotate", annotate}, {"diff", diff},     {"merge", merge},
      {"import", import_words}};
  const auto words = kWords.find(verb);
  if (words == kWords.end())
    throw std::logic_error("texts/manual_words.cc has no words for the verb " + verb);
  return words->second();
}

}  // namespace elision::cli
