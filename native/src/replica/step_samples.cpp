#include "replica/step_samples.h"

namespace arbalest {

StepSamples::StepSamples(Streams& streams, const Program& program, const Source& source, uint64_t seed, bool queues)
    : streams_(streams), source_(source), batch_(program.batch), queues_(queues), context_{source.dataset.get(), seed, 0, {}} {
  if (source.stream && !program.segments[static_cast<size_t>(Segment::load)].empty()) reader_.emplace(source.stream);
}

void StepSamples::begin(uint64_t position) {
  context_.position = position;
  context_.samples = {};
  request_ = {position, batch_, {}};
  streams_.begin(context_);
}

void StepSamples::choose(const std::vector<int64_t>& samples) {
  if (!samples.empty() && samples.size() != static_cast<size_t>(batch_))
    throw Error("INVALID_OPTION",
                "samples: received " + std::to_string(samples.size()) + "; give one for each of the batch of " + std::to_string(batch_));
  for (int64_t sample : samples)
    if (!source_ || sample < 0 || sample >= source_.count())
      throw Error("INVALID_OPTION", "samples: received " + std::to_string(sample) + "; the data set has numbers 0 to " +
                                        std::to_string(source_ ? source_.count() - 1 : 0));
  // The step has them already, and has waited for something else.
  if (fetched_ && request_.samples == samples) return;
  release();
  request_.samples = samples;
  context_.samples = request_.samples;
  streams_.begin(context_);
}

Outcome StepSamples::fetch(Clock::time_point deadline, const std::atomic<bool>& cancelled, RunReport& report) {
  if (!reader_ || fetched_) return Outcome::done;
  const Clock::time_point start = Clock::now();
  context_.dataset = reader_->take(request_, deadline, cancelled);
  context_.samples = reader_->places(request_.count);
  report.data_seconds += seconds_since(start);
  if (!context_.dataset) return cancelled ? Outcome::cancelled : Outcome::waiting;
  if (queues_) {
    streams_.bring(*context_.dataset);
    reader_->release();
  }
  fetched_ = true;
  return Outcome::done;
}

void StepSamples::release() {
  if (reader_) reader_->release();
  fetched_ = false;
}

}  // namespace arbalest
