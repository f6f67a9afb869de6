// Level 1: numbers are widened if they are used.
//
//   %w = hr.map(%x) { extf } ; %y = hr.map(%w, %b) { addf } ; %s = hr.reduce(%w) ; %m =
//   hr.reduce(%w)
// becomes
//   %y = hr.map(%x, %b) { extf, addf } ;
//   %w = hr.map(%x) { extf } ; %s = hr.reduce(%w) ; %v = hr.map(%x) { extf } ; %m = hr.reduce(%v)
//
// Every kernel then reads the narrow numbers, and no wide copy goes through memory: widening costs
// less than the bytes it would take.
//
// When it hurts: before differentiation, which would round what it accumulates to narrow numbers;
// and in kernels that walk rows, which compute what they share once.
#include "transform/Passes.h"
#include "transform/common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_READNARROWPASS
#include "transform/Passes.h.inc"

namespace {

bool widens(hr::MapOp map) {
  if (map.getInputs().size() != 1)
    return false;
  Block &body = map.getBody().front();
  return llvm::hasSingleElement(body.without_terminator()) &&
         isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(body.front()) &&
         body.getTerminator()->getOperand(0) == body.front().getResult(0);
}

/// `user`, reading what `widening` reads.
Value withWidening(OpBuilder &b, hr::MapOp user, hr::MapOp widening) {
  SmallVector<Value> inputs(user.getInputs());
  std::replace(inputs.begin(), inputs.end(), Value(widening.getResult()),
               widening.getInputs().front());
  return createMap(b, user.getLoc(), inputs, [&](OpBuilder &inner, ValueRange given) {
    SmallVector<Value> scalars(given);
    for (auto [scalar, input] : llvm::zip_equal(scalars, user.getInputs()))
      if (input == widening.getResult())
        scalar = widening.buildBody(inner, scalar);
    return user.buildBody(inner, scalars);
  });
}

struct ReadNarrowPass : impl::ReadNarrowPassBase<ReadNarrowPass> {
  void runOnOperation() override {
    SmallVector<hr::MapOp> all;
    getOperation().walk([&](hr::MapOp map) {
      if (widens(map))
        all.push_back(map);
    });
    for (hr::MapOp map : llvm::reverse(all)) // readers first: what widens twice is not met again
      moveToUsers(map);
  }

  static void moveToUsers(hr::MapOp map) {
    SetVector<Operation *> users(map->user_begin(), map->user_end());
    bool isTaken = false; // by an operator that is not a map
    for (Operation *user : users) {
      OpBuilder b(user);
      if (auto other = dyn_cast<hr::MapOp>(user)) {
        other.getResult().replaceAllUsesWith(withWidening(b, other, map));
        other.erase();
      } else if (isTaken) {
        Operation *copy = b.clone(*map);
        user->replaceUsesOfWith(map.getResult(), copy->getResult(0));
      } else {
        isTaken = true;
      }
    }
    if (map->use_empty())
      map.erase();
  }
};

} // namespace
} // namespace headrace
