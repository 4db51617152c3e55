#include "core/transfers.h"

#include <algorithm>

#include "core/error.h"

namespace arbalest {
namespace {

[[noreturn]] void invalid(const Program& program, const PlacedOperator& op, const std::string& message) {
  throw Error("INVALID_PROGRAM", "program " + program.name + ": " + op.kind + " " + op.name + " " + message);
}

bool begins(const PlacedOperator& op) { return op.kind == "store" || op.kind == "fetch"; }

bool is_vector(const PlacedValue& value) { return value.arena == Arena::weights || value.arena == Arena::gradients; }

void check_place(const Program& program, const PlacedOperator& op, const PlacedValue& value, Arena arena) {
  if (value.arena != arena) invalid(program, op, "names value " + value.name + " of the wrong tier");
  if (value.offset % kTransferUnit != 0 || value.offset + whole_units(value.bytes) > program.arena_bytes[static_cast<size_t>(arena)])
    invalid(program, op,
            "moves value " + value.name + ", which does not lie in whole units of " + std::to_string(kTransferUnit) + " bytes");
}

void check_values(const Program& program, const PlacedOperator& op) {
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || op.inputs[0] < 0 || op.outputs[0] < 0)
    invalid(program, op, "takes one value and gives one");
  const PlacedValue &from = program.values[static_cast<size_t>(op.inputs[0])], &to = program.values[static_cast<size_t>(op.outputs[0])];
  const bool stores = op.kind == "store";
  if (!moves_vector(program, op)) {
    check_place(program, op, from, stores ? Arena::activations : Arena::staged);
    check_place(program, op, to, stores ? Arena::staged : Arena::activations);
  } else if ((stores ? from : to).arena != Arena::activations || (stores && to.arena != Arena::gradients)) {
    invalid(program, op, "moves parameters or their gradients otherwise than by an activation");
  }
  if (from.bytes != to.bytes) invalid(program, op, "moves " + std::to_string(from.bytes) + " bytes to " + std::to_string(to.bytes));
}

// `vectors`: weights and gradients lie there, too.
void check_none_staged(const Program& program, const PlacedOperator& op, bool vectors) {
  for (const auto* ids : {&op.inputs, &op.outputs}) {
    for (const int id : *ids) {
      if (id < 0) continue;
      const PlacedValue& value = program.values[static_cast<size_t>(id)];
      if (value.arena == Arena::staged || (vectors && is_vector(value)))
        invalid(program, op, "uses value " + value.name + " of the second tier; fetch it first");
    }
  }
}

}  // namespace

bool moves_vector(const Program& program, const PlacedOperator& op) {
  const auto transfer = transfer_of(op);
  if (!transfer) return false;
  const auto value = [&](int id) -> const PlacedValue& { return program.values[static_cast<size_t>(id)]; };
  return is_vector(value(transfer->from)) || is_vector(value(transfer->to));
}

bool moves_vectors(const Program& program) {
  for (const auto& segment : program.segments)
    for (const PlacedOperator& op : segment)
      if (moves_vector(program, op)) return true;
  return false;
}

std::optional<Transfer> transfer_of(const PlacedOperator& op) {
  if (begins(op)) return Transfer{op.inputs.at(0), op.outputs.at(0)};
  if (op.kind == "settle") return Transfer{op.inputs.at(0), op.inputs.at(1)};
  return std::nullopt;
}

std::vector<Transfer> transfers_of(const Program& program) {
  std::vector<Transfer> all;
  for (const auto& segment : program.segments)
    for (const PlacedOperator& op : segment)
      if (begins(op)) all.push_back(*transfer_of(op));
  return all;
}

void check_transfers(const Program& program) {
  const bool moves = moves_vectors(program);
  std::vector<Transfer> begun, unsettled;
  for (size_t s = 0; s < kSegments; ++s) {
    for (const PlacedOperator& op : program.segments[s]) {
      const bool settles = op.kind == "settle";
      if (!begins(op) && !settles) {
        check_none_staged(program, op, moves);
        continue;
      }
      const auto segment = static_cast<Segment>(s);
      if (segment != Segment::forward && segment != Segment::backward) invalid(program, op, "stands outside of forward and backward");
      if (settles) {
        if (op.inputs.size() != 2 || !op.outputs.empty()) invalid(program, op, "takes the two values of a transfer");
        const auto found = std::ranges::find(unsettled, *transfer_of(op));
        if (found == unsettled.end()) invalid(program, op, "waits for a transfer that is not under way");
        unsettled.erase(found);
        continue;
      }
      check_values(program, op);
      if (std::ranges::find(begun, *transfer_of(op)) != begun.end()) invalid(program, op, "begins a transfer a second time");
      begun.push_back(*transfer_of(op));
      unsettled.push_back(begun.back());
    }
    if (static_cast<Segment>(s) == Segment::backward && !unsettled.empty())
      throw Error("INVALID_PROGRAM", "program " + program.name + ": " + std::to_string(unsettled.size()) + " transfers are never settled");
  }
  for (const auto& [name, id] : program.named)
    if (id >= 0 && id < static_cast<int>(program.values.size()) && program.values[static_cast<size_t>(id)].arena == Arena::staged)
      throw Error("INVALID_PROGRAM", "program " + program.name + ": the name " + name + " stands for a value of the second tier");
}

}  // namespace arbalest
