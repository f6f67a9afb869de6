// Products of matrices by cuBLAS.
#include "runtime/cuda/CuBlas.h"

#include "target/cuda/expansion/DeviceWork.h"
#include "target/cuda/expansion/Expansions.h"
#include "target/expansion/LibraryContraction.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

/// cuBLAS's product, in f32 (never less exact) or of halves.
class CuBlasContraction final : public LibraryContraction {
public:
  StringRef name() const override { return "cublas"; }
  bool isHere() const override { return cuda::cuBlasAvailable(); }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    if (!op || !asMatrixProduct(op))
      return false;
    Type type = getElementTypeOrSelf(op.getLhs()), result = getElementTypeOrSelf(op.getResult());
    return getElementTypeOrSelf(op.getRhs()) == type && isLibraryType(type) &&
           (result == type || result.isF32());
  }

  Work work(Operation *op, const Machine &machine) const override {
    return deviceLibraryWork(op, machine, /*efficiency=*/1);
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &machine) const override {
    if (call.routine != "cublas.gemm")
      return std::nullopt;
    ProductShape shape = shapeOfCall(call);
    return deviceCallWork(shape.batch * shape.rows * shape.columns, shape.operations(), call.type,
                          machine, /*efficiency=*/1);
  }

private:
  StringRef routine(hr::ContractOp) const override { return "cublas.gemm"; }
};

} // namespace

const Expansion &cuBlasContraction() {
  static const CuBlasContraction expansion;
  return expansion;
}

} // namespace headrace::cuda
