// A link between processes on MPI: messages are point to point on a communicator a channel. It asks for no more of MPI than MPI 3.1 has,
// and goes on after the loss of a host where the library has ULFM (Open MPI 5 with `mpirun --with-ft ulfm`, MPICH).
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/link.h"

namespace arbalest {

class MpiLink final : public Link {
 public:
  // The link of this number, of those that the process opens, each from a thread of its own: the jobs on a device have theirs, and so have
  // those that a hub serves. The first one initialises MPI, and its end finalises it, if it is the only one, in the thread that makes all
  // further calls. Throws BACKEND_UNAVAILABLE.
  static std::unique_ptr<MpiLink> open(int number, const LinkMembers& links);
  ~MpiLink() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Transfer send(Channel channel, int to, int tag, std::span<const std::byte> bytes) override;
  Transfer receive(Channel channel, int from, int tag, std::span<std::byte> bytes) override;
  bool cancel(Transfer receive) override;
  void poll(std::vector<Transfer>& done) override;
  std::vector<int> shrink() override;
  void end() override;
  void abort(int code) noexcept override;

 private:
  class Several;

  // MPI is initialised. `several`: null for the only link.
  MpiLink(Several* several, const std::vector<int>& members);

  // One that poll() has not returned yet; its request has the same index in requests_.
  struct UnderWay {
    Transfer transfer;
    int peer;
    bool is_receive;
  };

  MPI_Comm communicator(Channel channel) const { return channels_[static_cast<size_t>(channel)]; }
  Transfer add(MPI_Request request, UnderWay under_way);
  void forget(size_t index);
  void join(MPI_Comm all);
  bool try_join(MPI_Comm all);
  void give_up_all();

  Several* const several_;
  const bool is_part_;  // of the processes of the launcher
  std::unique_lock<std::mutex> turn() const;

  int rank_ = 0;
  int size_ = 1;
  bool ended_ = false;
  MPI_Comm all_ = MPI_COMM_NULL;
  std::array<MPI_Comm, kChannels> channels_{};
  Transfer last_ = 0;
  std::vector<Transfer> arrived_;  // done, as cancel() has found, and not returned by poll() yet
  std::vector<MPI_Request> requests_;
  std::vector<UnderWay> under_way_;
  // Of MPI_Testsome, as long as requests_.
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace arbalest
