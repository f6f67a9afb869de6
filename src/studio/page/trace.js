// A call as a trace that ui.perfetto.dev and chrome://tracing open: kernels as predicted and as measured, what each
// temporary is alive for, and the memory in use.
"use strict";

Studio.trace = (() => {
  const text = Studio.text;

  /** A process is a row of its own; a microsecond of the trace is one of the call. */
  const named = (pid, tid, process, thread) => [
    { ph: "M", pid, tid, name: "process_name", args: { name: process } },
    { ph: "M", pid, tid, name: "thread_name", args: { name: thread } },
  ];

  /** Complete events of kernels one after the other, and when each begins. */
  function kernelsOf(kernels, timeOf, pid) {
    const starts = [],
      events = [];
    let at = 0;
    for (const kernel of kernels) {
      const time = timeOf(kernel);
      starts.push(at);
      events.push({ ph: "X", pid, tid: 1, ts: at, dur: time, name: kernel.name, cat: kernel.kind,
        args: { operators: kernel.operators.join(", "), bytes_read: kernel.bytes_read, bytes_written: kernel
            .bytes_written, operations: kernel.operations } });
      at += time;
    }
    starts.push(at);
    return { events, starts };
  }

  /** Rows of memory: as few as hold all temporaries without two at the same time. */
  function livesOf(buffers, starts, pid) {
    const ends = [],
      events = [];
    for (const buffer of [...buffers].sort((a, b) => a.first - b.first)) {
      let row = ends.findIndex((end) => end < buffer.first);
      if (row < 0) row = ends.push(-1) - 1;
      ends[row] = buffer.last;
      events.push({ ph: "X", pid, tid: row + 1, ts: starts[buffer.first], dur: starts[buffer.last + 1] - starts[
          buffer.first], name: buffer.name, cat: buffer.kind, args: { bytes: buffer.bytes, offset: buffer
            .offset } });
    }
    return [...ends.map((_, row) => named(pid, row + 1, "what lives when", `row ${row + 1}`)).flat(), ...events];
  }

  /** The document, as JSON of "Trace Event Format". */
  function documentOf(report, measured) {
    const events = [...named(1, 1, "predicted, one thread", "kernels")];
    const predicted = kernelsOf(report.kernels, (kernel) => kernel.predicted_us || 0, 1);
    events.push(...predicted.events);
    let starts = predicted.starts;
    if (measured && measured.kernels) {
      const times = new Map(measured.kernels.map((kernel) => [kernel.name, kernel.time_us]));
      const found = kernelsOf(report.kernels, (kernel) => times.get(kernel.name) || 0, 2);
      events.push(...named(2, 1, `measured, ${text.count(measured.threads, "thread")}`, "kernels"), ...found.events);
      starts = found.starts;
    }
    const buffers = report.buffers.filter((b) => typeof b.bytes === "number" && b.bytes > 0 && b.first >= 0 && b
      .last + 1 < starts.length);
    report.kernels.forEach((_, step) => events.push({ ph: "C", pid: 3, ts: starts[step], name: "memory in use", args: {
      bytes: buffers.reduce((sum, b) => (b.first <= step && step <= b.last ? sum + b.bytes : sum), 0) } }));
    events.push({ ph: "M", pid: 3, tid: 0, name: "process_name", args: { name: "memory" } });
    events.push(...livesOf(buffers.filter((b) => b.kind === "temporary"), starts, 4));
    return { displayTimeUnit: "ns", traceEvents: events, otherData: { model: report.model } };
  }

  return { documentOf };
})();
