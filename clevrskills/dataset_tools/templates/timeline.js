"use strict";
/* Lanes and curves over the steps of an episode, with a cursor; drawn into #rows. */
const timeline = {
  steps: 1,
  zoom: 1,
  segments: [],
  open: {"Goal tree": true, "Signals": false},

  draw(episode) {
    this.steps = episode.steps;
    this.segments = [];
    fill("rows", [element("div", {id: "cursor"}, element("i"), element("i", {class: "ghost", hidden: true}))]);
    if (episode.turns.length) this.runs("Turn", episode.lanes.turn, (run) => hue(run.turn + 1));
    this.runs("Sub-task", episode.lanes.subtask, (run) => hue(run.subgoal + 1));
    this.runs("Step", episode.lanes.instruction, (run) => this.hueOf(episode, run.start));
    this.runs("Action", episode.lanes.action, (run) => this.hueOf(episode, run.start));
    this.marks("Key-steps", episode.keysteps);
    if (episode.events.length) this.marks("Failure events", episode.events.map((e) => ({
      step: e.step, kind: "wrong", label: [e.kind, e.object, e.detail].filter(Boolean).join(" "),
    })));
    this.curve("Reward", episode.reward, "var(--reward)");
    this.curve("Progress", episode.progress, "var(--accent)", [0, 1]);
    for (const [name, runs] of Object.entries(episode.flags)) {
      this.row([name.replace("_on", "")], "lane thin boxed").append(
        ...runs.map(([start, stop]) => this.held(start, stop, "var(--reward)")));
    }
    this.group("Goal tree");
    episode.nodes.forEach((node, k) => this.node(node, episode.holds[k], episode.terms[k]));
    this.group("Signals");
    for (const [name, signal] of Object.entries(episode.signals)) this.curves(name, signal);
    this.update(0);
  },

  /* Equal actions have equal colours. */
  hueOf(episode, step) {
    const kinds = [...new Set(episode.lanes.action.map((run) => run.label))];
    const at = episode.lanes.action.find((run) => step < run.stop);
    return hue(kinds.indexOf(at.label) + 3);
  },

  row(name, kind) {
    const lane = element("div", {class: kind});
    const label = element("div", {class: "name"}, ...name.map((text) => element("div", {}, text)));
    if (this.folder) {
      const part = this.folder;
      for (const one of [label, lane]) {
        one.hidden = !this.open[part];
        one.dataset.part = part;
      }
    }
    $("rows").append(label, lane);
    return lane;
  },

  group(name) {
    this.folder = null;
    const button = element("button", {class: "fold", "aria-expanded": String(this.open[name])});
    const title = () => { button.textContent = (this.open[name] ? "▾ " : "▸ ") + name; };
    button.onclick = () => {
      this.open[name] = !this.open[name];
      button.setAttribute("aria-expanded", this.open[name]);
      for (const one of document.querySelectorAll(`[data-part="${name}"]`)) one.hidden = !this.open[name];
      title();
    };
    title();
    $("rows").append(button);
    this.folder = name;
  },

  runs(name, runs, hueOfRun) {
    this.folder = null;
    const lane = this.row([name], "lane");
    for (const run of runs) {
      const tags = [run.code || (run.predicate ?? run.skill), `steps ${run.start} to ${run.stop - 1}`];
      if (run.attempt) tags.push(`attempt ${run.attempt + 1}`);
      if (run.failed) tags.push("failed");
      const segment = element("div", {
        class: run.failed ? "segment failed" : "segment",
        title: `${run.label}\n${tags.filter(Boolean).join(", ")}`,
        style: `left: ${percent(run.start / this.steps)}; --hue: ${hueOfRun(run)};
          width: ${percent((run.stop - run.start) / this.steps)}`,
      });
      if (run.failed) segment.append(element("span", {class: "again bad"}, "✕"));
      if (run.attempt) segment.append(element("span", {class: "again"}, `↻${run.attempt + 1}`));
      segment.append(run.label);
      lane.append(segment);
      this.segments.push({...run, segment});
    }
  },

  marks(name, moments) {
    this.row([name], "lane").append(...moments.map((k) => element("button", {
      class: `mark ${k.kind ?? ""}`, title: `${k.label} (step ${k.step})`, "aria-label": k.label,
      style: `left: ${percent(k.step / this.steps)}`, onclick: () => player.seek(k.step),
    })));
  },

  /* A bar where something holds; what holds at the last state only is still seen. */
  held(start, stop, colour = "var(--good)") {
    return element("div", {
      class: "held",
      style: `left: min(${percent(start / this.steps)}, 100% - 4px); background: ${colour};
        width: ${percent((Math.min(stop, this.steps) - start) / this.steps)}`,
    });
  },

  /* Row t of the data is about state t + 1. */
  node(node, holds, terms) {
    const lane = this.row([`${"\u2003".repeat(node.depth)}${node.predicate}`], "lane boxed");
    lane.previousSibling.title = lane.title = node.plain;
    const bars = holds.map(([start, stop]) => this.held(start + 1, stop + 1));
    for (const bar of bars) bar.style.opacity = 0.45;
    lane.append(...bars, this.svg([terms], [{style: "color: var(--soft)"}], range([terms]), 1));
  },

  curve(name, values, colour, limits) {
    const lane = this.row([name, ""], "lane curve boxed"), [low, high] = limits ?? range([values]);
    Object.assign(lane.previousSibling.lastChild, {id: `value-${name}`, className: "number"});
    lane.previousSibling.append(element("small", {}, `${low.toPrecision(3)} to ${high.toPrecision(3)}`));
    lane.append(this.svg([values], [{style: `color: ${colour}`}], [low, high], 1, true));
  },

  curves(name, {names, values}) {
    const lane = this.row([name], "lane curves boxed"), [low, high] = range(values);
    const styles = names.map((_, k) => ({class: "coloured", style: `--hue: ${hue(k)}`}));
    const legend = names.map((part, k) => element("b", styles[k], part + " "));
    lane.previousSibling.append(element("div", {}, ...legend),
      element("small", {}, `${low.toPrecision(3)} to ${high.toPrecision(3)}`));
    lane.append(this.svg(values, styles, [low, high], 0));
  },

  /* Lines through values, the first of them at step `first`, with attributes that colour them. */
  svg(lines, styles, [low, high], first, area = false) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${this.steps} 100`);
    svg.setAttribute("preserveAspectRatio", "none");
    const y = (value) => (95 - 90 * (value - low) / (high - low || 1)).toFixed(1);
    lines.forEach((values, k) => {
      const line = values.map((value, i) => `${i + first} ${y(value)}`).join("L");
      svg.append(path("M" + line, {...styles[k], stroke: "currentColor", fill: "none"}));
      if (!area) return;
      const closed = `M${first} 100L${line}L${values.length - 1 + first} 100Z`;
      svg.append(path(closed, {...styles[k], class: "area"}));
    });
    return svg;
  },

  setZoom(zoom) {
    this.zoom = Math.max(1, Math.min(zoom, this.steps / 10, 40));
    $("rows").style.setProperty("--zoom", this.zoom);
    this.reveal();
  },

  update(step) {
    const action = Math.min(step, this.steps - 1);
    $("cursor").firstChild.style.left = percent(step / this.steps);
    for (const {start, stop, segment} of this.segments) {
      segment.classList.toggle("now", start <= action && action < stop);
    }
    this.reveal();
  },

  /* Scroll so that the cursor is in view. */
  reveal() {
    if (this.zoom === 1) return;
    const frame = $("frame"), names = $("cursor").offsetLeft;
    const x = $("cursor").firstChild.offsetLeft, width = frame.clientWidth - names;
    if (x < frame.scrollLeft || x > frame.scrollLeft + width) frame.scrollLeft = x - 0.15 * width;
  },

  /* The step at a place in the window. */
  stepAt(event) {
    const box = $("cursor").getBoundingClientRect();
    const step = Math.round(this.steps * (event.clientX - box.left) / box.width);
    return Math.max(0, Math.min(step, this.steps));
  },

  listen() {
    const rows = $("rows");
    rows.onpointerdown = (event) => {
      if (event.button || !event.target.closest(".lane") || event.target.closest("button")) return;
      rows.setPointerCapture(event.pointerId);
      player.seek(this.stepAt(event));
    };
    rows.onpointermove = (event) => {
      if (rows.hasPointerCapture(event.pointerId)) player.seek(this.stepAt(event));
      const ghost = $("cursor").lastChild, step = this.stepAt(event);
      ghost.hidden = !event.target.closest(".lane");
      ghost.style.left = percent(step / this.steps);
      ghost.dataset.step = step;
    };
    rows.onpointerleave = () => { $("cursor").lastChild.hidden = true; };
    $("frame").addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.setZoom(this.zoom * Math.exp(-event.deltaY / 200));
    }, {passive: false});
    for (const [id, factor] of [["zoom-in", 1.6], ["zoom-out", 1 / 1.6]]) {
      $(id).onclick = () => this.setZoom(this.zoom * factor);
    }
  },
};

function path(d, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({d, ...attributes})) made.setAttribute(key, value);
  return made;
}

/* Least and greatest of lists of numbers. */
function range(lines) {
  const all = lines.flat();
  return all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
}
