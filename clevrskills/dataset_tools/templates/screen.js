"use strict";
/* One camera: its video, and over it the boxes of the frame that is on the screen.

   A browser may show the next frame before it tells that this one is shown. So each frame is taken
   out of the video together with its time, and painted at once with the boxes of that time. */
class Screen {
  constructor(name, camera, objects, fps) {
    Object.assign(this, {camera, objects, fps, shown: -1, hidden: new Set(), boxes: true});
    const bytes = Uint8Array.from(atob(camera.video), (c) => c.charCodeAt(0));
    this.url = URL.createObjectURL(new Blob([bytes], {type: "video/mp4"}));
    this.video = element("video", {
      src: this.url, preload: "auto", playsinline: "", muted: true,
      style: `aspect-ratio: ${camera.width} / ${camera.height}`,
    });
    this.frame = element("canvas", {width: camera.width, height: camera.height});
    this.canvas = element("canvas");
    this.caption = element("figcaption", {}, name);
    this.video.onerror = () => { this.caption.textContent = `${name}: this browser cannot play it`; };
    this.video.onseeked = () => this.paint();
    this.figure = element("figure", {},
      element("div", {class: "screen"}, this.video, this.frame, this.canvas), this.caption);
    this.follow();
  }

  /* Paints every frame that appears. */
  follow() {
    this.video.requestVideoFrameCallback?.(() => {
      this.paint();
      this.follow();
    });
  }

  paint() {
    if (this.video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) return;
    let time = this.video.currentTime;
    if (window.VideoFrame) {
      const frame = this.take();
      if (!frame) return;
      time = frame.timestamp / 1e6;
      this.frame.getContext("2d").drawImage(frame, 0, 0, this.camera.width, this.camera.height);
      frame.close();
    }
    this.draw(Math.floor(time * this.fps + 1e-3));
  }

  /* The frame on the screen; none while a browser that says it has it still decodes it: when it
     appears, follow() paints it. */
  take() {
    try {
      return new VideoFrame(this.video);
    } catch (error) {
      if (error.name !== "InvalidStateError") throw error;
      return null;
    }
  }

  /* Frame t is on screen from t / fps on; aiming at its middle is safe from rounding. */
  seek(step) { this.video.currentTime = (step + 0.5) / this.fps; }

  redraw() { if (this.shown >= 0) this.draw(this.shown); }

  draw(step) {
    this.shown = Math.min(step, this.camera.boxes.length - 1);
    const {canvas} = this, box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * devicePixelRatio);
    canvas.height = Math.round(box.height * devicePixelRatio);
    if (!this.boxes) return;
    const pen = canvas.getContext("2d");
    const scale = canvas.width / this.camera.width;
    const corners = this.camera.boxes[this.shown], visible = this.camera.visible[this.shown];
    pen.lineWidth = 2 * devicePixelRatio;
    pen.font = `600 ${11.5 * devicePixelRatio}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    const boxes = [];
    this.objects.forEach((object, k) => {
      const [left, top, right, bottom] = corners.slice(4 * k, 4 * k + 4).map((v) => v * scale);
      if (right <= left || this.hidden.has(k)) return;
      const colour = `oklch(0.82 0.17 ${hue(k)})`, inset = pen.lineWidth / 2;
      pen.strokeStyle = colour;
      pen.setLineDash(visible[k] < 50 ? [5 * devicePixelRatio, 4 * devicePixelRatio] : []);
      pen.strokeRect(left + inset, top + inset, right - left - 2 * inset, bottom - top - 2 * inset);
      if (visible[k]) boxes.push({left, top, right, bottom, colour, names: [object.name, String(k + 1)].slice(box.width > 250 ? 0 : 1)});
    });
    const taken = [];
    for (const one of boxes) { /* what an area holds may be written on the area */
      const x = (one.left + one.right) / 2, y = (one.top + one.bottom) / 2;
      const holds = (other) => other.left < x && x < other.right && other.top < y && y < other.bottom;
      taken.push(this.label(pen, one, [...taken, ...boxes.filter((other) => other === one || !holds(other))]));
    }
  }

  /* Write an object's name beside its box or, where that would cover another box or label, its
     number, which its button has, too; return where that is. */
  label(pen, {left, top, right, bottom, colour, names}, others) {
    const height = 16 * devicePixelRatio, pad = 4 * devicePixelRatio;
    const place = (text, x, y, width) => ({text, left: x, top: y, right: x + width, bottom: y + height});
    const places = names.flatMap((text) => {
      const width = pen.measureText(text).width + 2 * pad, most = this.canvas.width - width;
      const above = [left, right - width].flatMap((x) => [top - height, bottom].map((y) => [Math.max(0, Math.min(x, most)), y]));
      const beside = [right, left - width].flatMap((x) => [top, bottom - height].map((y) => [x, y]));
      return [...above, ...beside.filter(([x]) => x >= 0 && x <= most), [left, top]].map(([x, y]) => place(text, x, y, width));
    });
    const fits = (at) => at.top >= 0 && at.bottom <= this.canvas.height && !others.some((other) => overlap(at, other));
    const at = places.find(fits) ?? places.at(-1);
    pen.fillStyle = colour;
    pen.fillRect(at.left, at.top, at.right - at.left, height);
    pen.fillStyle = "#111";
    pen.fillText(at.text, at.left + pad, at.top + height / 2 + 0.5);
    return at;
  }

  close() {
    this.video.removeAttribute("src");
    URL.revokeObjectURL(this.url);
  }
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
