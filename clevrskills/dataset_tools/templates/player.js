"use strict";
/* The clock: while playing, the first video leads; without videos, the time of day does. */
const SPEEDS = ["0.1", "0.25", "0.5", "1", "2", "4"];
const sources = [...document.querySelectorAll("script.episode")];
const buttons = [...document.querySelectorAll("nav button")];

const player = {
  episode: null,
  step: 0,
  time: 0,
  playing: false,
  screens: [],

  show(index) {
    this.setPlaying(false);
    this.episode = read(sources[index]);
    buttons.forEach((button, i) => button.setAttribute("aria-current", i === index));
    if (buttons.length) history.replaceState(null, "", "#" + encodeURI(this.episode.id));
    this.screens.forEach((screen) => screen.close());
    const {cameras, objects, fps, steps} = this.episode;
    this.screens = Object.entries(cameras).map(([name, camera]) => new Screen(name, camera, objects, fps));
    fill("videos", this.screens.map((screen) => screen.figure));
    for (const {video} of this.screens) video.onclick = () => this.toggle();
    $("stage").classList.toggle("blind", !this.screens.length);
    $("stage").firstElementChild.hidden = !this.screens.length;
    this.showBoxes();
    panels.draw(this.episode);
    panels.objects(this.screens);
    timeline.draw(this.episode);
    timeline.setZoom(1);
    $("scrub").max = steps;
    this.jump(0);
  },

  /* Stop, and go to a step. */
  seek(step) {
    if (this.playing) this.setPlaying(false);
    this.jump(step);
  },

  jump(step) {
    this.step = Math.max(0, Math.min(step, this.episode.steps));
    this.time = this.step / this.episode.fps;
    this.screens.forEach((screen) => screen.seek(this.step));
    this.update();
  },

  setPlaying(value) {
    if (value && this.step >= this.episode.steps) this.jump(0);
    this.playing = value;
    for (const {video} of this.screens) {
      video.playbackRate = this.speed();
      /* a pause overtakes the start of playing: nothing to do */
      if (value) video.play().catch(() => {}); else video.pause();
    }
    if (this.episode && !value) this.jump(this.step);
  },

  toggle() { this.setPlaying(!this.playing); },

  speed() { return Number($("speed").value); },

  setSpeed(change) {
    const index = SPEEDS.indexOf($("speed").value) + change;
    $("speed").value = SPEEDS[Math.max(0, Math.min(index, SPEEDS.length - 1))];
    this.setPlaying(this.playing);
  },

  /* The start of the next (1) or this or the previous (-1) sub-task. */
  jumpSubtask(direction) {
    const starts = [...this.episode.lanes.subtask.map((run) => run.start), this.episode.steps];
    const next = direction > 0 ? starts.find((s) => s > this.step) : starts.findLast((s) => s < this.step);
    this.seek(next ?? this.step);
  },

  showBoxes() {
    for (const screen of this.screens) {
      screen.boxes = $("boxes").checked;
      screen.redraw();
    }
  },

  update() {
    const {step, episode} = this;
    $("play").innerHTML = this.playing ? ICONS.pause : ICONS.play;
    $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    $("scrub").value = step;
    $("clock").textContent = `${(step / episode.fps).toFixed(2)} s, step ${step} / ${episode.steps}`;
    panels.update(step, this.screens);
    timeline.update(step);
  },

  tick(now) {
    const passed = (now - this.last) / 1000 * this.speed();
    this.last = now;
    requestAnimationFrame((time) => this.tick(time));
    if (!this.playing) return;
    const {fps, steps} = this.episode;
    const leader = this.screens.find(({video}) => !video.error)?.video;
    this.time = leader ? leader.currentTime : this.time + passed;
    for (const {video} of this.screens) {
      if (video !== leader && !video.error && !video.seeking) this.keepUp(video, leader.currentTime);
    }
    const step = Math.min(Math.floor(this.time * fps + 1e-3), steps);
    const over = leader ? leader.ended : step >= steps;
    if (step !== this.step || over) {
      this.step = step;
      if (over) this.setPlaying(false); else this.update();
    }
  },

  /* Let a video run a little faster or slower; seek only if it is far off. */
  keepUp(video, time) {
    const late = time - video.currentTime;
    if (Math.abs(late) > 0.4) video.currentTime = time;
    else video.playbackRate = this.speed() * (1 + Math.max(-0.1, Math.min(late, 0.1)));
  },

  press(event) {
    const {target, key} = event;
    if (target.closest("select, input[type=search]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === " " && target.closest("button, summary, input[type=checkbox]")) return;
    const does = {
      " ": () => this.toggle(),
      ArrowLeft: () => event.shiftKey ? this.jumpSubtask(-1) : this.seek(this.step - 1),
      ArrowRight: () => event.shiftKey ? this.jumpSubtask(1) : this.seek(this.step + 1),
      PageUp: () => this.seek(this.step - 10),
      PageDown: () => this.seek(this.step + 10),
      Home: () => this.seek(0),
      End: () => this.seek(this.episode.steps),
      "+": () => this.setSpeed(1),
      "-": () => this.setSpeed(-1),
      b: () => $("boxes").click(),
      t: toggleTheme,
      "[": () => turn("previous", -1),
      "]": () => turn("next", 1),
    }[key];
    if (!does) return;
    event.preventDefault();
    does();
  },
};

/* To another episode: another page, or another entry of the list. */
function turn(name, change) {
  if ($(name)) $(name).click();
  else buttons[buttons.findIndex((b) => b.getAttribute("aria-current") === "true") + change]?.click();
}

const ICONS = {
  play: '<svg viewBox="0 0 16 16"><path d="M4 2.5v11l9.5-5.5z"/></svg>',
  pause: '<svg viewBox="0 0 16 16"><path d="M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z"/></svg>',
};

$("speed").append(...SPEEDS.map((speed) => element("option", {value: speed}, speed + "×")));
$("speed").value = "1";
$("speed").onchange = () => player.setSpeed(0);
$("play").onclick = () => player.toggle();
$("back").onclick = () => player.seek(player.step - 1);
$("forward").onclick = () => player.seek(player.step + 1);
$("boxes").onchange = () => player.showBoxes();
$("scrub").oninput = () => player.seek(Number($("scrub").value));
$("theme").onclick = toggleTheme;
document.onkeydown = (event) => player.press(event);
/* After a click of the mouse the space bar plays again, rather than pressing that button again. */
document.addEventListener("click", (event) => {
  if (event.detail) event.target.closest("button, input")?.blur();
});
buttons.forEach((button, index) => { button.onclick = () => player.show(index); });
window.addEventListener("resize", () => player.screens.forEach((screen) => screen.redraw()));
timeline.listen();
const wanted = decodeURI(location.hash.slice(1));
player.show(Math.max(0, sources.findIndex((script) => script.dataset.id === wanted)));
requestAnimationFrame((time) => player.tick(time));
