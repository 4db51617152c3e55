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

}  // namespace arbalest
