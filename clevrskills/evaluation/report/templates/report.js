"use strict";
/* Puts the page together. */
const data = read($("data"));
/* Tasks, and parts of episodes if a policy did parts only. */
const ended = [...data.tasks, ...data.parts];
const splits = [...new Set(ended.map((row) => row.split))];
ended.flatMap((row) => Object.keys(row.causes)).forEach((cause) => { CAUSES[cause] ??= [cause, "var(--quit)"]; });
data.measures.forEach(({name, heading, kind}) => { MEASURES[name] = {name: heading, share: kind === "share"}; });
const labelled = (values) => values.map((value) => [value, value]);

function options(id, pairs, then) {
  fill(id, pairs.map(([value, text]) => element("option", {value}, text)));
  $(id).onchange = then;
}

function splitOptions(id, then) {
  options(id, [...splits.map((s) => [s, s]), ["", "all splits"]], then);
  $(id).hidden = splits.length < 2;
}

const ofSplit = (rows, id) => rows.filter((row) => !$(id).value || row.split === $(id).value);

function levelCard(group) {
  const {level, split} = group.find(Boolean), scale = scaleOf(0, 1);
  const card = element("article", {class: "level"}, element("header", {},
    element("b", {}, level), `${plural([...new Set(group.map((row) => row?.tasks).filter(Boolean))].join(" and "), "task")}, ${split}`));
  const own = data.measures.filter((measure) => measure.own && group.some((row) => row && isNumber(row[measure.name].value)));
  group.forEach((row, k) => {
    if (!row) return;
    const facts = [["goals met", "goal_fraction"], ["reward/step", "reward_per_step"], ["reward", "reward"], ...own.map((m) => [m.heading, m.name])]
      .filter(([, key]) => key !== "reward_per_step" || row.steps.value);
    card.append(element("div", {class: "run number"},
      data.runs.length > 1 ? element("div", {class: "name"}, element("i", {"--colour": colour(k)}), row.run) : "",
      element("div", {class: "rate"}, element("b", {}, `${row.success_once.texts[0]} %`), element("span", {}, interval(row.success_once))),
      bars(scale, [0, 0.25, 0.5, 0.75, 1], [row.success_once], [colour(k)]),
      element("dl", {}, ...facts.flatMap(([name, key]) => [element("dt", {}, name), element("dd", {}, ...words(row[key], MEASURES[key]))]),
        element("dt", {}, "episodes"), element("dd", {}, `${row.episodes}${row.errors ? ` and ${plural(row.errors, "error")}` : ""}`))));
  });
  return card;
}

function showTasks() {
  const key = $("measure").value, measure = MEASURES[key];
  const rows = ofSplit(data.tasks, "chart-split").filter((row) => isNumber(row[key].value));
  if (!rows.length) return fill("task-chart", ["No episode of this split has this measure."]);
  const ends = rows.flatMap((row) => [row[key].value, row[key].low ?? 0, row[key].high ?? 0]);
  const scale = measure.share ? scaleOf(0, 1) : scaleOf(Math.min(0, ...ends), Math.max(...ends, 1e-6));
  const at = measure.share ? [0, 0.25, 0.5, 0.75, 1] : ticks(scale.low, scale.high);
  const many = !$("chart-split").value && splits.length > 1;
  const axisRow = axis(at, scale, (x) => (measure.share ? `${100 * x} %` : String(Number(x.toPrecision(6)))));
  fill("task-chart", [...axisRow, ...withLevels(byRun(rows, data.runs), (group, row) => {
    const lines = group.map((one) => element("div", {}, ...(one ? [...words(one[key], measure), element("small", {}, ` n ${one[key].n}`)] : [])));
    return [label(row, many), bars(scale, at, group.map((one) => one?.[key]), data.runs.map((_, k) => colour(k))), element("div", {class: "words number"}, ...lines)];
  })]);
}

function endingBar(row, y) {
  const total = Object.values(row.causes).reduce((sum, n) => sum + n, 0);
  let done = 0;
  return counts(row.causes).map(([cause, n]) => {
    const bar = shape("rect", {x: percent(done / total), width: percent(n / total), y: y - 6, height: 12});
    bar.style.fill = cause === "error" ? "url(#stripes)" : CAUSES[cause][1];
    done += n;
    return bar;
  });
}

function showEndings() {
  const many = !$("ending-split").value && splits.length > 1;
  fill("ending-chart", withLevels(byRun(ofSplit(ended, "ending-split"), data.runs), (group, row) => {
    const shapes = group.flatMap((one, k) => (one ? endingBar(one, LINE * k + LINE / 2) : []));
    const lines = group.map((one, k) => element("div", {}, ...(one ? [
      data.runs.length > 1 ? element("span", {class: "run", title: one.run}, element("i", {"--colour": colour(k)})) : "",
      counts(one.causes).map(([cause, n]) => `${n} ${cause}`).join(", ")] : [])));
    return [label(row, many), plot(LINE * group.length, ...shapes), element("div", {class: "words number"}, ...lines)];
  }));
}

/* Stripes for what counts for nothing; a pattern can be used all over the page. */
function stripes() {
  const pattern = shape("pattern", {id: "stripes", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"});
  const line = shape("rect", {width: 2.5, height: 5});
  line.style.fill = "var(--error)";
  pattern.append(line);
  const holder = shape("svg", {width: 0, height: 0, style: "position: absolute"});
  holder.append(pattern);
  document.body.append(holder);
}

function settings() {
  const names = Object.keys(data.runs[0].settings);
  const text = (value) => (value !== null && typeof value === "object"
    ? Object.entries(value).map(([k, v]) => `${k} ${v !== null && typeof v === "object" ? JSON.stringify(v) : v}`).join(", ") || "-" : value === null ? "-" : String(value));
  const rows = [["run", (run) => run.label], ["policy", (run) => run.policy], ["folder", (run) => run.folder],
    ...names.map((name) => [name.replaceAll("_", " "), (run) => text(run.settings[name])])];
  fill("settings", rows.map(([name, of]) => element("tr", {}, element("th", {}, name), ...data.runs.map((run) => element("td", {}, of(run))))));
}

function reasons() {
  fill("reasons", data.runs.flatMap((run) => Object.keys(CAUSES).filter((cause) => run.reasons[cause]).map((cause) => element("div", {},
    element("h3", {}, data.runs.length > 1 ? `${run.label}: ${cause}` : cause),
    ...run.reasons[cause].map(([text, n]) => element("p", {}, element("small", {class: "number"}, `${n} ×`), element("span", {}, text)))))));
}

function legends() {
  fill("runs", data.runs.map((run, k) => element("span", {class: "chip"}, element("i", {"--colour": colour(k)}),
    `${run.label}: ${[run.episodes || !run.parts ? plural(run.episodes, "episode") : "", run.parts ? `${plural(run.parts, "part")} of episodes` : ""].filter(Boolean).join(", ")}${run.errors ? ` and ${plural(run.errors, "error")}` : ""}`)));
  const used = Object.entries(CAUSES).filter(([cause]) => ended.some((row) => row.causes[cause]));
  const entry = (kind, tint, text) => element("span", {}, element("i", {class: kind, "--colour": tint}), text);
  fill("causes", used.map(([cause, [text, tint]]) => entry(cause, tint, text)));
  fill("cell-legend", [...used.map(([cause, [, tint]]) => entry(cause, tint, cause)), entry("partial", null, "half of the goal met"),
    ...(data.episodes.some((e) => e.runs.some((o) => o?.video)) ? [entry("filmed", null, "filmed")] : [])]);
}

legends();
stripes();
if (data.tasks.length) {
/* A line of cards for each split. */
const cards = splits.flatMap((split) => byRun(data.levels.filter((row) => row.split === split), data.runs));
fill("level-cards", cards.map(levelCard));
$("level-cards").style.setProperty("--columns", Math.ceil(cards.length / splits.length));
options("measure", Object.entries(MEASURES).filter(([key]) => data.tasks.some((row) => isNumber(row[key].value)))
  .map(([key, {name}]) => [key, name]), showTasks);
splitOptions("chart-split", showTasks);
showTasks();
}
splitOptions("ending-split", showEndings);
showEndings();
reasons();
settings();
if (data.comparisons.length) {
  options("pair", data.comparisons.map(({a, b}, k) => [k, `${b} against ${a}`]), showComparison);
  $("pair").hidden = data.comparisons.length < 2;
  splitOptions("pair-split", showComparison);
  showComparison();
}
const every = (name, text) => [["", text], ...labelled([...new Set(data.episodes.map((e) => e[name]))])];
options("level", every("level", "all levels"), search);
options("task", every("task", "all tasks"), search);
options("part", every("part", "all parts"), search);
$("part").hidden = !data.parts.length;
options("split", [["", "all splits"], ...splits.map((s) => [s, s])], search);
options("run", [["", "any run"], ...data.runs.map((run, k) => [k, run.label])], search);
options("outcome", [["", "all outcomes"], ...labelled([...Object.keys(OUTCOMES).filter((name) =>
  data.episodes.some((e) => e.runs.some((o) => o && OUTCOMES[name](o)))), ...(data.runs.length > 1 ? [DIFFER] : [])])], search);
$("run").hidden = data.runs.length < 2;
$("filmed").onchange = search;
$("grid").onkeydown = moveFocus;
search();
$("previous").onclick = () => turn(-1);
$("next").onclick = () => turn(1);
$("close").onclick = () => $("episode").close();
$("episode").onclose = release;
$("episode").onclick = (event) => { if (event.target === $("episode")) $("episode").close(); };
$("episode").onkeydown = (event) => {
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (by && event.target.tagName !== "VIDEO") { event.preventDefault(); turn(by); }
};
$("theme").onclick = toggleTheme;
