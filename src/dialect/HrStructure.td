//===- HrStructure.td - kernels and how a program calls them (level 2) -------===//
#ifndef HEADRACE_DIALECT_HRSTRUCTURE_TD
#define HEADRACE_DIALECT_HRSTRUCTURE_TD

include "dialect/HrDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hr_YieldOp : Hr_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a map's body or a kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange{}); }]>];
}

def Hr_KernelOp : Hr_Op<"kernel", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one fused unit of work: linalg over plain tensors";
  let description = [{
    Block arguments are the operands without their symbolic encodings. Everything between reads of
    the operands and writes of the results stays inside. `operators` names the user's operators that
    became part of it; `cost` gives bytes read, bytes written and operations as expressions of the
    symbols, and where several operators are in it, the bytes saved against a kernel for each.
    ```
    %y = hr.kernel "mish" (%x) : (tensor<?x8xf32, ...>) -> tensor<?x8xf32, ...> {
    ^bb0(%a: tensor<?x8xf32>):
      ...
      hr.yield %r : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrAttr:$name, StrArrayAttr:$operators,
                       AffineMapAttr:$cost);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `(` $inputs `)` `of` $operators attr-dict `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
}

def Hr_LibraryOp : Hr_Op<"library", [Pure]> {
  let summary = "a library routine, an implementation that competes with generated code";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrAttr:$routine,
                       AffineMapAttr:$parameters, StrAttr:$name, StrArrayAttr:$operators,
                       AffineMapAttr:$cost);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $routine `(` $inputs `)` `of` $operators attr-dict `:` functional-type($inputs, results)
  }];
}

def Hr_LaunchOp : Hr_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs an outlined kernel";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, FlatSymbolRefAttr:$kernel, StrAttr:$name,
                       StrArrayAttr:$operators, AffineMapAttr:$cost);
  let description = [{
    `cost` is the kernel's: bytes read, bytes written and operations.
  }];
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `of` $operators attr-dict `:` functional-type($inputs, $results)
  }];
}

#endif
