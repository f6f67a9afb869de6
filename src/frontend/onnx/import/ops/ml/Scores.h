// Common parts of the models of ai.onnx.ml: rows of features on one side, scores and labels on the
// other.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

/// Input 0 as rows of features of this type; a list is one row.
mlir::Value featureRows(NodeContext &c, mlir::Type type);

/// Input `i` or what it became, with exactly `count` features on its last axis: another number is
/// an Error, a free one is restricted to it.
mlir::Value withFeatures(NodeContext &c, mlir::Value tensor, int64_t count, size_t i = 0);

/// A constant of floats (f32 or f64), of i64, or of i32.
mlir::Value floatConstant(NodeContext &c, const std::vector<double> &numbers, Shape shape,
                          mlir::Type type);
mlir::Value integerConstant(NodeContext &c, const std::vector<int64_t> &numbers);
mlir::Value indexConstant(NodeContext &c, const std::vector<int32_t> &numbers, Shape shape);

/// The floats of an attribute, or of NAME_as_tensor.
std::vector<double> floatsAttribute(NodeContext &c, const std::string &name);

/// Fails if the attribute has another length.
void checkLength(NodeContext &c, const std::string &attribute, size_t found, size_t expected);

/// The function that scores go through at the end.
enum class PostTransform { None, Softmax, Logistic, SoftmaxZero, Probit };
PostTransform postTransform(NodeContext &c);
mlir::Value transformed(NodeContext &c, mlir::Value scores, PostTransform transform);

/// One score of each row as those of two classes. The first has the negative, or what is missing to
/// 1. A logistic transform makes probabilities of it, and softmax leaves it, as ONNX Runtime does.
enum class FirstClass { Negated, Complement };
mlir::Value scorePair(NodeContext &c, mlir::Value scores, FirstClass first,
                      PostTransform transform);

/// The classes' labels. Strings are not among them: if a model is read, a node after the
/// classifier makes them of numbers (read/StringLabels.h).
std::vector<int64_t> classLabels(NodeContext &c, const char *attribute);

/// The label of the first largest score of each row.
mlir::Value labelOfLargest(NodeContext &c, mlir::Value scores, const std::vector<int64_t> &labels);
/// The second of two labels if the score is above the threshold, else the first.
mlir::Value labelAbove(NodeContext &c, mlir::Value scores, double threshold,
                       const std::vector<int64_t> &labels);

} // namespace headrace::onnx
