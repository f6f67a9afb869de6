#include "dialect/ConstantPool.h"

#include "dialect/Hr.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace headrace {

ConstantPool &ConstantPool::of(MLIRContext *context) {
  return *context->getOrLoadDialect<hr::HrDialect>()->getRegisteredInterface<ConstantPool>();
}

ElementsAttr ConstantPool::add(const Tensor &tensor, RankedTensorType type) {
  ArrayRef<char> bytes(static_cast<const char *>(tensor.data()), tensor.bytes());
  auto attribute = DenseResourceElementsAttr::get(
      type, "data",
      UnmanagedAsmResourceBlob::allocateWithAlign(bytes, sizeOf(tensor.dtype()),
                                                  [](void *, size_t, size_t) {}));
  std::lock_guard lock(mutex);
  tensors[attribute.getRawHandle().getKey()] = {count++, tensor};
  return attribute;
}

std::shared_ptr<const void> ConstantPool::ownerOf(StringRef key) const {
  std::lock_guard lock(mutex);
  auto found = tensors.find(key);
  return found == tensors.end() ? nullptr : std::make_shared<const Tensor>(found->second.second);
}

size_t ConstantPool::mark() const {
  std::lock_guard lock(mutex);
  return count;
}

void ConstantPool::beginCompilation() {
  std::lock_guard lock(mutex);
  begin = count;
}

void ConstantPool::giveUp(StringRef key) {
  std::lock_guard lock(mutex);
  if (auto found = tensors.find(key); found != tensors.end() && found->second.first >= begin)
    drop(key);
}

void ConstantPool::drop(StringRef key) {
  auto &blobs = DenseResourceElementsHandle::getManagerInterface(getContext()).getBlobManager();
  blobs.update(key, AsmResourceBlob());
  tensors.erase(key);
}

size_t ConstantPool::bytesSince(size_t mark) const {
  std::lock_guard lock(mutex);
  size_t bytes = 0;
  for (const auto &entry : tensors)
    if (entry.second.first >= mark)
      bytes += entry.second.second.bytes();
  return bytes;
}

size_t ConstantPool::release(size_t since, ModuleOp program) {
  llvm::StringSet<> used;
  if (program)
    program->walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](DenseResourceElementsAttr attribute) {
        used.insert(attribute.getRawHandle().getKey());
      });
    });
  std::lock_guard lock(mutex);
  SmallVector<StringRef> unused;
  for (const auto &entry : tensors)
    if (entry.second.first >= since && !used.contains(entry.first()))
      unused.push_back(entry.first());
  size_t bytes = 0;
  for (StringRef key : unused) {
    bytes += tensors[key].second.bytes();
    drop(key);
  }
  return bytes;
}

} // namespace headrace
