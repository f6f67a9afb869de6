// The machine: kernels under its roofs, memory over time, and the kernels of a call one after the other.
"use strict";

Studio.machine = (() => {
  const { byId, make, svg, text } = Studio;
  const panel = byId("machine");
  let ticket = 0;

  async function show() {
    const own = ++ticket;
    panel.replaceChildren(make("p", { class: "soft" }, make("span", { class: "spin" }), "compiling"));
    try {
      const [rates, report, plan] = await Studio.busy.during("compiling", () => Promise.all([Studio.data
        .getKept("machine", {}), Studio.app.report(), Studio.app.graphAt("schedule")
      ]));
      if (own !== ticket) return;
      const measured = Studio.app.measuredNow();
      panel.replaceChildren(...[roofline(rates, plan, measured), timeline(report, plan, measured), memory(report), Studio
        .gradient.card(card)
      ].filter(Boolean));
    } catch (error) {
      if (own === ticket) panel.replaceChildren(make("p", { class: "fault" }, error.message));
    }
  }

  const isKernel = (node) => !["input", "output", "constant"].includes(node.kind) && !node.inside;

  function card(title, words, ...content) {
    return make("article", { class: "card" }, make("h2", {}, title), make("p", {}, words), ...content);
  }

  function goTo(name) {
    Studio.app.showView("program");
    Studio.app.setPhase("schedule").then(() => Studio.graph.revealName(name));
  }

  /** Where to put lines of a scale of powers of ten, or of 1, 2 and 5 times powers of ten. */
  function decades(low, high) {
    const marks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e)
      if (10 ** e >= low * 0.999 && 10 ** e <= high * 1.001) marks.push(10 ** e);
    return marks;
  }

  // --- roofline ---

  function roofline(rates, plan, measured) {
    const times = new Map((measured && measured.kernels ? measured.kernels : []).map((k) => [k.name, k.time_us]));
    const points = plan.nodes.filter(isKernel).map((node) => {
      const bytes = typeof node.bytes_read === "number" && typeof node.bytes_written === "number" ? node
        .bytes_read + node.bytes_written : 0;
      const time = times.get(node.id) || node.predicted_us;
      return bytes > 0 && typeof node.operations === "number" && node.operations > 0 && time > 0 ?
        { name: node.id, x: node.operations / bytes, y: node.operations / time / 1000, bytes, operations: node
            .operations, time, kind: Studio.kindOf(node) } : null;
    }).filter(Boolean);
    const threads = measured ? measured.threads : 1;
    const words = points.length ?
      `${text.count(points.length, "kernel")} by operations per byte and ${times.size ? `measured speed in ${threads} threads` : "predicted speed on one thread"}; a larger dot takes more of the time. Under a slope the memory decides, under the top the arithmetic.` :
      "No kernel has both operations and bytes as numbers: dynamic dimensions take --size NAME=N.";
    const all = times.size && threads > 1;
    const roofs = rates.memory.map(([bytes, one, every], i) => ({ name: i + 1 === rates.memory.length ? "memory" :
        `up to ${text.bytes(bytes)}`, speed: all ? every : one }));
    const tops = [
      ["matmul", "product"],
      ["simple", "simple"],
      ["exponential", "elementary"]
    ].map(([name, key]) => ({ name, speed: rates.speeds.f32[key] * (all ? threads : 1) }));
    const best = Math.max(...tops.map((t) => t.speed));
    const xs = points.map((p) => p.x),
      ys = points.map((p) => p.y);
    const xLow = 10 ** Math.floor(Math.log10(Math.min(0.05, ...xs))),
      xHigh = 10 ** Math.ceil(Math.log10(Math.max(200, ...xs)));
    const yLow = 10 ** Math.floor(Math.log10(Math.min(best / 1000, ...ys))),
      yHigh = best * 3;
    const width = 900,
      height = 380,
      left = 62,
      right = 20,
      top = 14,
      bottom = 42;
    const x = (v) => left + ((Math.log(v) - Math.log(xLow)) / (Math.log(xHigh) - Math.log(xLow))) * (width -
      left - right);
    const y = (v) => height - bottom - ((Math.log(Math.max(v, yLow)) - Math.log(yLow)) / (Math.log(yHigh) - Math
      .log(yLow))) * (height - top - bottom);
    const parts = [];
    for (const mark of decades(xLow, xHigh)) parts.push(svg("line", { class: "grid", x1: x(mark), x2: x(mark),
      y1: top, y2: height - bottom }), svg("text", { x: x(mark), y: height - bottom +
      16, "text-anchor": "middle" }, String(mark)));
    for (const mark of decades(yLow, yHigh)) parts.push(svg("line", { class: "grid", x1: left, x2: width - right,
      y1: y(mark), y2: y(mark) }), svg("text", { x: left - 7, y: y(mark) + 4, "text-anchor": "end" }, String(
      mark)));
    parts.push(svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" },
        "operations per byte"),
      svg("text", { x: 14, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${height / 2})` },
        "G operations / s"));
    roofs.forEach((roof, i) => {
      const isMain = i === 0 || i + 1 === roofs.length;
      if (!isMain) return;
      const ridge = best / roof.speed,
        from = Math.max(xLow, yLow / roof.speed);
      parts.push(svg("path", { class: "roof",
        d: `M${x(from)},${y(roof.speed * from)}L${x(Math.min(ridge, xHigh))},${y(Math.min(best, roof.speed * xHigh))}`, "stroke-dasharray": i +
          1 === roofs.length ? null : "5 4" }));
      const at = Math.max(xLow * 1.5, (yLow / roof.speed) * 1.6);
      const slope = (Math.atan2(y(roof.speed * at * 10) - y(roof.speed * at), x(at * 10) - x(at)) * 180) /
        Math.PI;
      parts.push(svg("text", { class: "name", x: x(at), y: y(roof.speed * at) - 6,
          transform: `rotate(${slope} ${x(at)} ${y(roof.speed * at) - 6})` },
        `${roof.name}: ${text.prefixed(roof.speed * 1e9, "B/s")}`));
    });
    for (const roof of tops) {
      const from = roof.speed / roofs[0].speed;
      parts.push(svg("path", { class: "roof",
        d: `M${x(Math.max(from, xLow))},${y(roof.speed)}H${width - right}` }), svg("text", { class: "name",
          x: width - right, y: y(roof.speed) - 5, "text-anchor": "end" },
        `${roof.name} ${text.prefixed(roof.speed * 1e9, "op/s")}`));
    }
    const total = points.reduce((sum, p) => sum + p.time, 0);
    for (const point of [...points].sort((a, b) => b.time - a.time)) {
      const label =
        `${point.name}: ${point.x.toPrecision(3)} ops/B, ${text.prefixed(point.y * 1e9, "op/s")}, ${text.time(point.time)}`;
      parts.push(svg("circle", {
        class: "dot",
        tabindex: "0",
        role: "button",
        "aria-label": label,
        cx: x(point.x),
        cy: y(point.y),
        r: 4 + 13 * Math.sqrt(point.time / total),
        fill: Studio.colors.kinds[point.kind][0],
        "fill-opacity": 0.78,
        onclick: () => goTo(point.name),
        onkeydown: (event) => (event.key === "Enter" || event.key === " ") && goTo(point.name)
      }, svg("title", {}, label)));
    }
    return card(`Roofline of ${rates.machine}`, words + (rates.measured ? "" :
        " The machine's speeds are derived, not measured: headrace machine --calibrate measures them."),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Roofline" }, parts));
  }

  // --- kernels of a call, in order ---

  function timeline(report, plan, measured) {
    const nodes = plan.nodes.filter(isKernel);
    const times = new Map((measured && measured.kernels ? measured.kernels : []).map((k) => [k.name, k.time_us]));
    const rows = [
      ["predicted", nodes.map((n) => [n, n.predicted_us || 0])]
    ];
    if (times.size) rows.push(["measured", nodes.map((n) => [n, times.get(n.id) || 0])]);
    const whole = Math.max(...rows.map(([, list]) => list.reduce((sum, [, t]) => sum + t, 0)), 1e-9);
    const width = 900,
      left = 74,
      rowHeight = 46,
      height = 14 + rows.length * rowHeight;
    const parts = [];
    rows.forEach(([name, list], r) => {
      let at = 0;
      const y = 8 + r * rowHeight;
      parts.push(svg("text", { class: "name", x: left - 8, y: y + 20, "text-anchor": "end" }, name));
      for (const [node, time] of list) {
        const x = left + (at / whole) * (width - left - 8),
          w = (time / whole) * (width - left - 8);
        at += time;
        if (w < 0.15) continue;
        const label = `${node.id}: ${text.time(time)}, ${((100 * time) / whole).toFixed(1)}%`;
        parts.push(svg("rect", {
          class: "dot",
          tabindex: "0",
          role: "button",
          "aria-label": `${name} ${label}`,
          x,
          y,
          width: Math.max(w - 0.6, 0.4),
          height: 30,
          rx: 3,
          fill: Studio.colors.kinds[Studio.kindOf(node)][0],
          "fill-opacity": 0.8,
          onclick: () => goTo(node.id),
          onkeydown: (event) => (event.key === "Enter" || event.key === " ") && goTo(node.id)
        }, svg("title", {}, label)));
        const short = text.last(node.id);
        if (w > 7.4 * Math.min(short.length, 12)) parts.push(svg("text", { class: "name", x: x + 6, y: y +
            19, "pointer-events": "none" }, short.length > w / 7.4 ? short.slice(0, w / 7.4 - 1) + "…" :
          short));
      }
      parts.push(svg("text", { x: left + (at / whole) * (width - left - 8), y: y + 42, "text-anchor": "end" },
        text.time(at)));
    });
    const words = times.size ?
      "Kernels in the order in which they run: predictions of the cost model on one thread, and medians of a measured call." :
      "Kernels in the order in which they run, predicted on one thread. History, Measure adds the times of a call.";
    const measure = Studio.data.isExport ? "" : make("button", {
      class: "button",
      onclick: async () => {
        try {
          const answer = await Studio.busy.during("measuring", () => Studio.data.post(
          "measure", { entries: [Studio.app.entry()], seconds: 1.5 }));
          Studio.app.setMeasured(Studio.app.entry(), answer.results[0]);
        } catch (error) {
          Studio.announce(error.message);
        }
        show();
      }
    }, times.size ? "Measure again" : "Measure a call");
    const save = make("button", { class: "button", onclick: () => Studio.download(`${report.model}.trace.json`, JSON
        .stringify(Studio.trace.documentOf(report, measured)), "application/json") },
      "Save a trace for Perfetto");
    return card("A call", words, make("div", { class: "actions" }, measure, save), svg("svg", { viewBox: `0 0 ${width} ${height}`,
    role: "group", "aria-label": "Timeline" }, parts));
  }

  // --- memory over time ---

  function memory(report) {
    const buffers = report.buffers.filter((b) => typeof b.bytes === "number" && b.bytes > 0);
    const steps = report.kernels.length;
    if (!buffers.length || !steps || report.symbols.length)
      return card("Memory over time", report.symbols.length ?
        `It depends on dynamic dimensions: --size ${report.symbols[0]}=N gives them values.` :
        "The program has no buffers.");
    const live = report.kernels.map((_, s) => buffers.reduce((sum, b) => (b.first <= s && s <= b.last ? sum + b
      .bytes : sum), 0));
    const most = Math.max(...live),
      peak = live.indexOf(most);
    const placed = buffers.filter((b) => b.offset !== null),
      arena = Math.max(...placed.map((b) => b.offset + b.bytes), 1);
    const width = 900,
      left = 62,
      right = 14,
      liveHeight = 110,
      arenaTop = liveHeight + 44,
      arenaHeight = placed.length ? 170 : 0,
      height = arenaTop + arenaHeight + 26;
    const x = (s) => left + (s / steps) * (width - left - right),
      y = (v) => 12 + (1 - v / most) * (liveHeight - 12);
    const parts = [];
    const area = live.map((v, s) => `L${x(s)},${y(v)}H${x(s + 1)}`).join("");
    parts.push(svg("path", { d: `M${x(0)},${y(0)}${area}V${y(0)}Z`, fill: Studio.colors.kinds.kernel[
        0], "fill-opacity": 0.35, stroke: Studio.colors.kinds.matmul[0] }),
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(0), y2: y(0) }), svg("text", { x: left -
          6, y: y(most) + 8, "text-anchor": "end" }, text.bytes(most)), svg("text", { x: left - 6, y: y(
        0), "text-anchor": "end" }, "0"),
      svg("text", { class: "name", x: Math.min(x(peak) + 4, width - 180), y: y(most) - 3 },
        `most during ${text.last(report.kernels[peak].name)}`));
    if (placed.length) {
      parts.push(svg("text", { class: "name", x: left, y: arenaTop - 8 },
        `temporaries: ${placed.length} in ${text.bytes(arena)} of shared memory`));
      const ay = (v) => arenaTop + (v / arena) * arenaHeight;
      for (const b of placed) {
        const label = `${b.name}: ${text.bytes(b.bytes)}, kernels ${b.first + 1} to ${b.last + 1}`;
        parts.push(svg("rect", {
          class: "dot",
          tabindex: "0",
          role: "button",
          "aria-label": label,
          x: x(b.first),
          width: Math.max(x(b.last + 1) - x(b.first) - 1, 1),
          y: ay(b.offset),
          height: Math.max(ay(b.offset + b.bytes) - ay(b.offset) - 0.5, 1),
          rx: 2,
          fill: Studio.colors.kinds.map[0],
          "fill-opacity": 0.6,
          onclick: () => goTo(b.name),
          onkeydown: (event) => (event.key === "Enter" || event.key === " ") && goTo(b.name)
        }, svg("title", {}, label)));
      }
    }
    parts.push(svg("text", { x: left, y: height - 6 }, "first kernel"), svg("text", { x: width - right,
      y: height - 6, "text-anchor": "end" }, `kernel ${steps}`));
    return card("Memory over time",
      `Inputs, outputs and temporaries that live while each kernel runs; constants take ${text.bytes(report.constant_bytes)} besides.`,
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Memory over time" }, parts));
  }

  return { show };
})();
