#include "target/cpu/calls/MatchTable.h"

#include "dialect/SymbolicShape.h"
#include "dialect/reference/ScalarBody.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr int64_t kBytes = 256;

bool isOfBytes(Value value) { return getElementTypeOrSelf(value).isSignlessInteger(8); }

/// All maps that read nothing but the bytes, and each other, in order.
SmallVector<hr::MapOp> functionsOf(Value bytes) {
  llvm::SetVector<Operation *> found;
  SmallVector<Operation *> open(bytes.getUsers());
  constexpr size_t kMax = 64;
  for (bool isNew = true; isNew && found.size() < kMax;) {
    isNew = false;
    for (Operation *user : SmallVector<Operation *>(open)) {
      auto map = dyn_cast<hr::MapOp>(user);
      bool isFunction = map && !found.contains(map) &&
                        llvm::equal(shapeOf(map.getResult()), shapeOf(bytes)) &&
                        llvm::all_of(map.getInputs(), [&](Value input) {
                          return input == bytes ||
                                 (input.getDefiningOp() && found.contains(input.getDefiningOp()));
                        });
      if (!isFunction)
        continue;
      found.insert(map);
      llvm::append_range(open, map->getUsers());
      isNew = true;
    }
  }
  SmallVector<hr::MapOp> maps;
  for (Operation *op : found)
    maps.push_back(cast<hr::MapOp>(op));
  return maps;
}

/// The maps that the last one needs; nothing if others read them or the bytes.
SmallVector<hr::MapOp> neededBy(hr::MapOp last, ArrayRef<hr::MapOp> maps, Value bytes) {
  llvm::SetVector<Operation *> needed;
  needed.insert(last);
  for (size_t i = 0; i < needed.size(); ++i)
    for (Value input : needed[i]->getOperands())
      if (input != bytes)
        needed.insert(input.getDefiningOp());
  auto isReadHere = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) { return needed.contains(user); });
  };
  if (!isReadHere(bytes))
    return {};
  SmallVector<hr::MapOp> result;
  for (hr::MapOp map : maps) {
    if (!needed.contains(map))
      continue;
    if (map != last && !isReadHere(map.getResult()))
      return {};
    result.push_back(map);
  }
  return result;
}

std::vector<uint8_t> tableOf(ArrayRef<hr::MapOp> maps, Value bytes) {
  llvm::DenseMap<Value, reference::Lanes> values;
  reference::Lanes &all = values[bytes];
  for (int64_t i = 0; i < kBytes; ++i)
    all.integers.push_back(static_cast<int8_t>(i));
  for (hr::MapOp map : maps) {
    std::vector<reference::Lanes> arguments;
    for (Value input : map.getInputs())
      arguments.push_back(values.lookup(input));
    reference::Lanes result =
        reference::evaluateBody(map.getBody().front(), std::move(arguments), kBytes, {});
    // Values stored in between are f32.
    if (getElementTypeOrSelf(map.getResult()).isF32())
      for (double &number : result.floats)
        number = static_cast<float>(number);
    values[map.getResult()] = std::move(result);
  }
  std::vector<uint8_t> table;
  hr::MapOp last = maps.back();
  for (int64_t number : values[last.getResult()].integers)
    table.push_back(static_cast<uint8_t>(number));
  return table;
}

} // namespace

std::optional<MatchedTable> matchTable(Value bytes) {
  SmallVector<hr::MapOp> maps = functionsOf(bytes);
  for (hr::MapOp last : llvm::reverse(maps)) {
    if (!isOfBytes(last.getResult()))
      continue;
    SmallVector<hr::MapOp> needed = neededBy(last, maps, bytes);
    if (needed.empty())
      continue;
    bool areNumbers = llvm::all_of(needed, [](hr::MapOp map) {
      Type type = getElementTypeOrSelf(map.getResult());
      return type.isF32() || type.isSignlessInteger(8) || type.isSignlessInteger(32);
    });
    if (areNumbers)
      return MatchedTable{tableOf(needed, bytes), last.getResult(), needed};
  }
  return std::nullopt;
}

} // namespace headrace
