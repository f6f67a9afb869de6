// The panel of the chosen node: what it moves, computes and takes, where it goes, and its code at each level.
"use strict";

Studio.inspector = (() => {
  const { byId, make, text } = Studio;
  const panel = byId("node");
  let level = null; // the phase whose code is shown
  let ticket = 0;

  const facts = (pairs) => make("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !==
      undefined && value !== "")
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const link = (name, action) => make("button", { class: "link", onclick: action }, name);

  function values(graph, number, isInput) {
    const rows = [];
    for (const [from, to, type, shape, bytes] of graph.edges) {
      if ((isInput ? to : from) !== number) continue;
      const other = graph.nodes[isInput ? from : to];
      const isConstant = other.kind === "constant";
      rows.push(make("li", { class: "row" },
        isConstant ? make("span", { class: "mono" }, other.id) : link(other.id, () => Studio.graph.reveal(
          isInput ? from : to)),
        make("span", { class: "soft" }, type ? `${type} ${text.shape(shape)} · ${text.bytes(bytes)}` : text.bytes(bytes))));
    }
    if (!rows.length) return null;
    const shown = rows.slice(0, 40);
    if (rows.length > 40) shown.push(make("li", { class: "soft" }, `and ${rows.length - 40} more`));
    return [make("h3", {}, isInput ? "Reads" : "Is read by"), make("ul", { class: "list" }, shown)];
  }

  function show(choice) {
    ++ticket;
    const { graph } = Studio.graph.scene;
    if (!choice) return showNothing(graph);
    if (!choice.node) return showGroup(graph, choice.frame);
    const node = choice.node;
    const bytes = typeof node.bytes_read === "number" && typeof node.bytes_written === "number" ? node
      .bytes_read + node.bytes_written : null;
    const intensity = bytes && typeof node.operations === "number" ? (node.operations / bytes).toPrecision(3) +
      " ops/B" : null;
    const report = Studio.app.reportNow();
    const kernel = report && (report.kernels.find((k) => k.name === node.id) || report.kernels.find((k) => k.operators
      .some((name) => node.operators.includes(name))));
    const measured = Studio.app.measuredNow();
    const timed = measured && measured.kernels && kernel && measured.kernels.find((k) => k.name === kernel.name);
    panel.replaceChildren(
      make("h2", { class: "mono" }, node.id),
      make("div", {}, make("span", { class: "chip" }, node.kind), kernel && kernel.where !== "cpu" && make(
        "span", { class: "chip" }, kernel.where)),
      facts([
        ["reads", text.bytes(node.bytes_read)],
        ["writes", text.bytes(node.bytes_written)],
        ["operations", text.operations(node.operations)],
        ["intensity", intensity],
        ["predicted, 1 thread", node.predicted_us ? text.time(node.predicted_us) : null],
        ["measured in its kernel", timed ? text.time(timed.time_us) : null],
        ["in kernel", kernel && kernel.name !== node.id ? kernel.name : null],
        ["saved by fusion", kernel && kernel.name === node.id ? text.bytes(kernel.bytes_saved) : null],
        ["workspace", kernel && kernel.name === node.id && kernel.workspace_bytes ? text.bytes(kernel
          .workspace_bytes) : null],
      ]),
      kernel && kernel.why_not ? make("p", { class: "fault" }, `runs on ${kernel.where}: ${kernel.why_not}`) :
      "",
      kernel && kernel.notes && kernel.name === node.id ? make("p", { class: "soft" }, kernel.notes) : "",
    );
    if (node.operators.length && !(node.operators.length === 1 && node.operators[0] === node.id))
      panel.append(make("h3", {}, "From the model's nodes"), make("ul", { class: "list" }, node.operators.map((
        name) => make("li", { class: "mono" }, name))));
    for (const part of [values(graph, choice.number, true), values(graph, choice.number, false)])
      if (part) panel.append(...part);
    const steps = Studio.steps.about(node);
    if (steps.length)
      panel.append(make("h3", {}, "What could be done"), ...steps.slice(0, 12).map(Studio.steps.card),
        steps.length > 12 ? link(`all ${steps.length} steps`, () => Studio.app.showSide("steps", true)) : "");
    showCode(node, graph.phase);
  }

  /** The node's IR, after any phase; in another phase it is the node that computes the same. */
  function showCode(node, phase) {
    const phases = Studio.app.phases();
    if (!phases.length || Studio.app.state().package) return;
    const shown = level && phases.some((each) => each.name === level) ? level : phase;
    const code = make("pre", { class: "code", tabindex: "0", "aria-label": "Code" }, "…");
    const choose = (name) => {
      level = name;
      const now = Studio.graph.chosenNode();
      if (now) Studio.inspector.show({ node: now, number: Studio.graph.scene.graph.nodes.indexOf(now),
        frame: -1 });
    };
    panel.append(make("h3", {}, "Code after phase"),
      make("div", { class: "segments" }, phases.map((each) =>
        make("button", { "aria-pressed": String(each.name === shown), title: each.summary, onclick: () =>
            choose(each.name) }, each.name))), code);
    const own = ++ticket;
    codeOf(node, shown).then(
      (found) => own === ticket && (code.textContent = found),
      (error) => {
        if (own !== ticket) return;
        code.textContent = error.message;
        code.classList.add("fault");
      },
    );
  }

  async function codeOf(node, phase) {
    const graphs = Studio.app.graphPhases();
    let name = node.id;
    if (phase !== Studio.app.phase()) {
      const graph = await Studio.app.graphAt(graphs.includes(phase) ? phase : graphs[graphs.length - 1]);
      const found = Studio.graph.findAcross(graph, node);
      if (found < 0) throw new Error(
        `nothing is left of it after the phase ${phase}: it was computed when the program was compiled, or is part of another`
        );
      name = graph.nodes[found].inside || graph.nodes[found].id;
    } else if (node.inside) name = node.inside;
    const answer = await Studio.data.getKept("code", { phase, node: name, entry: Studio.app.entry() });
    return answer.code.trim() || "no code of its own";
  }

  function showGroup(graph, number) {
    const frame = graph.frames[number];
    const inside = graph.nodes.map((_, n) => n).filter((n) => {
      for (let f = Studio.graph.scene.placed.frameOfNode[n]; f >= 0; f = graph.frames[f].parent)
        if (f === number) return graph.nodes[n].kind !== "constant" && !graph.nodes[n].inside;
      return false;
    });
    const total = (key) => inside.reduce((sum, n) => (sum === null || typeof graph.nodes[n][key] !== "number" ? (
      graph.nodes[n][key] === null ? sum : null) : sum + graph.nodes[n][key]), 0);
    const time = inside.reduce((sum, n) => sum + (graph.nodes[n].predicted_us || 0), 0);
    panel.replaceChildren(
      make("h2", { class: "mono" }, frame.name || "program"),
      make("div", {}, make("span", { class: "chip" }, frame.blocks ? `${frame.blocks} equal blocks` : "group")),
      facts([
        ["nodes", String(inside.length)],
        ["reads", text.bytes(total("bytes_read"))],
        ["writes", text.bytes(total("bytes_written"))],
        ["operations", text.operations(total("operations"))],
        ["predicted, 1 thread", time ? text.time(time) : null]
      ]),
      make("h3", {}, "Inside"),
      make("ul", { class: "list" }, inside.slice(0, 60).map((n) => make("li", {}, link(graph.nodes[n].id, () =>
        Studio.graph.reveal(n))))),
      inside.length > 60 ? make("p", { class: "soft" }, `and ${inside.length - 60} more`) : "",
    );
  }

  function showNothing(graph) {
    panel.replaceChildren(
      make("h2", {}, "No node is chosen"),
      make("p", { class: "soft" },
        "Click a node, or press Tab and the arrow keys: they go along the values. Groups open with a click or Enter."
        ),
    );
    const phase = graph && Studio.app.phases().find((each) => each.name === graph.phase);
    if (phase) panel.append(make("h3", {}, `After the phase ${phase.name}`), make("p", {}, phase.summary));
    const report = Studio.app.reportNow();
    if (!report) return;
    const rows = [
      ["kernels", "kernels", String],
      ["bytes_moved", "bytes moved", text.bytes],
      ["operations", "operations", text.operations],
      ["intermediate_bytes", "intermediates", text.bytes]
    ];
    panel.append(make("h3", {}, "What the compiler made of the program"),
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), make(
        "th", { scope: "col" }, "one kernel each"), make("th", { scope: "col" }, "now"))),
        make("tbody", {}, rows.map(([key, name, say]) => make("tr", {}, make("td", {}, name), make("td", {},
          say(report.before[key])), make("td", {}, say(report.after[key])))))));
    if (report.planning) panel.append(make("p", { class: "soft" }, report.planning));
  }

  return { show };
})();
