#include "cuda/host/host_tier.h"

#include "cuda/host/host_stream.h"

namespace arbalest::cuda {

void StreamedTier::store(size_t transfer, const void* from, size_t offset, size_t bytes) {
  HostStream& stream = computing_();
  stream.side_branch().await(Accesses::reading(backend_.seen(from), bytes));
  stream.fork(this, transfer);
  stream.submit([=, copies = copies_, from = backend_.seen(from)] { copies->store(transfer, from, offset, bytes); });
}

void StreamedTier::fetch(size_t transfer, size_t offset, void* to, size_t bytes) {
  HostStream& stream = computing_();
  stream.side_branch().await(Accesses::writing(backend_.seen(to), bytes));
  stream.fork(this, transfer);
  stream.submit([=, copies = copies_, to = backend_.seen(to)] { copies->fetch(transfer, offset, to, bytes); });
}

void StreamedTier::settle(size_t transfer) {
  HostStream& stream = computing_();
  stream.join(this, transfer);
  stream.submit([=, copies = copies_] { copies->settle(transfer); });
}

void StreamedTier::abandon() noexcept {
  computing_().submit([copies = copies_] { copies->abandon(); });
}

}  // namespace arbalest::cuda
