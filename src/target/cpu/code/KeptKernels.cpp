#include "target/cpu/code/KeptKernels.h"

#include "analysis/cost/RatesFile.h"
#include "runtime/system/BuildId.h"
#include "runtime/system/FileCache.h"
#include "transform/recipe/Intrinsic.h"

#include "mlir/IR/Builders.h"

#include <sstream>

using namespace mlir;

namespace headrace {
namespace {

const std::string &compilerBuild() {
  static const char here = 0;
  static const std::string id = buildId(&here, {"libMLIR", "libLLVM"});
  return id;
}

/// All of a processor that passes may ask for.
std::string textOf(const Processor &processor) {
  const Machine &machine = processor.machine;
  std::ostringstream text;
  text << processor.name << ' ' << processor.features << ' ' << machine.vectorBytes << ' '
       << machine.vectorRegisters << ' ' << machine.sharedVectorBytes << ' ' << machine.cacheWays
       << ' ' << machine.cacheWayBytes << ' ' << machine.translatedBytes << ' '
       << ratesToText(machine.rates);
  return text.str();
}

/// With the names of the user's operators, by which recipes speak of stages.
std::string textOf(ModuleOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.print(os, OpPrintingFlags().useLocalScope().enableDebugInfo());
  return text;
}

class KeptKernels final : public KeptCode {
public:
  KeptKernels(ArrayRef<ModuleOp> scheduled, const Processor &processor) : processor(processor) {
    std::string target = textOf(processor);
    for (ModuleOp kernel : scheduled) {
      Entry &entry = entries[*kernel.getSymName()];
      entry.key = FileCache::key({compilerBuild(), target, textOf(kernel)});
      find(kernel, entry);
    }
  }

  bool has(StringRef kernel) const override {
    auto found = entries.find(kernel);
    return found != entries.end() && found->second.object;
  }

  CompiledKernels compile(ArrayRef<ModuleOp> kernels) const override {
    SmallVector<ModuleOp> lowered;
    for (ModuleOp kernel : kernels)
      if (!has(*kernel.getSymName()))
        lowered.push_back(kernel);
    std::vector<Object> made = compileForProcess(lowered, processor), objects;
    auto next = made.begin();
    for (ModuleOp kernel : kernels) {
      const Entry &entry = entries.at(*kernel.getSymName());
      if (entry.object) {
        objects.push_back(llvm::MemoryBuffer::getMemBufferCopy(*entry.object, entry.key));
        continue;
      }
      std::string object = (*next)->getBufferIdentifier().str();
      records.store(entry.key, object + ' ' + std::to_string(workspaceOf(kernel)));
      objects.push_back(std::move(*next++));
    }
    return linkIntoProcess(kernels, std::move(objects));
  }

private:
  struct Entry {
    std::string key;                   // of its record
    std::optional<std::string> object; // the file's contents
  };

  /// The object may have left the cache before its record.
  void find(ModuleOp kernel, Entry &entry) const {
    std::optional<std::string> record = records.find(entry.key);
    if (!record)
      return;
    auto [object, number] = StringRef(*record).split(' ');
    int64_t workspace = 0;
    if (number.getAsInteger(10, workspace))
      return;
    entry.object = objects.find(object.str());
    if (entry.object)
      kernel->setAttr(kWorkspaceAttr, Builder(kernel.getContext()).getI64IntegerAttr(workspace));
  }

  /// A record has fewer than a hundred bytes, but takes a block of the disk.
  static constexpr uintmax_t recordBytes = 3 << 20;

  const Processor &processor;
  FileCache records = FileCache::user("kernel", recordBytes), objects = FileCache::user("o");
  llvm::StringMap<Entry> entries;
};

} // namespace

std::unique_ptr<KeptCode> keptKernels(ArrayRef<ModuleOp> scheduled, const Processor &processor) {
  bool runsHere = processor.name != processor.needs.level || hostHas(processor.needs);
  if (!runsHere || compilerBuild().empty() || !declaredIntrinsics().empty())
    return nullptr;
  return std::make_unique<KeptKernels>(scheduled, processor);
}

} // namespace headrace
