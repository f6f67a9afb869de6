// Transformations: the steps that a recipe could have here, what each would change, what was done, and the way back.
"use strict";

Studio.steps = (() => {
  const { byId, make, text } = Studio;
  let all = []; // {step, why, bytes, kind, names}
  let previews = new Map(); // by step: {before, after}, {error} or "running"
  let filter = "",
    kindShown = "all",
    isPreviewing = false,
    stopPreviews = false;
  let draft = null; // text of the recipe while it is edited

  // --- which steps there are ---

  /** The opposite of a step that the compiler took. */
  function instead(line) {
    const words = line.split(/\s+/);
    if (words[0] === "fuse" || words[0] === "merge") return `separate ${words[1]}`;
    if (words[0] === "fold") return `leave ${words[1]}`;
    if (words[0] === "layout")
    return `layout ${words[1]} ${words[2] === "channels-last" ? "channels-first" : "channels-last"}`;
    if (words[0] === "expand" && words[3] !== "generated") return `expand ${words[1]} as generated`;
    if (words[0] === "walk" && words[3] !== "nothing") return `walk ${words[1]} along nothing`;
    if (words[0] === "keep") return `recompute ${words[1]}`;
    if (words[0] === "recompute") return `keep ${words[1]}`;
    return null;
  }

  const verbs = { fuse: "fusion", merge: "fusion", separate: "fusion", walk: "fusion", plan: "fusion",
    layout: "layout", expand: "implementation", pack: "layout", fold: "algebra", leave: "algebra",
    kernel: "schedule" };

  /** What a step is about: names of operators and kernels. */
  const namesIn = (step) => step.replace(/:/g, " ").split(/\s+/).slice(1).filter((word) => word.length > 2 && ![
    "into", "along", "nothing", "generated"
  ].includes(word));

  function collect(report, layout, schedule, own, automatic) {
    const found = new Map();
    const add = (step, rest) => {
      if (!found.has(step)) found.set(step, { step, names: namesIn(step.split("\n")[0]), kind: verbs[step.split(
          /\s/)[0]] || "other", ...rest });
    };
    for (const why of report.why_not)
      if (!why.step.includes("...")) add(why.step, { why: why.reason, bytes: why.bytes, source: "missed" });
    for (const node of layout ? layout.nodes : [])
      for (const step of node.alternatives) add(step, { source: "other", why: "another implementation" });
    for (const node of schedule ? schedule.nodes : [])
      for (const line of node.alternatives) {
        const step = /^(expand|fuse|separate|walk|merge|layout|pack)\s/.test(line) ? line :
          `kernel ${node.id}:\n  ${line}`;
        add(step, { source: "other",
          why: `another schedule; now ${node.recipe.split("\n")[0] || "the compiler's"}`, names: [node.id] });
      }
    const taken = new Set(own.split("\n").map((line) => line.trim()));
    for (const line of report.recipe.split("\n")) {
      if (/^\s/.test(line)) continue;
      const step = instead(line.trim());
      if (step && !taken.has(line.trim())) add(step, { source: "undo",
        why: `the compiler chose: ${line.trim()}` });
    }
    // Where the recipe decides otherwise, the compiler's own choice.
    const linesOf = (recipe) => recipe.split("\n").filter((line) => /^[a-z]/.test(line)).map((line) => line.trim());
    for (const line of linesOf(own)) {
      const [verb, name] = line.split(/\s+/);
      for (const choice of linesOf(automatic)) {
        const words = choice.split(/\s+/);
        if (words[1] === name && verbs[words[0]] === verbs[verb] && choice !== line) add(choice, { source: "own",
          why: `the compiler would choose this; the recipe says: ${line}` });
      }
    }
    all = [...found.values()].filter((each) => !taken.has(each.step.trim()));
  }

  async function load() {
    const entry = Studio.app.entry();
    const own = Studio.app.state().entries[entry].recipe;
    previews = new Map();
    all = [];
    if (Studio.app.state().package) return showFixed();
    const report = await Studio.app.report();
    const phases = Studio.app.graphPhases();
    const [layout, schedule] = await Promise.all(["layout", "schedule"].map((name) => (phases.includes(name) ?
      Studio.app.graphAt(name) : null)));
    const automatic = own && !Studio.data.isExport ? await Studio.data.getKept("report", { entry: "auto" }) : null;
    if (entry !== Studio.app.entry()) return;
    collect(report, layout, schedule, own, automatic ? automatic.recipe : "");
    byId("tab-steps").replaceChildren("Steps", make("span", { class: "count" }, String(all.length)));
    show();
  }

  function showFixed() {
    byId("steps").replaceChildren(make("p", { class: "soft" },
      "A package holds compiled code: every choice is made. headrace studio MODEL steers the model that it was made of."
      ));
  }

  /** The steps that name the node or an operator of it. */
  function about(node) {
    const names = new Set([node.id, ...node.operators]);
    if (node.inside) names.add(node.inside);
    return all.filter((each) => each.names.some((name) => names.has(name)));
  }

  // --- what a step would change ---

  function gainOf(step) {
    const known = previews.get(step);
    return known && known.after ? known.before.predicted_us - known.after.predicted_us : null;
  }

  function changeText(before, after) {
    const part = (name, was, is, say) => {
      if (typeof was !== "number" || typeof is !== "number" || was === is) return null;
      const share = was ? ` (${is < was ? "−" : "+"}${Math.abs((100 * (is - was)) / was).toPrecision(2)}%)` :
      "";
      return make("span", { class: is < was ? "less" : "more" }, `${name} ${say(was)} → ${say(is)}${share}  `);
    };
    const parts = [part("time", before.predicted_us, after.predicted_us, text.time), part("kernels", before
        .kernels, after.kernels, String),
      part("bytes", before.bytes, after.bytes, text.bytes), part("operations", before.operations, after
        .operations, text.operations)
    ].filter(Boolean);
    return parts.length ? parts : [make("span", { class: "soft" },
      "no change in time, kernels, bytes or operations")];
  }

  async function preview(step) {
    if (previews.get(step) === "running") return;
    previews.set(step, "running");
    refresh(step);
    const entry = Studio.app.entry();
    let found;
    try {
      found = await Studio.busy.during("compiling a preview", () => Studio.data.post("preview", { step }));
    } catch (error) {
      found = { error: error.message };
    }
    if (entry !== Studio.app.entry()) return;
    previews.set(step, found);
    refresh(step);
  }

  async function previewAll() {
    isPreviewing = true;
    stopPreviews = false;
    show();
    const entry = Studio.app.entry();
    const wanted = shown().filter((each) => !previews.has(each.step));
    for (const [i, each] of wanted.entries()) {
      if (stopPreviews || entry !== Studio.app.entry()) break;
      Studio.busy.say(`preview ${i + 1} of ${wanted.length}`);
      await preview(each.step);
    }
    Studio.busy.done();
    isPreviewing = false;
    if (entry === Studio.app.entry()) show();
  }

  async function apply(step) {
    try {
      await Studio.busy.during("compiling with the step", () => Studio.data.post("apply", { step }));
    } catch (error) {
      previews.set(step, { error: error.message });
      refresh(step);
      Studio.announce(`refused: ${error.message}`);
      return;
    }
    await Studio.app.refresh();
    Studio.announce("applied");
  }

  // --- cards ---

  const cards = new Map();

  function card(each) {
    const box = make("div", { class: "step", tabindex: "-1" });
    box.dataset.step = each.step;
    fill(box, each);
    box.addEventListener("pointerenter", () => Studio.graph.mark(each.names));
    box.addEventListener("pointerleave", () => Studio.graph.mark([]));
    box.addEventListener("focusin", () => Studio.graph.mark(each.names));
    box.addEventListener("focusout", () => Studio.graph.mark([]));
    if (!cards.has(each.step)) cards.set(each.step, new Set());
    cards.get(each.step).add(box);
    return box;
  }

  function fill(box, each) {
    const known = previews.get(each.step);
    box.classList.toggle("refused", Boolean(known && known.error));
    const target = each.names.find((name) => Studio.graph.scene.graph && Studio.graph.scene.graph.nodes.some((
      n) => n.id === name || n.operators.includes(name)));
    box.replaceChildren(
      make("code", {}, each.step),
      make("div", { class: "why" }, each.why, typeof each.bytes === "number" ?
        ` · would save ${text.bytes(each.bytes)}` : ""),
      known === "running" ? make("div", { class: "gain" }, make("span", { class: "spin" }),
      "compiling a copy") : "",
      known && known.after ? make("div", { class: "gain" }, changeText(known.before, known.after)) : "",
      known && known.error ? make("div", { class: "gain fault" }, `refused: ${known.error}`) : "",
      Studio.data.isExport ? "" : make("div", { class: "actions" },
        make("button", { class: "button main", onclick: () => apply(each.step), disabled: Boolean(known && known
            .error) }, "Apply"),
        make("button", { class: "button", onclick: () => preview(each.step), disabled: known === "running" ||
            Boolean(known) }, "Preview"),
        target && make("button", { class: "button", onclick: () => Studio.graph.revealName(target) }, "Show")),
    );
  }

  function refresh(step) {
    const each = all.find((one) => one.step === step);
    for (const box of cards.get(step) || [])
      if (each && box.isConnected) fill(box, each);
  }

  // --- the panel ---

  function shown() {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const list = all.filter((each) => (kindShown === "all" || each.kind === kindShown) && words.every((word) =>
      `${each.step} ${each.why}`.toLowerCase().includes(word)));
    const rank = (each) => {
      const known = previews.get(each.step);
      if (known && known.error) return [3, 0];
      const gain = gainOf(each.step);
      return gain !== null ? [gain > 0 ? 0 : 2, -gain] : [1, -(each.bytes || 0)];
    };
    return list.map((each) => [rank(each), each]).sort(([a], [b]) => a[0] - b[0] || a[1] - b[1]).map(([, each]) =>
      each);
  }

  function show() {
    const panel = byId("steps");
    cards.clear();
    const kinds = ["all", ...new Set(all.map((each) => each.kind))];
    const list = shown();
    const most = 120;
    const input = make("input", { type: "search", placeholder: "Filter", "aria-label": "Filter steps", oninput: (
        event) => { filter = event.target.value;
        showList(); } });
    input.value = filter;
    const holder = make("div", {});

    function showList() {
      const now = shown();
      holder.replaceChildren(...now.slice(0, most).map(card), now.length > most ? make("p", { class: "soft" },
        `and ${now.length - most} more: the filter narrows the list`) : "");
      if (!now.length) holder.append(make("p", { class: "soft" }, all.length ? "No step has these words." :
        "The compiler reports no other choice here."));
    }
    panel.replaceChildren(
      make("p", { class: "soft" },
        "Other choices than those of the compiler. A preview compiles a copy: its numbers are what explain says after the step. Best first."
        ),
      make("div", { class: "actions" }, input,
        Studio.data.isExport ? "" : isPreviewing ? make("button", { class: "button", onclick: () => (
            stopPreviews = true) }, "Stop") :
        make("button", { class: "button", onclick: previewAll, disabled: !list.length }, "Preview all")),
      make("div", { class: "segments" }, kinds.map((kind) => make("button", { "aria-pressed": String(kind ===
          kindShown), onclick: () => { kindShown = kind;
          show(); } }, kind))),
      make("div", { class: "actions" }), holder,
    );
    showList();
  }

  // --- recipe ---

  function showRecipe() {
    const panel = byId("recipe");
    const { entries, current, revision } = Studio.app.state();
    const own = entries[current].recipe;
    const area = make("textarea", { spellcheck: "false", "aria-label": "Steps of this session's recipe",
      placeholder: "No step yet: the compiler makes every choice.\nOne step per line, for example\n\nseparate relu1\nlayout conv1 channels-first" });
    area.value = draft !== null ? draft : own;
    const fault = make("p", { class: "fault", role: "alert" });
    const button = make("button", { class: "button main", disabled: true, onclick: edit }, "Apply the text");
    const note = () => {
      button.disabled = Studio.data.isExport || area.value === own;
      draft = area.value === own ? null : area.value;
    };
    area.addEventListener("input", note);
    area.readOnly = Studio.data.isExport;
    note();
    async function edit() {
      fault.textContent = "";
      try {
        await Studio.busy.during("compiling with the recipe", () => Studio.data.post("apply", { recipe: area
            .value, revision }));
        draft = null;
        await Studio.app.refresh();
      } catch (error) {
        fault.textContent = error.message;
      }
    }
    const full = make("pre", { class: "code", tabindex: "0", "aria-label": "The full recipe" }, "…");
    const report = Studio.app.reportNow();
    full.textContent = report ? report.recipe || "no choice was made" : "being compiled";
    const save = (name, content) => make("button", { class: "button", onclick: () => Studio.download(name, content()) },
      `Save ${name}`);
    const base = Studio.app.state().model.replace(/\.[^.]*$/, "");
    panel.replaceChildren(
      make("h3", {}, "Your steps"), area, fault,
      make("div", { class: "actions" }, Studio.data.isExport ? "" : button,
        save(`${base}.recipe`, () => Studio.app.state().heading + withoutHeading(area.value)),
        Studio.data.isExport ? "" : make("label", { class: "button" }, "Load…", loader(area, note))),
      make("p", { class: "soft" },
        "headrace explain, bench and compile follow this file with --recipe; what it leaves open stays the compiler's choice."
        ),
      make("h3", {}, "All choices, as they stand"), full,
      make("div", { class: "actions" }, save(`${base}-full.recipe`, () => full.textContent)),
    );
  }

  /** The first line of a saved recipe says of which model it is. */
  const withoutHeading = (recipe) => recipe.replace(/^# headrace studio .*\n/, "");

  function loader(area, note) {
    const input = make("input", { type: "file", class: "hidden" });
    input.addEventListener("change", async () => {
      if (!input.files[0]) return;
      area.value = withoutHeading(await input.files[0].text());
      note();
    });
    return input;
  }

  // --- history ---

  function showHistory() {
    const panel = byId("history");
    const { entries, current } = Studio.app.state();
    panel.replaceChildren(
      make("p", { class: "soft" },
        "A click goes back to a state; a step from there begins anew. u undoes, r redoes."),
      ...entries.map((entry, i) =>
        make("button", { class: i > current ? "entry later" : "entry", "aria-current": String(i === current),
            onclick: () => Studio.app.goTo(i) },
          make("code", {}, entry.step), make("small", {}, summaryText(i)))),
      // Reports take a compilation each: the first picture does not wait for them.
      ...(Studio.data.isExport || !Studio.app.reportNow() ? [] : [make("h3", {}, "Compare"), comparison(entries,
        current)]),
    );
  }

  function summaryText(entry) {
    const report = Studio.app.reportAt(entry);
    if (!report) return entry === 0 ? "where the session began" : "";
    return `${text.count(report.after.kernels, "kernel")} · ${text.bytes(report.after.bytes_moved)} moved${report.peak_bytes ? ` · peak ${text.bytes(report.peak_bytes)}` : ""}`;
  }

  let compareWith = 0;

  function comparison(entries, current) {
    compareWith = Math.min(compareWith, entries.length - 1);
    const pick = make("select", { "aria-label": "Compare with", onchange: () => { compareWith = Number(pick
          .value);
          showHistory(); } },
      entries.map((entry, i) => make("option", { value: String(i), selected: i === compareWith },
        `${i}: ${entry.step.split("\n")[0].slice(0, 40)}`)));
    const table = make("div", {});
    const measure = make("button", { class: "button", onclick: () => measureBoth(current, table) }, "Measure");
    fillComparison(table, current);
    return make("div", {}, make("div", { class: "actions" }, make("span", { class: "soft" }, "before"), pick,
      make("span", { class: "soft" }, `after: ${current}`), measure), table);
  }

  async function fillComparison(holder, current, measured) {
    const [before, after] = await Promise.all([compareWith, current].map((i) => Studio.app.reportOf(i).catch(
    () => null)));
    const [planBefore, planAfter] = await Promise.all([compareWith, current].map((i) => Studio.app.graphOf(i,
      "schedule").catch(() => null)));
    if (!before || !after) return holder.replaceChildren(make("p", { class: "fault" },
      "one of the two does not compile"));
    const predicted = (graph) => (graph ? graph.nodes.reduce((sum, n) => sum + (n.predicted_us || 0), 0) :
    null);
    const rows = [
      ["kernels", before.after.kernels, after.after.kernels, String],
      ["bytes moved", before.after.bytes_moved, after.after.bytes_moved, text.bytes],
      ["operations", before.after.operations, after.after.operations, text.operations],
      ["intermediates", before.after.intermediate_bytes, after.after.intermediate_bytes, text.bytes],
      ["peak memory", before.peak_bytes, after.peak_bytes, text.bytes],
      ["predicted, 1 thread", predicted(planBefore), predicted(planAfter), text.time],
    ];
    if (measured) rows.push(["measured median", ...measured.map((r) => r.systems[0].median_us), text.time], [
      "measured minimum", ...measured.map((r) => r.systems[0].min_us), text.time
    ]);
    const cell = (was, is, say) => make("td", { class: typeof is === "number" && typeof was === "number" ? (is <
        was ? "less" : is > was ? "more" : "") : "" }, say(is));
    holder.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ["", "before", "after"].map((name) => make("th", { scope: "col" },
        name)))),
      make("tbody", {}, rows.map(([name, was, is, say]) => make("tr", {}, make("td", {}, name), make(
        "td", {}, say(was)), cell(was, is, say))))));
    if (!measured) return;
    const ratio = (values) => values[1] / values[0];
    const foretold = ratio([predicted(planBefore), predicted(planAfter)]),
      found = ratio(measured.map((r) => r.systems[0].median_us));
    const off = Math.max(foretold / found, found / foretold);
    holder.append(make("p", { class: off > 2 ? "fault" : "soft" },
      `predicted ×${foretold.toPrecision(3)}, measured ×${found.toPrecision(3)}${off > 2 ? ": off by more than 2 times" : ""}; turns of both in ${measured[0].threads} threads`
      ));
  }

  async function measureBoth(current, holder) {
    try {
      const entries = compareWith === current ? [current] : [compareWith, current];
      const answer = await Studio.busy.during("measuring, in turns", () => Studio.data.post(
      "measure", { entries, seconds: 1.5 }));
      const results = entries.length === 1 ? [answer.results[0], answer.results[0]] : answer.results;
      Studio.app.setMeasured(current, results[1]);
      await fillComparison(holder, current, results);
    } catch (error) {
      holder.replaceChildren(make("p", { class: "fault" }, error.message));
    }
  }

  return { load, show, showRecipe, showHistory, about, card };
})();
