// SPDX-License-Identifier: Apache-2.0
// In names, gnuplot sees no character that it could take for code, and "noenhanced" text has no markup.
#include "cli/show/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "cli/experiment/execute.h"
#include "cli/host/text_layout.h"
#include "cli/judge/scaling.h"

namespace elision::cli::experiment {
namespace {

// Told apart by people who do not see all colours: Okabe and Ito, https://jfly.uni-koeln.de/color/.
constexpr std::array kColours = {"#000000", "#d55e00", "#0072b2", "#009e73",
                                 "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31"};
constexpr std::array kPointTypes = {7, 5, 9, 13, 11, 6, 4, 8};  // filled shapes first
constexpr std::size_t kWidth = 960;
constexpr std::size_t kHeight = 560;
constexpr std::size_t kLegendLine = 22;  // pixels, as the margins are
constexpr std::size_t kMargins = 120;
constexpr std::size_t kLongestName = 24;  // columns
constexpr std::size_t kLongestTitle = 90;

// All but letters and spaces by number. A digit is escaped too: it could be taken for part of the number
// before.
std::string in_quotes(std::string_view text, std::size_t longest = kLongestName) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ";
  std::string result = "\"";
  for (const char c : shortened(printable(text), longest)) {
    result += kPlain.find(c) != std::string_view::npos
                  ? std::string(1, c)
                  : fmt::format("\\{:03o}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return result + "\"";
}

std::string title_of(const Plan& plan) {
  return in_quotes(fmt::format("{} on {}", plan.program(), plan.model ? "virtual " + plan.where : "this CPU"),
                   kLongestTitle);
}

std::string unit_of(const Plan& plan) {
  if (!plan.uses_metric()) return plan.model ? "runs per virtual second" : "runs per second";
  return plan.lower_is_better ? "1 / result" : "result";
}

/// Large numbers are counted in thousands and more, so that those at the axis are short.
struct Scale {
  double unit = 1;
  const char* words = "";
};

Scale scale_for(double most) {
  for (const Scale& scale : {Scale{1e9, ", billions"}, Scale{1e6, ", millions"}, Scale{1e3, ", thousands"}}) {
    if (most >= 2 * scale.unit) return scale;
  }
  return {};
}

double highest(const std::vector<Block>& blocks, const Plan& plan) {
  double most = 0;
  for (const Block& block : blocks) {
    for (const Row& row : block.rows) {
      if (row.state == RowState::kGood && row.value.low > 0)
        most = std::max(most, throughput_of(plan, row.value).high);
    }
  }
  return most;
}

std::string preamble(const Plan& plan, const Scale& scale, const std::string& below, std::size_t height) {
  return fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {},{} noenhanced font 'sans-serif,15' background rgb 'white' linewidth 1.3\n"
      "set title {}\n"
      "set ylabel '{}{} (more is better)'\n"
      "set format y '%g'\n"
      "set yrange [0:*]\n"
      "set border 3\n"
      "set tics nomirror out\n"
      "set grid ytics lc rgb '#dddddd' lt 1\n"
      "{}",
      kWidth, height, title_of(plan), unit_of(plan), scale.words, below);
}

std::string point(std::size_t x, const Range& range, const Scale& scale) {
  return fmt::format("{} {} {} {}\n", x, range.median / scale.unit, range.low / scale.unit,
                     range.high / scale.unit);
}

const char* error_bars(const Plan& plan) {
  return plan.runs > 1 ? " (error bars: lowest and highest run)" : "";
}

// Numbers of threads usually double.
std::string threads_axis(const Plan& plan, const std::vector<unsigned>& threads) {
  constexpr unsigned kFarApart = 8;
  std::string tics;
  for (const unsigned count : threads) tics += fmt::format("{}{}", tics.empty() ? "" : ", ", count);
  const bool logarithmic = threads.back() >= kFarApart * threads.front();
  const double margin = 0.04 * (threads.back() - threads.front());
  const std::string range =
      logarithmic
          ? fmt::format("set logscale x 2\nset xrange [{}:{}]\n", threads.front() / 1.1, threads.back() * 1.1)
          : fmt::format("set xrange [{}:{}]\n", threads.front() - margin, threads.back() + margin);
  return fmt::format("set xlabel 'threads{}'\nset key outside right center Left reverse\nset xtics ({})\n{}",
                     error_bars(plan), tics, range);
}

std::string lines(const Plan& plan, const Scaling& scaling, const Scale& scale) {
  const std::size_t height = std::max(kHeight, kMargins + kLegendLine * scaling.curves.size());
  std::string data, plots;
  for (std::size_t i = 0; i < scaling.curves.size(); ++i) {
    const ScalingCurve& curve = scaling.curves[i];
    data += fmt::format("$d{} << EOD\n", i);
    for (const ScalingPoint& one : curve.points) data += point(one.threads, one.throughput, scale);
    data += "EOD\n";
    plots +=
        fmt::format("{}$d{} using 1:2:3:4 with yerrorlines title {} lc rgb '{}' pt {} dt {} lw 1.5 ps 0.8",
                    plots.empty() ? "plot " : ", ", i, in_quotes(curve.design), kColours[i % kColours.size()],
                    kPointTypes[i % kPointTypes.size()], 1 + i / kColours.size());
  }
  return preamble(plan, scale, threads_axis(plan, scaling.threads), height) + data + plots + "\n";
}

// The rows with results of the only block that has any.
std::string bars(const Plan& plan, const Block& block, const Scale& scale) {
  constexpr std::size_t kMostUpright = 7;  // names that fit beside each other
  std::string data = "$d << EOD\n", names;
  std::size_t count = 0;
  for (const Row& row : block.rows) {
    if (row.state != RowState::kGood || row.value.low <= 0) continue;
    data += point(count, throughput_of(plan, row.value), scale);
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", in_quotes(row.design), count++);
  }
  if (count == 0) return {};
  const std::string threads = block.threads ? ", " + words_of(*block.threads) : "";
  const std::string axis = fmt::format(
      "set xlabel 'lock design{}{}'\nset key off\nset boxwidth 0.6\nset style fill solid 0.6 border -1\n"
      "set xrange [-0.6:{}]\nset xtics {}({})\n",
      threads, error_bars(plan), static_cast<double>(count) - 0.4,
      count > kMostUpright ? "rotate by -40 " : "", names);
  return preamble(plan, scale, axis, kHeight) + data + "EOD\n" +
         "plot $d using 1:2:3:4:(0.6) with boxerrorbars lc rgb '#0072b2' lw 1.3\n";
}

}  // namespace

std::string plot_script(const Plan& plan, const std::vector<Block>& blocks) {
  const Scale scale = scale_for(highest(blocks, plan));
  if (const auto scaling = scaling_of(plan, blocks)) return lines(plan, *scaling, scale);
  for (const Block& block : blocks) {
    const std::string script = bars(plan, block, scale);
    if (!script.empty()) return script;
  }
  return {};
}

}  // namespace elision::cli::experiment
