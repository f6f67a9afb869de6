#include "report/MachineReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <fmt/format.h>

namespace headrace::cli {

namespace {

using Align = Table::Align;

std::string number(double value) { return fmt::format("{:.3g}", value); }

void printMemory(const Rates &rates) {
  Table table({{"working set"}, {"GB/s of one thread"}, {"of all threads"}});
  for (const Rates::Bandwidth &level : rates.memory)
    table.add(
        {withPrefix(level.bytes, "B"), number(level.ofOneThread), number(level.ofAllThreads)});
  fmt::print("\nmemory\n");
  table.print(stdout);
}

void printSpeeds(const Rates &rates) {
  Table table({{"Gop/s per thread", Align::Left}, {"f32"}, {"f64"}});
  for (size_t i = 0; i < operationKinds; ++i)
    table.add({std::string(nameOf(static_cast<OperationKind>(i))), number(rates.f32[i]),
               number(rates.f64[i])});
  fmt::print("\narithmetic\n");
  table.print(stdout);
}

void printLibrary(const Rates &rates) {
  if (rates.libraryF32.empty() || rates.libraryF32.size() != rates.libraryF64.size())
    return;
  Table table({{"smallest dimension of a matmul"}, {"Gop/s in f32"}, {"in f64"}});
  for (size_t i = 0; i < rates.libraryF32.size(); ++i)
    table.add({fmt::format("{:.0f}", rates.libraryF32[i].side), number(rates.libraryF32[i].speed),
               number(rates.libraryF64[i].speed)});
  fmt::print("\nlibrary\n");
  table.print(stdout);
}

} // namespace

void printRates(const Rates &rates, bool isHere) {
  std::string_view origin = rates.measured ? "measured on this machine"
                            : isHere ? "derived from its description (headrace machine --calibrate "
                                       "measures)"
                                     : "derived from its description";
  fmt::print("{}; threads: {}; {}\n", printable(rates.machine), rates.threads, origin);
  printMemory(rates);
  printSpeeds(rates);
  printLibrary(rates);
  fmt::print("\nper call: {} us of a kernel, {} us more if threads share it, {} us of a library\n",
             number(rates.kernelCall), number(rates.sharing), number(rates.libraryCall));
}

} // namespace headrace::cli
