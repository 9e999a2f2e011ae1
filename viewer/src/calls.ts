// SPDX-License-Identifier: Apache-2.0
// Call paths as a tree of functions: which time is shown, and where each function lies for a given width. No elements, no drawing.
//
// Profiles have hundreds of thousands of paths. Times are summed once for each choice of states and thread. Functions become boxes only
// where they are looked at, and those that are narrower than a pixel become one box together.
import type { CallPaths, Place } from "./report";

const NOT_KNOWN: Place = { name: "callers not known" };
const MOST_IN_ONE_BOX = 64; // more narrow functions than these are divided
const PARTS_OF_MANY = 16;

/** A function under one chain of callers, or several narrow functions. */
export interface Box {
  name: string;
  stacks: readonly number[]; // all with this function under these callers
  ns: number;
  parent: Box | null;
  together: readonly Box[]; // of a box for several functions: these
  children: readonly Box[] | null; // null: nobody has looked yet
  rest: Box | null; // its narrow children as one box, as it was drawn last
}

/** A box on the screen. */
export interface Placed {
  box: Box;
  row: number;
  left: number;
  width: number;
}

export interface Choice {
  states: ReadonlySet<number>;
  thread: number | null; // null: all
}

export interface Found {
  functions: number;
  ns: number; // of paths with one of them
}

/** Equal names have one number. */
function numbersOf(places: Place[]): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(places, ({ name }) => {
    const number = numbers.get(name) ?? numbers.size;
    numbers.set(name, number);
    return number;
  });
}

const at = (values: ArrayLike<number>, i: number): number => values[i] ?? 0;

function add(values: Float64Array, i: number, more: number): void {
  values[i] = at(values, i) + more;
}

const timeOf = (boxes: readonly Box[]): number => boxes.reduce((sum, { ns }) => sum + ns, 0);

/** Several boxes as one. */
function joined(boxes: readonly Box[], name: string, parent: Box): Box {
  const ns = timeOf(boxes);
  return {
    name,
    stacks: boxes.flatMap(({ stacks }) => stacks),
    ns,
    parent,
    together: boxes,
    children: null,
    rest: null,
  };
}

export class Calls {
  root: Box;
  readonly states: readonly number[]; // those that any path has, in their order
  // Stack 0 is that of no function; stack i + 1 is stack i of the report. A caller has a smaller number than what it calls.
  private readonly caller: Int32Array;
  private readonly frame: Int32Array;
  private readonly firstCalled: Int32Array;
  private readonly nextCalled: Int32Array;
  private readonly stackOf: Int32Array; // of a path
  private readonly places: Place[]; // of frames
  private readonly functionOf: Int32Array; // of frames
  // Of stacks, with all that they call:
  private readonly room = new Map<number, Float64Array>(); // by state
  private readonly times = new Map<number, Float64Array>(); // the same of chosen states
  private readonly total: Float64Array;
  private readonly samples: Float64Array;
  private readonly rows: Int32Array; // levels of functions with time below it
  private thread: number | null = null; // chosen

  /** `order`: of states, in a box and elsewhere. */
  constructor(
    private readonly data: CallPaths,
    order: readonly string[],
  ) {
    const unknown = data.stacks.frame.length + 1;
    this.places = [...data.frames, NOT_KNOWN];
    this.functionOf = numbersOf(this.places);
    this.caller = new Int32Array(unknown + 1);
    this.frame = new Int32Array(unknown + 1).fill(data.frames.length);
    data.stacks.caller.forEach((caller, i) => (this.caller[i + 1] = caller + 1));
    data.stacks.frame.forEach((frame, i) => (this.frame[i + 1] = frame));
    this.stackOf = Int32Array.from(data.paths.stack, (stack) => (stack < 0 ? unknown : stack + 1));
    this.firstCalled = new Int32Array(unknown + 1);
    this.nextCalled = new Int32Array(unknown + 1);
    for (let stack = unknown; stack > 0; --stack) {
      const caller = at(this.caller, stack);
      this.nextCalled[stack] = at(this.firstCalled, caller);
      this.firstCalled[caller] = stack;
    }
    const present = new Set(data.paths.state);
    const names = [...order, ...data.states.filter((name) => !order.includes(name))];
    this.states = names.map((name) => data.states.indexOf(name)).filter((state) => present.has(state));
    for (const state of this.states) this.room.set(state, new Float64Array(unknown + 1));
    this.total = new Float64Array(unknown + 1);
    this.samples = new Float64Array(unknown + 1);
    this.rows = new Int32Array(unknown + 1);
    this.root = this.choose({ states: new Set(this.states), thread: null });
  }

  /** Shows these paths only. Returns the new root; older boxes are no part of its tree. */
  choose({ states, thread }: Choice): Box {
    this.thread = thread;
    this.total.fill(0);
    this.samples.fill(0);
    this.rows.fill(0);
    this.times.clear();
    for (const [state, times] of this.room) if (states.has(state)) this.times.set(state, times.fill(0));
    const { state, ns, samples, thread: threads } = this.data.paths;
    this.stackOf.forEach((stack, path) => {
      const times = this.times.get(at(state, path));
      if (times === undefined || (thread !== null && threads[path] !== thread)) return;
      add(times, stack, at(ns, path));
      add(this.total, stack, at(ns, path));
      add(this.samples, stack, at(samples, path));
    });
    this.addToCallers([...this.times.values()]);
    this.root = {
      name: "all",
      stacks: [0],
      ns: at(this.total, 0),
      parent: null,
      together: [],
      children: null,
      rest: null,
    };
    return this.root;
  }

  private addToCallers(chosen: readonly Float64Array[]): void {
    for (let stack = this.caller.length - 1; stack > 0; --stack) {
      if (at(this.total, stack) === 0) continue;
      const caller = at(this.caller, stack);
      for (const times of chosen) if (at(times, stack) !== 0) add(times, caller, at(times, stack));
      add(this.total, caller, at(this.total, stack));
      add(this.samples, caller, at(this.samples, stack));
      this.rows[caller] = Math.max(at(this.rows, caller), at(this.rows, stack) + 1);
    }
  }

  /** What a box calls, most time first. */
  childrenOf(box: Box): readonly Box[] {
    box.children ??= box.together.length > 0 ? this.divided(box) : this.called(box);
    return box.children;
  }

  private called(parent: Box): Box[] {
    const boxes = new Map<number, Box & { stacks: number[] }>();
    for (const caller of parent.stacks)
      for (let stack = at(this.firstCalled, caller); stack !== 0; stack = at(this.nextCalled, stack)) {
        const ns = at(this.total, stack);
        if (ns === 0) continue;
        const frame = at(this.frame, stack);
        const number = at(this.functionOf, frame);
        const known = boxes.get(number);
        if (known === undefined) {
          const name = this.places[frame]?.name ?? "";
          boxes.set(number, { name, stacks: [stack], ns, parent, together: [], children: null, rest: null });
        } else {
          known.stacks.push(stack);
          known.ns += ns;
        }
      }
    return [...boxes.values()].sort((a, b) => b.ns - a.ns);
  }

  /** The functions of a box for several, in parts if there are many. */
  private divided({ together, ...box }: Box): readonly Box[] {
    const parent = box.parent ?? this.root;
    if (together.length <= MOST_IN_ONE_BOX) return together;
    const size = Math.ceil(together.length / PARTS_OF_MANY);
    return Array.from({ length: PARTS_OF_MANY }, (_, i) => together.slice(i * size, (i + 1) * size))
      .filter((part) => part.length > 0)
      .map((part) => joined(part, `${part.length} functions`, parent));
  }

  /** Rows of the tree from `box` down, if that is the zoomed one. */
  rowsFrom(box: Box): number {
    if (box.together.length > MOST_IN_ONE_BOX) return 2;
    const own = box.together.length > 0 ? 2 : 1;
    return own + box.stacks.reduce((most, stack) => Math.max(most, at(this.rows, stack)), 0);
  }

  /**
   * The boxes in rows up to `lastRow` if `zoomed` is as wide as the screen: its callers, itself and what it calls. Siblings narrower
   * than a pixel become one box, which is left out if it is no wider, and opens when it is zoomed. So a row has at most as many boxes
   * as pixels.
   */
  layout(zoomed: Box, width: number, lastRow: number): Placed[] {
    const placed: Placed[] = callersOf(zoomed).map((box, row) => ({ box, row, left: 0, width }));
    const open: Placed[] = [{ box: zoomed, row: placed.length, left: 0, width }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      placed.push(next);
      const isOpen = next.box === zoomed || next.box.together.length === 0;
      if (isOpen && next.row < lastRow) open.push(...this.below(next));
    }
    return placed;
  }

  private below({ box, row, left, width }: Placed): Placed[] {
    const children = this.childrenOf(box);
    const scale = box.ns > 0 ? width / box.ns : 0;
    const narrow = children.findIndex(({ ns }) => ns * scale < 1);
    const wide = narrow < 0 ? children : children.slice(0, narrow);
    const rest = narrow < 0 ? [] : children.slice(narrow);
    const shown = rest.length > 1 && timeOf(rest) * scale >= 1 ? [...wide, restOf(box, rest)] : wide;
    let end = left;
    return shown.map((child) => {
      const placed = { box: child, row: row + 1, left: end, width: child.ns * scale };
      end += placed.width;
      return placed;
    });
  }

  /** Shown time of a box by state. */
  timesOf(box: Box): { state: number; ns: number }[] {
    const sums = [...this.times].map(([state, times]) => ({
      state,
      ns: box.stacks.reduce((sum, stack) => sum + at(times, stack), 0),
    }));
    return sums.filter(({ ns }) => ns > 0);
  }

  samplesOf(box: Box): number {
    return box.stacks.reduce((sum, stack) => sum + at(this.samples, stack), 0);
  }

  /** Time in the function itself, not in what it calls. */
  ownTimeOf(box: Box): number {
    if (box.together.length > 0) return 0;
    return Math.max(0, box.ns - timeOf(this.childrenOf(box)));
  }

  /** Where in the source, the place with most time first. */
  placesOf(box: Box): Place[] {
    if (box.together.length > 0 || box.parent === null) return [];
    const times = new Map<number, number>();
    for (const stack of box.stacks) {
      const frame = at(this.frame, stack);
      times.set(frame, (times.get(frame) ?? 0) + at(this.total, stack));
    }
    const frames = [...times].sort(([, a], [, b]) => b - a).map(([frame]) => this.places[frame]);
    return frames.filter((place): place is Place => place?.file !== undefined);
  }

  /** Time at each lock, most first. */
  locksOf(box: Box): { lock: string; ns: number }[] {
    const isIn = new Uint8Array(this.caller.length);
    for (const stack of box.stacks) isIn[stack] = 1;
    for (let stack = 1; stack < isIn.length; ++stack) if (isIn[at(this.caller, stack)] === 1) isIn[stack] = 1;
    const { state, lock, ns, thread } = this.data.paths;
    const sums = new Map<number, number>();
    this.stackOf.forEach((stack, path) => {
      const number = lock[path] ?? -1;
      if (number < 0 || isIn[stack] !== 1 || !this.times.has(at(state, path))) return;
      if (this.thread !== null && thread[path] !== this.thread) return;
      sums.set(number, (sums.get(number) ?? 0) + at(ns, path));
    });
    return [...sums]
      .sort(([, a], [, b]) => b - a)
      .map(([number, time]) => ({ lock: this.data.locks[number] ?? "", ns: time }));
  }

  /** Time of paths with a function whose name has `text` in it, in whichever case. */
  find(text: string): Found {
    const wanted = text.toLowerCase();
    const matches = this.places.map(({ name }) => name.toLowerCase().includes(wanted));
    const functions = new Set<number>();
    let ns = 0;
    // Of several on one path only the outermost counts.
    const isBelow = new Uint8Array(this.caller.length);
    for (let stack = 1; stack < this.caller.length; ++stack) {
      const frame = at(this.frame, stack);
      const inside = at(isBelow, at(this.caller, stack)) !== 0;
      const is = matches[frame] === true && at(this.total, stack) > 0;
      if (is) functions.add(at(this.functionOf, frame));
      if (is && !inside) ns += at(this.total, stack);
      isBelow[stack] = is || inside ? 1 : 0;
    }
    return { functions: functions.size, ns };
  }

  /** The box with these names from the root down, or as far as there is one. */
  follow(names: string[]): Box {
    let box = this.root;
    for (const name of names) {
      const next = this.childrenOf(box).find((child) => child.name === name);
      if (next === undefined) break;
      box = next;
    }
    return box;
  }
}

function restOf(box: Box, rest: readonly Box[]): Box {
  if (box.rest?.together.length !== rest.length)
    box.rest = joined(rest, `${rest.length} more functions`, box);
  return box.rest;
}

/** The outermost first. */
export function callersOf(box: Box): Box[] {
  const callers: Box[] = [];
  for (let above = box.parent; above !== null; above = above.parent) callers.unshift(above);
  return callers;
}
