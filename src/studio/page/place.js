// From frames to places: the compiler's side has laid out each frame by itself, with what is inside it closed. Here open
// frames take the room that they need, and everything gets a place in one plane.
"use strict";

Studio.place = (() => {
  const nodeHeight = 30,
    frameHeight = 40,
    gap = 22,
    rowGap = 36,
    passWidth = 6,
    passHeight = 4,
    emptyHeight = 0;
  const padding = 18,
    header = 26;

  const labelWidth = (name) => 34 + 6.6 * Math.max(5, Math.min(26, Studio.text.last(name).length));

  /** Centers that keep their order and distances, moved as little as possible: neighbours that come too near are pooled. */
  function keepApart(centers, weights, apart) {
    const pools = [];
    let offset = 0;
    const offsets = centers.map((_, i) => (offset += i ? apart[i - 1] : 0));
    centers.forEach((center, i) => {
      pools.push({ sum: (center - offsets[i]) * weights[i], weight: weights[i], count: 1 });
      while (pools.length > 1 && pools[pools.length - 2].sum / pools[pools.length - 2].weight > pools[pools
          .length - 1].sum / pools[pools.length - 1].weight) {
        const last = pools.pop();
        const before = pools[pools.length - 1];
        before.sum += last.sum;
        before.weight += last.weight;
        before.count += last.count;
      }
    });
    const result = [];
    for (const pool of pools)
      for (let i = 0; i < pool.count; ++i) result.push(pool.sum / pool.weight + offsets[result.length]);
    return result;
  }

  /** Sizes and places inside a frame, relative to its corner. */
  function inside(graph, number, isOpen, known) {
    const frame = graph.frames[number];
    const sizes = frame.items.map(([node, inner]) => (inner >= 0 ? sizeOf(graph, inner, isOpen, known) :
    { w: labelWidth(graph.nodes[node].id), h: nodeHeight }));
    const centers = new Float64Array(frame.places.length);
    const tops = new Float64Array(frame.places.length);
    let left = Infinity,
      right = -Infinity;
    let y = number === 0 ? 0 : header + 6;
    // Boxes that grew push their neighbours; the rest stays in line with what it was.
    for (const row of frame.rows) {
      const widths = row.map((p) => (frame.places[p][0] >= 0 ? sizes[frame.places[p][0]].w : passWidth));
      const found = keepApart(
        row.map((p) => frame.places[p][2]),
        row.map((p) => (frame.places[p][0] >= 0 ? 1 : 2)),
        row.slice(1).map((_, i) => (widths[i] + widths[i + 1]) / 2 + gap),
      );
      let height = row.length ? passHeight : emptyHeight;
      row.forEach((p, i) => {
        centers[p] = found[i];
        tops[p] = y;
        left = Math.min(left, found[i] - widths[i] / 2);
        right = Math.max(right, found[i] + widths[i] / 2);
        if (frame.places[p][0] >= 0) height = Math.max(height, sizes[frame.places[p][0]].h);
      });
      row.forEach((p) => {
        const own = frame.places[p][0] >= 0 ? sizes[frame.places[p][0]].h : 0;
        tops[p] = y + (height - own) / 2;
      });
      const hasItems = row.some((p) => frame.places[p][0] >= 0);
      y += height + (hasItems ? rowGap : row.length ? 14 : 8);
    }
    if (left === Infinity) left = right = 0;
    const edge = number === 0 ? 0 : padding;
    for (let p = 0; p < centers.length; ++p) centers[p] += edge - left;
    const title = number === 0 ? 0 : 70 + 6.6 * Math.min(40, frame.name.length);
    const w = Math.max(right - left + 2 * edge, title);
    const shift = (w - (right - left) - 2 * edge) / 2;
    if (shift > 0)
      for (let p = 0; p < centers.length; ++p) centers[p] += shift;
    return { w, h: Math.max(y - rowGap, 0) + (number === 0 ? 0 : padding), sizes, centers, tops };
  }

  function sizeOf(graph, number, isOpen, known) {
    if (!isOpen(number)) return { w: labelWidth(graph.frames[number].name) + (graph.frames[number].blocks ? 64 :
        24), h: frameHeight };
    if (!known.has(number)) known.set(number, inside(graph, number, isOpen, known));
    return known.get(number);
  }

  /**
   * Boxes and lines in one plane. Boxes stand outer before inner; a line knows its bytes, its ends (boxes) and its points.
   */
  function compose(graph, open) {
    const known = new Map();
    const isOpen = (number) => number === 0 || open.has(number);
    const boxes = [],
      lines = [];
    const boxOfNode = new Int32Array(graph.nodes.length).fill(-1);
    const boxOfFrame = new Int32Array(graph.frames.length).fill(-1);

    function addFrame(number, x, y, depth) {
      const frame = graph.frames[number];
      const own = sizeOf(graph, number, isOpen, known);
      const boxOfItem = [];
      const around = boxOfFrame[number];
      frame.items.forEach(([node, inner], item) => {
        const size = own.sizes[item];
        const box = { x: x + own.centers[item] - size.w / 2, y: y + own.tops[item], w: size.w, h: size.h,
          node, frame: inner, depth, parent: around, row: frame.places[item][1] };
        if (inner >= 0) box.node = graph.frames[inner].kernel;
        box.isOpen = inner >= 0 && isOpen(inner);
        boxOfItem.push(boxes.length);
        if (inner >= 0) boxOfFrame[inner] = boxes.length;
        if (box.node >= 0) boxOfNode[box.node] = boxes.length;
        boxes.push(box);
        if (box.isOpen) addFrame(inner, box.x, box.y, depth + 1);
      });
      for (const [from, to, bytes, route, edges] of frame.links) {
        const a = boxes[boxOfItem[from]],
          b = boxes[boxOfItem[to]];
        const points = [
          [a.x + a.w / 2, a.y + a.h]
        ];
        for (const p of route) points.push([x + own.centers[p], y + own.tops[p]]);
        points.push([b.x + b.w / 2, b.y]);
        lines.push({ points, bytes, from: boxOfItem[from], to: boxOfItem[to], edges, back: b.y < a.y + a.h });
      }
      // What goes through the border of an open frame ends at its top or bottom.
      if (number !== 0) {
        const border = boxes[around];
        for (const [item, bytes] of frame.enters) {
          const b = boxes[boxOfItem[item]];
          lines.push({ points: [
              [border.x + border.w / 2, border.y + header],
              [b.x + b.w / 2, b.y]
            ], bytes, from: around, to: boxOfItem[item], stub: true });
        }
        for (const [item, bytes] of frame.leaves) {
          const a = boxes[boxOfItem[item]];
          lines.push({ points: [
              [a.x + a.w / 2, a.y + a.h],
              [border.x + border.w / 2, border.y + border.h]
            ], bytes, from: boxOfItem[item], to: around, stub: true });
        }
      }
    }

    const root = sizeOf(graph, 0, isOpen, known);
    addFrame(0, 0, 0, 0);
    // Nodes in closed frames are where the frame is.
    const frameOfNode = new Int32Array(graph.nodes.length).fill(-1);
    graph.frames.forEach((frame, number) => {
      for (const [node] of frame.items)
        if (node >= 0) frameOfNode[node] = number;
      if (frame.kernel >= 0) frameOfNode[frame.kernel] = frame.parent;
    });
    for (let n = 0; n < boxOfNode.length; ++n)
      for (let f = frameOfNode[n]; boxOfNode[n] < 0 && f >= 0; f = graph.frames[f].parent) boxOfNode[n] =
        boxOfFrame[f];
    for (const line of lines) {
      line.top = Math.min(...line.points.map((p) => p[1]));
      line.bottom = Math.max(...line.points.map((p) => p[1]));
      line.left = Math.min(...line.points.map((p) => p[0]));
      line.right = Math.max(...line.points.map((p) => p[0]));
    }
    const links = boxes.map(() => []);
    lines.forEach((line, l) => {
      links[line.from].push(l);
      links[line.to].push(l);
    });
    return { boxes, lines, links, boxOfNode, boxOfFrame, frameOfNode, w: root.w, h: root.h };
  }

  /** The frames to open at first: as many as leave an overview, equal blocks and kernels last. */
  function opened(graph, most = 90) {
    const open = new Set();
    let shown = graph.frames[0].items.length;
    const queue = [0];
    while (queue.length) {
      const number = queue.shift();
      const inner = graph.frames[number].items.map(([, f]) => f).filter((f) => f >= 0 && graph.frames[f].kernel <
        0);
      inner.sort((a, b) => graph.frames[a].items.length - graph.frames[b].items.length);
      for (const f of inner) {
        const frame = graph.frames[f];
        if (shown + frame.items.length > most || (frame.blocks > 2 && frame.nodes > 24)) continue;
        shown += frame.items.length;
        open.add(f);
        queue.push(f);
      }
    }
    return open;
  }

  return { compose, opened, header };
})();
