// What all parts of the page use: elements, amounts as text, colours, and the data behind them.
"use strict";

const Studio = {};

// --- elements: text is always text, whatever is in a name ---

Studio.make = function(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "disabled") element.disabled = true;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};

Studio.svg = function(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter(Boolean));
  return element;
};

Studio.byId = (id) => document.getElementById(id);

// --- amounts ---

Studio.text = {
  prefixed(value, unit) {
    if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
    const steps = ["", "k", "M", "G", "T", "P"];
    let step = 0;
    let rest = Math.abs(value);
    while (rest >= 999.5 && step + 1 < steps.length) {
      rest /= 1000;
      ++step;
    }
    const digits = step === 0 && Number.isInteger(value) ? 0 : rest >= 100 ? 0 : rest >= 10 ? 1 : 2;
    return `${value < 0 ? "−" : ""}${rest.toFixed(digits)} ${steps[step]}${unit}`.trim();
  },
  bytes: (value) => Studio.text.prefixed(value, "B"),
  operations: (value) => Studio.text.prefixed(value, ""),
  time(us) {
    if (typeof us !== "number") return "–";
    const size = Math.abs(us);
    if (size >= 1e6) return `${(us / 1e6).toPrecision(3)} s`;
    if (size >= 1000) return `${(us / 1000).toPrecision(3)} ms`;
    return `${size >= 100 ? Math.round(us) : size >= 10 ? us.toFixed(1) : us.toFixed(2)} µs`;
  },
  shape: (shape) => (shape.length ? shape.join(" × ") : "scalar"),
  /** The part of a name that boxes show. */
  last(name) {
    const at = name.lastIndexOf("/");
    return at >= 0 && at + 1 < name.length ? name.slice(at + 1) : name;
  },
  count: (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`,
};

/** Hands a text to the browser as a file. */
Studio.download = function(name, content, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([content], { type }));
  Studio.make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};

// --- colours: told apart with any kind of colour blindness, on both grounds ---

Studio.colors = {
  light: {
    ground: "#f4f5f7",
    frame: ["#ffffff", "#f4f6fa"],
    frameLine: "#c6ccd6",
    box: "#ffffff",
    line: "#c3cad5",
    ink: "#1a212d",
    soft: "#556070",
    edge: "#8f9aab",
    pick: "#1557b0",
    match: "#d98200",
    ramp: ["#e8eef7", "#9dbfe3", "#4a8bc9", "#1f5aa0", "#0b2f63"],
  },
  dark: {
    ground: "#12161d",
    frame: ["#191f28", "#151a22"],
    frameLine: "#3a4554",
    box: "#232c38",
    line: "#3d495a",
    ink: "#e6eaf0",
    soft: "#a3aebd",
    edge: "#66748a",
    pick: "#7fb2ff",
    match: "#ffbf4d",
    ramp: ["#22303f", "#2b587f", "#4a8cb5", "#93c2b8", "#fdf2a6"],
  },
  kinds: {
    matmul: ["#0072b2", "matmuls, convolutions"],
    reduce: ["#d55e00", "reductions, normalizations"],
    map: ["#009e73", "element-wise"],
    move: ["#8a8f98", "data movement"],
    library: ["#cc79a7", "library routines"],
    kernel: ["#56b4e9", "kernels"],
    value: ["#e69f00", "inputs, outputs"],
  },
  engines: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"],
};

Studio.kindOf = function(node) {
  const kind = node.kind;
  if (kind === "input" || kind === "output") return "value";
  // A kernel is named after the operator around which it is built.
  const name = (kind === "kernel" ? Studio.text.last(node.id).replace(/[._]?\d+$/, "").toLowerCase() : kind)
    .replace(/^(hr|linalg|tensor|arith)\./, "");
  if (/^(openblas|onednn|cublas|cudnn|lapack)\./.test(kind)) return "library";
  if (/^(contract|conv|gemm|matmul|batch_matmul|attention|mmt4d|deconv)/.test(name)) return "matmul";
  if (
    /^(reduce|softmax|norm|combine|maxpool|averagepool|pool|scan|sort|layer_norm|batch_norm|window|topk|lstm|gru|arg)/
    .test(name)) return "reduce";
  if (/^(map|elementwise|compute|cast)/.test(name)) return "map";
  if (/^(generic)/.test(name)) return "map";
  if (
    /^(reshape|flatten|transpose|slice|pad|concat|gather|scatter|expand|broadcast|split|copy|resize|reverse|roll|tile)/
    .test(name)) return "move";
  return kind === "kernel" ? "kernel" : "map";
};

Studio.theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
Studio.palette = () => Studio.colors[Studio.theme()];

/** A colour of the ramp, for a share from 0 to 1, as [r, g, b]. */
Studio.rampColor = function(share) {
  const ramp = Studio.palette().ramp;
  const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  const channel = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  return [0, 1, 2].map((i) => Math.round(channel(ramp[low], i) + (channel(ramp[low + 1], i) - channel(ramp[low],
    i)) * (at - low)));
};

Studio.inkOn = function([red, green, blue]) {
  const linear = (value) => ((value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  return light > 0.22 ? "#10151d" : "#ffffff";
};

// --- data: of the server, or of the file that an export has ---

Studio.data = (() => {
  const saved = window.headraceData || null;
  const kept = new Map();

  async function request(path, options) {
    let response;
    try {
      response = await fetch(path, { cache: "no-store", ...options });
    } catch {
      throw new Error("headrace studio does not answer: was it ended in the terminal?");
    }
    const answer = await response.json().catch(() =>
({ error: `the server answered with ${response.status}` }));
    if (!response.ok) {
      const error = new Error(answer.error || `the server answered with ${response.status}`);
      error.status = response.status;
      throw error;
    }
    return answer;
  }

  function fromExport(path, parameters) {
    if (path === "state") return saved.state;
    if (path === "report") return saved.report;
    if (path === "machine") return saved.machine;
    if (path === "graph" && saved.graphs[parameters.phase]) return saved.graphs[parameters.phase];
    if (path === "code") {
      const graph = saved.graphs[parameters.phase];
      const node = graph && graph.nodes.find((each) => each.id === parameters.node);
      if (node && node.code) return { code: node.code };
      throw new Error("this page was exported without the code of this phase");
    }
    throw new Error("this page was exported: headrace studio MODEL has all the rest");
  }

  return {
    isExport: saved !== null,
    async get(path, parameters = {}) {
      if (saved) return fromExport(path, parameters);
      return request(`api/${path}?${new URLSearchParams(parameters)}`);
    },
    /** Like get, for what does not change: the answer of an entry of the history. */
    async getKept(path, parameters) {
      const key = JSON.stringify([path, parameters]);
      if (!kept.has(key)) {
        kept.set(key, this.get(path, parameters));
        kept.get(key).catch(() => kept.delete(key));
      }
      return kept.get(key);
    },
    async post(path, body) {
      if (saved) throw new Error("this page was exported: it shows, and steers nothing");
      return request(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body) });
    },
    forget: () => kept.clear(),
  };
})();

// --- what goes on, in the line at the bottom ---

Studio.busy = (() => {
  const running = new Map();
  let next = 0;

  function show() {
    const busy = Studio.byId("busy");
    busy.replaceChildren();
    const last = [...running.values()].pop();
    if (last) busy.append(Studio.make("span", { class: "spin", "aria-hidden": "true" }), last);
  }
  return {
    async during(what, work) {
      const id = next++;
      running.set(id, what);
      show();
      try {
        return await work();
      } finally {
        running.delete(id);
        show();
      }
    },
    say(what) {
      running.set("said", what);
      show();
    },
    done() {
      running.delete("said");
      show();
    },
  };
})();

Studio.announce = (text) => {
  Studio.byId("announce").textContent = text;
};
