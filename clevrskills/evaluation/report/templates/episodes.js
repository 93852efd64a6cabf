"use strict";
/* All episodes as cells, and a window that shows one of them. */
const OUTCOMES = {
  "solved": (o) => o.once && o.cause !== "error",
  "not solved": (o) => !o.once && o.cause !== "error",
  "solved, not at the end": (o) => o.once && !o.end,
  "part of the goal met": (o) => !o.once && o.goals > 0,
  "step limit": (o) => o.cause === "step limit",
  "turn limit": (o) => o.cause === "turn limit",
  "gave up": (o) => o.cause === "gave up",
  "error": (o) => o.cause === "error",
};
const DIFFER = "runs differ";
let shown = [], current = null;

function cell(episode, k) {
  const parts = episode.runs.map((o) => element("i", {
    class: (!o ? "none" : o.cause === "error" ? "error" : o.once ? "success" : "part") + (o?.video ? " filmed" : ""),
    "--colour": o && CAUSES[o.cause][1], "--met": o && !o.once ? percent(o.goals) : null,
  }));
  const words = episode.runs.map((o, k) => `${data.runs[k].label}: ${o ? o.cause : "not done"}`).join("\n");
  return element("button", {class: "cell", tabindex: k ? -1 : 0, title: `${episode.id}\n${words}`,
    "aria-label": `${episode.id}, ${words}`, onclick: () => openEpisode(episode.id)}, ...parts);
}

function differ({runs}) {
  const found = runs.filter((o) => o && o.cause !== "error");
  return found.some((o) => o.once !== found[0].once);
}

function search() {
  const chosen = (id) => $(id).value;
  const fits = (e) => ["level", "task", "part", "split"].every((id) => !chosen(id) || chosen(id) === e[id]);
  const runs = (e) => (chosen("run") === "" ? e.runs : [e.runs[Number(chosen("run"))]]).filter(Boolean);
  const ended = (e) => !chosen("outcome") ? runs(e).length > 0
    : chosen("outcome") === DIFFER ? differ(e) : runs(e).some(OUTCOMES[chosen("outcome")]);
  const filmed = (e) => !$("filmed").checked || runs(e).some((o) => o.video);
  shown = data.episodes.filter((e) => fits(e) && ended(e) && filmed(e));
  const rows = new Map();
  for (const e of shown) {
    const key = `${e.task} ${e.part} ${e.split}`;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(e);
  }
  fill("grid", rows.size ? [...rows.values()].map((group) => element("div", {class: "row"},
    element("div", {}, group[0].task, element("small", {}, [group[0].part, group[0].level, group[0].split, group.length].filter(Boolean).join(", "))),
    element("div", {class: "cells", "--runs": data.runs.length}, ...group.map(cell)))) : [nothing("episode", search)]);
  $("count").textContent = `${shown.length} of ${data.episodes.length}`;
}

/* Each row is one stop of the tab key; arrows go from cell to cell. */
function moveFocus(event) {
  const rows = [...$("grid").children].map((row) => [...row.querySelectorAll(".cell")]);
  const y = rows.findIndex((row) => row.includes(event.target)), x = rows[y]?.indexOf(event.target);
  const to = {ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1], ArrowUp: [y - 1, x], ArrowDown: [y + 1, x]}[event.key];
  const row = to && rows[to[0]], next = row?.[Math.min(to[1], row.length - 1)];
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function videoOf(id) {
  const script = document.querySelector(`script.video[data-id="${CSS.escape(id)}"]`);
  if (script.dataset.link) return script.dataset.link;
  const bytes = Uint8Array.from(atob(script.textContent), (c) => c.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], {type: "video/mp4"}));
}

function film(outcome) {
  if (!outcome.video) return element("div", {class: "blank"}, "no video");
  const src = videoOf(outcome.video);
  const video = element("video", {src, controls: true, muted: true, autoplay: true, loop: true, playsInline: true});
  video.onerror = () => video.replaceWith(element("div", {class: "blank"},
    src.startsWith("blob:") ? "this browser cannot play it" : `${src} not found`));
  return video;
}

/* Failure events, along the steps of the episode; a click shows the moment in the video. */
function timeline(outcome, screen) {
  if (!outcome.events.length) return [];
  const [steps] = outcome.steps;
  const words = (e) => [`step ${e.step}: ${e.kind}`, e.object, e.detail, e.goal && `(at ${e.goal})`].filter(Boolean).join(" ");
  const show = (e) => {
    if (!(screen.duration > 0)) return;
    screen.pause();
    screen.currentTime = screen.duration * e.step / (steps + 1);
  };
  const marks = outcome.events.map((e) => element("button", {class: "event", title: words(e), "aria-label": words(e),
    "--at": `${100 * Math.min(1, e.step / Math.max(steps, 1))}%`, onclick: () => show(e)}));
  const lines = outcome.events.map((e) => element("li", {}, words(e)));
  return [element("div", {class: "timeline"}, ...marks), element("ol", {class: "events"}, ...lines)];
}

/* Control steps and turns, where they are not the same, and their limit; other programs don't state everything. */
function counted({steps: [steps, most], turns: [turns, limit]}) {
  if (!turns || turns === steps) return [["steps", most === null ? `${steps ?? "not stated"}` : `${steps} of ${most}`]];
  return [["turns", `${turns} of ${limit}`], ...(steps ? [["steps", steps]] : [])];
}

function outcomePanel(outcome, k) {
  const name = element("span", {class: "run"}, element("i", {"--colour": colour(k)}), data.runs[k].label);
  if (!outcome) return element("div", {class: "outcome"}, element("div", {class: "heading"}, name), element("div", {class: "blank"}, "not in this run"));
  const good = outcome.once && outcome.cause !== "error";
  const facts = [
    ["ended by", outcome.cause],
    ["goal held", outcome.end ? "at the end" : outcome.once ? "once, but not at the end" : "never"],
    ...(outcome.depth ? [["steps of the goal reached", outcome.depth.map((x) => x ?? 0).join(" of ")]] : []),
    ...Object.entries(outcome.texts),
    ...counted(outcome),
    ...(outcome.starts > 1 ? [["starts", outcome.starts]] : []),
    ...(outcome.why ? [["reason", outcome.why]] : []),
    ...(outcome.first ? [["first failure event", outcome.first]] : []),
  ];
  const screen = film(outcome);
  return element("div", {class: "outcome"},
    element("div", {class: "heading"}, name, element("span", {class: good ? "chip good end" : "chip bad end"}, good ? "solved" : outcome.cause)),
    screen,
    ...timeline(outcome, screen),
    element("table", {class: "number"}, ...facts.map((pair) => element("tr", {}, ...pair.map((text) => element("td", {}, String(text)))))));
}

function release() {
  for (const video of $("outcomes").querySelectorAll("video")) {
    const {src} = video;
    video.removeAttribute("src");
    video.load(); /* it lets go of what it was reading */
    URL.revokeObjectURL(src);
  }
  $("outcomes").replaceChildren();
}

function openEpisode(id) {
  current = data.episodes.find((e) => e.id === id);
  release();
  $("episode-title").textContent = id;
  $("episode-facts").textContent = [current.part, current.level, current.split, `seed ${current.seed ?? "not stated"}`].filter(Boolean).join(", ");
  $("episode-prompt").textContent = current.prompt;
  fill("outcomes", current.runs.map(outcomePanel));
  const at = shown.indexOf(current);
  $("previous").disabled = at <= 0;
  $("next").disabled = at < 0 || at + 1 >= shown.length;
  if (!$("episode").open) $("episode").showModal();
}

function turn(by) {
  const next = shown[shown.indexOf(current) + by];
  if (next) openEpisode(next.id);
}
