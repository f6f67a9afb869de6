// The program as a graph that a person moves around in: camera, pointer, keys, search, overlays, minimap.
"use strict";

Studio.graph = (() => {
  const { byId, make, text } = Studio;
  const canvas = byId("canvas"),
    minimap = byId("minimap"),
    stage = byId("stage"),
    tip = byId("tip");

  /** What overlays colour by: a value of a node, and how to say it. */
  const overlays = {
    kind: { name: "kind of operator" },
    predicted: { name: "predicted time", say: text.time, of: (node) => node.predicted_us },
    measured: { name: "measured time", say: text.time, of: (node) => factOf(node, "measured") },
    bytes: { name: "bytes moved", say: text.bytes, of: (node) => sum(node.bytes_read, node.bytes_written) },
    operations: { name: "operations", say: text.operations, of: (node) => number(node.operations) },
    intensity: {
      name: "intensity",
      say: (v) => `${v.toPrecision(3)} ops/B`,
      isRatio: true,
      of: (node) => number(node.operations),
      per: (node) => sum(node.bytes_read, node.bytes_written),
    },
    memory: { name: "memory in use", say: text.bytes, isMost: true, of: (node) => factOf(node, "live") },
    engine: { name: "engine" },
  };
  const number = (value) => (typeof value === "number" ? value : null);
  const sum = (a, b) => (typeof a === "number" && typeof b === "number" ? a + b : null);

  const scene = { graph: null, placed: null, camera: { x: 0, y: 0, scale: 1 }, chosen: -1, hovered: -1,
  marked: [], style: () => ({}) };
  let open = new Set(),
    overlay = "kind",
    sums = null,
    facts = new Map(),
    isDue = false,
    paintedAt = null;
  let openByUser = null; // paths of frames that were opened or closed by hand

  const map = Studio.minimap(minimap, canvas, scene, () => clamp());

  // --- values of overlays ---

  /** Facts of the compiled kernels, by kernel and by operator: engine, memory in use, measured time. */
  function setFacts(report, measured) {
    facts = new Map();
    if (report) {
      report.kernels.forEach((kernel, step) => {
        const known = report.buffers.filter((b) => b.first <= step && step <= b.last && typeof b.bytes ===
          "number");
        const fact = { engine: kernel.where, live: report.symbols.length ? null : known.reduce((total, b) =>
            total + b.bytes, 0) };
        for (const name of [kernel.name, ...kernel.operators])
          if (!facts.has(name)) facts.set(name, fact);
      });
      if (measured)
        for (const kernel of measured.kernels || [])
          for (const name of [kernel.name])
            if (facts.has(name)) facts.get(name).measured = kernel.time_us;
    }
    restyle();
  }

  function factOf(node, key) {
    const own = facts.get(node.id) || node.operators.map((name) => facts.get(name)).find(Boolean);
    return own && own[key] !== undefined ? own[key] : null;
  }

  function collect() {
    const { graph } = scene;
    const way = overlays[overlay];
    if (!way.of) return null;
    const add = way.isMost ? Math.max : (a, b) => a + b;
    const ofNode = graph.nodes.map((node) => (node.kind === "constant" ? null : way.of(node)));
    const perNode = way.per ? graph.nodes.map((node) => way.per(node)) : null;
    const ofFrame = graph.frames.map(() => null),
      perFrame = graph.frames.map(() => 0);
    graph.nodes.forEach((node, n) => {
      if (ofNode[n] === null || ofNode[n] === undefined || node.inside) return;
      for (let f = scene.placed.frameOfNode[n]; f >= 0; f = graph.frames[f].parent) {
        ofFrame[f] = ofFrame[f] === null ? ofNode[n] : add(ofFrame[f], ofNode[n]);
        if (perNode) perFrame[f] += perNode[n] || 0;
      }
    });
    const value = (box) => {
      if (box.node >= 0) {
        const v = ofNode[box.node];
        if (v === null || v === undefined) return null;
        return perNode ? (perNode[box.node] ? v / perNode[box.node] : null) : v;
      }
      const v = ofFrame[box.frame];
      return v === null ? null : perNode ? (perFrame[box.frame] ? v / perFrame[box.frame] : null) : v;
    };
    const values = scene.placed.boxes.filter((box) => !box.isOpen).map(value).filter((v) => v !== null && v > 0);
    return { value, most: Math.max(...values, 0), least: Math.min(...values, Infinity) };
  }

  function restyle() {
    if (!scene.placed) return;
    sums = collect();
    const way = overlays[overlay];
    const { graph } = scene;
    const kinds = Studio.colors.kinds;
    const engines = [...new Set([...facts.values()].map((fact) => fact.engine))];
    const kindOfBox = (box) => (box.node >= 0 ? Studio.kindOf(graph.nodes[box.node]) : "kernel");
    scene.style = (box) => {
      if (overlay === "kind") return { bar: box.node >= 0 ? kinds[kindOfBox(box)][0] : Studio.palette().soft };
      if (overlay === "engine") {
        const engine = box.node >= 0 ? factOf(graph.nodes[box.node], "engine") : null;
        return { bar: engine ? Studio.colors.engines[engines.indexOf(engine) % 5] : Studio.palette().line };
      }
      const value = sums.value(box);
      if (value === null || sums.most <= 0) return { bar: Studio.palette().line };
      const share = way.isRatio ? Math.log(1 + value) / Math.log(1 + sums.most) : Math.sqrt(Math.max(value, 0) /
        sums.most);
      const color = Studio.rampColor(share);
      return { fill: `rgb(${color.join(",")})`, bar: `rgb(${color.join(",")})`, ink: Studio.inkOn(color),
        note: way.say(value) };
    };
    showLegend(engines);
    map.forget();
    due();
  }

  function showLegend(engines) {
    const legend = byId("legend");
    legend.replaceChildren();
    const entry = (color, name) => {
      const square = make("i");
      square.style.background = color;
      return make("span", {}, square, name);
    };
    if (overlay === "kind") {
      const used = new Set(scene.graph.nodes.filter((n) => n.kind !== "constant").map(Studio.kindOf));
      for (const [kind, [color, name]] of Object.entries(Studio.colors.kinds))
        if (used.has(kind)) legend.append(entry(color, name));
    } else if (overlay === "engine") {
      engines.forEach((engine, i) => legend.append(entry(Studio.colors.engines[i % 5], engine)));
      if (!engines.length) legend.append("not compiled yet");
    } else if (sums && sums.most > 0) {
      const way = overlays[overlay];
      const ramp = make("i", { class: "ramp" });
      ramp.style.background = `linear-gradient(90deg, ${Studio.palette().ramp.join(",")})`;
      legend.append(make("span", {}, "0", ramp, way.say(sums.most)));
    } else legend.append(overlay === "measured" ? "nothing is measured yet: History, Measure" :
      scene.graph.symbols.length ? "no values: dynamic dimensions take --size NAME=N" :
      "no values after this phase");
  }

  // --- the graph, and what of it is open ---

  function pathsOf(graph) {
    const paths = [];
    graph.frames.forEach((frame) => paths.push(frame.parent < 0 ? "" : `${paths[frame.parent]}/${frame.name}`));
    return paths;
  }

  function show(graph) {
    const before = chosenNode();
    const anchor = before && scene.chosen >= 0 ? screenOf(scene.placed.boxes[scene.chosen]) : null;
    const isFirst = !scene.graph;
    scene.graph = graph;
    const paths = pathsOf(graph);
    open = openByUser ? new Set(paths.map((path, f) => (openByUser.has(path) ? f : -1)).filter((f) => f > 0)) :
      Studio.place.opened(graph);
    scene.hovered = -1;
    place();
    const again = before ? findAcross(graph, before) : -1;
    scene.chosen = again >= 0 ? scene.placed.boxOfNode[again] : -1;
    if (isFirst) fit();
    else if (anchor && scene.chosen >= 0) moveTo(scene.placed.boxes[scene.chosen], anchor);
    else clamp();
    tellChoice();
  }

  /** The node of another phase that computes what this one does. */
  function findAcross(graph, node) {
    const names = new Set([node.id, ...node.operators]);
    let found = graph.nodes.findIndex((n) => n.id === node.id);
    if (found < 0) found = graph.nodes.findIndex((n) => !n.inside && n.operators.some((name) => names.has(name)));
    if (found < 0) found = graph.nodes.findIndex((n) => [...names].some((name) => n.id.startsWith(name + "/") ||
      name.startsWith(n.id + "/")));
    return found;
  }

  function place() {
    scene.placed = Studio.place.compose(scene.graph, open);
    scene.marked = [];
    restyle();
  }

  function keepOpen() {
    const paths = pathsOf(scene.graph);
    openByUser = new Set([...open].map((f) => paths[f]));
  }

  function toggle(number) {
    const box = scene.placed.boxes[number];
    if (!box || box.frame < 0) return;
    const frame = box.frame;
    const corner = screenOf(box);
    if (open.has(frame)) open.delete(frame);
    else open.add(frame);
    keepOpen();
    place();
    const now = scene.placed.boxOfFrame[frame];
    scene.chosen = now;
    moveTo(scene.placed.boxes[now], corner);
    tellChoice();
    Studio.announce(`${scene.graph.frames[frame].name} ${open.has(frame) ? "opened" : "closed"}`);
  }

  function openAll(isAll) {
    open = new Set(isAll ? scene.graph.frames.map((_, f) => f).slice(1) : []);
    keepOpen();
    scene.chosen = -1;
    place();
    fit();
    tellChoice();
  }

  // --- camera ---

  const screenOf = (box) => ({ x: box.x * scene.camera.scale + scene.camera.x, y: box.y * scene.camera.scale +
      scene.camera.y });

  function moveTo(box, corner) {
    scene.camera.x = corner.x - box.x * scene.camera.scale;
    scene.camera.y = corner.y - box.y * scene.camera.scale;
    clamp();
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const { camera } = scene;
    const scale = Math.max(0.004, Math.min(3, camera.scale * factor));
    camera.x = x - ((x - camera.x) / camera.scale) * scale;
    camera.y = y - ((y - camera.y) / camera.scale) * scale;
    camera.scale = scale;
    clamp();
  }

  function pan(dx, dy) {
    scene.camera.x += dx;
    scene.camera.y += dy;
    clamp();
  }

  /** Some of the program stays in view. */
  function clamp() {
    const { camera, placed } = scene;
    if (placed) {
      const most = (size, whole) => [90 - whole * camera.scale, size - 90];
      const [left, right] = most(canvas.clientWidth, placed.w), [top, bottom] = most(canvas.clientHeight, placed
        .h);
      camera.x = Math.max(left, Math.min(right, camera.x));
      camera.y = Math.max(top, Math.min(bottom, camera.y));
    }
    due();
  }

  function fit() {
    const { placed, camera } = scene;
    if (!placed) return;
    const width = canvas.clientWidth,
      height = canvas.clientHeight;
    const whole = Math.min((width - 80) / Math.max(placed.w, 1), (height - 70) / Math.max(placed.h, 1));
    camera.scale = Math.max(0.004, Math.min(1.15, whole));
    camera.x = (width - placed.w * camera.scale) / 2;
    camera.y = placed.h * camera.scale > height ? 30 : Math.max(30, (height - placed.h * camera.scale) / 2);
    due();
  }

  /** Long programs begin at a scale that can be read. */
  function fitReadable() {
    fit();
    const { placed, camera } = scene;
    const wanted = Math.min(0.9, (canvas.clientWidth - 40) / placed.w);
    if (camera.scale < wanted && wanted > 0.35) {
      camera.scale = wanted;
      camera.x = (canvas.clientWidth - placed.w * camera.scale) / 2;
      camera.y = 34;
      due();
    }
  }

  function center(number) {
    const box = scene.placed.boxes[number];
    if (!box) return;
    if (scene.camera.scale < 0.5) scene.camera.scale = 0.8;
    scene.camera.x = canvas.clientWidth / 2 - (box.x + box.w / 2) * scene.camera.scale;
    scene.camera.y = canvas.clientHeight / 2 - (box.y + Math.min(box.h, 200) / 2) * scene.camera.scale;
    clamp();
  }

  // --- choosing ---

  function chosenNode() {
    const box = scene.placed && scene.placed.boxes[scene.chosen];
    return box && box.node >= 0 ? scene.graph.nodes[box.node] : null;
  }

  function choose(number) {
    scene.chosen = number;
    due();
    tellChoice();
  }

  function tellChoice() {
    const box = scene.placed && scene.placed.boxes[scene.chosen];
    Studio.app.onChoice(box ? { node: box.node >= 0 ? scene.graph.nodes[box.node] : null, number: box.node,
      frame: box.frame } : null);
    if (box) Studio.announce(box.node >= 0 ?
      `${scene.graph.nodes[box.node].id}, ${scene.graph.nodes[box.node].kind}` :
      `group ${scene.graph.frames[box.frame].name}`);
  }

  /** Opens the frames around a node, and chooses and shows it. */
  function reveal(number) {
    for (let f = scene.placed.frameOfNode[number]; f > 0; f = scene.graph.frames[f].parent) open.add(f);
    keepOpen();
    place();
    scene.chosen = scene.placed.boxOfNode[number];
    center(scene.chosen);
    tellChoice();
  }

  function revealName(name) {
    const found = scene.graph.nodes.findIndex((n) => n.id === name);
    const number = found >= 0 ? found : scene.graph.nodes.findIndex((n) => n.operators.includes(name) || n.id
      .startsWith(name + "/"));
    if (number >= 0) reveal(number);
    return number >= 0;
  }

  /** Marks the boxes of the nodes that have these names. */
  function mark(names) {
    const wanted = new Set(names);
    const found = new Set();
    if (scene.placed && wanted.size)
      scene.graph.nodes.forEach((node, n) => {
        if (node.kind !== "constant" && (wanted.has(node.id) || node.operators.some((name) => wanted.has(
          name))) && scene.placed.boxOfNode[n] >= 0)
          found.add(scene.placed.boxOfNode[n]);
      });
    scene.marked = [...found];
    due();
  }

  // --- pointer ---

  function boxAt(x, y) {
    const { placed, camera } = scene;
    if (!placed) return -1;
    const px = (x - camera.x) / camera.scale,
      py = (y - camera.y) / camera.scale;
    let found = -1;
    placed.boxes.forEach((box, i) => {
      if (px < box.x || py < box.y || px > box.x + box.w || py > box.y + box.h) return;
      // Inside an open frame, only its title is the frame.
      if (box.isOpen && py > box.y + Studio.place.header) return;
      found = i;
    });
    return found;
  }

  const place2d = (event) => {
    const rect = canvas.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  };

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = place2d(event);
    drag = { x, y, moved: false };
    canvas.setPointerCapture(event.pointerId);
    hideTip();
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place2d(event);
    if (drag) {
      if (Math.hypot(x - drag.x, y - drag.y) > 3 || drag.moved) {
        drag.moved = true;
        canvas.classList.add("dragging");
        pan(x - drag.x, y - drag.y);
        drag.x = x;
        drag.y = y;
      }
      return;
    }
    const over = boxAt(x, y);
    canvas.classList.toggle("pointing", over >= 0);
    if (over !== scene.hovered) {
      scene.hovered = over;
      due();
    }
    over >= 0 ? showTip(over, x, y) : hideTip();
  });
  canvas.addEventListener("pointerup", (event) => {
    canvas.classList.remove("dragging");
    if (drag && !drag.moved) {
      const over = boxAt(...place2d(event));
      const box = scene.placed && scene.placed.boxes[over];
      if (box && box.frame >= 0 && (over === scene.chosen || box.node < 0)) toggle(over);
      else choose(over);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => (drag = null));
  canvas.addEventListener("pointerleave", () => {
    scene.hovered = -1;
    hideTip();
    due();
  });
  canvas.addEventListener("dblclick", (event) => {
    const over = boxAt(...place2d(event));
    if (over < 0) zoom(1.6, ...place2d(event));
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey) pan(-event.deltaY * unit, 0);
      else zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * unit)) * 0.0022), ...place2d(event));
      if (event.deltaX && !event.shiftKey) pan(-event.deltaX * unit, 0);
    }, { passive: false },
  );

  function showTip(number, x, y) {
    const box = scene.placed.boxes[number];
    const node = box.node >= 0 ? scene.graph.nodes[box.node] : null;
    const frame = box.frame >= 0 ? scene.graph.frames[box.frame] : null;
    tip.replaceChildren(make("b", {}, node ? node.id : frame.name));
    const lines = [];
    if (node) {
      lines.push(node.kind);
      const bytes = sum(node.bytes_read, node.bytes_written);
      if (bytes) lines.push(`moves ${text.bytes(bytes)}`);
      if (number_(node.operations)) lines.push(`${text.operations(node.operations)} operations`);
      if (node.predicted_us) lines.push(`predicted ${text.time(node.predicted_us)}`);
    } else lines.push(frame.blocks ? `${frame.blocks} equal blocks, ${text.count(frame.nodes, "node")}` : text
      .count(frame.nodes, "node"));
    if (sums && overlays[overlay].of) {
      const value = sums.value(box);
      if (value !== null) lines.push(`${overlays[overlay].name}: ${overlays[overlay].say(value)}`);
    }
    tip.append(make("span", {}, lines.join(" · ")));
    tip.hidden = false;
    const width = tip.offsetWidth,
      height = tip.offsetHeight;
    tip.style.left = `${Math.max(4, Math.min(x + 14, stage.clientWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > stage.clientHeight ? y - height - 10 : y + 18}px`;
  }
  const number_ = (value) => typeof value === "number" && value > 0;
  const hideTip = () => (tip.hidden = true);

  // --- keys ---

  function step(direction) {
    const { placed, chosen } = scene;
    if (!placed.boxes.length) return;
    if (chosen < 0) return choose(placed.boxes.findIndex((box) => !box.isOpen));
    const box = placed.boxes[chosen];
    let target = -1;
    if (direction === "down" || direction === "up") {
      const isDown = direction === "down";
      if (box.isOpen && isDown) target = placed.boxes.findIndex((b) => b.parent === chosen);
      const ends = placed.links[chosen].map((l) => placed.lines[l]).filter((line) => (isDown ? line.from : line
        .to) === chosen);
      // Along the value with the most bytes.
      ends.sort((a, b) => b.bytes - a.bytes);
      if (target < 0 && ends.length) target = isDown ? ends[0].to : ends[0].from;
    } else {
      const sign = direction === "right" ? 1 : -1;
      let nearest = Infinity;
      placed.boxes.forEach((other, i) => {
        const distance = (other.x + other.w / 2 - box.x - box.w / 2) * sign;
        if (other.parent === box.parent && other.row === box.row && distance > 1 && distance < nearest)[
          nearest, target] = [distance, i];
      });
    }
    if (target < 0) return;
    choose(target);
    const at = screenOf(placed.boxes[target]);
    if (at.x < 20 || at.y < 20 || at.x > canvas.clientWidth - 140 || at.y > canvas.clientHeight - 60) center(
      target);
  }

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowDown: "down", ArrowUp: "up", ArrowLeft: "left", ArrowRight: "right" };
    const keys = {
      Enter: () => (scene.chosen >= 0 && scene.placed.boxes[scene.chosen].frame >= 0 ? toggle(scene
        .chosen) : Studio.app.showSide("node", true)),
      Backspace: () => scene.chosen >= 0 && scene.placed.boxes[scene.chosen].parent >= 0 && choose(scene
        .placed.boxes[scene.chosen].parent),
      Escape: () => choose(-1),
      f: () => scene.chosen >= 0 && center(scene.chosen),
    };
    if (arrows[event.key] && event.shiftKey) pan(...{ ArrowDown: [0, -80], ArrowUp: [0, 80], ArrowLeft: [80,
        0], ArrowRight: [-80, 0] } [event.key]);
    else if (arrows[event.key]) step(arrows[event.key]);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });

  // --- frames of the screen ---

  function due() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      Studio.draw.paint(canvas, scene);
      map.paint();
      if (scene.placed && paintedAt === null) paintedAt = performance.now();
    });
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    for (const each of [canvas, minimap]) {
      each.width = Math.max(1, Math.round(each.clientWidth * ratio));
      each.height = Math.max(1, Math.round(each.clientHeight * ratio));
    }
    map.forget();
    due();
  }
  new ResizeObserver(resize).observe(stage);

  byId("zoom-in").addEventListener("click", () => zoom(1.25));
  byId("zoom-out").addEventListener("click", () => zoom(0.8));
  byId("zoom-fit").addEventListener("click", fit);
  byId("open-all").addEventListener("click", () => openAll(true));
  byId("close-all").addEventListener("click", () => openAll(false));
  const select = byId("overlay");
  for (const [key, way] of Object.entries(overlays)) select.append(make("option", { value: key }, way.name));
  select.addEventListener("change", () => setOverlay(select.value));

  function setOverlay(name) {
    if (!overlays[name]) return;
    overlay = name;
    select.value = name;
    restyle();
    Studio.app.onView();
  }

  return {
    show,
    choose,
    reveal,
    revealName,
    mark,
    zoom,
    pan,
    fit,
    fitReadable,
    openAll,
    toggle,
    setFacts,
    setOverlay,
    restyle,
    resize,
    chosenNode,
    findAcross,
    overlay: () => overlay,
    scene,
    focus: () => canvas.focus(),
    /** Milliseconds from the request of the page to its first picture; null before it. */
    paintedAt: () => paintedAt,
  };
})();
