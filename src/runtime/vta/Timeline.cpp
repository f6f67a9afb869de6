#include "runtime/vta/Timeline.h"

#include "runtime/system/Json.h"
#include "runtime/system/Svg.h"

#include <algorithm>

namespace headrace::vta {

namespace {

struct Kind {
  std::string_view name, colour;
};

// Kinds of activity, each of its own colour, in the order of the legend.
constexpr std::array<Kind, 9> kinds = {{{"load inputs", "#4c78a8"},
                                        {"load weights", "#72b7b2"},
                                        {"load accumulators", "#9ecae9"},
                                        {"load micro-ops", "#bab0ac"},
                                        {"GEMM", "#f58518"},
                                        {"ALU", "#54a24b"},
                                        {"store", "#b279a2"},
                                        {"tokens only", "#d8d8d8"},
                                        {"waits for the port", "#f2dede"}}};
constexpr size_t waitsForPort = 8;

size_t kindOf(const Instruction &instruction) {
  if (instruction.movesNothing() || instruction.op() == Opcode::Finish)
    return 7;
  switch (instruction.op()) {
  case Opcode::Gemm:
    return 4;
  case Opcode::Alu:
    return 5;
  case Opcode::Store:
    return 6;
  default:
    break;
  }
  switch (instruction.mem()) {
  case Memory::Inp:
    return 0;
  case Memory::Wgt:
    return 1;
  case Memory::Uop:
    return 3;
  default:
    return 2;
  }
}

class Picture {
public:
  Picture(const Simulation &simulation, const Configuration &configuration, std::string title)
      : simulation(simulation), configuration(configuration), title(std::move(title)),
        scale(plotWidth / static_cast<double>(std::max<int64_t>(1, simulation.cycles))) {}

  std::string draw() {
    svg.text(left, 22, headline(), "font-size=\"14\" font-weight=\"bold\"");
    drawAxis();
    for (int m = 0; m < moduleCount; ++m)
      drawLane(static_cast<Module>(m));
    drawLegend();
    return std::move(svg).finish();
  }

private:
  static constexpr double left = 130, plotWidth = 1050, top = 38, laneHeight = 40, laneStep = 50;

  std::string headline() const {
    return title + ": " + std::to_string(simulation.cycles) + " cycles, matrix unit at " +
           svgNumber(100 * simulation.peakShare(configuration)) + "% of its peak";
  }

  double x(int64_t cycle) const { return left + static_cast<double>(cycle) * scale; }
  static double laneTop(Module module) { return top + laneStep * static_cast<double>(module); }

  void drawAxis() {
    double end = static_cast<double>(simulation.cycles), step = tickDistance(end);
    double bottom = laneTop(Module::Store) + laneHeight;
    for (double at = 0; at <= end; at += step) {
      double atX = left + at * scale;
      svg.verticalLine(atX, top, bottom + 5, "#ddd");
      svg.text(atX, bottom + 18, std::to_string(static_cast<int64_t>(at)),
               "text-anchor=\"middle\"");
    }
  }

  void drawLane(Module module) {
    double atY = laneTop(module);
    svg.text(left - 10, atY + 17, nameOf(module), "text-anchor=\"end\"");
    svg.text(left - 10, atY + 33, svgNumber(100 * simulation.utilization(module)) + "% busy",
             "text-anchor=\"end\" font-size=\"11\" fill=\"#777\"");
    svg.box(left, atY, plotWidth, laneHeight, "#f6f6f6");
    Bar bar;
    for (size_t i = 0; i < simulation.instructions.size(); ++i) {
      const Instruction &instruction = simulation.instructions[i];
      const Span &span = simulation.spans[i];
      if (instruction.module() != module || !span.ran())
        continue;
      if (span.port > 0)
        extend(bar, {waitsForPort, x(span.start), x(span.start + span.port)}, atY);
      extend(bar, {kindOf(instruction), x(span.start + span.port), x(span.end)}, atY);
    }
    draw(bar, atY);
  }

  struct Bar {
    size_t kind = kinds.size(); ///< none yet
    double begin = 0, end = 0;
  };

  void draw(const Bar &bar, double atY) {
    if (bar.kind == kinds.size())
      return;
    double width = bar.end - bar.begin;
    // A hairline tells neighbours apart if there is room for it.
    svg.box(bar.begin, atY, width > 3 ? width - 0.5 : std::max(width, 0.3), laneHeight,
            kinds[bar.kind].colour);
  }

  // A bar that is too short to be seen alone joins its neighbour of the same kind.
  void extend(Bar &bar, const Bar &next, double atY) {
    constexpr double visible = 0.25;
    if (bar.kind == next.kind && next.begin - bar.end < visible &&
        next.end - next.begin < 4 * visible) {
      bar.end = next.end;
      return;
    }
    draw(bar, atY);
    bar = next;
  }

  void drawLegend() {
    double atX = left;
    for (const Kind &kind : kinds) {
      svg.box(atX, 222, 12, 12, kind.colour);
      svg.text(atX + 17, 232, kind.name);
      atX += 36 + 6.6 * static_cast<double>(kind.name.size());
    }
  }

  const Simulation &simulation;
  const Configuration &configuration;
  std::string title;
  double scale;
  SvgPicture svg{1200, 252};
};

} // namespace

std::string timelineSvg(const Simulation &simulation, const Configuration &configuration,
                        const std::string &title) {
  return Picture(simulation, configuration, title).draw();
}

std::string timelineTrace(const Simulation &simulation) {
  Json events = Json::array();
  events.push_back(
      {{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "VTA"}}}});
  for (int m = 0; m < moduleCount; ++m) {
    events.push_back({{"ph", "M"},
                      {"pid", 1},
                      {"tid", m + 1},
                      {"name", "thread_name"},
                      {"args", {{"name", nameOf(static_cast<Module>(m))}}}});
    events.push_back({{"ph", "M"},
                      {"pid", 1},
                      {"tid", m + 1},
                      {"name", "thread_sort_index"},
                      {"args", {{"sort_index", m}}}});
  }
  for (size_t i = 0; i < simulation.instructions.size(); ++i) {
    const Span &span = simulation.spans[i];
    if (!span.ran())
      continue;
    const Instruction &instruction = simulation.instructions[i];
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", static_cast<int>(instruction.module()) + 1},
                      {"name", titleOf(instruction)},
                      {"cat", kinds[kindOf(instruction)].name},
                      {"ts", span.start},
                      {"dur", span.end - span.start},
                      {"args", {{"instruction", i}, {"waits_for_port", span.port}}}});
  }
  Json document = {{"traceEvents", std::move(events)},
                   {"otherData", {{"time_unit", "a microsecond is a cycle"}}}};
  return document.dump() + "\n";
}

} // namespace headrace::vta
