#include "target/link/CodeTables.h"

#include "package/CodeFormat.h"
#include "runtime/program/RuntimeFunctions.h"
#include "runtime/system/Error.h"
#include "target/cpu/code/CodeGen.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Target/TargetMachine.h"

#include <set>

using namespace mlir;

namespace headrace {
namespace {

/// The functions that kernels call; all of them are in the runtime.
std::set<std::string> importsOf(ArrayRef<ArrayRef<KernelObject>> code) {
  std::set<std::string> names;
  for (ArrayRef<KernelObject> kernels : code)
    for (const KernelObject &kernel : kernels) {
      auto object = llvm::object::ObjectFile::createObjectFile(kernel.object->getMemBufferRef());
      if (!object)
        throw InternalError("kernel '" + kernel.kernel +
                            "' is not an object file: " + llvm::toString(object.takeError()));
      for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
        auto flags = symbol.getFlags();
        auto name = symbol.getName();
        if (!flags || !name)
          throw InternalError("kernel '" + kernel.kernel + "' has a bad symbol");
        if (!(*flags & llvm::object::SymbolRef::SF_Undefined) || name->empty())
          continue;
        if (!findRuntimeFunction(*name))
          throw InternalError("kernel '" + kernel.kernel + "' calls '" + name->str() +
                              "', which the runtime does not have");
        names.insert(name->str());
      }
    }
  return names;
}

class TableBuilder {
public:
  explicit TableBuilder(ArrayRef<ArrayRef<KernelObject>> code)
      : module("tables", context), builder(context) {
    std::set<std::string> imports = importsOf(code);
    importCount = imports.size();
    importNames = pointers(imports, [&](const std::string &name) { return text(name); });
    auto *type = llvm::ArrayType::get(builder.getPtrTy(), importCount);
    importSlots = new llvm::GlobalVariable(module, type, /*isConstant=*/false,
                                           llvm::GlobalValue::ExternalLinkage,
                                           llvm::ConstantAggregateZero::get(type), importsSymbol);
    importSlots->setVisibility(llvm::GlobalValue::HiddenVisibility);
    addThunks(imports);
  }

  llvm::GlobalVariable *codeTable(ArrayRef<KernelObject> kernels, const std::string &symbol) {
    llvm::Constant *names =
        pointers(kernels, [&](const KernelObject &kernel) { return text(kernel.symbol); });
    llvm::Constant *functions = pointers(kernels, [&](const KernelObject &kernel) {
      auto *type = llvm::FunctionType::get(builder.getVoidTy(), false);
      auto callee = module.getOrInsertFunction(kernel.symbol, type);
      auto *function = cast<llvm::Function>(callee.getCallee());
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
      return static_cast<llvm::Constant *>(function);
    });
    return record({builder.getInt32(codeAbi), count(kernels.size()), names, functions,
                   count(importCount), builder.getInt32(0), importNames, importSlots},
                  symbol);
  }

  void image(const ImageParts &parts) {
    SmallVector<llvm::Constant *> tables;
    for (auto [i, kernels] : llvm::enumerate(parts.code)) {
      llvm::GlobalVariable *table = codeTable(kernels, "headrace_code_" + std::to_string(i));
      table->setLinkage(llvm::GlobalValue::InternalLinkage);
      tables.push_back(table);
    }
    std::string weights;
    for (std::span<const std::byte> piece : parts.weights)
      weights.append(reinterpret_cast<const char *>(piece.data()), piece.size());
    llvm::Constant *code = pointers(tables, [](llvm::Constant *table) { return table; });
    record({builder.getInt32(codeAbi), count(parts.code.size()), code, data(parts.manifest, 1),
            builder.getInt64(parts.manifest.size()), data(weights, 4096),
            builder.getInt64(weights.size())},
           parts.symbol);
  }

  std::string object() { return emitObject(module); }

private:
  static constexpr char importsSymbol[] = "headrace_imports";

  llvm::Constant *count(size_t value) { return builder.getInt32(static_cast<uint32_t>(value)); }

  llvm::Constant *text(StringRef value) { return data((value + llvm::Twine('\0')).str(), 1); }

  llvm::GlobalVariable *data(StringRef bytes, uint64_t alignment) {
    auto *value = llvm::ConstantDataArray::getRaw(bytes, bytes.size(), builder.getInt8Ty());
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, value);
    global->setAlignment(llvm::Align(alignment));
    return global;
  }

  template <class Range, class Map> llvm::Constant *pointers(const Range &range, Map map) {
    SmallVector<llvm::Constant *> items;
    for (const auto &item : range)
      items.push_back(map(item));
    auto *type = llvm::ArrayType::get(builder.getPtrTy(), items.size());
    return new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(type, items));
  }

  llvm::GlobalVariable *record(ArrayRef<llvm::Constant *> fields, const std::string &symbol) {
    llvm::Constant *value = llvm::ConstantStruct::getAnon(fields);
    return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::ExternalLinkage, value, symbol);
  }

  /// Kernels call these by the names of the functions; they go where the runtime says.
  void addThunks(const std::set<std::string> &imports) {
    size_t slot = 0;
    for (const std::string &name : imports)
      module.appendModuleInlineAsm((".globl " + name + "\n.hidden " + name + "\n.type " + name +
                                    ",@function\n" + name + ":\n\tjmpq *" + importsSymbol + "+" +
                                    std::to_string(8 * slot++) + "(%rip)\n"));
  }

  llvm::LLVMContext context;
  llvm::Module module;
  llvm::IRBuilder<> builder;
  size_t importCount = 0;
  llvm::Constant *importNames = nullptr;
  llvm::GlobalVariable *importSlots = nullptr;
};

} // namespace

std::string codeTableObject(ArrayRef<KernelObject> kernels) {
  TableBuilder builder(kernels);
  builder.codeTable(kernels, codeTableSymbol);
  return builder.object();
}

std::string imageObject(const ImageParts &parts) {
  TableBuilder builder(parts.code);
  builder.image(parts);
  return builder.object();
}

} // namespace headrace
