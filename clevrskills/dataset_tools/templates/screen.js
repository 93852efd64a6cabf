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
    const labels = [];
    this.objects.forEach((object, k) => {
      const [left, top, right, bottom] = corners.slice(4 * k, 4 * k + 4).map((v) => v * scale);
      if (right <= left || this.hidden.has(k)) return;
      const colour = `oklch(0.82 0.17 ${hue(k)})`, inset = pen.lineWidth / 2;
      pen.strokeStyle = colour;
      pen.setLineDash(visible[k] < 50 ? [5 * devicePixelRatio, 4 * devicePixelRatio] : []);
      pen.strokeRect(left + inset, top + inset, right - left - 2 * inset, bottom - top - 2 * inset);
      if (visible[k] && box.width > 250) labels.push([`${object.name} ${visible[k]}%`, colour, left, top, bottom]);
    });
    const taken = [];
    for (const label of labels) taken.push(this.label(pen, taken, ...label));
  }

  /* Write at a box, above it where there is room, and return where that is. */
  label(pen, taken, text, colour, left, top, bottom) {
    const height = 16 * devicePixelRatio, pad = 4 * devicePixelRatio;
    const width = pen.measureText(text).width + 2 * pad;
    const x = Math.max(0, Math.min(left, this.canvas.width - width));
    const free = (y) => y >= 0 && y + height <= this.canvas.height && !taken.some((other) =>
      x < other.right && other.left < x + width && y < other.bottom && other.top < y + height);
    const places = [top - height, bottom, top, bottom - height, top - 2 * height, bottom + height];
    const y = places.find(free) ?? Math.max(0, top - height);
    pen.fillStyle = colour;
    pen.fillRect(x, y, width, height);
    pen.fillStyle = "#111";
    pen.fillText(text, x + pad, y + height / 2 + 0.5);
    return {left: x, top: y, right: x + width, bottom: y + height};
  }

  close() {
    this.video.removeAttribute("src");
    URL.revokeObjectURL(this.url);
  }
}
