// Where a program's samples come from: memory that all learners share, or a stream of batches.
#pragma once

#include <memory>

#include "data/batch_stream.h"

namespace arbalest {

struct Source {
  // One of them is set; neither for a program that loads no samples.
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<BatchStream> stream;

  explicit operator bool() const { return dataset || stream; }
  const Shape& sample() const { return kind()->sample; }
  int64_t count() const { return dataset ? dataset->count : stream->spec().count; }
  // The data set, or one like the batches that stream; null for a program that loads no samples.
  const Dataset* kind() const { return stream ? &stream->spec().kind : dataset.get(); }
};

}  // namespace arbalest
