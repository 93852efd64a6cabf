"use strict";
/* What stands around videos and timeline: texts, goal tree, objects, key-steps, read-outs. */
const panels = {
  draw(episode) {
    this.episode = episode;
    this.header();
    this.tree();
    this.keysteps();
    this.turns();
    this.readouts();
    this.tables();
  },

  header() {
    const {episode} = this;
    document.title = `${episode.task}, ${episode.split} ${episode.seed}`;
    $("title").textContent = episode.task;
    const seconds = (episode.steps / episode.fps).toFixed(1);
    const chips = [episode.level, episode.split, `seed ${episode.seed}`, episode.robot,
      `criteria: ${episode.criteria}`, `${episode.steps} steps, ${seconds} s`, `return ${episode.return}`];
    fill("chips", [
      element("span", {class: episode.success ? "chip good" : "chip bad"},
        episode.success ? "success" : "failed"),
      ...chips.map((text) => element("span", {class: "chip"}, text)),
    ]);
    fill("prompt", episode.prompt.map((part) => part.image
      ? element("img", {src: part.image, alt: part.name, title: part.name})
      : document.createTextNode(part.text)));
    $("plain").textContent = episode.plain;
    $("plain").hidden = episode.prompt.every((part) => !part.image);
  },

  /* Colour, number, name and visible share of each object; a click hides its box. */
  objects(screens) {
    this.shares = this.episode.objects.map(() => element("span", {class: "number"}));
    fill("objects", this.episode.objects.map((object, k) => {
      const button = element("button", {"aria-pressed": "true", title: `${object.key}: show its box`},
        element("i", {"--colour": `oklch(0.82 0.17 ${hue(k)})`}, k + 1), object.name, this.shares[k]);
      button.onclick = () => {
        const hide = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", !hide);
        for (const screen of screens) {
          screen.hidden[hide ? "add" : "delete"](k);
          screen.redraw();
        }
      };
      return button;
    }));
  },

  tree() {
    const {episode} = this;
    this.nodes = episode.nodes.map((node) => {
      const term = element("small", {class: "number"});
      const line = element("li", {"--depth": node.depth, title: node.path},
        element("span", {}, element("code", {}, node.predicate), node.leaf === null ? "" : node.plain), term);
      return {node, line, term};
    });
    fill("tree", this.nodes.map(({line}) => line));
  },

  keysteps() {
    const shown = this.episode.keysteps.filter((k) => k.image);
    $("keystep-section").hidden = !shown.length;
    this.images = shown.map((k) => ({...k, button: element("button", {onclick: () => player.seek(k.step)},
      element("img", {src: k.image, alt: ""}), element("span", {}, k.label),
      element("small", {}, `step ${k.step}`))}));
    fill("keysteps", this.images.map(({button}) => button));
  },

  /* Observation, command and result of each turn. */
  turns() {
    const {turns} = this.episode;
    $("turn-section").hidden = !turns.length;
    fill("turns", turns.map((turn) => {
      const views = turn.views.map((view) => element("figure", {}, element("figcaption", {}, view.name),
        view.image ? element("img", {src: view.image, alt: view.name}) : element("pre", {}, view.text)));
      const told = turn.action === undefined ? [element("b", {}, "end")] : [
        element("b", {}, `${turn.turn + 1}: ${turn.action || "(empty)"}`),
        element("small", {}, ` ${turn.code} ${turn.message} reward ${turn.reward.toFixed(2)}, ` +
          `progress ${(100 * turn.progress).toFixed(0)} %`)];
      return element("button", {class: turn.ok === false ? "refused" : "", onclick: () => player.seek(turn.step)},
        element("div", {}, ...views), element("span", {}, ...told));
    }));
  },

  readouts() {
    this.values = [];
    fill("readouts", Object.entries(this.episode.signals).map(([name, signal]) => {
      const [low, high] = name === "action" ? [-1, 1] : range(signal.values);
      const bound = Math.max(Math.abs(low), Math.abs(high)) || 1;
      const lines = signal.names.flatMap((part, k) => {
        const bar = element("i", {"--hue": hue(k)}), value = element("span", {class: "number"});
        this.values.push({bar, value, bound, series: signal.values[k]});
        return [element("span", {}, part), element("div", {class: "bar"}, bar), value];
      });
      return element("div", {}, element("h2", {}, name), element("div", {class: "readout"}, ...lines));
    }));
  },

  tables() {
    const {episode} = this;
    const row = (kind, ...cells) => element("tr", {}, ...cells.map((cell) => element(kind, {}, cell)));
    fill("scene", [row("th", "key", "name", "x, y, z at the start (m)", ""), ...episode.bodies.map((body) =>
      row("td", body.key, body.name, body.pose.slice(0, 3).map((v) => v.toFixed(3)).join(", "),
        body.static ? "static" : ""))]);
    fill("versions", Object.entries(episode.versions).map(([name, version]) =>
      row("td", name, version ?? "not installed")));
    $("goal").textContent = JSON.stringify(episode.goal, null, 1);
  },

  update(step, screens) {
    const {episode} = this, action = Math.min(step, episode.steps - 1), row = step - 1;
    const at = (runs) => runs.find((run) => action < run.stop);
    const subtask = at(episode.lanes.subtask), part = at(episode.lanes.instruction);
    const doing = at(episode.lanes.action);
    const now = $("now").children;
    now[0].textContent = subtask.label;
    now[1].textContent = part.label;
    const tags = [element("span", {class: "chip swatch", "--hue": timeline.hueOf(episode, action)}, doing.label)];
    if (part.skill) tags.push(element("span", {class: "chip"}, part.skill));
    if (subtask.attempt) tags.push(element("span", {class: "chip"}, `attempt ${subtask.attempt + 1}`));
    if (part.failed) tags.push(element("span", {class: "chip bad"}, "✕ failed"));
    now[2].replaceChildren(...tags);
    this.nodes.forEach(({node, line, term}, k) => {
      const holds = episode.holds[k].some(([start, stop]) => start <= row && row < stop);
      line.classList.toggle("holds", holds);
      line.classList.toggle("solving", node.leaf !== null && node.leaf === subtask.subgoal);
      term.textContent = row < 0 ? "" : episode.terms[k][row].toFixed(2);
    });
    for (const {button, step: reached} of this.images) button.classList.toggle("reached", reached <= step);
    for (const {bar, value, bound, series} of this.values) {
      const number = series[Math.min(step, series.length - 1)], share = number / bound / 2;
      bar.style.left = percent(0.5 + Math.min(0, share));
      bar.style.width = percent(Math.abs(share));
      value.textContent = number.toFixed(3);
    }
    this.shares.forEach((share, k) => {
      share.textContent = screens.map(({camera}) => `${camera.visible[step][k]}%`).join(" / ");
    });
    $("value-Reward").textContent = row < 0 ? "" : episode.reward[row].toFixed(3);
    $("value-Progress").textContent = row < 0 ? "" : `${(100 * episode.progress[row]).toFixed(1)} %`;
  },
};
