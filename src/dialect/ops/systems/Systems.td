//===- Systems.td - systems of linear equations --------------------------------===//
#ifndef HEADRACE_DIALECT_OPS_SYSTEMS_TD
#define HEADRACE_DIALECT_OPS_SYSTEMS_TD

include "dialect/ops/Operator.td"

def Hr_SolveOp : Hr_Operator<"solve", [], [AllTypesMatch<["right", "result"]>]> {
  let summary = "x with A x = b, for a batch of linear systems";
  let description = [{
    `matrix` is [..., n, n], `right` [..., n, r], with equal leading dimensions. With `complex` both
    have one more dimension, the last one, of 2: real and imaginary part. `positive_definite` says
    that every matrix is Hermitian and positive definite: of those only the lower triangle is read,
    and a Cholesky factorization may take the place of LU.
    ```
    %x = hr.solve %a, %b {complex, positive_definite} :
         (tensor<3276x4x4x2xf64>, tensor<3276x4x12x2xf64>) -> tensor<3276x4x12x2xf64>
    ```
    Factorizations are routines of a library, one an expansion. A matrix that none can factorize is
    an error when the program runs.
  }];
  let arguments = (ins AnyRankedTensor:$matrix, AnyRankedTensor:$right, UnitAttr:$complex,
                       UnitAttr:$positive_definite);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$matrix `,` $right attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Unknowns of a system, right-hand sides of it, and how many systems there are.
    struct Sizes {
      ::mlir::AffineExpr batch, unknowns, columns;
    };
    Sizes getSizes();
  }];
}

#endif
