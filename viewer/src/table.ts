// SPDX-License-Identifier: Apache-2.0
// Tables that a reader can sort, by mouse or keyboard.
import { element } from "./dom";

/** What a cell shows and, if it is not this text, what its column is sorted by. Empty cells come last. */
export interface Cell {
  text: string | Node;
  key?: number | string | undefined;
}

export interface Column<Item> {
  title: string;
  number?: boolean; // aligned to the right, largest first
  cell: (item: Item) => Cell | string;
}

interface Options<Item> {
  caption: string;
  rowClass?: (item: Item) => string;
}

function cellOf<Item>(column: Column<Item>, item: Item): Cell {
  const cell = column.cell(item);
  return typeof cell === "string" ? { text: cell, key: cell } : cell;
}

function keyOf(cell: Cell): number | string | undefined {
  return cell.key ?? (typeof cell.text === "string" && cell.text !== "–" ? cell.text : undefined);
}

/** Orders keys; those that are missing come last in either direction. */
function compare(a: number | string | undefined, b: number | string | undefined, direction: number): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}

export function table<Item>(columns: Column<Item>[], items: Item[], options: Options<Item>): HTMLElement {
  const rows = items.map((item) => {
    const cells = columns.map((column) => cellOf(column, item));
    const attributes: Record<string, string> = options.rowClass ? { class: options.rowClass(item) } : {};
    const row = element("tr", attributes);
    cells.forEach((cell, i) => {
      const column = columns[i];
      const kind = column?.number ? { class: "number" } : undefined;
      row.append(
        i === 0 ? element("th", { scope: "row", ...kind }, cell.text) : element("td", kind ?? {}, cell.text),
      );
    });
    return { row, keys: cells.map(keyOf) };
  });
  const body = element("tbody", {}, ...rows.map(({ row }) => row));
  const heads = columns.map((column, i) => {
    const button = element("button", { type: "button" }, column.title);
    const head = element("th", { scope: "col", ...(column.number ? { class: "number" } : {}) }, button);
    button.addEventListener("click", () => {
      const first = column.number ? "descending" : "ascending";
      const second = column.number ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach((other) => {
        other.removeAttribute("aria-sort");
      });
      head.setAttribute("aria-sort", order);
      const sorted = [...rows].sort((a, b) => compare(a.keys[i], b.keys[i], order === "ascending" ? 1 : -1));
      body.append(...sorted.map(({ row }) => row));
    });
    return head;
  });
  return element(
    "div",
    { class: "table", tabindex: "0", role: "region", "aria-label": options.caption },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, options.caption),
      element("thead", {}, element("tr", {}, ...heads)),
      body,
    ),
  );
}
