#pragma once

#include "script/host/StringLambda.h"

/// What lambdas over texts can call.
namespace headrace::script {

using LambdaItem = StringLambda::Item;

std::string textOf(const LambdaItem &item);
double numberOf(const LambdaItem &item);

/// The parts of a text between matches of a regular expression, without empty ones at the end.
StringLambda::Texts splitText(const std::string &text, const std::string &pattern);

/// `text.name(arguments)`
LambdaItem callMethod(const LambdaItem &on, const std::string &name,
                      std::span<const LambdaItem> arguments);
/// `Owner.name(arguments)`
LambdaItem callStatic(const std::string &name, std::span<const LambdaItem> arguments);

} // namespace headrace::script
