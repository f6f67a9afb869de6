// Virtual threads (double buffering): parts of a memory that one module fills while another empties
// the others.
#pragma once

#include "runtime/vta/CommandStream.h"

namespace headrace::vta {

/// A memory in `count` parts, which a producer fills and a consumer uses in turn. With one part
/// they alternate; with two, the one works ahead of the other. Tokens pass only through here.
class Contexts {
public:
  Contexts(CommandStream &stream, Module producer, Module consumer, int count)
      : stream(stream), producer(producer), consumer(consumer), count(count) {}

  /// The next part; the producer's next instruction waits until it is free.
  int fill();
  void filled() { stream.push(producer, consumer); }
  /// The part filled first; the consumer's next instruction waits until it is.
  int use();
  void used();

  /// Takes back the tokens of the parts that are not filled again. Ends the use of this object.
  void drain();

private:
  CommandStream &stream;
  Module producer, consumer;
  int count;
  int fills = 0, uses = 0, freed = 0, taken = 0;
};

} // namespace headrace::vta
