// Measures math functions as kernels compute them, and keeps the table of docs/accuracy.md.
#include "runtime/system/Error.h"

#include "Measure.h"
#include "Table.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace headrace;
using namespace headrace::accuracy;

namespace {

constexpr const char *kUsage =
    R"(hr-accuracy [--all] [--only NAME,...] [--type TYPE,...] [--check FILE | --write FILE]
Errors of math functions, in units of the last place: compiled for this processor, and the
functions of device code compiled for the host.
  --all          every number of f32 instead of a sample (about a minute a function)
  --only, --type these functions and types
  --check FILE   fail where an error is larger than the table in FILE says
  --write FILE   put the table into FILE (errors that were not measured stay)
)";

struct Options {
  bool all = false;
  std::string only, type, check, write;
};

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::string *value = name == "--only"    ? &options.only
                         : name == "--type"  ? &options.type
                         : name == "--check" ? &options.check
                         : name == "--write" ? &options.write
                                             : nullptr;
    if (name == "--all")
      options.all = true;
    else if (value && i + 1 < argc)
      *value = argv[++i];
    else
      throw Error(ErrorKind::InvalidArgument,
                  std::string("unknown argument '") + name + "'\n" + kUsage);
  }
  return options;
}

bool isListed(const std::string &list, std::string_view name) {
  return list.empty() ||
         ("," + list + ",").find("," + std::string(name) + ",") != std::string::npos;
}

constexpr std::pair<const char *, DType> kTypes[] = {
    {"f16", DType::F16}, {"bf16", DType::BF16}, {"f32", DType::F32}, {"f64", DType::F64}};

class Measurement {
public:
  explicit Measurement(const Options &options) : options(options) {
    if (!options.write.empty())
      measured = readTable(options.write);
    if (!options.check.empty())
      allowed = readTable(options.check);
    for (const Function &function : functions())
      addLine(function.name);
    for (const Function2 &function : functions2())
      addLine(function.name);
  }

  template <class AnyFunction> void add(const AnyFunction &function, size_t operands) {
    if (!isListed(options.only, function.name))
      return;
    for (auto [name, type] : kTypes) {
      if (!isListed(options.type, name))
        continue;
      std::vector<std::string> columns{std::string("cpu ") + name};
      std::vector<Evaluate> implementations{onProcessor(function.name, operands, type)};
      // f16 and bf16 are f32, rounded: the same function.
      if (type == DType::F32 || type == DType::F64)
        if (Evaluate device = onDevice(function.name, type)) {
          columns.push_back(std::string("cuda ") + name);
          implementations.push_back(device);
        }
      std::vector<Worst> worst = measure(function, type, implementations);
      for (size_t i = 0; i < worst.size(); ++i)
        note(std::string(function.name), columns[i], worst[i]);
      if (std::string device = std::string("cuda ") + name; !contains(columns, device))
        reportGone(std::string(function.name), device);
    }
    // After each, since all of them may take hours.
    if (!options.write.empty())
      writeTable(options.write, measured);
  }

  bool isWithinTable() const { return !failed; }

private:
  static bool contains(const std::vector<std::string> &names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  }

  void addLine(std::string_view function) {
    if (!contains(measured.functions, function))
      measured.functions.emplace_back(function);
  }

  /// A function that the table has must still be there.
  void reportGone(const std::string &name, const std::string &column) {
    if (!allowed.errors[name].contains(column))
      return;
    failed = true;
    std::printf("%-12s %-9s is gone, the table has it\n", name.c_str(), column.c_str());
  }

  template <class AnyFunction>
  std::vector<Worst> measure(const AnyFunction &function, DType type,
                             std::span<const Evaluate> implementations) {
    if constexpr (std::is_same_v<AnyFunction, Function>)
      if (options.all && type == DType::F32)
        return measureAll(function, implementations);
    std::vector<Worst> worst;
    for (const Evaluate &evaluate : implementations)
      worst.push_back(accuracy::measure(function, type, evaluate));
    return worst;
  }

  void note(const std::string &name, const std::string &column, const Worst &worst) {
    measured.errors[name][column] = worst.units;
    auto &known = allowed.errors[name];
    bool isWorse =
        !options.check.empty() && (!known.contains(column) || worst.units > known[column]);
    failed |= isWorse;
    std::printf("%-12s %-9s %8.3g%s  %s\n", name.c_str(), column.c_str(), worst.units,
                isWorse ? " more than the table says" : "", worst.at.c_str());
    std::fflush(stdout);
  }

  const Options &options;
  Table measured, allowed;
  bool failed = false;
};

} // namespace

int main(int argc, char **argv) {
  try {
    Options options = parse(argc, argv);
#ifdef __x86_64__
    if (!__builtin_cpu_supports("fma"))
      throw Error(ErrorKind::Unsupported, "expected a CPU with fused multiply-add");
#endif
    // There, every thread has numbers of its own.
    if (options.all)
      setenv("HEADRACE_THREADS", "1", 0);
    Measurement measurement(options);
    for (const Function &function : functions())
      measurement.add(function, 1);
    for (const Function2 &function : functions2())
      measurement.add(function, 2);
    return measurement.isWithinTable() ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "hr-accuracy: %s\n", error.what());
    return 2;
  }
}
