// headrace vta: programs of the VTA accelerator, as text and in its simulator.
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/tensor/Npy.h"
#include "runtime/vta/Timeline.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "report/Text.h"
#include "report/VtaReport.h"
#include "tensors/OutputFiles.h"
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

namespace fs = std::filesystem;

struct DisassembleOptions {
  std::string file, configuration;
};

struct VtaRunOptions {
  std::string folder;
  std::vector<std::string> inputs;
  std::string output, trace, timeline;
  bool json = false;
  vta::SimulatorOptions simulator;
};

// Words that mean nothing stand as they are, with the reason; the exit code tells of them.
int disassemble(const DisassembleOptions &options) {
  vta::InstructionSet set(vta::Configuration::read(options.configuration));
  int code = 0;
  size_t index = 0;
  for (const vta::Word &word : vta::readInstructions(options.file)) {
    vta::InstructionSet::Decoded decoded = set.decode(word);
    std::string text = decoded.instruction ? set.disassemble(*decoded.instruction)
                                           : fmt::format(".word 0x{:016x}{:016x} ; {}", word[1],
                                                         word[0], decoded.reason);
    code = decoded.instruction ? code : 1;
    fmt::print("{:6}  {}\n", index++, text);
  }
  return code;
}

void setInput(vta::Program &program, const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 >= text.size() || text[equals + 1] != '@')
    throw UsageError(fmt::format("--input {}: expected NAME=@FILE", printable(text)));
  const vta::Buffer &buffer = program.buffer(text.substr(0, equals));
  Tensor values = readNpy(text.substr(equals + 2));
  if (values.dtype() != buffer.dtype || values.shape() != buffer.shape)
    throw Error(ErrorKind::ShapeMismatch,
                fmt::format("--input {}: expected {} {}, got {}", buffer.name, nameOf(buffer.dtype),
                            shapeString(buffer.shape), typeText(values)));
  vta::pack(values, buffer.layout, program.bytesOf(buffer));
}

void writeResults(const vta::Program &program, const vta::Simulation &simulation,
                  const fs::path &folder) {
  std::vector<TensorSpec> specs;
  std::vector<Tensor> tensors;
  for (const vta::Buffer &buffer : program.buffers)
    if (buffer.role == vta::Role::Output) {
      specs.emplace_back().name = buffer.name;
      tensors.push_back(vta::unpack(std::span(simulation.dram).subspan(buffer.offset, buffer.bytes),
                                    buffer.dtype, buffer.shape, buffer.layout));
    }
  for (const fs::path &path : writeOutputs(folder, specs, tensors))
    fmt::print(stderr, "wrote {}\n", printable(path.string()));
}

void writeText(const std::string &path, const std::string &text) {
  writeFileAtomically(path, {std::as_bytes(std::span(text))});
}

int runProgram(const VtaRunOptions &options) {
  vta::Program program = vta::readProgram(options.folder);
  for (const std::string &input : options.inputs)
    setInput(program, input);
  vta::Simulation simulation = vta::simulate(program, options.simulator);
  // Also of what went before a fault: that is when one wants to see it.
  fs::path named = fs::path(options.folder) / "";
  if (!options.trace.empty())
    writeText(options.trace, vta::timelineTrace(simulation));
  if (!options.timeline.empty())
    writeText(options.timeline, vta::timelineSvg(simulation, program.configuration,
                                                 named.parent_path().filename().string()));
  if (simulation.fault)
    throw Error(ErrorKind::InvalidFile, options.folder + ": " + simulation.fault->what());
  if (!options.output.empty())
    writeResults(program, simulation, options.output);
  if (options.json)
    fmt::print("{}\n", vtaReportJson(program, simulation, options.simulator.constants));
  else
    printVtaReport(program, simulation, options.simulator.constants);
  return 0;
}

void addDisassemble(CLI::App &vta, Action &action) {
  auto options = std::make_shared<DisassembleOptions>();
  CLI::App *command = vta.add_subcommand("disassemble", "Show the instructions of a file as text");
  command->add_option("FILE", options->file, "Instructions of 16 bytes each, as in insn.bin")
      ->type_name("")
      ->required();
  command
      ->add_option("--config", options->configuration, "The machine's configuration, a JSON file")
      ->type_name("FILE")
      ->required();
  command->callback([options, &action] { action = [options] { return disassemble(*options); }; });
}

void addRun(CLI::App &vta, Action &action) {
  auto options = std::make_shared<VtaRunOptions>();
  CLI::App *command = vta.add_subcommand(
      "run", "Run a program in the simulator, and report its cycles, bytes and operations");
  command
      ->add_option("DIR", options->folder,
                   "A directory with insn.bin, uop.bin, dram.bin, buffers.json and config.json")
      ->type_name("")
      ->required();
  command
      ->add_option("--input", options->inputs,
                   "Values of a buffer, instead of those in dram.bin (repeatable)")
      ->type_name("NAME=@FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--output", options->output,
                   "Write the outputs as .npy files into this directory")
      ->type_name("DIR");
  command
      ->add_option(
          "--seed", options->simulator.seed,
          "Shuffles the order of modules that could go on; results and cycles are the same")
      ->type_name("N")
      ->check(inRange<uint64_t>(0));
  command
      ->add_option("--bytes-per-cycle", options->simulator.constants.bytesPerCycle,
                   "Bytes that each port of the DRAM moves in a cycle")
      ->type_name("N")
      ->check(inRange(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--cycle-limit", options->simulator.constants.limit,
                   "Most cycles of a program; one that takes longer ends with a fault")
      ->type_name("N")
      ->check(inRange(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--trace", options->trace, "Write a trace of the modules for ui.perfetto.dev")
      ->type_name("FILE");
  command->add_option("--timeline", options->timeline, "Write a timeline of the modules as SVG")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Report as JSON");
  command->callback([options, &action] { action = [options] { return runProgram(*options); }; });
}

} // namespace

void addVtaCommand(CLI::App &app, Action &action) {
  CLI::App *vta =
      app.add_subcommand("vta", "Run, disassemble and time programs of the VTA accelerator");
  vta->require_subcommand(1);
  addDisassemble(*vta, action);
  addRun(*vta, action);
  addVtaLayers(*vta, action);
  vta->footer("Examples:\n"
              "  headrace vta run examples/vta/convolution --timeline convolution.svg\n"
              "  headrace vta disassemble examples/vta/convolution/insn.bin --config "
              "examples/vta/block16.json\n"
              "  headrace vta layers --roofline roofline.svg");
}

} // namespace headrace::cli
