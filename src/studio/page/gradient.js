// Training: what is kept between forward and backward, against what is computed again, over a budget of memory.
"use strict";

Studio.gradient = (() => {
  const { make, svg, text } = Studio;
  const parts = 6; // budgets to try, evenly below what the compiler keeps by itself
  let settings = null, // [{limit, kept_bytes, kept, computed_again, forward, backward}], the smallest first
    chosen = 0,
    fault = "",
    isRunning = false;

  const timeOf = (setting) => setting.forward.predicted_us + setting.backward.predicted_us;

  async function load(refresh) {
    isRunning = true;
    fault = "";
    refresh();
    try {
      const free = await Studio.busy.during("compiling the gradient", () => Studio.data.get("gradient"));
      if (typeof free.kept_bytes !== "number") throw new Error(
        `the bytes depend on dynamic dimensions: ${free.kept_bytes}; --size NAME=N gives them values`);
      const found = new Map([[free.kept_bytes, { ...free, limit: null }]]);
      for (let part = 0; part < parts && free.kept_bytes > 0; ++part) {
        const limit = Math.floor((free.kept_bytes * part) / parts);
        const one = await Studio.busy.during(`compiling the gradient within ${text.bytes(limit)}`, () => Studio.data
          .get("gradient", { budget: String(limit) }));
        if (!found.has(one.kept_bytes)) found.set(one.kept_bytes, { ...one, limit });
      }
      settings = [...found.values()].sort((a, b) => a.kept_bytes - b.kept_bytes);
      chosen = settings.length - 1;
    } catch (error) {
      fault = error.message;
    }
    isRunning = false;
    refresh();
  }

  /** Predicted time over bytes kept: a dot for each setting. */
  function plot() {
    const width = 900,
      height = 190,
      left = 74,
      right = 24,
      top = 14,
      bottom = 38;
    const most = Math.max(...settings.map((s) => s.kept_bytes), 1),
      slowest = Math.max(...settings.map(timeOf));
    const x = (bytes) => left + (bytes / most) * (width - left - right),
      y = (time) => height - bottom - (time / slowest) * (height - top - bottom);
    const line = settings.map((s, i) => `${i ? "L" : "M"}${x(s.kept_bytes)},${y(timeOf(s))}`).join("");
    const shown = [
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(0), y2: y(0) }),
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(slowest), y2: y(slowest) }),
      svg("text", { x: left - 8, y: y(0) + 4, "text-anchor": "end" }, "0"),
      svg("text", { x: left - 8, y: y(slowest) + 4, "text-anchor": "end" }, text.time(slowest)),
      svg("text", { x: left, y: height - bottom + 16 }, "0 B"),
      svg("text", { x: x(most), y: height - bottom + 16, "text-anchor": "end" }, text.bytes(most)),
      svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" },
        "kept between forward and backward"),
      svg("path", { class: "roof", d: line, fill: "none" }),
    ];
    settings.forEach((setting, i) => shown.push(svg("circle", { cx: x(setting.kept_bytes), cy: y(timeOf(setting)),
      r: i === chosen ? 8 : 5, fill: Studio.colors.kinds[i === chosen ? "reduce" : "matmul"][0] }, svg("title",
    {}, `${text.bytes(setting.kept_bytes)} kept: ${text.time(timeOf(setting))}`))));
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label":
        "Predicted time of forward and backward over the bytes kept" }, shown);
  }

  function details() {
    const setting = settings[chosen],
      free = settings[settings.length - 1];
    const row = (name, value, was, say) => make("tr", {}, make("td", {}, name), make("td", { class: value < was ?
        "less" : value > was ? "more" : "" }, say(value)), make("td", { class: "soft" }, say(was)));
    const column = (s) => [timeOf(s), s.kept_bytes, s.forward.totals.kernels + s.backward.totals.kernels, Math.max(s
      .forward.peak_bytes, s.backward.peak_bytes), s.forward.totals.bytes_moved + s.backward.totals.bytes_moved];
    const names = ["predicted, 1 thread", "kept", "kernels", "peak memory", "bytes moved"],
      says = [text.time, text.bytes, String, text.bytes, text.bytes];
    const now = column(setting),
      was = column(free);
    const list = (title, entries) => [make("h3", {}, title), entries.length ? make("ul", { class: "list mono" },
      entries.slice(0, 12).map((entry) => make("li", {}, entry)), entries.length > 12 ? make("li", { class: "soft" },
        `and ${entries.length - 12} more`) : "") : make("p", { class: "soft" }, "nothing")];
    return [
      make("table", {}, make("thead", {}, make("tr", {}, ["forward and backward", "this setting",
        "the compiler's choice"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, names.map((
        name, i) => row(name, now[i], was[i], says[i])))),
      make("div", { class: "columns" },
        make("div", {}, list("Kept", setting.kept.map((k) => `${k.name.replace(/^kept /, "")}  ${text.bytes(k.bytes)}`))),
        make("div", {}, list("Computed again", setting.computed_again))),
      make("p", { class: "soft" }, make("code", {}, `${Studio.app.state().command} --grad --weights${
        setting.limit === null ? "" : ` --memory-budget ${setting.limit}`}`)),
    ];
  }

  /** The card of the page Machine; null where there is no gradient to ask for. */
  function card(make_card) {
    if (Studio.data.isExport || Studio.app.state().package) return null;
    const holder = make("div", {});
    const refresh = () => {
      if (isRunning) return holder.replaceChildren(make("p", { class: "soft" }, make("span", { class: "spin" }),
        "compiling the gradient for each budget"));
      if (!settings) return holder.replaceChildren(fault ? make("p", { class: "fault" }, fault) : "", make("button", {
        class: "button",
        onclick: () => load(refresh)
      }, "Try budgets"));
      const slider = make("input", { type: "range", min: "0", max: String(settings.length - 1), step: "1", "aria-label":
          "Budget of memory between forward and backward", "aria-valuetext": text.bytes(settings[chosen].kept_bytes),
        oninput: (event) => {
          chosen = Number(event.target.value);
          event.target.setAttribute("aria-valuetext", text.bytes(settings[chosen].kept_bytes));
          picture.replaceChildren(plot());
          below.replaceChildren(...details());
        } });
      slider.value = String(chosen);
      const picture = make("div", {}, plot()),
        below = make("div", {}, ...details());
      holder.replaceChildren(picture, make("label", { class: "field range" }, "budget", slider), below);
    };
    refresh();
    return make_card("Training: keep or compute again",
      "The gradient by all weights. What forward keeps, backward does not compute again: less memory costs time. Each dot is a compilation within a budget.",
      holder);
  }

  return { card };
})();
