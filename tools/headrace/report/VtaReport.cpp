#include "report/VtaReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

namespace {

using vta::Module;
using vta::Queue;
using Align = Table::Align;

constexpr std::array<int64_t, 3> comparedWidths = {4, 8, 16};

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

int64_t waited(const vta::ModuleUse &use, Module on) {
  int64_t cycles = 0;
  for (int q = 0; q < vta::queueCount; ++q) {
    auto queue = static_cast<Queue>(q);
    Module from = queue == Queue::LoadToCompute    ? Module::Load
                  : queue == Queue::StoreToCompute ? Module::Store
                                                   : Module::Compute;
    cycles += from == on ? use.waiting[static_cast<size_t>(q)] : 0;
  }
  return cycles;
}

double peakShareIn(const vta::Program &program, const vta::Simulation &simulation, int64_t cycles) {
  double most =
      static_cast<double>(cycles) * static_cast<double>(program.configuration.macsPerMicroOp());
  return cycles == 0 ? 0 : static_cast<double>(simulation.work.macs) / most;
}

void printModules(const vta::Simulation &simulation) {
  Table table({{"module", Align::Left},
               {"instructions"},
               {"busy"},
               {"waits for load"},
               {"for compute"},
               {"for store"},
               {"for the port"},
               {"idle"},
               {"utilization"}});
  for (int m = 0; m < vta::moduleCount; ++m) {
    const vta::ModuleUse &use = simulation.modules[static_cast<size_t>(m)];
    table.add({std::string(nameOf(static_cast<Module>(m))), std::to_string(use.instructions),
               std::to_string(use.busy), std::to_string(waited(use, Module::Load)),
               std::to_string(waited(use, Module::Compute)),
               std::to_string(waited(use, Module::Store)), std::to_string(use.port),
               std::to_string(use.idle), percent(simulation.utilization(static_cast<Module>(m)))});
  }
  table.print(stdout);
}

void printBytes(const vta::Simulation &simulation) {
  std::string parts;
  for (int memory = 0; memory < vta::memoryCount; ++memory)
    if (int64_t bytes = simulation.work.bytes[static_cast<size_t>(memory)]; bytes > 0)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ",
                           nameOf(static_cast<vta::Memory>(memory)), bytes);
  fmt::print("bytes: {} read, {} written ({})\n", simulation.work.bytesRead(),
             simulation.work.bytesWritten(), parts);
}

} // namespace

void printVtaReport(const vta::Program &program, const vta::Simulation &simulation,
                    const vta::CycleConstants &constants) {
  const vta::Configuration &configuration = program.configuration;
  fmt::print("{} cycles, {} of the peak of {} multiplications a cycle ({}x{}x{})\n",
             simulation.cycles, percent(simulation.peakShare(configuration)),
             configuration.macsPerMicroOp(), configuration.batch(), configuration.block(),
             configuration.block());
  fmt::print("operations: {} multiplications in {} micro-ops of GEMM, {} in {} of ALU\n",
             simulation.work.macs, simulation.work.gemmMicroOps, simulation.work.aluOps,
             simulation.work.aluMicroOps);
  printBytes(simulation);
  fmt::print("\ncycles of the modules\n");
  printModules(simulation);
  fmt::print("\nwith other ports of the DRAM\n");
  Table table({{"bytes per cycle"}, {"cycles"}, {"of peak"}});
  for (int64_t bytes : comparedWidths) {
    vta::CycleConstants other = constants;
    other.bytesPerCycle = bytes;
    int64_t cycles = cyclesWith(program, other);
    table.add({std::to_string(bytes), std::to_string(cycles),
               percent(peakShareIn(program, simulation, cycles))});
  }
  table.print(stdout);
}

std::string vtaReportJson(const vta::Program &program, const vta::Simulation &simulation,
                          const vta::CycleConstants &constants) {
  using Json = nlohmann::ordered_json;
  Json bytes, modules = Json::array(), widths = Json::array();
  for (int memory = 0; memory < vta::memoryCount; ++memory)
    bytes[std::string(nameOf(static_cast<vta::Memory>(memory)))] =
        simulation.work.bytes[static_cast<size_t>(memory)];
  for (int m = 0; m < vta::moduleCount; ++m) {
    const vta::ModuleUse &use = simulation.modules[static_cast<size_t>(m)];
    Json waits;
    for (int q = 0; q < vta::queueCount; ++q)
      waits[std::string(nameOf(static_cast<Queue>(q)))] = use.waiting[static_cast<size_t>(q)];
    modules.push_back({{"name", nameOf(static_cast<Module>(m))},
                       {"instructions", use.instructions},
                       {"busy", use.busy},
                       {"waits", std::move(waits)},
                       {"port", use.port},
                       {"idle", use.idle},
                       {"utilization", simulation.utilization(static_cast<Module>(m))}});
  }
  for (int64_t width : comparedWidths) {
    vta::CycleConstants other = constants;
    other.bytesPerCycle = width;
    widths.push_back({{"bytes_per_cycle", width}, {"cycles", cyclesWith(program, other)}});
  }
  return jsonText({{"cycles", simulation.cycles},
                   {"peak_share", simulation.peakShare(program.configuration)},
                   {"macs", simulation.work.macs},
                   {"gemm_micro_ops", simulation.work.gemmMicroOps},
                   {"alu_operations", simulation.work.aluOps},
                   {"alu_micro_ops", simulation.work.aluMicroOps},
                   {"bytes", std::move(bytes)},
                   {"modules", std::move(modules)},
                   {"sensitivity", std::move(widths)}});
}

} // namespace headrace::cli
