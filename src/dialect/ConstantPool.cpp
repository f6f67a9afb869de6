#include "dialect/ConstantPool.h"

#include "dialect/Hr.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/MappedFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cstring>

using namespace mlir;

namespace headrace {

ConstantPool &ConstantPool::of(MLIRContext *context) {
  return *context->getOrLoadDialect<hr::HrDialect>()->getRegisteredInterface<ConstantPool>();
}

/// The pool keeps the memory.
static AsmResourceBlob blobOf(const Tensor &tensor) {
  return UnmanagedAsmResourceBlob::allocateWithAlign(
      ArrayRef(static_cast<const char *>(tensor.data()), tensor.bytes()), sizeOf(tensor.dtype()),
      [](void *, size_t, size_t) {});
}

static DialectResourceBlobManager &blobsOf(MLIRContext *context) {
  return DenseResourceElementsHandle::getManagerInterface(context).getBlobManager();
}

ElementsAttr ConstantPool::add(const Tensor &given, RankedTensorType type) {
  Tensor tensor = shared(given);
  std::lock_guard lock(mutex);
  DenseResourceElementsHandle name = nameNext(tensor);
  tensors[name.getKey()] = {count++, tensor};
  return DenseResourceElementsAttr::get(type, name);
}

/// MLIR would number the name itself by trying all numbers, and forgets none.
DenseResourceElementsHandle ConstantPool::nameNext(const Tensor &tensor) {
  if (count < names.size()) {
    names[count].getResource()->setBlob(blobOf(tensor));
    return names[count];
  }
  std::string name = count == 0 ? "data" : "data_" + std::to_string(count);
  names.push_back(
      DenseResourceElementsHandle::getManagerInterface(getContext()).insert(name, blobOf(tensor)));
  return names.back();
}

static std::string nameByContents(const Tensor &tensor) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(ArrayRef(static_cast<const uint8_t *>(tensor.data()), tensor.bytes()));
  return "data_" + llvm::utohexstr(hash.high64) + llvm::utohexstr(hash.low64);
}

ElementsAttr ConstantPool::addByContents(const Tensor &tensor, RankedTensorType type) {
  std::string name = nameByContents(tensor);
  std::lock_guard lock(mutex);
  std::optional<DenseResourceElementsHandle> &known = contentNames[name];
  if (!known)
    known =
        DenseResourceElementsHandle::getManagerInterface(getContext()).insert(name, blobOf(tensor));
  else if (!tensors.contains(known->getKey()))
    known->getResource()->setBlob(blobOf(tensor));
  tensors.try_emplace(known->getKey(), count, tensor);
  return DenseResourceElementsAttr::get(type, *known);
}

std::shared_ptr<const void> ConstantPool::ownerOf(StringRef key) const {
  std::lock_guard lock(mutex);
  auto found = tensors.find(key);
  return found == tensors.end() ? nullptr : std::make_shared<const Tensor>(found->second.second);
}

std::shared_ptr<const Tensor> ConstantPool::copyOf(StringRef key,
                                                   llvm::function_ref<Tensor()> copy) {
  std::lock_guard lock(mutex);
  std::weak_ptr<const Tensor> &known = copies[key];
  auto tensor = known.lock();
  if (!tensor)
    known = tensor = std::make_shared<const Tensor>(copy());
  return tensor;
}

/// Returns a tensor of equal elements, in a program's memory if one has them already.
Tensor ConstantPool::shared(const Tensor &tensor) {
  constexpr size_t kWorthSharing = 64 << 10;
  {
    std::lock_guard lock(mutex);
    if (count < begin || tensor.bytes() < kWorthSharing || !tensor.owner())
      return tensor;
  }
  if (MappedFile::holding(tensor.data()))
    return tensor; // the file is the one copy
  uint64_t hash =
      llvm::xxh3_64bits(ArrayRef(static_cast<const uint8_t *>(tensor.data()), tensor.bytes()));
  std::lock_guard lock(mutex);
  for (auto [it, end] = made.equal_range(hash); it != end; ++it) {
    const Contents &known = it->second;
    std::shared_ptr<const void> owner = known.owner.lock();
    if (owner && known.bytes == tensor.bytes() &&
        std::memcmp(known.data, tensor.data(), known.bytes) == 0)
      return Tensor::borrow(tensor.dtype(), tensor.shape(), known.data, std::move(owner));
  }
  if (reinterpret_cast<uintptr_t>(tensor.data()) % memoryAlignment == 0) // of any type, then
    made.emplace(hash, Contents{tensor.owner(), tensor.data(), tensor.bytes()});
  return tensor;
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
  blobsOf(getContext()).update(key, AsmResourceBlob());
  copies.erase(key);
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

void ConstantPool::withoutData(llvm::function_ref<void()> print) {
  DialectResourceBlobManager &blobs = blobsOf(getContext());
  std::unique_lock lock(mutex);
  for (const auto &entry : tensors)
    blobs.update(entry.first(), AsmResourceBlob());
  lock.unlock();
  print();
  lock.lock();
  for (const auto &entry : tensors)
    blobs.update(entry.first(), blobOf(entry.second.second));
}

size_t ConstantPool::release(size_t since, ModuleOp program, size_t until) {
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
    if (entry.second.first >= since && entry.second.first < until && !used.contains(entry.first()))
      unused.push_back(entry.first());
  size_t bytes = 0;
  for (StringRef key : unused) {
    bytes += tensors[key].second.bytes();
    drop(key);
  }
  std::erase_if(made, [](const auto &entry) { return entry.second.owner.expired(); });
  return bytes;
}

void ConstantPool::startAgain() {
  release(0, {});
  std::lock_guard lock(mutex);
  count = 0;
  begin = SIZE_MAX;
  made.clear();
  copies.clear();
}

} // namespace headrace
