// State of the page, tabs, keys, and what happens when something is chosen.
"use strict";

Studio.app = (() => {
  const { byId, make, text } = Studio;
  let state = null,
    entry = 0,
    phase = null,
    graph = null;
  let reports = new Map(),
    measured = new Map();
  let isAsking = 0,
    hasTimer = false;

  // --- data of an entry of the history ---

  /** Entries are told apart by their recipes: an entry of the same number may be another one after an undo. */
  const parameters = (number, more = {}) => ({ entry: String(number), ...more });
  const graphOf = (number, name) => Studio.data.getKept("graph", parameters(number, { phase: name }));
  async function reportOf(number) {
    const report = await Studio.data.getKept("report", parameters(number));
    reports.set(number, report);
    return report;
  }
  const graphPhases = () => {
    const names = phases().map((each) => each.name);
    const last = names.indexOf("schedule");
    return last >= 0 ? names.slice(0, last + 1) : names;
  };
  const phases = () => (state ? state.phases : []);

  // --- showing ---

  async function start() {
    setTheme(localTheme());
    try {
      state = await Studio.busy.during("reading the model", () => Studio.data.get("state"));
    } catch (error) {
      return fail("The model cannot be shown", error.message);
    }
    document.title = `${state.model} · Headrace Studio`;
    byId("model").textContent = state.model;
    entry = state.current;
    const wanted = readAddress();
    showPhases();
    showHistoryButtons();
    Studio.steps.showHistory();
    Studio.steps.showRecipe();
    const first = graphPhases().includes(wanted.phase) ? wanted.phase : graphPhases().includes("layout") &&
      Studio.data.isExport ? "layout" : graphPhases()[0];
    if (wanted.overlay) byId("overlay").value = wanted.overlay;
    await setPhase(first);
    if (graph) {
      Studio.graph.fitReadable();
      if (wanted.overlay) Studio.graph.setOverlay(wanted.overlay);
      if (wanted.node) Studio.graph.revealName(wanted.node);
      if (wanted.view) showView(wanted.view);
      if (wanted.side) showSide(wanted.side);
      loadReport();
    }
    if (!localStorageGet("headrace-guide") && !wanted.node && graph) showGuide();
    if (!Studio.data.isExport) poll();
  }

  function fail(title, message) {
    const notice = byId("notice");
    const again = make("button", { class: "button main", onclick: () => location.reload() }, "Try again");
    notice.replaceChildren(make("h2", {}, title), make("pre", { class: "fault" }, message),
      make("p", {}, Studio.data.isExport ? "" : "The terminal says the same: ", Studio.data.isExport ? "" :
        make("code", {}, state ? state.command : "headrace explain MODEL")), again);
    notice.hidden = false;
  }

  async function setPhase(name) {
    const own = ++isAsking;
    phase = name;
    showPhases();
    showCommand();
    let found;
    try {
      found = await Studio.busy.during(`compiling to ${name}`, () => graphOf(entry, name));
    } catch (error) {
      if (own === isAsking) fail(`The program does not reach the phase ${name}`, error.message);
      return;
    }
    if (own !== isAsking) return;
    byId("notice").hidden = true;
    graph = found;
    if (!graph.nodes.some((node) => node.kind !== "constant" && node.kind !== "input" && node.kind !==
      "output")) {
      const notice = byId("notice");
      notice.replaceChildren(make("h2", {}, "Nothing is computed here"), make("p", {},
        "The program has no operators after this phase: its outputs are inputs or constants."));
      notice.hidden = false;
    }
    Studio.graph.show(graph);
    writeAddress();
  }

  async function loadReport() {
    const own = entry;
    try {
      const report = await Studio.busy.during("compiling", () => reportOf(own));
      if (own !== entry) return;
      Studio.graph.setFacts(report, measured.get(own));
      await Studio.busy.during("compiling", showTotals);
      Studio.steps.showRecipe();
      Studio.steps.showHistory();
      Studio.graph.choose(Studio.graph.scene.chosen);
      await Studio.busy.during("listing steps", Studio.steps.load);
      Studio.graph.choose(Studio.graph.scene.chosen);
    } catch (error) {
      byId("totals").replaceChildren(make("div", {}, make("dt", {}, "does not compile"), make(
      "dd", { class: "fault" }, error.message.slice(0, 120))));
      byId("steps").replaceChildren(make("p", { class: "fault" }, error.message));
    }
  }

  async function showTotals() {
    const report = reports.get(entry),
      first = reports.get(0);
    const plan = graphPhases().includes("schedule") ? await graphOf(entry, "schedule").catch(() => null) : null;
    const time = plan ? plan.nodes.reduce((sum, node) => sum + (node.predicted_us || 0), 0) : null;
    const total = (name, value, was, say) => {
      const differs = typeof was === "number" && typeof value === "number" && was !== value;
      return make("div", {}, make("dt", {}, name), make("dd", {}, say(value), differs ? make(
        "small", { class: value < was ? "less" : "more" },
        ` ${value < was ? "−" : "+"}${was ? Math.abs((100 * (value - was)) / was).toPrecision(2) + "%" : ""}`
        ) : ""));
    };
    const before = entry !== 0 && first ? first : null;
    byId("totals").replaceChildren(
      total("kernels", report.after.kernels, before && before.after.kernels, String),
      total("bytes moved", report.after.bytes_moved, before && before.after.bytes_moved, text.bytes),
      ...(time ? [total("predicted, 1 thread", time, null, text.time)] : []),
      ...(report.peak_bytes !== null ? [total("peak memory", report.peak_bytes, before && before.peak_bytes,
        text.bytes)] : []),
    );
  }

  function showPhases() {
    byId("phases").replaceChildren(...graphPhases().map((name, i) => {
      const info = phases().find((each) => each.name === name);
      return make("button", { role: "radio", "aria-checked": String(name === phase), tabindex: name ===
            phase ? "0" : "-1", title: `${info.summary} (${i + 1})`, onclick: () => setPhase(name) },
        name);
    }));
  }

  function showCommand() {
    const words = state.command.split(" ");
    const recipe = state.entries[entry] && state.entries[entry].recipe ? " --recipe=FILE" : "";
    byId("command").textContent = `${words.join(" ")}${state.package ? "" : ` --to=${phase}`} --json${recipe}`;
  }

  function showHistoryButtons() {
    byId("undo").disabled = Studio.data.isExport || entry === 0;
    byId("redo").disabled = Studio.data.isExport || entry + 1 >= state.entries.length;
  }

  // --- steps of the session ---

  /** Reads the state of the session again, and shows what changed. */
  async function refresh() {
    const before = JSON.stringify(state.entries.slice(0, state.current + 1));
    const found = await Studio.data.get("state");
    const wasSame = found.entries.every((each, i) => state.entries[i] && state.entries[i].recipe === each
      .recipe);
    state = found;
    entry = state.current;
    if (!wasSame) {
      // Numbers of entries mean other recipes now.
      Studio.data.forget();
      reports = new Map();
      measured = new Map();
    }
    showHistoryButtons();
    Studio.steps.showHistory();
    Studio.steps.showRecipe();
    if (before !== JSON.stringify(state.entries.slice(0, state.current + 1))) {
      await setPhase(phase);
      if (!reports.has(0) && entry !== 0) await reportOf(0).catch(() => null);
      await loadReport();
      if (!byId("machine").hidden) Studio.machine.show();
    }
  }

  async function goTo(number) {
    if (Studio.data.isExport || number < 0 || number >= state.entries.length || number === entry) return;
    try {
      await Studio.data.post("goto", { entry: number });
      await refresh();
    } catch (error) {
      Studio.announce(error.message);
    }
  }

  /** Other pages may take steps in this session. */
  function poll() {
    if (hasTimer) return;
    hasTimer = true;
    setInterval(async () => {
      if (document.hidden) return;
      try {
        const found = await Studio.data.get("state");
        if (found.revision !== state.revision) await refresh();
      } catch {
        // The next request of the person says that the server is gone.
      }
    }, 2500);
  }

  // --- tabs, theme, address ---

  function showView(name) {
    for (const each of ["program", "machine"]) {
      byId(each).hidden = each !== name;
      byId(`tab-${each}`).setAttribute("aria-selected", String(each === name));
      byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    }
    if (name === "machine") Studio.machine.show();
    else Studio.graph.resize();
    writeAddress();
  }

  const sides = ["node", "steps", "recipe", "history"];

  function showSide(name, takesFocus) {
    for (const each of sides) {
      byId(each).hidden = each !== name;
      byId(`tab-${each}`).setAttribute("aria-selected", String(each === name));
      byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    }
    if (takesFocus) byId(name).focus();
    writeAddress();
  }

  function localStorageGet(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  }

  function localStorageSet(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      // A page without storage asks again.
    }
  }
  const localTheme = () => localStorageGet("headrace-theme") || (matchMedia("(prefers-color-scheme: dark)")
    .matches ? "dark" : "light");

  function setTheme(name) {
    document.documentElement.dataset.theme = name;
    Studio.graph.restyle();
    if (!byId("machine").hidden && state) Studio.machine.show();
  }

  function switchTheme() {
    const name = Studio.theme() === "dark" ? "light" : "dark";
    localStorageSet("headrace-theme", name);
    setTheme(name);
  }

  /** The part of the address behind "#" says what is shown: a link to it shows the same. */
  function readAddress() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  function writeAddress() {
    if (!phase) return;
    const shown = { phase };
    if (Studio.graph.overlay() !== "kind") shown.overlay = Studio.graph.overlay();
    const node = Studio.graph.chosenNode();
    if (node) shown.node = node.id;
    if (!byId("machine").hidden) shown.view = "machine";
    const side = sides.find((each) => !byId(each).hidden);
    if (side !== "node") shown.side = side;
    history.replaceState(null, "", `#${new URLSearchParams(shown)}`);
  }

  function onChoice(choice) {
    Studio.inspector.show(choice);
    writeAddress();
  }

  // --- help ---

  const keyTable = [
    ["1 … 5", "phase of the compiler"],
    ["/", "search"],
    ["← ↑ → ↓", "next node along values, or in the row"],
    ["Enter", "open or close a group; details of a node"],
    ["Backspace", "the group around it"],
    ["Shift ← ↑ → ↓", "move the picture"],
    ["+  −  0", "zoom in, zoom out, fit"],
    ["e  c", "open, close all groups"],
    ["f", "bring the chosen node to the middle"],
    ["o", "next colouring"],
    ["m  p", "machine, program"],
    ["n  s  y  h", "node, steps, recipe, history"],
    ["u  r", "undo, redo"],
    ["t", "light or dark"],
    ["g", "go to the graph"],
    ["Esc", "let go"],
  ];

  function showGuide() {
    const guide = byId("guide");
    guide.replaceChildren(
      make("h2", { id: "guide-title" }, "Headrace Studio"),
      make("p", {},
        "A program, from what the model says to the kernels that run. Lines are as wide as the bytes that go along them."
        ),
      make("h3", {}, "Three things to try"),
      make("p", {},
        "1. Go through the phases at the top: the same operators, fused into kernels, stay where they were."),
      make("p", {},
        "2. Colour by predicted time or bytes moved, and click what stands out: the panel shows what it reads, writes and is."
        ),
      make("p", {},
        "3. Steps lists what could be done otherwise. Preview compiles a copy and says what it would gain; Apply takes the step; u undoes it."
        ),
      make("h3", {}, "Keys"),
      make("div", { class: "keys" }, keyTable.flatMap(([key, what]) => [make("kbd", {}, key), make("span", {},
        what)])),
      make("div", { class: "actions" }, make("button", { class: "button main", onclick: () => guide.close() },
        "Start")),
    );
    guide.addEventListener("close", () => { localStorageSet("headrace-guide", "seen");
      Studio.graph.focus(); }, { once: true });
    guide.showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("guide").open) return;
    const isText = event.target.matches("input, textarea, select");
    if (isText) return;
    const names = graphPhases();
    const nextOverlay = () => {
      const select = byId("overlay");
      Studio.graph.setOverlay(select.options[(select.selectedIndex + 1) % select.options.length].value);
    };
    const keys = {
      "/": () => byId("search").focus(),
      "?": showGuide,
      "+": () => Studio.graph.zoom(1.25),
      "=": () => Studio.graph.zoom(1.25),
      "-": () => Studio.graph.zoom(0.8),
      0: Studio.graph.fit,
      e: () => Studio.graph.openAll(true),
      c: () => Studio.graph.openAll(false),
      o: nextOverlay,
      m: () => showView("machine"),
      p: () => showView("program"),
      t: switchTheme,
      n: () => showSide("node", true),
      s: () => showSide("steps", true),
      y: () => showSide("recipe", true),
      h: () => showSide("history", true),
      u: () => goTo(entry - 1),
      r: () => goTo(entry + 1),
      g: () => { showView("program");
        Studio.graph.focus(); },
    };
    if (/^[1-9]$/.test(event.key) && names[Number(event.key) - 1]) setPhase(names[Number(event.key) - 1]);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });

  /** Arrow keys go along tabs, as in every list of tabs. */
  for (const list of document.querySelectorAll('[role="tablist"], [role="radiogroup"]'))
    list.addEventListener("keydown", (event) => {
      const buttons = [...list.querySelectorAll("button")];
      const at = buttons.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 } [event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const number = (to + buttons.length) % buttons.length;
      buttons[number].click();
      list.querySelectorAll("button")[number].focus();
    });

  for (const each of sides) byId(`tab-${each}`).addEventListener("click", () => showSide(each));
  for (const each of ["program", "machine"]) byId(`tab-${each}`).addEventListener("click", () => showView(each));
  byId("undo").addEventListener("click", () => goTo(entry - 1));
  byId("redo").addEventListener("click", () => goTo(entry + 1));
  byId("theme").addEventListener("click", switchTheme);
  byId("help").addEventListener("click", showGuide);
  byId("command").addEventListener("click", () => navigator.clipboard && navigator.clipboard.writeText(byId(
    "command").textContent).catch(() => {}));

  const grip = byId("grip"),
    side = document.querySelector(".side");
  const widen = (width) => (side.style.width = `${Math.max(260, Math.min(innerWidth * 0.6, width))}px`);
  grip.addEventListener("pointerdown", (event) => grip.setPointerCapture(event.pointerId));
  grip.addEventListener("pointermove", (event) => event.buttons && widen(innerWidth - event.clientX));
  grip.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") widen(side.offsetWidth + 24);
    if (event.key === "ArrowRight") widen(side.offsetWidth - 24);
  });

  return {
    start,
    refresh,
    setPhase,
    goTo,
    showView,
    showSide,
    onChoice,
    onView: writeAddress,
    phases,
    graphPhases,
    graphOf,
    reportOf,
    state: () => state,
    entry: () => entry,
    phase: () => phase,
    graphAt: (name) => graphOf(entry, name),
    report: () => reportOf(entry),
    reportNow: () => reports.get(entry),
    reportAt: (number) => reports.get(number),
    measuredNow: () => measured.get(entry),
    setMeasured(number, result) {
      measured.set(number, result);
      if (number === entry) Studio.graph.setFacts(reports.get(entry), result);
    },
  };
})();

Studio.app.start();
