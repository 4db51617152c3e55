#include "replica.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sync/buckets.h"

namespace arbalest {
namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Clock::time_point after(Clock::time_point start, double milliseconds) {
  return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

RunReport::Outcome outcome_of(Entry entry) {
  switch (entry) {
    case Entry::granted: return RunReport::Outcome::ran;
    case Entry::waiting: return RunReport::Outcome::waiting;
    case Entry::paused: return RunReport::Outcome::paused;
    case Entry::evicted: return RunReport::Outcome::evicted;
    case Entry::cancelled: return RunReport::Outcome::cancelled;
  }
  return RunReport::Outcome::cancelled;
}

template <class T> double read_as(Backend& backend, const std::byte* value) {
  T result{};
  backend.read(&result, value, sizeof result);
  return static_cast<double>(result);
}

// Whatever ends a run: nobody else waits for the arena in vain.
struct GivenBack {
  ArenaUser* user;
  ~GivenBack() {
    if (user) user->give_back();
  }
};

}  // namespace

// An operator ready to run, with what has been measured of it. Exchange and update have no kernel: they are the replica's own.
struct Replica::Step {
  const PlacedOperator* op = nullptr;
  std::vector<std::unique_ptr<Kernel>> kernels;  // one for each arena in which it has run: their pointers are fixed
  double bytes = 0;
  int64_t runs = 0;
  double seconds = 0;
  std::vector<size_t> completes;  // buckets that the group takes, whose gradient is whole after it
};

struct Replica::Bound {
  std::shared_ptr<const Program> program;
  Source source;
  std::optional<BatchStream::Reader> reader;  // where what `load` takes streams in
  std::array<std::vector<Step>, kSegments> segments;
  StepContext context;
  bool updates = false;
  int64_t accumulate = 1;  // batches of a step
  int loss = -1, correct = -1;
  std::vector<bool> made;  // the arenas for which there are kernels
  bool profiling = false;

  // A step may stop in its middle, to answer the learner's mailbox, and go on here.
  std::optional<Ticket> ticket;
  size_t segment = 0;
  int64_t batches = 1;                            // of this step that have begun
  bool backward = false;                          // the last of them has its gradient,
  bool settled = false;                           // and that is the mean over all
  double earlier_loss = 0, earlier_correct = 0;   // sums over those before it
  std::optional<std::array<double, 2>> measured;  // loss and correct, where their arena has been given back
  BatchStream::Request batch;                     // what this step loads,
  bool fetched = false;                           // and that it has been taken from the stream

  // Load to backward as one, on a device that gains by it: after a first run, in which libraries load what they need.
  std::unique_ptr<Recording> recording;
  bool ran = false;
};

// The calling thread works for the replica: on its stream, after what its group has queued on its vectors.
class Replica::Turn {
 public:
  explicit Turn(const Replica& replica) : used_(replica.backend_, replica.stream_.get()) {
    if (replica.group_) replica.group_->follow();
  }

 private:
  const UsedStream used_;
};

Replica::Replica(Backend& backend, ParameterLayout layout, int threads, uint64_t seed, std::shared_ptr<Group> group, int learner,
                 std::shared_ptr<Arenas> arenas)
    : backend_(backend),
      layout_(std::move(layout)),
      threads_(threads),
      seed_(seed),
      group_(std::move(group)),
      learner_(learner),
      stream_(backend.stream()),
      user_(arenas ? std::make_unique<ArenaUser>(std::move(arenas)) : nullptr) {
  if (group_ && !same_layout(layout_, group_->layout()))
    throw Error("INVALID_PROGRAM", "replica: its parameter layout is not the group's; compile its programs with the group's parameters");
  // What is queued on a stream still uses the arena when `run` goes on.
  if (user_ && stream_)
    throw Error("INVALID_OPTION", "arenas: received some; replicas on a GPU have activations of their own: leave them out");
  if (group_) weights_ = group_->shared_weights();
  check_sizes(backend_, layout_);
  if (!weights_) weights_ = std::make_shared<Memory>(backend_, layout_.bytes);
}

Replica::~Replica() {
  // Nothing may be at work in what is given back.
  const UsedStream used(backend_, stream_.get());
  try {
    backend_.synchronise();
  } catch (const Error&) {
    // Whoever ran it last has been told.
  }
  bound_.clear();
}

Replica::Bound& Replica::bound(int slot) const {
  if (slot < 0 || static_cast<size_t>(slot) >= bound_.size())
    throw Error("INVALID_STATE",
                "slot: received " + std::to_string(slot) + "; the replica has " + std::to_string(bound_.size()) + " programs");
  return *bound_[static_cast<size_t>(slot)];
}

int Replica::bind(std::shared_ptr<const Program> program, const Source& source) {
  if (!same_layout(program->parameters, layout_))
    throw Error("INVALID_PROGRAM",
                "program " + program->name + ": its parameter layout is not the replica's; compile it with the replica's parameters");
  const auto arena = [&arenas = program->arenas](Arena which) { return arenas[static_cast<size_t>(which)]; };
  if (arena(Arena::gradients) && !gradients_) gradients_ = std::make_shared<Memory>(backend_, layout_.bytes);
  if (arena(Arena::statistics)) {
    if (!statistics_.data()) statistics_ = Memory(backend_, arena(Arena::statistics));
    if (statistics_.bytes() != arena(Arena::statistics))
      throw Error("INVALID_PROGRAM",
                  "program " + program->name + ": its statistics are not laid out as the replica's; compile both from one model");
  }
  auto bound = std::make_unique<Bound>();
  bound->program = std::move(program);
  bound->source = source;
  if (source.stream && !bound->program->segments[static_cast<size_t>(Segment::load)].empty()) bound->reader.emplace(source.stream);
  const UsedStream used(backend_, stream_.get());
  backend_.synchronise();
  // Primitives are made for as many threads as will run them.
  backend_.use_threads(threads_);
  const size_t bytes = arena(Arena::activations);
  const bool shares = user_ && bound_.empty() && bytes <= user_->arenas().bytes();
  if (!shares && (user_ || bytes > activations_.bytes())) own_activations(bytes);
  prepare(*bound);
  make_kernels(*bound);
  bound_.push_back(std::move(bound));
  return static_cast<int>(bound_.size()) - 1;
}

std::byte* Replica::address(const PlacedValue& value) {
  switch (value.arena) {
    case Arena::weights: return weights_->data() + value.offset;
    case Arena::gradients: return gradients_->data() + value.offset;
    case Arena::statistics: return statistics_.data() + value.offset;
    case Arena::activations: return activations() + value.offset;
  }
  return nullptr;
}

// No more in an arena that it shares: programs that are bound get kernels over memory of its own.
void Replica::own_activations(size_t bytes) {
  for (const auto& bound : bound_) bytes = std::max(bytes, bound->program->arenas[static_cast<size_t>(Arena::activations)]);
  user_.reset();
  activations_ = Memory(backend_, bytes);
  for (const auto& bound : bound_) {
    bound->ticket.reset();
    bound->recording.reset();
    bound->ran = false;
    bound->made.clear();
    make_kernels(*bound);
  }
}

// What does not depend on where the activations lie.
void Replica::prepare(Bound& bound) {
  const Program& program = *bound.program;
  for (size_t s = 0; s < kSegments; ++s) {
    for (const PlacedOperator& op : program.segments[s]) {
      Step step;
      step.op = &op;
      for (const auto* ids : {&op.inputs, &op.outputs})
        for (int id : *ids)
          if (id >= 0) step.bytes += static_cast<double>(program.values[static_cast<size_t>(id)].bytes);
      if (op.kind == "update") {
        const OptimiserSpec optimiser = optimiser_spec(op.attributes);
        bound.updates = true;
        bound.accumulate = optimiser.accumulate;
        if (!gradients_) gradients_ = std::make_shared<Memory>(backend_, layout_.bytes);
        if (optimiser.accumulate > 1 && !accumulated_.data()) accumulated_ = Memory(backend_, layout_.bytes);
        if (optimiser_ && !(optimiser_->spec() == optimiser))
          throw Error("INVALID_PROGRAM", "program " + program.name + ": its optimiser is not that of the replica's other programs");
        // Where the group takes gradients it has the optimiser.
        if (!optimiser_ && !(group_ && !group_->buckets().empty())) optimiser_ = std::make_shared<Optimiser>(backend_, layout_, optimiser);
        step.bytes = 5.0 * static_cast<double>(layout_.bytes);
      }
      bound.segments[s].push_back(std::move(step));
    }
  }
  const auto named = [&](const char* name) {
    const auto found = program.named.find(name);
    return found == program.named.end() ? -1 : found->second;
  };
  bound.loss = named("loss");
  bound.correct = named("correct");
  bound.context = {bound.source.dataset.get(), seed_, 0, {}};
  if (!group_ || !bound.updates) return;
  const std::vector<int> last = last_writers(program, group_->buckets());
  for (size_t bucket = 0; bucket < last.size(); ++bucket)
    if (last[bucket] >= 0)
      bound.segments[static_cast<size_t>(Segment::backward)][static_cast<size_t>(last[bucket])].completes.push_back(bucket);
}

// Kernels over the arena that the replica has, where there are none yet.
void Replica::make_kernels(Bound& bound) {
  const Program& program = *bound.program;
  if (bound.made.size() <= arena()) bound.made.resize(arena() + 1);
  if (bound.made[arena()]) return;
  for (auto& segment : bound.segments) {
    for (Step& step : segment) {
      const PlacedOperator& op = *step.op;
      if (step.kernels.size() <= arena()) step.kernels.resize(arena() + 1);
      if (op.kind == "update" || op.kind == "exchange") continue;
      OperatorSpec spec{op.kind,
                        op.name,
                        op.attributes,
                        {},
                        {},
                        activations() + op.scratch_offset,
                        op.scratch_bytes,
                        program.precision,
                        bound.source.dataset.get()};
      for (auto [ids, tensors] : {std::pair{&op.inputs, &spec.inputs}, std::pair{&op.outputs, &spec.outputs}}) {
        for (int id : *ids) {
          if (id < 0) {
            tensors->emplace_back();
            continue;
          }
          const PlacedValue& value = program.values[static_cast<size_t>(id)];
          if (value.bytes < backend_.bytes(value.spec))
            throw Error("INVALID_PROGRAM", "program " + program.name + ": value " + value.name + " has " + std::to_string(value.bytes) +
                                               " bytes where its layout takes " + std::to_string(backend_.bytes(value.spec)));
          tensors->push_back({value.spec, address(value)});
        }
      }
      if (op.kind == "load") {
        if (!bound.source) throw Error("INVALID_STATE", "program " + program.name + ": it loads samples; bind it with a data set");
        const Shape& shape = spec.outputs.empty() ? Shape{} : spec.outputs[0].shape();
        if (shape.empty() || !std::equal(shape.begin() + 1, shape.end(), bound.source.sample().begin(), bound.source.sample().end()))
          throw Error("SHAPE_MISMATCH", "program " + program.name + ": its samples do not have the shape of the data set's");
      }
      step.kernels[arena()] = backend_.make(spec);
    }
  }
  bound.made[arena()] = true;
}

// Waits for its turn where replicas share arenas. Nothing is waited for while it has one: who waits for the group or for samples has none.
Entry Replica::take_arena(Bound& bound, Clock::time_point deadline, RunReport& report) {
  if (!user_ || user_->has()) return Entry::granted;
  const Clock::time_point start = Clock::now();
  const bool taken = user_->take(deadline, cancelled_);
  report.wait_seconds += seconds_since(start);
  if (!taken) return cancelled_ ? Entry::cancelled : Entry::waiting;
  make_kernels(bound);
  return Entry::granted;
}

// After the gradient nothing of a step lies there that is still wanted, but for two numbers.
void Replica::give_arena_back(Bound& bound) {
  if (!user_ || !user_->has()) return;
  bound.measured = {bound.loss >= 0 ? scalar(bound, bound.loss) : 0, bound.correct >= 0 ? scalar(bound, bound.correct) : 0};
  user_->give_back();
}

// Which step this is: its place in the data, its rate, its round.
Entry Replica::begin(Bound& bound, const RunLimits& limits, int64_t done, Clock::time_point deadline, RunReport& report) {
  Ticket ticket;
  if (group_ && bound.updates) {
    const Clock::time_point start = Clock::now();
    const Entry entry = group_->enter(learner_, deadline, cancelled_, ticket);
    report.wait_seconds += seconds_since(start);
    if (entry != Entry::granted) return entry;
    group_->begin(ticket, vectors());
  } else {
    if (cancelled_) return Entry::cancelled;
    ticket.position = limits.position + static_cast<uint64_t>(done * bound.accumulate * bound.program->batch);
  }
  if (limits.rate) ticket.rate = *limits.rate;
  bound.context.position = ticket.position;
  bound.context.samples = {};
  bound.batch = {ticket.position, bound.program->batch, {}};
  backend_.begin(bound.context);
  bound.ticket = ticket;
  bound.segment = 0;
  bound.batches = 1;
  bound.backward = bound.settled = false;
  bound.earlier_loss = bound.earlier_correct = 0;
  bound.measured.reset();
  return Entry::granted;
}

// A further batch of the same step: what the one before gave is kept aside.
void Replica::begin_batch(Bound& bound) {
  const Type type = layout_.type();
  const std::byte* const accumulated = accumulated_.data();
  const void* const gradients = gradients_->data();
  backend_.average(
      {type, 0, layout_.bytes / size_of(type), bound.batches == 1 ? nullptr : accumulated, accumulated_.data(), {&gradients, 1}});
  if (bound.loss >= 0) bound.earlier_loss += scalar(bound, bound.loss);
  if (bound.correct >= 0) bound.earlier_correct += scalar(bound, bound.correct);
  ++bound.batches;
  bound.backward = false;
  bound.segment = 0;
  bound.context.position += static_cast<uint64_t>(bound.program->batch);
  bound.context.samples = {};
  bound.batch = {bound.context.position, bound.program->batch, {}};
  backend_.begin(bound.context);
  // The next batch may have to be waited for.
  if (user_) user_->give_back();
  bound.measured.reset();
}

// Elements [begin, end) of the gradients, after the last batch: they become the mean over all batches.
void Replica::settle(Bound& bound, size_t begin, size_t end) {
  if (bound.batches == 1) return;
  const void* const summands[] = {accumulated_.data(), gradients_->data()};
  backend_.average({layout_.type(), begin, end, nullptr, gradients_->data(), summands, 1.0 / static_cast<double>(bound.batches)});
}

void Replica::settle_all(Bound& bound) {
  if (bound.settled) return;
  settle(bound, 0, layout_.bytes / size_of(layout_.type()));
  bound.settled = true;
}

// What the learner loads in this step instead of what is at its position.
void Replica::choose(Bound& bound, const std::vector<int64_t>& samples) {
  const Program& program = *bound.program;
  if (!samples.empty() && samples.size() != static_cast<size_t>(program.batch))
    throw Error("INVALID_OPTION", "samples: received " + std::to_string(samples.size()) + "; give one for each of the batch of " +
                                      std::to_string(program.batch));
  for (int64_t sample : samples)
    if (!bound.source || sample < 0 || sample >= bound.source.count())
      throw Error("INVALID_OPTION", "samples: received " + std::to_string(sample) + "; the data set has numbers 0 to " +
                                        std::to_string(bound.source ? bound.source.count() - 1 : 0));
  bound.batch.samples = samples;
  bound.context.samples = bound.batch.samples;
  backend_.begin(bound.context);
}

// What streams in is there before the first operator of `load`.
Entry Replica::fetch(Bound& bound, Clock::time_point deadline, RunReport& report) {
  if (!bound.reader || bound.fetched) return Entry::granted;
  const Clock::time_point start = Clock::now();
  bound.context.dataset = bound.reader->take(bound.batch, deadline, cancelled_);
  bound.context.samples = bound.reader->places(bound.batch.count);
  report.data_seconds += seconds_since(start);
  if (!bound.context.dataset) return cancelled_ ? Entry::cancelled : Entry::waiting;
  if (stream_) {
    backend_.bring(*bound.context.dataset);
    bound.reader->release();
  }
  bound.fetched = true;
  return Entry::granted;
}

void Replica::release_batch(Bound& bound) {
  if (bound.reader) bound.reader->release();
  bound.fetched = false;
}

// What would spread to the central model is looked at before it can. False where the group has been stopped for it.
bool Replica::loss_is_finite(Bound& bound) {
  if (bound.loss < 0) return true;
  const double loss = bound.earlier_loss + scalar(bound, bound.loss);
  return std::isfinite(loss) || group_->report(learner_, bound.ticket->iteration, loss);
}

// The group meets before the first operator of `exchange`.
Entry Replica::meet(Bound& bound, Clock::time_point deadline, RunReport& report) {
  if (bound.updates) settle_all(bound);
  if (!group_ || !bound.updates) return Entry::granted;
  if (!loss_is_finite(bound)) return Entry::cancelled;
  const Clock::time_point waits = Clock::now();
  const Entry entry = group_->await(learner_, *bound.ticket, deadline, cancelled_);
  report.wait_seconds += seconds_since(waits);
  return entry;
}

// A step that was given up is not gone on with; a cancelled replica may run again.
RunReport::Outcome Replica::left(Bound& bound, Entry entry) {
  if (entry == Entry::cancelled || entry == Entry::evicted) {
    bound.ticket.reset();
    release_batch(bound);
    cancelled_ = false;
  }
  return outcome_of(entry);
}

// The step is over. Its loss is the mean over its batches.
void Replica::complete(Bound& bound, RunReport& report) {
  double loss = bound.loss >= 0 ? scalar(bound, bound.loss) : 0;
  if (bound.updates) loss = (bound.earlier_loss + loss) / static_cast<double>(bound.batches);
  if (group_ && bound.updates) group_->report(learner_, bound.ticket->iteration, loss);
  report.loss_sum += loss;
  if (bound.correct >= 0) report.correct_sum += bound.earlier_correct + scalar(bound, bound.correct);
  ++report.steps;
  bound.ticket.reset();
}

// False where it was cancelled between two operators. `offers`: gradients go to the group as soon as they are whole.
bool Replica::run_operators(Bound& bound, Segment segment, bool offers) {
  for (Step& step : bound.segments[static_cast<size_t>(segment)]) {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    const Clock::time_point start = bound.profiling ? Clock::now() : Clock::time_point{};
    if (Kernel* const kernel = step.kernels[arena()].get())
      kernel->run(bound.context);
    else if (segment == Segment::update)
      update(bound);
    if (bound.profiling) {
      backend_.synchronise();
      ++step.runs;
      step.seconds += seconds_since(start);
    }
    if (offers) offer(bound, step);
  }
  if (segment == Segment::backward) bound.backward = true;
  if (offers) bound.settled = true;
  if (segment == Segment::load) release_batch(bound);
  return true;
}

void Replica::offer(Bound& bound, const Step& step) {
  for (size_t bucket : step.completes) {
    const auto& [begin, end] = group_->buckets()[bucket];
    settle(bound, begin, end);
    group_->offer(learner_, *bound.ticket, bucket, vectors());
  }
}

void Replica::offer_all(Bound& bound) {
  for (const Step& step : bound.segments[static_cast<size_t>(Segment::backward)]) offer(bound, step);
  bound.settled = true;
}

// Load, forward and backward as one recording. False where there is none: the segments run one by one.
bool Replica::run_recorded(Bound& bound) {
  if (!bound.ran || bound.profiling || !stream_) {
    bound.ran = true;
    return false;
  }
  if (!bound.recording)
    bound.recording = backend_.capture([&] {
      for (Segment segment : {Segment::load, Segment::forward, Segment::backward})
        for (Step& step : bound.segments[static_cast<size_t>(segment)]) step.kernels[arena()]->run(bound.context);
    });
  if (!bound.recording) return false;
  bound.recording->run();
  release_batch(bound);
  bound.backward = true;
  bound.segment = static_cast<size_t>(Segment::backward);
  return true;
}

LearnerVectors Replica::vectors() { return {weights_, gradients_, optimiser_}; }

void Replica::update(Bound& bound) {
  const Ticket& ticket = *bound.ticket;
  if (group_) return group_->update(learner_, ticket, vectors());
  OptimiserPass step;
  step.weights = weights_->data();
  step.next = weights_->data();
  step.gradients = gradients_->data();
  step.rate = ticket.rate;
  optimiser_->begin(weights_->data(), gradients_->data());
  optimiser_->apply(step, 0, layout_.bytes / size_of(layout_.type()));
}

double Replica::scalar(const Bound& bound, int id) {
  if (bound.measured) return (*bound.measured)[id == bound.loss ? 0 : 1];
  const PlacedValue& value = bound.program->values[static_cast<size_t>(id)];
  const std::byte* data = address(value);
  if (value.spec.type == Type::f64) return read_as<double>(backend_, data);
  if (value.spec.type == Type::f32) return read_as<float>(backend_, data);
  if (value.spec.type == Type::i32) return read_as<int32_t>(backend_, data);
  throw Error("INVALID_PROGRAM", "value " + value.name + ": a loss or a count is f32, f64 or i32");
}

RunReport Replica::run(int slot, const RunLimits& limits) {
  const Turn turn(*this);
  Bound& bound = this->bound(slot);
  backend_.use_threads(threads_);
  RunReport report;
  const Clock::time_point start = Clock::now(), deadline = after(start, limits.milliseconds);
  const GivenBack given_back{user_.get()};
  const auto ended = [&](Entry entry) {
    give_arena_back(bound);
    report.outcome = left(bound, entry);
    report.busy_seconds = seconds_since(start) - report.wait_seconds - report.data_seconds;
    return report;
  };

  while (report.steps < limits.steps) {
    if (!bound.ticket) {
      if (const Entry entry = begin(bound, limits, report.steps, deadline, report); entry != Entry::granted) return ended(entry);
    }
    while (bound.segment < kSegments) {
      const bool last = !bound.updates || bound.batches == bound.accumulate;
      if (static_cast<Segment>(bound.segment) == Segment::load) {
        if (const Entry entry = fetch(bound, deadline, report); entry != Entry::granted) return ended(entry);
      }
      if (bound.segment < static_cast<size_t>(Segment::exchange)) {
        if (const Entry entry = take_arena(bound, deadline, report); entry != Entry::granted) return ended(entry);
      }
      const bool recorded = static_cast<Segment>(bound.segment) == Segment::load && run_recorded(bound);
      const auto segment = static_cast<Segment>(bound.segment);
      const bool offers = segment == Segment::backward && bound.updates && last && group_ && !group_->buckets().empty();
      if (offers && !loss_is_finite(bound)) return ended(Entry::cancelled);
      if (segment == Segment::exchange) {
        give_arena_back(bound);
        if (const Entry entry = meet(bound, deadline, report); entry != Entry::granted) return ended(entry);
      }
      if (recorded && offers) offer_all(bound);
      if (!recorded && !run_operators(bound, segment, offers)) return ended(Entry::cancelled);
      if (segment == Segment::backward && !last)
        begin_batch(bound);
      else
        ++bound.segment;
    }
    complete(bound, report);
    if (Clock::now() >= deadline) break;
  }
  return ended(Entry::granted);
}

RunReport::Outcome Replica::run_segment(int slot, Segment segment, const RunLimits& limits) {
  const Turn turn(*this);
  Bound& bound = this->bound(slot);
  backend_.use_threads(threads_);
  if (user_) own_activations(0);
  RunReport report;
  const Clock::time_point deadline = after(Clock::now(), limits.milliseconds);
  if (!bound.ticket) {
    if (const Entry entry = begin(bound, limits, 0, deadline, report); entry != Entry::granted) return left(bound, entry);
  }
  if (limits.rate) bound.ticket->rate = *limits.rate;
  if (segment == Segment::load) {
    if (bound.accumulate > 1 && bound.backward) {
      if (bound.batches == bound.accumulate)
        throw Error("INVALID_STATE",
                    "load: the step has had its " + std::to_string(bound.accumulate) + " batches; call exchange and update");
      begin_batch(bound);
    }
    choose(bound, limits.samples);
    if (const Entry entry = fetch(bound, deadline, report); entry != Entry::granted) return left(bound, entry);
  }
  // Whoever leaves the exchange out meets the group here: its slot is not its own before.
  if (segment == Segment::exchange || segment == Segment::update) {
    if (const Entry entry = meet(bound, deadline, report); entry != Entry::granted) return left(bound, entry);
  }
  if (!run_operators(bound, segment, false)) return left(bound, Entry::cancelled);
  if (segment == Segment::update || !bound.updates) complete(bound, report);
  return RunReport::Outcome::ran;
}

const PlacedValue& Replica::readable(int slot, const std::string& name) const {
  const Program& program = *bound(slot).program;
  const auto named = program.named.find(name);
  if (named != program.named.end()) return program.values[static_cast<size_t>(named->second)];
  for (const PlacedValue& value : program.values)
    if (value.name == name && value.arena != Arena::activations) return value;
  std::string known;
  for (const auto& [each, id] : program.named) known += (known.empty() ? "" : ", ") + each;
  throw Error("UNKNOWN_NAME",
              "value: received " + name + "; program " + program.name + " keeps " + known + ", its parameters and its statistics");
}

TensorSpec Replica::value_spec(int slot, const std::string& name) const {
  TensorSpec spec = readable(slot, name).spec;
  if (spec.type == Type::bf16) spec.type = Type::f32;
  spec.layout = kPlain;
  return spec;
}

void Replica::read_value(int slot, const std::string& name, std::byte* canonical) {
  const Turn turn(*this);
  const PlacedValue& value = readable(slot, name);
  if (user_ && value.arena == Arena::activations)
    throw Error("INVALID_STATE",
                "value: received " + name + "; it lay in an arena that the replica shares: make the replica without arenas");
  backend_.reorder({value.spec, address(value)}, {value_spec(slot, name), canonical});
}

void Replica::write_value(int slot, const std::string& name, const std::byte* canonical) {
  const Turn turn(*this);
  const PlacedValue& value = readable(slot, name);
  if (user_ && value.arena == Arena::activations) own_activations(0);
  backend_.reorder({value_spec(slot, name), const_cast<std::byte*>(canonical)}, {value.spec, address(value)});
}

Memory& Replica::vector(Vector which) {
  if (which == Vector::weights) return *weights_;
  if (which == Vector::gradients) {
    if (!gradients_) gradients_ = std::make_shared<Memory>(backend_, layout_.bytes);
    return *gradients_;
  }
  if (Memory* state = optimiser_ ? optimiser_->state(which) : nullptr) return *state;
  throw Error("UNKNOWN_NAME", "vector: the replica keeps no such state; its optimiser has another, or its group has the optimiser");
}

void Replica::read_vector(Vector which, std::byte* canonical) {
  const Turn turn(*this);
  to_canonical(backend_, layout_, vector(which).data(), canonical);
}

void Replica::write_vector(Vector which, const std::byte* canonical) {
  const Turn turn(*this);
  from_canonical(backend_, layout_, canonical, vector(which).data());
}

int64_t Replica::adopt(const Group& group) {
  const Turn turn(*this);
  if (!same_layout(layout_, group.layout()))
    throw Error("INVALID_PROGRAM", "replica: its parameter layout is not the group's; compile its programs with the group's parameters");
  return group.copy_central(weights_->data());
}

void Replica::capture(Snapshot& snapshot) const {
  const Turn turn(*this);
  snapshot.keep("weights", *weights_);
  if (optimiser_) optimiser_->capture(snapshot, "");
}

void Replica::restore(const Snapshot& snapshot) {
  const Turn turn(*this);
  snapshot.give("weights", *weights_);
  if (optimiser_) optimiser_->restore(snapshot, "");
}

std::vector<OperatorProfile> Replica::profile(int slot) {
  Bound& bound = this->bound(slot);
  bound.profiling = true;
  std::vector<OperatorProfile> profiles;
  for (size_t s = 0; s < kSegments; ++s) {
    for (Step& step : bound.segments[s]) {
      profiles.push_back({static_cast<Segment>(s), step.op->kind, step.op->name, step.op->implementation, step.runs, step.seconds,
                          step.op->flops, step.bytes});
      step.runs = 0;
      step.seconds = 0;
    }
  }
  return profiles;
}

}  // namespace arbalest
