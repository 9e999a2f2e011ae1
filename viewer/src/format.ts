// SPDX-License-Identifier: Apache-2.0
// Quantities as text, as the terminal shows them (src/cli/show/format.cc).
import type { Report, Row } from "./report";

const THIN = "\u202f";

/** Significant digits, not decimals: 1.23, 12.3, 123. */
function threeDigits(value: number): string {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

export function seconds(value: number): string {
  const units: [number, string][] = [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ];
  for (const [unit, name] of units)
    if (value >= 0.9995 * unit) return `${threeDigits(value / unit)}${THIN}${name}`;
  return `0${THIN}s`;
}

export function count(value: number): string {
  if (value < 9999.5) return Number.isInteger(value) ? String(value) : threeDigits(value);
  const units: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [unit, name] of units) if (value >= 0.9995 * unit) return threeDigits(value / unit) + name;
  return threeDigits(value);
}

/** Two decimals; more below 0.1, so that it has two digits that say something. */
function ratioDigits(value: number): string {
  const leadingDigit = value > 0 ? Math.floor(Math.log10(value)) : 0;
  return value.toFixed(Math.max(2, 1 - leadingDigit));
}

export function ratio(value: number): string {
  return `${ratioDigits(value)}×`;
}

/** An axis needs no zeros after the point: "5M", "1.5 ms". */
export function shortly(show: (value: number) => string): (value: number) => string {
  return (value) =>
    show(value)
      .replace(/(\.\d*?)0+(?=\D|$)/, "$1")
      .replace(/\.(?=\D|$)/, "");
}

/** "12.3 %"; a share that is not 0 does not look like 0. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return `<${THIN}0.1${THIN}%`;
  return `${value === 0 || value >= 9.95 ? value.toFixed(0) : value.toFixed(1)}${THIN}%`;
}

export function threads(number: number | null): string {
  return number === null ? "as the program chooses" : number === 1 ? "1 thread" : `${number} threads`;
}

export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** How this report's results are shown. */
export function resultFormat(report: Report): (value: number) => string {
  return report.metric === "" ? seconds : count;
}

/** What this report's times are. */
export function timeName(report: Report): string {
  return report.windows ? "time of a section" : report.virtual ? "virtual time" : "time";
}

/** What this report's results are, with the better direction. */
export function resultName(report: Report): string {
  const better = report.lower_is_better ? "lower is better" : "higher is better";
  return `${report.metric === "" ? timeName(report) : "result"} (${better})`;
}

/** "[1.46 – 1.52]" of the speedup; the reference has none to itself. */
export function interval({ reference }: Report, { design, interval: found }: Row): string {
  return found === undefined || design === reference
    ? ""
    : `[${ratioDigits(found.low)} – ${ratioDigits(found.high)}]`;
}
