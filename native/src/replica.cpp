#include "replica.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

// What the optimiser's operator asks for; the vector itself is the replica's.
struct Optimiser {
  double momentum = 0, decay = 0;
  bool nesterov = false;
};

}  // namespace

// An operator ready to run, with what has been measured of it. Exchange and update have no kernel: they are the replica's own.
struct Replica::Step {
  const PlacedOperator* op = nullptr;
  std::unique_ptr<Kernel> kernel;
  double bytes = 0;
  int64_t runs = 0;
  double seconds = 0;
};

struct Replica::Bound {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Dataset> dataset;
  std::array<std::vector<Step>, kSegments> segments;
  StepContext context;
  Optimiser optimiser;
  bool updates = false;
  int loss = -1, correct = -1;
  bool profiling = false;

  // A step may stop in its middle, to answer the learner's mailbox, and go on here.
  std::optional<Ticket> ticket;
  size_t segment = 0;
  std::vector<int64_t> samples;  // chosen for this step
};

Replica::Replica(Backend& backend, ParameterLayout layout, int threads, uint64_t seed, std::shared_ptr<Group> group, int learner)
    : backend_(backend),
      layout_(std::move(layout)),
      threads_(threads),
      seed_(seed),
      group_(std::move(group)),
      learner_(learner),
      weights_(backend_, layout_.bytes) {
  if (group_ && !same_layout(layout_, group_->layout()))
    throw Error("INVALID_PROGRAM", "replica: its parameter layout is not the group's; compile its programs with the group's parameters");
}

Replica::~Replica() = default;

Replica::Bound& Replica::bound(int slot) const {
  if (slot < 0 || static_cast<size_t>(slot) >= bound_.size())
    throw Error("INVALID_STATE",
                "slot: received " + std::to_string(slot) + "; the replica has " + std::to_string(bound_.size()) + " programs");
  return *bound_[static_cast<size_t>(slot)];
}

int Replica::bind(std::shared_ptr<const Program> program, std::shared_ptr<const Dataset> dataset) {
  if (!same_layout(program->parameters, layout_))
    throw Error("INVALID_PROGRAM",
                "program " + program->name + ": its parameter layout is not the replica's; compile it with the replica's parameters");
  const auto arena = [&arenas = program->arenas](Arena which) { return arenas[static_cast<size_t>(which)]; };
  if (arena(Arena::gradients) && !gradients_.data()) gradients_ = Memory(backend_, layout_.bytes);
  if (arena(Arena::statistics)) {
    if (!statistics_.data()) statistics_ = Memory(backend_, arena(Arena::statistics));
    if (statistics_.bytes() != arena(Arena::statistics))
      throw Error("INVALID_PROGRAM",
                  "program " + program->name + ": its statistics are not laid out as the replica's; compile both from one model");
  }
  auto bound = std::make_unique<Bound>();
  bound->program = std::move(program);
  bound->dataset = std::move(dataset);
  // Primitives are made for as many threads as will run them.
  backend_.use_threads(threads_);
  const bool grows = arena(Arena::activations) > activations_.bytes();
  if (grows) activations_ = Memory(backend_, arena(Arena::activations));
  make_kernels(*bound);
  if (grows)
    for (const auto& earlier : bound_) make_kernels(*earlier);
  bound_.push_back(std::move(bound));
  return static_cast<int>(bound_.size()) - 1;
}

std::byte* Replica::address(const PlacedValue& value) {
  switch (value.arena) {
    case Arena::weights: return weights_.data() + value.offset;
    case Arena::gradients: return gradients_.data() + value.offset;
    case Arena::statistics: return statistics_.data() + value.offset;
    case Arena::activations: return activations_.data() + value.offset;
  }
  return nullptr;
}

void Replica::make_kernels(Bound& bound) {
  const Program& program = *bound.program;
  bound.ticket.reset();
  for (size_t s = 0; s < kSegments; ++s) {
    bound.segments[s].clear();
    for (const PlacedOperator& op : program.segments[s]) {
      Step step;
      step.op = &op;
      OperatorSpec spec{op.kind,          op.name,          op.attributes, {}, {}, activations_.data() + op.scratch_offset,
                        op.scratch_bytes, program.precision};
      for (auto [ids, tensors] : {std::pair{&op.inputs, &spec.inputs}, std::pair{&op.outputs, &spec.outputs}}) {
        for (int id : *ids) {
          if (id < 0) {
            tensors->emplace_back();
            continue;
          }
          const PlacedValue& value = program.values[static_cast<size_t>(id)];
          tensors->push_back({value.spec, address(value)});
          step.bytes += static_cast<double>(value.bytes);
        }
      }
      if (op.kind == "update") {
        bound.updates = true;
        bound.optimiser = {op.attributes.number("momentum"), op.attributes.number("weightDecay"), op.attributes.number("nesterov", 0) != 0};
        if (bound.optimiser.momentum != 0 && !velocity_.data()) velocity_ = Memory(backend_, layout_.bytes);
        if (!gradients_.data()) gradients_ = Memory(backend_, layout_.bytes);
        step.bytes = 5.0 * static_cast<double>(layout_.bytes);
      } else if (op.kind == "load") {
        if (!bound.dataset) throw Error("INVALID_STATE", "program " + program.name + ": it loads samples; bind it with a data set");
        const Shape& shape = spec.outputs.at(0).shape();
        if (!std::equal(shape.begin() + 1, shape.end(), bound.dataset->sample.begin(), bound.dataset->sample.end()))
          throw Error("SHAPE_MISMATCH", "program " + program.name + ": its samples do not have the shape of the data set's");
        step.kernel = backend_.make(spec);
      } else if (op.kind != "exchange") {
        step.kernel = backend_.make(spec);
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
  bound.context = {bound.dataset.get(), seed_, 0, {}};
}

// Which step this is: its place in the data, its rate, its round.
Entry Replica::begin(Bound& bound, const RunLimits& limits, int64_t done, Clock::time_point deadline, RunReport& report) {
  Ticket ticket;
  if (group_ && bound.updates) {
    const Clock::time_point start = Clock::now();
    const Entry entry = group_->enter(learner_, deadline, cancelled_, ticket);
    report.wait_seconds += seconds_since(start);
    if (entry != Entry::granted) return entry;
    if (ticket.starts_anew) {
      std::memcpy(weights_.data(), group_->central(ticket.round), layout_.bytes);
      if (velocity_.data()) std::memset(velocity_.data(), 0, velocity_.bytes());
    }
  } else {
    if (cancelled_) return Entry::cancelled;
    ticket.position = limits.position + static_cast<uint64_t>(done * bound.program->batch);
  }
  if (limits.rate) ticket.rate = *limits.rate;
  bound.context.position = ticket.position;
  bound.context.samples = {};
  bound.ticket = ticket;
  bound.segment = 0;
  return Entry::granted;
}

// What the learner loads in this step instead of what is at its position.
void Replica::choose(Bound& bound, const std::vector<int64_t>& samples) {
  const Program& program = *bound.program;
  if (!samples.empty() && samples.size() != static_cast<size_t>(program.batch))
    throw Error("INVALID_OPTION", "samples: received " + std::to_string(samples.size()) + "; give one for each of the batch of " +
                                      std::to_string(program.batch));
  for (int64_t sample : samples)
    if (!bound.dataset || sample < 0 || sample >= bound.dataset->count)
      throw Error("INVALID_OPTION", "samples: received " + std::to_string(sample) + "; the data set has numbers 0 to " +
                                        std::to_string(bound.dataset ? bound.dataset->count - 1 : 0));
  bound.samples = samples;
  bound.context.samples = bound.samples;
}

// The group meets before the first operator of `exchange`.
Entry Replica::meet(Bound& bound, Clock::time_point deadline, RunReport& report) {
  if (!group_ || !bound.updates) return Entry::granted;
  // What would spread to the central model is looked at before it can.
  if (bound.loss >= 0 && !std::isfinite(scalar(bound, bound.loss))) {
    group_->report(learner_, bound.ticket->iteration, scalar(bound, bound.loss));
    return Entry::cancelled;
  }
  if (!bound.ticket->corrects) return Entry::granted;
  const Clock::time_point waits = Clock::now();
  const Entry entry = group_->await(learner_, bound.ticket->round, deadline, cancelled_);
  report.wait_seconds += seconds_since(waits);
  return entry;
}

// A step that was given up is not gone on with; a cancelled replica may run again.
RunReport::Outcome Replica::left(Bound& bound, Entry entry) {
  if (entry == Entry::cancelled || entry == Entry::evicted) {
    bound.ticket.reset();
    cancelled_ = false;
  }
  return outcome_of(entry);
}

// The step is over. Returns its loss.
double Replica::complete(Bound& bound) {
  const double loss = bound.loss >= 0 ? scalar(bound, bound.loss) : 0;
  if (group_ && bound.updates) group_->report(learner_, bound.ticket->iteration, loss);
  bound.ticket.reset();
  return loss;
}

// False where it was cancelled between two operators.
bool Replica::run_operators(Bound& bound, Segment segment) {
  for (Step& step : bound.segments[static_cast<size_t>(segment)]) {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    const Clock::time_point start = bound.profiling ? Clock::now() : Clock::time_point{};
    if (step.kernel)
      step.kernel->run(bound.context);
    else if (segment == Segment::update)
      update(bound);
    if (bound.profiling) {
      ++step.runs;
      step.seconds += seconds_since(start);
    }
  }
  return true;
}

void Replica::update(Bound& bound) {
  const Ticket& ticket = *bound.ticket;
  OptimiserPass pass;
  pass.type = layout_.type();
  pass.n = layout_.bytes / size_of(pass.type);
  pass.weights = weights_.data();
  pass.gradients = gradients_.data();
  pass.velocity = velocity_.data();
  pass.rate = ticket.rate;
  pass.momentum = bound.optimiser.momentum;
  pass.decay = bound.optimiser.decay;
  pass.nesterov = bound.optimiser.nesterov;
  std::shared_ptr<Memory> slot;
  if (group_ && ticket.corrects && (slot = group_->slot(learner_))) {
    pass.central = group_->central(ticket.round);
    pass.correction = slot->data();
    pass.alpha = ticket.alpha;
  }
  backend_.optimise(pass);
  if (slot) group_->arrive(learner_, ticket.round);
}

double Replica::scalar(const Bound& bound, int id) {
  const PlacedValue& value = bound.program->values[static_cast<size_t>(id)];
  const std::byte* data = address(value);
  if (value.spec.type == Type::f64) return *reinterpret_cast<const double*>(data);
  if (value.spec.type == Type::f32) return *reinterpret_cast<const float*>(data);
  if (value.spec.type == Type::i32) return *reinterpret_cast<const int32_t*>(data);
  throw Error("INVALID_PROGRAM", "value " + value.name + ": a loss or a count is f32, f64 or i32");
}

RunReport Replica::run(int slot, const RunLimits& limits) {
  Bound& bound = this->bound(slot);
  backend_.use_threads(threads_);
  RunReport report;
  const Clock::time_point start = Clock::now(), deadline = after(start, limits.milliseconds);
  const auto ended = [&](Entry entry) {
    report.outcome = left(bound, entry);
    report.busy_seconds = seconds_since(start) - report.wait_seconds;
    return report;
  };

  while (report.steps < limits.steps) {
    if (!bound.ticket) {
      if (const Entry entry = begin(bound, limits, report.steps, deadline, report); entry != Entry::granted) return ended(entry);
    }
    for (; bound.segment < kSegments; ++bound.segment) {
      const auto segment = static_cast<Segment>(bound.segment);
      if (segment == Segment::exchange) {
        if (const Entry entry = meet(bound, deadline, report); entry != Entry::granted) return ended(entry);
      }
      if (!run_operators(bound, segment)) return ended(Entry::cancelled);
    }
    report.loss_sum += complete(bound);
    if (bound.correct >= 0) report.correct_sum += scalar(bound, bound.correct);
    ++report.steps;
    if (Clock::now() >= deadline) break;
  }
  return ended(Entry::granted);
}

RunReport::Outcome Replica::run_segment(int slot, Segment segment, const RunLimits& limits) {
  Bound& bound = this->bound(slot);
  backend_.use_threads(threads_);
  RunReport report;
  const Clock::time_point deadline = after(Clock::now(), limits.milliseconds);
  if (!bound.ticket) {
    if (const Entry entry = begin(bound, limits, 0, deadline, report); entry != Entry::granted) return left(bound, entry);
  }
  if (limits.rate) bound.ticket->rate = *limits.rate;
  if (segment == Segment::load) choose(bound, limits.samples);
  // Whoever leaves the exchange out meets the group here: its slot is not its own before.
  if (segment == Segment::exchange || segment == Segment::update) {
    if (const Entry entry = meet(bound, deadline, report); entry != Entry::granted) return left(bound, entry);
  }
  if (!run_operators(bound, segment)) return left(bound, Entry::cancelled);
  if (segment == Segment::update || !bound.updates) complete(bound);
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
  const PlacedValue& value = readable(slot, name);
  backend_.reorder({value.spec, address(value)}, {value_spec(slot, name), canonical});
}

void Replica::write_value(int slot, const std::string& name, const std::byte* canonical) {
  const PlacedValue& value = readable(slot, name);
  backend_.reorder({value_spec(slot, name), const_cast<std::byte*>(canonical)}, {value.spec, address(value)});
}

Memory& Replica::vector(Vector which) {
  Memory& memory = which == Vector::weights ? weights_ : which == Vector::gradients ? gradients_ : velocity_;
  if (!memory.data()) memory = Memory(backend_, layout_.bytes);
  return memory;
}

void Replica::read_vector(Vector which, std::byte* canonical) { to_canonical(backend_, layout_, vector(which).data(), canonical); }

void Replica::write_vector(Vector which, const std::byte* canonical) { from_canonical(backend_, layout_, canonical, vector(which).data()); }

int64_t Replica::adopt(const Group& group) {
  if (!same_layout(layout_, group.layout()))
    throw Error("INVALID_PROGRAM", "replica: its parameter layout is not the group's; compile its programs with the group's parameters");
  return group.copy_central(weights_.data());
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
