// headrace machine: the speeds that costs are estimated with; measures them if asked to.
#include "analysis/cost/RatesFile.h"
#include "driver/machine/Calibrate.h"

#include "commands/Commands.h"
#include "report/MachineReport.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

struct MachineOptions {
  Settings settings;
  bool calibrate = false;
  bool json = false;
};

int showMachine(const MachineOptions &options) {
  Rates rates = ratesOf(options.settings);
  if (options.calibrate) {
    rates = calibrate(options.settings, [](const std::string &what) {
      showStatus(fmt::format("measuring {}", what));
    });
    clearStatus();
    if (!storeRates(rates))
      fmt::print(stderr,
                 "headrace: there is no cache directory to store the machine parameters in\n");
  }
  if (options.json)
    fmt::print("{}\n", ratesToText(rates));
  else
    printRates(rates, options.settings.target == "cpu");
  // Of what is stored and cannot be used, a person should know.
  std::string warning;
  if (!options.calibrate && !rates.measured &&
      !storedRates(rates.machine, rates.threads, &warning) && !warning.empty())
    fmt::print(stderr, "headrace: not used: {}\n", warning);
  return 0;
}

} // namespace

void addMachineCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<MachineOptions>();
  CLI::App *command =
      app.add_subcommand("machine", "Show or measure the machine parameters of the cost model");
  command
      ->add_option("--target", options->settings.target,
                   "The target: cpu, cuda, or a specific CPU such as cpu:x86-64-v3")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--calibrate", options->calibrate,
                    "Measure this CPU, which takes seconds, and store the result for the compiler");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Examples:\n"
                  "  headrace machine\n"
                  "  headrace machine --calibrate\n"
                  "  headrace machine --target cpu:x86-64-v3 --json");
  command->callback([options, &action] { action = [options] { return showMachine(*options); }; });
}

} // namespace headrace::cli
