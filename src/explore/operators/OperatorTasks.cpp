#include "explore/operators/OperatorTasks.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::explore {

namespace {

using Kind = Operator::Kind;
using Access = Operator::Access;

class ProgramWriter {
public:
  ProgramWriter(const OperatorGraph &program, const std::vector<Form> &forms,
                const TaskOptions &options)
      : program(program), forms(forms), options(options), writer(program.name),
        streams(program.operators.size()) {}

  TaskGraph whole() {
    std::vector<bool> needed = reachable();
    int inputs = 0;
    for (size_t i = 0; i < program.operators.size(); ++i)
      if (program.operators[i].kind == Kind::Input)
        streams[i] = writer.input(inputs++, program.operators[i].output);
      else if (needed[i])
        streams[i] = write(static_cast<int>(i));
    std::vector<Stream> results;
    for (int result : program.results)
      results.push_back(computed(streams[result], program.operators[result]));
    return writer.finish(results);
  }

  TaskGraph alone(int number) {
    int inputs = 0;
    for (const Operator::Operand &operand : program.operators[number].operands)
      streams[operand.from] = writer.input(inputs++, program.operators[operand.from].output);
    return writer.finish({computed(write(number), program.operators[number])});
  }

private:
  std::vector<bool> reachable() const {
    std::vector<bool> needed(program.operators.size());
    for (int result : program.results)
      needed[result] = true;
    for (size_t i = program.operators.size(); i-- > 0;)
      if (needed[i])
        for (const Operator::Operand &operand : program.operators[i].operands)
          needed[operand.from] = true;
    return needed;
  }

  // Source and sink need a task between them; views and buffers are not tasks.
  Stream computed(const Stream &stream, const Operator &op) {
    if (!stream.isInput() && op.kind != Kind::View)
      return stream;
    writer.beginOperator(op.name, op.names, op.place);
    return writer.task("copy", {stream}, stream.volume, stream.volume);
  }

  Stream write(int number) {
    const Operator &op = program.operators[number];
    if (op.output < 1)
      throw Error(ErrorKind::InvalidArgument, "operator " + inQuotes(op.name) +
                                                  ": expected at least 1 element to compute, got " +
                                                  std::to_string(op.output));
    if (op.kind != Kind::View)
      writer.beginOperator(op.name, op.names, op.place);
    std::vector<Stream> operands;
    for (const Operator::Operand &operand : op.operands)
      operands.push_back(streams[operand.from]);
    switch (op.kind) {
    case Kind::Contraction:
      return writeContraction(writer, operands, op.contraction, forms[number], options,
                              op.fusedPoints);
    case Kind::Convolution:
      return writeConvolution(writer, operands, op.contraction, forms[number], options,
                              op.fusedPoints);
    case Kind::Systems:
      return writeSystems(writer, operands, op.systems, forms[number], options, op.fusedPoints);
    case Kind::View:
      return view(op, operands.front());
    case Kind::Map:
      return writer.task("map", adapted(op, operands, op.output), op.output, op.output,
                         op.points + op.fusedPoints);
    case Kind::Reduction:
      return reduction(op, operands);
    case Kind::Copy:
      return writer.task("copy", adapted(op, operands, operands.front().volume),
                         operands.front().volume, op.output, op.points + op.fusedPoints);
    case Kind::Concat:
      return concat(op, operands);
    case Kind::Other:
      return other(op, operands);
    case Kind::Input:
      break;
    }
    throw InternalError("an input is not a task");
  }

  Stream view(const Operator &op, const Stream &operand) {
    // Memory is read in any order.
    if (op.operands.front().access == Access::InOrder || operand.isInput())
      return {operand.task, op.output, operand.input};
    writer.beginOperator(op.name, op.names, op.place);
    return writer.buffer("stored", {operand}, op.output);
  }

  /// The operands as streams of `volume` elements.
  std::vector<Stream> adapted(const Operator &op, const std::vector<Stream> &operands,
                              int64_t volume) {
    std::vector<Stream> result;
    for (size_t i = 0; i < operands.size(); ++i) {
      std::string suffix = i == 0 ? "" : std::to_string(i + 1);
      Stream stream = operands[i];
      bool inOrder = op.operands[i].access == Access::InOrder;
      // The source gives every task as much as it reads, in the order it reads it.
      if (!stream.isInput() && !inOrder)
        stream = writer.buffer("stored" + suffix, {stream}, volume);
      else if (!stream.isInput() && stream.volume != volume)
        stream = writer.task("spread" + suffix, {stream}, stream.volume, volume);
      result.push_back(stream);
    }
    return result;
  }

  // Windows that overlap read elements several times.
  Stream reduction(const Operator &op, const std::vector<Stream> &operands) {
    int64_t read = operands.size() > 1 ? op.points : operands.front().volume;
    std::vector<Stream> streams = adapted(op, operands, read);
    if (read < op.points) {
      streams = {writer.task("windows", streams, read, op.points)};
      read = op.points;
    }
    return writer.task("reduce", streams, read, op.output, op.points + op.fusedPoints);
  }

  // All edges into a task carry equally many elements: parts of other sizes are first put in their
  // place in the whole.
  Stream concat(const Operator &op, const std::vector<Stream> &operands) {
    bool equal = std::ranges::all_of(
        operands, [&](const Stream &stream) { return stream.volume == operands.front().volume; });
    int64_t reads = equal ? operands.front().volume : op.output;
    return writer.task("concat", adapted(op, operands, reads), reads, op.output, op.fusedPoints);
  }

  Stream other(const Operator &op, const std::vector<Stream> &operands) {
    int64_t reads = std::max<int64_t>(op.points, 1);
    std::vector<Stream> held;
    for (size_t i = 0; i < operands.size(); ++i)
      held.push_back(
          writer.buffer("operand" + (i == 0 ? "" : std::to_string(i + 1)), {operands[i]}, reads));
    return writer.task("compute", held, reads, op.output, op.points + op.fusedPoints);
  }

  const OperatorGraph &program;
  const std::vector<Form> &forms;
  TaskOptions options;
  GraphWriter writer;
  std::vector<Stream> streams;
};

} // namespace

std::vector<Form> formsOf(const Operator &op) {
  switch (op.kind) {
  case Kind::Convolution:
    return {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector, Form::Direct};
  case Kind::Contraction:
    return {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector};
  case Kind::Systems:
    return op.systems.positiveDefinite ? std::vector{Form::Lu, Form::Cholesky}
                                       : std::vector{Form::Lu};
  default:
    return {};
  }
}

int64_t pointsOf(const OperatorGraph &program, const std::vector<Form> &forms) {
  int64_t points = program.points();
  for (size_t i = 0; i < program.operators.size(); ++i)
    if (program.operators[i].kind == Kind::Systems)
      points += systemPoints(program.operators[i].systems, forms[i]);
  return points;
}

TaskGraph taskGraphOf(const OperatorGraph &program, const std::vector<Form> &forms,
                      const TaskOptions &options, std::optional<int> only) {
  ProgramWriter writer(program, forms, options);
  return only ? writer.alone(*only) : writer.whole();
}

} // namespace headrace::explore
