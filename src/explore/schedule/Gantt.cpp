#include "explore/schedule/Gantt.h"

#include "runtime/system/Svg.h"

#include <array>
#include <map>

namespace headrace::explore {

namespace {

constexpr std::array<const char *, 16> colours = {
    "#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d",
    "#ff9da6", "#bab0ac", "#1b4f72", "#7e5109", "#145a32", "#6c3483", "#922b21", "#0e6655"};

class Picture {
public:
  Picture(const TaskGraph &graph, const Schedule &schedule, std::string title)
      : graph(graph), schedule(schedule), title(std::move(title)),
        scale(plotWidth / static_cast<double>(std::max<int64_t>(1, schedule.makespan))) {
    for (const ScheduledTask &task : schedule.tasks)
      lanes = std::max(lanes, task.processingElement + 1);
    laneHeight = std::clamp(480.0 / std::max(lanes, 1), 2.0, 24.0);
    bottom = top + laneHeight * lanes;
  }

  std::string draw() {
    SvgPicture svg(1200, bottom + 60);
    svg.text(left, 22, title, "font-size=\"14\" font-weight=\"bold\"");
    svg.box(left, top, plotWidth, bottom - top, "#f6f6f6");
    drawTasks(svg);
    drawBlocks(svg);
    drawAxis(svg);
    drawLegend(svg, bottom + 34);
    for (int lane = 0; lane < lanes; lane += std::max(1, static_cast<int>(14 / laneHeight)))
      svg.text(left - 8, top + laneHeight * (lane + 0.5) + 4, "PE " + std::to_string(lane),
               "text-anchor=\"end\" font-size=\"10\"");
    return std::move(svg).finish();
  }

private:
  static constexpr double left = 70, plotWidth = 1110, top = 38;

  double x(int64_t cycle) const { return left + static_cast<double>(cycle) * scale; }

  std::string groupOf(int task) const {
    const Task &what = graph.tasks()[task];
    return what.operators.empty() ? what.name : what.operators.front();
  }

  std::string colourOf(int task) {
    auto [found, isNew] = groups.try_emplace(groupOf(task), groups.size());
    if (isNew)
      legend.push_back(found->first);
    return colours[found->second % colours.size()];
  }

  void drawTasks(SvgPicture &svg) {
    struct Bar {
      std::string colour, note;
      double begin = 0, end = -1;
    };
    std::vector<Bar> open(lanes);
    auto draw = [&](int lane) {
      const Bar &bar = open[lane];
      double width = bar.end - bar.begin, gap = width > 3 ? 0.5 : 0;
      if (bar.end >= 0)
        svg.box(bar.begin, top + laneHeight * lane, std::max(width - gap, 0.3),
                laneHeight > 4 ? laneHeight - 1 : laneHeight, bar.colour, bar.note);
    };
    for (const std::vector<int> &block : schedule.blocks)
      for (int task : block) {
        const ScheduledTask &times = schedule.tasks[task];
        if (times.processingElement < 0)
          continue;
        Bar &bar = open[times.processingElement];
        Bar next = {colourOf(task),
                    graph.tasks()[task].name + ": " + std::to_string(times.start) + " to " +
                        std::to_string(times.end),
                    x(times.start), x(times.end)};
        if (bar.colour == next.colour && next.end - next.begin < 1 && next.begin - bar.end < 0.5) {
          bar.end = next.end;
          bar.note = groupOf(task);
          continue;
        }
        draw(times.processingElement);
        bar = next;
      }
    for (int lane = 0; lane < lanes; ++lane)
      draw(lane);
  }

  void drawBlocks(SvgPicture &svg) {
    double before = -10;
    int64_t begin = 0;
    for (const std::vector<int> &block : schedule.blocks) {
      if (x(begin) - before >= 4) {
        svg.verticalLine(x(begin), top - 4, bottom, "#666", 0.5);
        before = x(begin);
      }
      for (int task : block)
        begin = std::max(begin, schedule.tasks[task].end);
    }
  }

  void drawAxis(SvgPicture &svg) {
    double end = static_cast<double>(schedule.makespan), step = tickDistance(end);
    for (double at = 0; at <= end; at += step) {
      svg.verticalLine(left + at * scale, bottom, bottom + 5, "#333", 0.5);
      svg.text(left + at * scale, bottom + 17, std::to_string(static_cast<int64_t>(at)),
               "text-anchor=\"middle\" font-size=\"10\"");
    }
  }

  void drawLegend(SvgPicture &svg, double atY) {
    double atX = left;
    for (size_t i = 0; i < legend.size(); ++i) {
      double width = 36 + 6.6 * static_cast<double>(legend[i].size());
      if (atX + width > left + plotWidth) {
        svg.text(atX, atY + 10, "and " + std::to_string(legend.size() - i) + " more");
        return;
      }
      svg.box(atX, atY, 12, 12, colours[i % colours.size()]);
      svg.text(atX + 17, atY + 10, legend[i]);
      atX += width;
    }
  }

  const TaskGraph &graph;
  const Schedule &schedule;
  std::string title;
  double scale, laneHeight = 0, bottom = 0;
  int lanes = 0;
  std::map<std::string, size_t> groups;
  std::vector<std::string> legend;
};

} // namespace

std::string ganttSvg(const TaskGraph &graph, const Schedule &schedule, const std::string &title) {
  return Picture(graph, schedule, title).draw();
}

} // namespace headrace::explore
