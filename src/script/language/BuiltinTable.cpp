#include "script/language/BuiltinTable.h"

namespace headrace::script {

using enum ResultRule;

// clang-format off
static constexpr BuiltinRow kRows[] = {
    // Making matrices, frames, lists
    {"matrix", "data rows? cols? byrow? dims? dimnames?", Matrix},
    {"rand Rand", "rows? cols? min? max? pdf? sparsity? seed? lambda? dims?", Matrix},
    {"seq", "from to incr?", Matrix},
    {"sample", "range size replace? seed?", Matrix},
    {"frame", "data rows? cols? schema? dims?", Frame},
    {"tensor", "data dims byrow?", Tensor},
    {"list", "...", List},
    {"table ctable", "@ a b c? d? e? f?", Matrix},
    {"federated", "addresses? ranges? type? local_matrix?", ResultRule::Unknown},
    {"sql", "conn user password query", Tensor},

    // Shape
    {"nrow", "x", Integer},
    {"ncol", "x", Integer},
    {"length", "x", Integer},
    {"t", "x", LikeFirst},
    {"diag", "x", Matrix},
    {"rev", "x", LikeFirst},
    {"roll", "x shift", LikeFirst},
    {"cbind append", "a ...", ResultRule::Bind},
    {"rbind", "a ...", ResultRule::Bind},
    {"removeEmpty", "target margin select? empty.return?", LikeFirst},
    {"replace", "target pattern replacement", LikeFirst},
    {"order", "target by? decreasing? index.return?", LikeFirst},
    {"lower.tri", "target diag? values?", Matrix},
    {"upper.tri", "target diag? values?", Matrix},
    {"remove", "list position", List, 2},

    // One value per cell
#define HEADRACE_FUNCTION(Id, name, value, Operation, derivative, cost, growth, onnx, version, script) \
    {script, "x", Cellwise},
#include "runtime/scalar/Functions.def"
#define HEADRACE_CELL(Id, text, operands, value, formula, cost, logical, call) \
    {call, operands == 1 ? "x" : "a b", logical ? Logical : Cellwise},
#include "script/language/CellFunctions.def"
    {"log", "x base?", Cellwise}, {"is.na isNA", "x", Logical},
    {"bitwAnd", "a b", Cellwise}, {"bitwOr", "a b", Cellwise}, {"bitwXor", "a b", Cellwise},
    {"bitwShiftL", "a b", Cellwise}, {"bitwShiftR", "a b", Cellwise},
    {"ifelse", "@ test yes no", Choice},
    {"ppred", "a b op", Cellwise},
    {"outer", "a b op", Matrix},

    // Aggregates
    {"sum", "x", Double}, {"prod", "x", Double}, {"mean avg", "x weights?", Double},
    {"sd", "x", Double}, {"var", "x", Double}, {"trace tr", "x", Double}, {"det", "x", Double},
    {"min pmin", "x ...", Aggregate}, {"max pmax", "x ...", Aggregate},
    {"range", "x", Matrix},
    {"rowSums", "x", Matrix}, {"rowMeans", "x", Matrix}, {"rowProds", "x", Matrix},
    {"rowMins", "x", Matrix}, {"rowMaxs", "x", Matrix}, {"rowVars", "x", Matrix}, {"rowSds", "x", Matrix},
    {"rowIndexMax", "x", Matrix}, {"rowIndexMin", "x", Matrix},
    {"colSums", "x", Matrix}, {"colMeans", "x", Matrix}, {"colProds", "x", Matrix},
    {"colMins", "x", Matrix}, {"colMaxs", "x", Matrix}, {"colVars", "x", Matrix}, {"colSds", "x", Matrix},
    {"cumsum", "x", Matrix}, {"cumprod", "x", Matrix}, {"cummin", "x", Matrix}, {"cummax", "x", Matrix},
    {"cumsumprod", "x", Matrix}, {"rowcumsum", "x", Matrix},
    {"aggregate groupedAggregate", "target groups fn weights? ngroups? order?", Matrix},
    {"unique", "data dir?", Matrix},
    {"countDistinct", "data dir?", ResultRule::Unknown},
    {"countDistinctApprox", "data type? dir?", ResultRule::Unknown},
    {"rowCountDistinct", "data", Matrix}, {"colCountDistinct", "data", Matrix},
    {"rowCountDistinctApprox", "data type?", Matrix}, {"colCountDistinctApprox", "data type?", Matrix},
    {"contains", "target pattern", Boolean},

    // Statistics
    {"quantile", "x a b?", ResultRule::Unknown},
    {"median", "x weights?", Double},
    {"interQuantile", "x a b?", Matrix}, {"interQuartileMean", "x weights?", Double},
    {"moment centralMoment", "x a b?", Double},
    {"cov", "x y weights?", Double},
    {"cdf", "target dist? mean? sd? df? df1? df2? rate? lower.tail?", Double},
    {"icdf", "target dist? mean? sd? df? df1? df2? rate? lower.tail?", Double},
    {"pnorm", "target mean? sd? lower.tail?", Double}, {"qnorm", "target mean? sd? lower.tail?", Double},
    {"pt", "target df? lower.tail?", Double}, {"qt", "target df? lower.tail?", Double},
    {"pchisq", "target df? lower.tail?", Double}, {"qchisq", "target df? lower.tail?", Double},
    {"pf", "target df1? df2? lower.tail?", Double}, {"qf", "target df1? df2? lower.tail?", Double},
    {"pexp", "target rate? lower.tail?", Double}, {"qexp", "target rate? lower.tail?", Double},

    // Linear algebra and transforms
    {"solve", "a b", Matrix}, {"inv inverse", "x", Matrix}, {"cholesky", "x", Matrix},
    {"sqrtMatrixJava", "x", Matrix},
    {"eigen", "x", Matrix, 2}, {"qr", "x", Matrix, 2}, {"lu", "x", Matrix, 3}, {"svd", "x", Matrix, 3},
    {"fft", "x im?", Matrix, 2}, {"ifft", "re im?", Matrix, 2},
    {"fft_linearized", "x im?", Matrix, 2}, {"ifft_linearized", "re im?", Matrix, 2},
    {"stft", "x ...", Matrix, 2},
    {"einsum", "equation ...", ResultRule::Unknown},
    {"rcm rowClassMeet", "a b", Matrix, 2},

    // Neural networks
    {"conv2d", "input filter input_shape? filter_shape? stride? padding?", Matrix},
    {"conv2d_backward_filter", "input dout input_shape? filter_shape? stride? padding?", Matrix},
    {"conv2d_backward_data", "filter dout input_shape? filter_shape? stride? padding?", Matrix},
    {"max_pool", "input input_shape? pool_size? stride? padding?", Matrix},
    {"max_pool_backward", "input dout input_shape? pool_size? stride? padding?", Matrix},
    {"avg_pool", "input input_shape? pool_size? stride? padding?", Matrix},
    {"avg_pool_backward", "input dout input_shape? pool_size? stride? padding?", Matrix},
    {"bias_add", "input bias", Matrix}, {"bias_multiply", "input bias", Matrix},
    {"batch_norm2d", "x gamma beta ema_mean ema_var mode epsilon mu", Matrix, 5},
    {"batch_norm2d_backward", "x dout gamma epsilon mean inv_var", Matrix, 3},
    {"lstm", "x w b out0 c0 return_sequences", Matrix, 5},
    {"lstm_backward", "x w b out0 c0 given_sequences dout dc ...", Matrix, 5},
    {"paramserv", "model? features? labels? val_features? val_labels? upd? agg? val? mode? utype? freq? "
                  "epochs? batchsize? k? scheme? runtime_balancing? weighting? hyperparams? checkpointing? "
                  "seed? nbatches? modelAvg? he? num_backup_workers?", List},
    {"autoDiff", "output lineage?", List},

    // Casts
    {"as.scalar castAsScalar", "x", ResultRule::Unknown},
    {"as.matrix", "x", Matrix}, {"as.frame", "x", Frame}, {"as.list", "x", List},
    {"as.double", "x", Double}, {"as.integer", "x", Integer}, {"as.logical as.boolean", "x", Boolean},
    {"toString", "target rows? cols? decimal? sparse? sep? linesep?", String},
    {"typeof", "x", Frame},

    // Frames
    {"transformencode", "target spec", Matrix, 2},
    {"transformapply", "target spec meta embedding?", Matrix},
    {"transformdecode", "target spec meta", Frame},
    {"transformcolmap", "target spec", Matrix},
    {"transformmeta", "spec transformPath?", Frame},
    {"tokenize", "target spec max_tokens?", Frame},
    {"detectSchema", "x", Frame}, {"applySchema", "x schema", Frame},
    {"dropInvalidType", "x schema", Frame}, {"dropInvalidLength", "x lengths", Frame},
    {"valueSwap", "x schema", Frame}, {"colnames", "x", Frame}, {"freplicate", "x count", Frame},
    {"getCategoricalMask", "x spec", Matrix},
    {"map", "x function margin?", LikeFirst},

    // Files, output, control
    {"read", "file format? rows? cols? nnz? data_type? value_type? schema? header? sep? fill? "
             "default? naStrings? indSep? rows_in_block? cols_in_block? description? author? created? dataset?",
             ResultRule::Unknown},
    {"write", "x file format? rows? cols? nnz? data_type? value_type? header? sep? sparse? naStrings? "
              "rows_in_block? cols_in_block? description? author? created? indSep? dataset?", None},
    {"print", "x ...", None},
    {"stop", "message", None},
    {"assert", "condition", None},
    {"time", "", Integer},
    {"exists", "x", Boolean},
    {"eval", "function ...", ResultRule::Unknown},
    {"evalList", "function ...", List},
    {"lineage", "x ...", String},
    {"local", "x", LikeFirst},
    {"compress", "x ...", LikeFirst, 2}, {"quantize_compress", "x scale", LikeFirst, 2},
    {"decompress", "x", LikeFirst},
};
// clang-format on

std::span<const BuiltinRow> builtinRows() { return kRows; }

} // namespace headrace::script
