//===- HrDialect.td - the dialect of operators ------------------------------===//
#ifndef HEADRACE_DIALECT_HRDIALECT_TD
#define HEADRACE_DIALECT_HRDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Hr_Dialect : Dialect {
  let name = "hr";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let cppNamespace = "::headrace::hr";
  let summary = "Operators of machine-learning programs (level 1) and their kernels (level 2)";
  let description = [{
    Level 1 holds the user's operators, in value semantics. Element-wise work is `hr.map` with a
    scalar body, never one operator per function.

    A dimension is a constant or an expression over the program's symbols. A tensor type with a
    symbolic dimension carries an affine map as its encoding that gives every dimension:
    `tensor<?x128xf32, affine_map<()[s0] -> (s0, 128)>>`. The function's attribute `hr.symbols`
    names the symbols.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def Hr_Float4E2M1Type : TypeDef<Hr_Dialect, "Float4E2M1"> {
  let summary = "a 4-bit float without infinity or NaN; MLIR has none";
  let mnemonic = "f4E2M1";
}

def Hr_Float8E8M0Type : TypeDef<Hr_Dialect, "Float8E8M0"> {
  let summary = "a power of two or NaN in 8 bits; MLIR has none";
  let mnemonic = "f8E8M0";
}

class Hr_Op<string mnemonic, list<Trait> traits = []> : Op<Hr_Dialect, mnemonic, traits>;

def Hr_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Prod", 4, "prod">]> {
  let cppNamespace = "::headrace::hr";
  let genSpecializedAttr = 0;
}
def Hr_ReduceKindAttr : EnumAttr<Hr_Dialect, Hr_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def Hr_PoolKind : I32EnumAttr<"PoolKind", "the combination of a window's elements", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Average", 1, "average">,
    I32EnumAttrCase<"Sum", 2, "sum">]> {
  let cppNamespace = "::headrace::hr";
  let genSpecializedAttr = 0;
}
def Hr_PoolKindAttr : EnumAttr<Hr_Dialect, Hr_PoolKind, "pool_kind"> {
  let assemblyFormat = "$value";
}

def Hr_CheckKind : I32EnumAttr<"CheckKind", "the use of a checked tensor's elements", [
    I32EnumAttrCase<"Index", 0, "index">, I32EnumAttrCase<"Divisor", 1, "divisor">,
    I32EnumAttrCase<"Target", 2, "target">]> {
  let cppNamespace = "::headrace::hr";
  let genSpecializedAttr = 0;
}
def Hr_CheckKindAttr : EnumAttr<Hr_Dialect, Hr_CheckKind, "check_kind"> {
  let assemblyFormat = "$value";
}

def Hr_ChannelLayout : I32EnumAttr<"ChannelLayout", "where the channels of an image stand", [
    I32EnumAttrCase<"First", 0, "channels_first">, I32EnumAttrCase<"Last", 1, "channels_last">]> {
  let cppNamespace = "::headrace::hr";
  let genSpecializedAttr = 0;
}
def Hr_ChannelLayoutAttr : EnumAttr<Hr_Dialect, Hr_ChannelLayout, "layout"> {
  let assemblyFormat = "$value";
}

#endif
