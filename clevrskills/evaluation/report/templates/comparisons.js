"use strict";
/* Two runs on the same episodes. */
const pWords = (p) => (p.startsWith("<") ? `p ${p}` : `p = ${p}`);

function forestRow(row, scale, at, b, many) {
  const {difference, cells} = row, y = LINE / 2 + 2, height = LINE + 4;
  const dot = shape("circle", {cx: scale(difference.value), cy: y, r: row.task ? 4.5 : 6});
  dot.style.fill = colour(b);
  const rates = `${row.a.texts[0]} % ${interval(row.a)} and ${row.b.texts[0]} % ${interval(row.b)}, `
    + `${row.episodes} episodes: both ${cells.both}, only the first ${cells.only_a}, only the second ${cells.only_b}, neither ${cells.neither}`;
  const p = row.p_holm ?? row.p_value;
  const name = element(row.task ? "div" : "b", {class: "name", title: rates}, row.task || row.level, many ? element("small", {}, row.split) : "");
  return [name,
    plot(height, ...gridLines(scale, at, height), ...whisker(scale, difference, y), dot),
    element("div", {class: "words number", title: rates},
      element("div", {}, element("span", {}, ...words(difference, {share: false})),
        element("span", {class: p < 0.05 ? "clear" : ""}, pWords(row.p)),
        element("small", {}, `+${cells.only_b} −${cells.only_a} of ${row.episodes}`)))];
}

function showComparison() {
  const k = Number($("pair").value), one = data.comparisons[k];
  const b = data.runs.findIndex((run) => run.label === one.b);
  $("pair-words").replaceChildren("Success of ", element("b", {}, one.b), " less that of ", element("b", {}, one.a),
    ", in percentage points, with 95 % intervals. At the right: McNemar's exact p (of tasks, Holm's for all of them), "
    + "and how many episodes only one of them solved.");
  const levels = ofSplit(one.levels, "pair-split"), tasks = ofSplit(one.tasks, "pair-split");
  const rows = [...levels, ...tasks];
  const reach = Math.max(0.1, ...rows.flatMap(({difference: d}) => [Math.abs(d.low ?? 0), Math.abs(d.high ?? 0)]));
  const scale = scaleOf(-reach, reach), at = ticks(-reach, reach);
  const axisRow = axis(at, scale, signed), many = !$("pair-split").value && splits.length > 1;
  fill("pair-chart", [
    ...axisRow, element("div", {class: "group"}, "all tasks of a level"),
    ...levels.flatMap((row) => forestRow(row, scale, at, b, many)),
    ...withLevels(tasks, (row) => forestRow(row, scale, at, b, many))]);
  const list = (ids, words) => element("details", {}, element("summary", {}, `${ids.length} ${words}`),
    element("div", {class: "chips"}, ...ids.map((id) => element("button", {onclick: () => openEpisode(id)}, id))));
  fill("changed", [list(one.won, `episodes that only ${one.b} solved`), list(one.lost, `episodes that only ${one.a} solved`)]);
  fill("pair-remarks", one.remarks.map((text) => element("li", {}, text)));
}
