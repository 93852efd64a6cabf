"use strict";
/* The list of all attempts of a dataset: episodes, which have a page, and failures, which do not. */
const LENGTHS = [[0, 50], [50, 100], [100, 200], [200, 400], [400, Infinity]];
const ORDERS = {
  "by task": () => 0,
  "longest first": (a, b) => b.steps - a.steps,
  "shortest first": (a, b) => a.steps - b.steps,
  "highest return first": (a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity),
  "by seed": (a, b) => a.seed - b.seed,
};
const BATCH = 120; /* cards that are made at a time, as the end of the list comes into view */

const {episodes, failures} = read($("data"));
const levels = Object.fromEntries(episodes.map((e) => [e.task, e.level]));
const attempts = [
  ...episodes.map((e) => ({...e, result: e.success ? "success" : "not solved"})),
  ...failures.map((f) => ({...f, level: levels[f.task] ?? "", plain: f.reason, result: `failed: ${f.kind}`})),
];
for (const one of attempts) {
  one.words = `${one.task} ${one.split} seed ${one.seed} ${one.result} ${one.plain}`.toLowerCase();
}
let found = [], shown = 0;

function options(id, every, values) {
  fill(id, [element("option", {value: ""}, every),
    ...values.map(([value, text]) => element("option", {value}, text))]);
  $(id).onchange = search;
}

/* The values of a property, each with how often it occurs. */
function values(name) {
  const counts = new Map();
  for (const one of attempts) counts.set(one[name], (counts.get(one[name]) ?? 0) + 1);
  return [...counts].filter(([value]) => value).sort().map(([value, n]) => [value, `${value} (${n})`]);
}

function search() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const length = LENGTHS[$("length").value] ?? [0, Infinity];
  const fits = (one) => ["level", "task", "split", "result"].every((id) => !$(id).value || $(id).value === one[id])
    && length[0] <= one.steps && one.steps < length[1] && words.every((word) => one.words.includes(word));
  found = attempts.filter(fits).sort(ORDERS[$("order").value]);
  shown = 0;
  $("list").replaceChildren();
  $("count").textContent = `${found.length} of ${attempts.length}`;
  showMore();
}

function showMore() {
  const batch = found.slice(shown, shown + BATCH);
  shown += batch.length;
  $("list").append(...batch.map(card));
  $("more").replaceChildren(...(found.length ? [] : [nothing("attempt", search)]));
}

function card(one) {
  const image = one.image
    ? element("img", {src: one.page.replace(/html$/, "jpg"), loading: "lazy", alt: ""})
    : element("span", {class: "blank"}, one.page ? "" : "✕");
  const state = element("small", {class: one.success ? "good" : "bad"}, one.result);
  const text = element("div", {}, element("b", {}, one.task), element("p", {title: one.plain}, one.plain),
    element("small", {class: "number"}, `${one.split}, seed ${one.seed}, ${one.steps} steps`), state);
  const attributes = {class: "card"};
  return one.page ? element("a", {...attributes, href: one.page}, image, text)
    : element("div", attributes, image, text);
}

fill("facts", [`${episodes.length} episodes`, `${failures.length} failed attempts`,
  `${Object.keys(levels).length} tasks`, `${episodes.reduce((sum, e) => sum + e.steps, 0)} steps`,
].map((text) => element("span", {class: "chip"}, text)));
for (const [id, every] of Object.entries({level: "all levels", task: "all tasks", split: "all splits", result: "all results"})) {
  options(id, every, values(id));
}
options("length", "all lengths", LENGTHS.map(([low, high], k) =>
  [k, high < Infinity ? `${low} to ${high - 1} steps` : `${low} steps or more`]));
fill("order", Object.keys(ORDERS).map((name) => element("option", {value: name}, name)));
$("order").onchange = search;
$("search").oninput = search;
$("theme").onclick = toggleTheme;
new IntersectionObserver(([end]) => { if (end.isIntersecting && shown < found.length) showMore(); },
  {rootMargin: "800px"}).observe($("more"));
search();
