// Draws boxes and lines on a canvas: what is in view, in the detail that the scale shows.
"use strict";

Studio.draw = (() => {
  const { text } = Studio;

  /** A line is as wide as its bytes, on a scale of powers of ten. */
  function widthOf(bytes) {
    return bytes > 0 ? Math.max(1, Math.min(9, (Math.log10(bytes) - 2) * 1.25)) : 1;
  }

  function curve(context, points) {
    context.moveTo(points[0][0], points[0][1]);
    for (let i = 1; i < points.length; ++i) {
      const [x0, y0] = points[i - 1], [x1, y1] = points[i];
      if (Math.abs(x1 - x0) < 0.5) context.lineTo(x1, y1);
      else {
        const bend = Math.max(14, Math.abs(y1 - y0) / 2);
        context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
      }
    }
  }

  function straight(context, points) {
    context.moveTo(points[0][0], points[0][1]);
    context.lineTo(points[points.length - 1][0], points[points.length - 1][1]);
  }

  const rounded = (context, x, y, w, h, r) => {
    context.beginPath();
    context.roundRect(x, y, w, h, r);
  };

  const fitted = new Map();

  function fit(context, label, width) {
    const key = `${label}|${Math.round(width)}|${context.font}`;
    if (fitted.has(key)) return fitted.get(key);
    let short = label;
    if (context.measureText(label).width > width) {
      let low = 0,
        high = label.length;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (context.measureText(label.slice(0, middle) + "…").width <= width) low = middle;
        else high = middle - 1;
      }
      short = low ? label.slice(0, low) + "…" : "";
    }
    if (fitted.size > 20000) fitted.clear();
    fitted.set(key, short);
    return short;
  }

  function drawLines(context, scene, view, palette) {
    const { placed, camera } = scene;
    const scale = camera.scale;
    const classes = new Map();
    const detailed = scale > 0.3;
    for (const line of placed.lines) {
      if (line.right < view.left || line.left > view.right || line.bottom < view.top || line.top > view.bottom)
        continue;
      if ((line.bottom - line.top + line.right - line.left) * scale < 2) continue;
      const width = Math.round(widthOf(line.bytes) * 2) / 2;
      const key = line.stub ? -width : width;
      if (!classes.has(key)) classes.set(key, []);
      classes.get(key).push(line);
    }
    context.strokeStyle = palette.edge;
    context.lineCap = "round";
    for (const [key, lines] of [...classes].sort((a, b) => a[0] - b[0])) {
      context.lineWidth = Math.max(Math.abs(key), 0.8 / scale);
      context.globalAlpha = key < 0 ? 0.28 : 0.62;
      context.beginPath();
      for (const line of lines)(detailed ? curve : straight)(context, line.points);
      context.stroke();
    }
    context.globalAlpha = 1;
    if (!detailed) return;
    // Heads, where they can be seen.
    context.fillStyle = palette.edge;
    for (const lines of classes.values())
      for (const { points, stub, bytes } of lines) {
        if (stub) continue;
        const [x, y] = points[points.length - 1];
        const size = 3.5 + widthOf(bytes) / 2;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x - size, y - size * 1.5);
        context.lineTo(x + size, y - size * 1.5);
        context.fill();
      }
  }

  function drawChosenLines(context, scene, view, palette) {
    const { placed, chosen, camera } = scene;
    if (chosen < 0) return;
    context.strokeStyle = palette.pick;
    for (const l of placed.links[chosen]) {
      const line = placed.lines[l];
      context.lineWidth = Math.max(widthOf(line.bytes) + 0.6, 1.4 / camera.scale);
      context.beginPath();
      curve(context, line.points);
      context.stroke();
    }
  }

  function drawOpenFrame(context, box, scene, palette) {
    const { graph, camera } = scene;
    const scale = camera.scale;
    context.fillStyle = palette.frame[box.depth % 2];
    context.strokeStyle = palette.frameLine;
    context.lineWidth = Math.max(1, 0.7 / scale);
    rounded(context, box.x, box.y, box.w, box.h, 10);
    context.fill();
    context.stroke();
    const size = Math.min(13, 12);
    if (scale * size < 5) return;
    const frame = graph.frames[box.frame];
    context.font = `600 ${size}px system-ui, "DejaVu Sans", sans-serif`;
    context.fillStyle = palette.soft;
    const title = frame.kernel >= 0 ? `kernel ${text.last(frame.name)}` : frame.blocks ?
      `${frame.name}  ×${frame.blocks}` : frame.name;
    context.fillText(fit(context, `▾ ${title}`, box.w - 20), box.x + 12, box.y + 18);
  }

  function drawBox(context, box, scene, palette) {
    const { graph, camera, style } = scene;
    const scale = camera.scale;
    const look = style(box);
    const pixels = box.h * scale;
    if (pixels < 7) {
      context.fillStyle = look.fill || look.bar;
      context.fillRect(box.x, box.y, box.w, box.h);
      return;
    }
    const frame = box.frame >= 0 ? graph.frames[box.frame] : null;
    context.lineWidth = Math.max(1, 0.8 / scale);
    context.strokeStyle = palette.line;
    // Equal blocks look like a pile.
    if (frame && frame.blocks)
      for (const shift of [6, 3]) {
        context.fillStyle = palette.box;
        rounded(context, box.x + shift, box.y + shift, box.w, box.h, 7);
        context.fill();
        context.stroke();
      }
    context.fillStyle = look.fill || palette.box;
    rounded(context, box.x, box.y, box.w, box.h, frame ? 8 : 6);
    context.fill();
    context.stroke();
    if (!look.fill) {
      context.save();
      context.clip();
      context.fillStyle = look.bar;
      context.fillRect(box.x, box.y, 5, box.h);
      context.restore();
    }
    if (scale * 12 < 5.5) return;
    const name = frame ? frame.name : graph.nodes[box.node].id;
    context.font = `${frame ? 600 : 500} 12px system-ui, "DejaVu Sans", sans-serif`;
    context.fillStyle = look.ink || palette.ink;
    let label = text.last(name);
    if (frame && frame.blocks) label = `${label}  ×${frame.blocks}`;
    const room = box.w - (frame ? 34 : 20);
    context.fillText(fit(context, label, room), box.x + 12, box.y + (frame ? 17 : 19));
    if (frame) {
      context.font = `11px system-ui, "DejaVu Sans", sans-serif`;
      context.fillStyle = look.ink || palette.soft;
      const under = look.note || text.count(frame.nodes, frame.kernel >= 0 ? "stage" : "node");
      context.fillText(fit(context, under, box.w - 20), box.x + 12, box.y + 32);
      context.fillText("▸", box.x + box.w - 18, box.y + 24);
    }
  }

  /** Draws the scene: {graph, placed, camera, style, chosen, hovered, marked}. */
  function paint(canvas, scene) {
    const ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext("2d");
    const palette = Studio.palette();
    const { placed, camera } = scene;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!placed) return;
    context.setTransform(camera.scale * ratio, 0, 0, camera.scale * ratio, camera.x * ratio, camera.y * ratio);
    const view = {
      left: -camera.x / camera.scale,
      top: -camera.y / camera.scale,
      right: (canvas.width / ratio - camera.x) / camera.scale,
      bottom: (canvas.height / ratio - camera.y) / camera.scale,
    };
    const isVisible = (box) => box.x < view.right && box.x + box.w > view.left && box.y < view.bottom && box.y +
      box.h > view.top;
    const visible = placed.boxes.filter(isVisible);
    for (const box of visible)
      if (box.isOpen) drawOpenFrame(context, box, scene, palette);
    drawLines(context, scene, view, palette);
    drawChosenLines(context, scene, view, palette);
    for (const box of visible)
      if (!box.isOpen) drawBox(context, box, scene, palette);
    outline(context, scene, palette);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  function outline(context, scene, palette) {
    const { placed, camera, chosen, hovered, marked } = scene;
    const ring = (number, color, width) => {
      const box = placed.boxes[number];
      if (!box) return;
      context.strokeStyle = color;
      context.lineWidth = width / camera.scale;
      const out = 2 / camera.scale;
      rounded(context, box.x - out, box.y - out, box.w + 2 * out, box.h + 2 * out, 8);
      context.stroke();
    };
    for (const number of marked || []) ring(number, palette.match, 2.5);
    if (hovered >= 0 && hovered !== chosen) ring(hovered, palette.pick, 1.2);
    if (chosen >= 0) ring(chosen, palette.pick, 2.6);
  }

  /** The whole program, small. */
  function paintMap(canvas, scene) {
    const ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext("2d");
    const palette = Studio.palette();
    const { placed } = scene;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!placed || !placed.w) return null;
    const width = canvas.width / ratio - 12,
      height = canvas.height / ratio - 12;
    const scale = Math.min(width / Math.max(placed.w, 1), height / Math.max(placed.h, 1));
    const x = (canvas.width / ratio - placed.w * scale) / 2,
      y = (canvas.height / ratio - placed.h * scale) / 2;
    context.setTransform(scale * ratio, 0, 0, scale * ratio, x * ratio, y * ratio);
    for (const box of placed.boxes) {
      if (box.isOpen) {
        context.fillStyle = palette.frame[box.depth % 2];
        context.fillRect(box.x, box.y, box.w, box.h);
        continue;
      }
      const look = scene.style(box);
      context.fillStyle = look.fill || look.bar;
      const least = 1.2 / scale;
      context.fillRect(box.x, box.y, Math.max(box.w, least), Math.max(box.h, least));
    }
    return { scale, x, y };
  }

  return { paint, paintMap, widthOf };
})();
