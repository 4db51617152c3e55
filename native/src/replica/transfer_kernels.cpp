#include "replica/transfer_kernels.h"

namespace arbalest {
namespace {

template <class Work> class TransferKernel final : public Kernel {
 public:
  explicit TransferKernel(Work work) : work_(std::move(work)) {}
  void run(const StepContext&) override { work_(); }

 private:
  Work work_;
};

template <class Work> std::unique_ptr<Kernel> kernel(Work work) { return std::make_unique<TransferKernel<Work>>(std::move(work)); }

}  // namespace

std::unique_ptr<Kernel> transfer_kernel(const PlacedOperator& op, size_t number, HostTier& tier, const Program& program,
                                        std::byte* memory) {
  const Transfer transfer = *transfer_of(op);
  const auto offset_of = [&](int id) { return program.values[static_cast<size_t>(id)].offset; };
  const size_t bytes = program.values[static_cast<size_t>(transfer.from)].bytes;
  if (op.kind == "store") return kernel([=, &tier, offset = offset_of(transfer.to)] { tier.store(number, memory, offset, bytes); });
  if (op.kind == "fetch") return kernel([=, &tier, offset = offset_of(transfer.from)] { tier.fetch(number, offset, memory, bytes); });
  return kernel([=, &tier] { tier.settle(number); });
}

std::unique_ptr<Kernel> vector_transfer_kernel(const PlacedOperator& op, size_t number, ReplicaMemory& replica, std::byte* vector,
                                               std::byte* memory, size_t bytes) {
  if (op.kind == "settle") return kernel([=, &replica] { replica.settle_transfer(number); });
  StagedVectors& vectors = *replica.moved_vectors();
  const auto transferring = [=, &replica](auto begin) {
    return kernel([=, &replica] {
      begin();
      replica.begin_transfer(number, vector);
    });
  };
  if (op.kind == "store") return transferring([=, &vectors] { vectors.begin_store(number, memory, vector, bytes); });
  return transferring([=, &vectors] { vectors.begin_fetch(number, vector, memory, bytes); });
}

}  // namespace arbalest
