#include "target/cpu/code/KeptKernels.h"

#include "analysis/cost/RatesFile.h"
#include "runtime/system/BuildId.h"
#include "runtime/system/FileCache.h"
#include "transform/recipe/Intrinsic.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/StringExtras.h"
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

/// All of a CPU that passes may ask for.
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

/// The record of a compiled kernel, next to its object. In the cache it is text.
struct Record {
  std::string object; // its key
  std::string symbol; // if the kernel has a name of its own in the object
  int64_t workspace = 0;
  /// Lowering notes them for reports: the recipe as it was rejected, and what became of it.
  std::string refused, notes;

  static std::optional<Record> parse(StringRef text) {
    SmallVector<StringRef> parts;
    text.split(parts, separator);
    Record record;
    if (parts.size() != 5 || parts[2].getAsInteger(10, record.workspace))
      return std::nullopt;
    record.object = parts[0].str();
    record.symbol = parts[1].str();
    record.refused = parts[3].str();
    record.notes = parts[4].str();
    return record;
  }
  std::string text() const {
    return llvm::join(ArrayRef{object, symbol, std::to_string(workspace), refused, notes},
                      StringRef(&separator, 1));
  }

  /// From a kernel that was lowered.
  static Record of(ModuleOp kernel, std::string object, std::string symbol) {
    auto note = [&](StringRef name) {
      auto text = kernel->getAttrOfType<StringAttr>(name);
      return text ? text.str() : "";
    };
    return {std::move(object), std::move(symbol), workspaceOf(kernel), note(kRecipeRefusedAttr),
            note(kRecipeNotesAttr)};
  }
  /// On a kernel that need not be lowered.
  void noteOn(ModuleOp kernel) const {
    Builder b(kernel.getContext());
    kernel->setAttr(kWorkspaceAttr, b.getI64IntegerAttr(workspace));
    if (!refused.empty())
      kernel->setAttr(kRecipeRefusedAttr, b.getStringAttr(refused));
    if (!notes.empty())
      kernel->setAttr(kRecipeNotesAttr, b.getStringAttr(notes));
  }

private:
  static constexpr char separator = 0;
};

class KeptKernels final : public CachedCode {
public:
  KeptKernels(ArrayRef<ModuleOp> scheduled, const Processor &processor, CodeUse use)
      : processor(processor) {
    std::string target = textOf(processor);
    StringRef where = use == CodeUse::Package ? "package" : "process";
    for (ModuleOp kernel : scheduled) {
      Entry &entry = entries[*kernel.getSymName()];
      entry.key = FileCache::key({compilerBuild(), where, target, textOf(kernel)});
      find(kernel, entry);
    }
  }

  bool has(StringRef kernel) const override {
    auto found = entries.find(kernel);
    return found != entries.end() && found->second.object;
  }

  CompiledKernels compile(ArrayRef<ModuleOp> kernels) const override {
    std::vector<Object> made = compileForProcess(unknown(kernels), processor), objects;
    auto next = made.begin();
    for (ModuleOp kernel : kernels) {
      const Entry &entry = entries.at(*kernel.getSymName());
      if (entry.object) {
        objects.push_back(llvm::MemoryBuffer::getMemBufferCopy(*entry.object, entry.key));
        continue;
      }
      keep(kernel, **next, "");
      objects.push_back(std::move(*next++));
    }
    return linkIntoProcess(kernels, std::move(objects));
  }

  PackagedKernels compileAot(ArrayRef<ModuleOp> kernels) const override {
    std::vector<KernelObject> made = compileObjects(unknown(kernels), processor), objects;
    auto next = made.begin();
    for (ModuleOp kernel : kernels) {
      const Entry &entry = entries.at(*kernel.getSymName());
      if (entry.object) {
        objects.push_back({kernel.getSymName()->str(), entry.symbol,
                           llvm::MemoryBuffer::getMemBufferCopy(*entry.object, entry.key)});
        continue;
      }
      keep(kernel, *next->object, next->symbol);
      objects.push_back(std::move(*next++));
    }
    return {std::move(objects), {}};
  }

private:
  struct Entry {
    std::string key;                   // of its record
    std::string symbol;                // as Record::symbol
    std::optional<std::string> object; // the file's contents
  };

  SmallVector<ModuleOp> unknown(ArrayRef<ModuleOp> kernels) const {
    SmallVector<ModuleOp> lowered;
    for (ModuleOp kernel : kernels)
      if (!has(*kernel.getSymName()))
        lowered.push_back(kernel);
    return lowered;
  }

  /// The object may have left the cache before its record.
  void find(ModuleOp kernel, Entry &entry) const {
    std::optional<std::string> text = records.find(entry.key);
    std::optional<Record> record = text ? Record::parse(*text) : std::nullopt;
    if (!record)
      return;
    entry.object = objects.find(record->object);
    entry.symbol = record->symbol;
    if (entry.object)
      record->noteOn(kernel);
  }

  void keep(ModuleOp kernel, const llvm::MemoryBuffer &object, std::string symbol) const {
    Record record = Record::of(kernel, object.getBufferIdentifier().str(), std::move(symbol));
    records.store(entries.at(*kernel.getSymName()).key, record.text());
  }

  /// A record has fewer than a hundred bytes, but takes a block of the disk.
  static constexpr uintmax_t recordBytes = 3 << 20;

  const Processor &processor;
  FileCache records = FileCache::user("kernel", recordBytes), objects = FileCache::user("o");
  llvm::StringMap<Entry> entries;
};

} // namespace

std::unique_ptr<CachedCode> keptKernels(ArrayRef<ModuleOp> scheduled, const Processor &processor,
                                        CodeUse use) {
  bool runs = use == CodeUse::Package || processor.name != processor.needs.level ||
              hostHas(processor.needs);
  if (!runs || compilerBuild().empty() || !declaredIntrinsics().empty())
    return nullptr;
  return std::make_unique<KeptKernels>(scheduled, processor, use);
}

} // namespace headrace
