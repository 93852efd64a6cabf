"use strict";
/* Drawings of estimates. An estimate is {value, low, high, n, texts}; a rate is never shown without the
   interval it comes with: `words` is the only function that writes one. */
const CAUSES = {
  "success": ["success", "var(--success)"],
  "step limit": ["step limit", "var(--limit)"],
  "turn limit": ["turn limit", "var(--limit)"],
  "gave up": ["gave up", "var(--quit)"],
  "policy error": ["error of the policy, counts as a failure", "var(--quit)"],
  "restarted": ["started more than once, counts as a failure", "var(--quit)"],
  "error": ["error of the infrastructure, counts for nothing", "var(--error)"],
  "stopped": ["said that it was done, and was not", "var(--quit)"],
  "no stop": ["never said that it was done", "var(--limit)"],
};
const MEASURES = {}; /* by name: {name, share} */
const LINE = 17; /* height of a line of words, and of the bar beside it, in pixels */

const colour = (k) => `var(--run-${k % 8})`;
const isNumber = (x) => x !== null && x !== undefined;

function signed(x) {
  const text = (100 * Math.abs(x)).toFixed(1);
  return (Number(text) ? (x > 0 ? "+" : "−") : "") + text;
}

/* Numbers of episodes by cause, in one order everywhere. */
const counts = (causes) => Object.keys(CAUSES).filter((cause) => causes[cause]).map((cause) => [cause, causes[cause]]);
const plural = (n, noun) => `${n} ${noun}${String(n) === "1" ? "" : "s"}`;

/* The value, and in brackets its interval; nodes. All tables have the same texts. */
function words({value, texts}, {share}) {
  if (!isNumber(value)) return [element("small", {}, "none")];
  return [texts[0] + (share ? " % " : " "), element("small", {}, interval({texts}))];
}

const interval = ({texts: [, low, high]}) => `[${low === "-" ? low : `${low}, ${high}`}]`;

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function plot(height, ...shapes) {
  const made = shape("svg", {class: "plot", height, role: "img"});
  made.append(...shapes);
  return made;
}

/* Round numbers between two others, at most six. */
function ticks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((s) => s * power >= raw * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k++) found.push(k * step);
  return found;
}

/* From a range of values to shares of the width. */
const scaleOf = (low, high) => Object.assign((x) => percent((Math.min(Math.max(x, low), high) - low) / (high - low)), {low, high});

function gridLines(scale, at, height) {
  return at.map((x) => shape("line", {class: x === 0 && scale.low < 0 ? "zero-line" : "grid-line", x1: scale(x), x2: scale(x), y1: 0, y2: height}));
}

function whisker(scale, {low, high}, y, size = 3.5) {
  if (!isNumber(low)) return [];
  const line = (kind, x1, x2, y1, y2) => shape("line", {class: kind, x1: scale(x1), x2: scale(x2), y1, y2});
  return ["halo", "whisker"].flatMap((kind) => [
    line(kind, low, high, y, y), line(kind, low, low, y - size, y + size), line(kind, high, high, y - size, y + size)]);
}

/* A bar for each estimate, one below the other. */
function bars(scale, at, estimates, colours) {
  const height = LINE * estimates.length;
  const shapes = estimates.flatMap((estimate, k) => {
    if (!estimate || !isNumber(estimate.value)) return [];
    const y = LINE * k + LINE / 2;
    const bar = shape("rect", {x: scale(Math.min(0, estimate.value)), width: scale(Math.abs(estimate.value) + scale.low), y: y - 5, height: 10, rx: 2});
    bar.style.fill = colours[k];
    return [bar, ...whisker(scale, estimate, y)];
  });
  return plot(height, ...gridLines(scale, at, height), ...shapes);
}

/* The names of the lines of a chart, above or below it. */
function axis(at, scale, write) {
  const edge = {[percent(0)]: "start", [percent(1)]: "stop"};
  return [element("div", {class: "scale none"}),
    element("div", {class: "scale"}, ...at.map((x) =>
      element("span", {style: `left: ${scale(x)}`, class: edge[scale(x)]}, write(x)))),
    element("div", {class: "scale none"})];
}

/* What a task is called in a chart of one split or of all. */
function label(row, many) {
  return element("div", {class: "name"}, row.task, many ? element("small", {}, row.split) : "");
}

/* Rows of one kind: [[row of run 0, row of run 1, …], …]; a run without a row leaves a gap. */
function byRun(rows, runs) {
  const groups = new Map();
  for (const row of rows) {
    const key = `${row.level} ${row.task} ${row.split}`;
    if (!groups.has(key)) groups.set(key, runs.map(() => null));
    groups.get(key)[runs.findIndex((run) => run.label === row.run)] = row;
  }
  return [...groups.values()];
}

/* A heading before the first row of each level. */
function withLevels(groups, draw) {
  let level = null;
  return groups.flatMap((group) => {
    const row = group.find?.(Boolean) ?? group;
    const heading = row.level === level ? [] : [element("div", {class: "group"}, row.level)];
    level = row.level;
    return [...heading, ...draw(group, row)];
  });
}
