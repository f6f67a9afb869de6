// headrace vta layers: schedules of convolutions on the VTA accelerator, and how near the peak.
#include "runtime/system/AtomicWrite.h"
#include "target/vta/schedule/Layers.h"
#include "target/vta/schedule/choose/ProposeSchedule.h"
#include "target/vta/schedule/choose/Roofline.h"

#include "commands/Commands.h"
#include <CLI/Option.hpp>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

namespace {

struct VtaLayersOptions {
  std::string configuration, roofline;
  bool json = false, recipes = false, quantized = false;
};

constexpr std::array<int64_t, 3> bandwidths = {4, 8, 16}; // bytes per cycle

/// A layer by schedules of one and two virtual threads.
struct Measured {
  vta::Operator op;
  std::array<vta::Schedule, 2> schedules;
  std::array<vta::ScheduleReport, 2> reports;
  /// Cycles of the same schedules with other bandwidths.
  std::array<std::array<vta::ScheduleReport, bandwidths.size()>, 2> others;
};

Measured measure(const vta::Layer &layer, const vta::Configuration &configuration,
                 vta::LayerStages stages) {
  Measured measured{vta::operatorOf(layer, configuration.batch(), stages), {}, {}, {}};
  for (size_t i = 0; i < 2; ++i) {
    measured.schedules[i] = vta::propose(measured.op, configuration, static_cast<int64_t>(i) + 1);
    measured.reports[i] = vta::simulate(measured.op, measured.schedules[i], configuration);
    for (size_t b = 0; b < bandwidths.size(); ++b) {
      vta::CycleConstants constants;
      constants.bytesPerCycle = bandwidths[b];
      measured.others[i][b] =
          vta::simulate(measured.op, measured.schedules[i], configuration, constants);
    }
  }
  return measured;
}

void printTable(const std::vector<Measured> &layers) {
  fmt::print("| image, channels, window/stride | cycles, 1 thread | of peak | 2 threads | of peak "
             "|\n|---|---|---|---|---|\n");
  for (const Measured &layer : layers)
    fmt::print("| {} | {} | {:.1f}% | {} | {:.1f}% |\n", layer.op.name, layer.reports[0].cycles,
               100 * layer.reports[0].peakShare, layer.reports[1].cycles,
               100 * layer.reports[1].peakShare);
  fmt::print("\n| of peak, 1 and 2 threads |");
  for (int64_t bytes : bandwidths)
    fmt::print(" {} bytes per cycle |", bytes);
  fmt::print("\n|---|---|---|---|\n");
  for (const Measured &layer : layers) {
    fmt::print("| {} |", layer.op.name);
    for (size_t b = 0; b < bandwidths.size(); ++b)
      fmt::print(" {:.1f}%, {:.1f}% |", 100 * layer.others[0][b].peakShare,
                 100 * layer.others[1][b].peakShare);
    fmt::print("\n");
  }
}

void printRecipes(const std::vector<Measured> &layers) {
  for (const Measured &layer : layers)
    for (const vta::Schedule &schedule : layer.schedules)
      fmt::print("\n# {}\n{}", layer.op.name, vta::textOf(schedule, layer.op));
}

void printJson(const std::vector<Measured> &layers) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measured &layer : layers)
    for (size_t i = 0; i < 2; ++i) {
      nlohmann::ordered_json row = {{"layer", layer.op.name},
                                    {"threads", i + 1},
                                    {"macs", layer.op.macs()},
                                    {"cycles", layer.reports[i].cycles},
                                    {"peak_share", layer.reports[i].peakShare},
                                    {"bytes_read", layer.reports[i].work.bytesRead()},
                                    {"bytes_written", layer.reports[i].work.bytesWritten()},
                                    {"recipe", vta::textOf(layer.schedules[i], layer.op)}};
      for (size_t b = 0; b < bandwidths.size(); ++b)
        row["sensitivity"].push_back(
            {{"bytes_per_cycle", bandwidths[b]}, {"cycles", layer.others[i][b].cycles}});
      rows.push_back(row);
    }
  fmt::print("{}\n", rows.dump(2));
}

int showLayers(const VtaLayersOptions &options) {
  vta::Configuration configuration;
  if (!options.configuration.empty())
    configuration = vta::Configuration::read(options.configuration);
  std::vector<Measured> layers;
  for (const vta::Layer &layer : vta::resNet18Layers())
    layers.push_back(
        measure(layer, configuration,
                options.quantized ? vta::LayerStages::Quantized : vta::LayerStages::Clip));
  if (!options.roofline.empty()) {
    std::vector<vta::RooflinePoint> points;
    for (const Measured &layer : layers)
      points.push_back({layer.op.name, layer.op.macs(), layer.reports[0], layer.reports[1]});
    std::string svg = vta::rooflineSvg(points, configuration);
    writeFileAtomically(options.roofline, {std::as_bytes(std::span(svg))});
  }
  if (options.json) {
    printJson(layers);
    return 0;
  }
  printTable(layers);
  if (options.recipes)
    printRecipes(layers);
  return 0;
}

} // namespace

void addVtaLayers(CLI::App &vta, Action &action) {
  auto options = std::make_shared<VtaLayersOptions>();
  CLI::App *command = vta.add_subcommand(
      "layers", "Schedule the convolutions of ResNet-18, and show their cycles and share of peak");
  command
      ->add_option("--config", options->configuration,
                   "The machine's configuration, a JSON file; the classic one if none is given")
      ->type_name("FILE");
  command->add_option("--roofline", options->roofline, "Write a roofline plot as SVG")
      ->type_name("FILE");
  command->add_flag("--quantized", options->quantized,
                    "With a bias, rounding to even and a relu instead of a shift and a clip");
  command->add_flag("--recipes", options->recipes, "Show the schedules, too");
  command->add_flag("--json", options->json, "Report as JSON");
  command->callback([options, &action] { action = [options] { return showLayers(*options); }; });
}

} // namespace headrace::cli
