#include "transport/mpi/mpi_link.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <string>
#include <thread>

#include "core/condition_variable.h"
#include "transport/mpi/mpi_error.h"

namespace arbalest {
namespace {

using Clock = std::chrono::steady_clock;

// A receive that is given up is settled within some calls, unless its message is on the way.
constexpr auto kMostTimeToCancel = std::chrono::milliseconds(200);
// After the loss of a host MPI fails every transfer; those that it has not failed by then are left to it.
constexpr auto kMostTimeToGiveUp = std::chrono::seconds(2);

bool is_running() {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised && !finalised;
}

void initialise(int level) {
  int was_initialised = 0;
  MPI_Initialized(&was_initialised);
  if (was_initialised)
    throw Error("BACKEND_UNAVAILABLE",
                "hosts: MPI can be initialised once in a process; start a new process for each run over several hosts");
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(nullptr, nullptr, level, &provided);
  if (code != MPI_SUCCESS) throw Error("BACKEND_UNAVAILABLE", "hosts: MPI_Init_thread: " + text_of(code));
  // Node has threads of its own, of which none calls MPI.
  if (provided < level)
    throw Error("BACKEND_UNAVAILABLE", "hosts: this MPI does not allow enough threads; use one that is built with them");
}

[[noreturn]] void throw_failed(int peer, int code) {
  const std::string rank = "hosts: rank " + std::to_string(peer);
  const int found = class_of(code);
  if (found == MPI_ERR_TRUNCATE) throw Error("INTERNAL", rank + " has sent a longer message than was expected");
#ifdef MPIX_ERR_PROC_FAILED
  if (found == MPIX_ERR_REVOKED) throw Error("HOST_LOST", "hosts: another host has lost one");
#endif
  throw Error("HOST_LOST", rank + " does not answer any more (" + text_of(code) + ")");
}

#ifdef MPIX_ERR_PROC_FAILED
// Whether the launcher was told to keep the others (`mpirun --with-ft ulfm`).
bool goes_on() {
#ifdef MPIX_FT
  int* value = nullptr;
  int is_known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &value, &is_known);
  return is_known && *value;
#else
  return true;
#endif
}

// The ranks of `now` as `former` calls those of `before`.
std::vector<int> ranks_of(MPI_Comm now, MPI_Comm before, const std::vector<int>& former) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group group_before = MPI_GROUP_NULL;
  MPI_Comm_group(now, &group);
  MPI_Comm_group(before, &group_before);
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<size_t>(size));
  std::vector<int> translated(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group_translate_ranks(group, size, ranks.data(), group_before, translated.data());
  MPI_Group_free(&group);
  MPI_Group_free(&group_before);
  for (int& each : translated) each = former[static_cast<size_t>(each)];
  return translated;
}
#endif

// Of these processes alone: no other takes part in the call.
MPI_Comm communicator_of(const std::vector<int>& members) {
  MPI_Group everyone = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  expect_success(MPI_Group_incl(everyone, static_cast<int>(members.size()), members.data(), &group), "MPI_Group_incl");
  // Told apart by the first member, which no other group has.
  expect_success(MPI_Comm_create_group(MPI_COMM_WORLD, group, members.front(), &made), "MPI_Comm_create_group");
  MPI_Group_free(&group);
  MPI_Group_free(&everyone);
  return made;
}

}  // namespace

// The links of a process that has several. One thread initialises MPI, opens all links in the same order on every host, and finalises MPI
// when all have ended. Only one thread at a time is in a call of MPI. It lives as long as the process.
class MpiLink::Several {
 public:
  explicit Several(const LinkMembers& links)
      : left_(links.size()), finalises_(std::ranges::all_of(links, [](const auto& members) { return members.empty(); })) {
    std::thread([this, links] { serve(links); }).detach();
  }

  std::unique_ptr<MpiLink> link(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return opened_; });
    if (failure_) std::rethrow_exception(failure_);
    return std::move(links_.at(static_cast<size_t>(number)));
  }
  std::unique_lock<std::mutex> turn() { return std::unique_lock(mpi_); }
  // Of a link. The last one waits until MPI is finalised.
  void end() {
    leave();
    std::unique_lock lock(mutex_);
    if (left_ == 0) changed_.wait(lock, [this] { return finalised_; });
  }
  // Of a link that has failed.
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) changed_.notify_all();
  }

 private:
  void serve(const LinkMembers& links) {
    try {
      initialise(MPI_THREAD_SERIALIZED);
      for (const std::vector<int>& members : links) links_.push_back(std::unique_ptr<MpiLink>(new MpiLink(this, members)));
    } catch (...) {
      failure_ = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    opened_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return left_ == 0; });
    if (finalises_) MPI_Finalize();
    finalised_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_, mpi_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<MpiLink>> links_;
  std::exception_ptr failure_;
  bool opened_ = false, finalised_ = false;
  size_t left_;
  const bool finalises_;  // see end()
};

std::unique_ptr<MpiLink> MpiLink::open(int number, const LinkMembers& links) {
  if (links.size() == 1) {
    initialise(MPI_THREAD_FUNNELED);
    return std::unique_ptr<MpiLink>(new MpiLink(nullptr, links.front()));
  }
  static Several* const kSeveral = new Several(links);
  return kSeveral->link(number);
}

MpiLink::MpiLink(Several* several, const std::vector<int>& members) : several_(several), is_part_(!members.empty()) {
  MPI_Comm all = MPI_COMM_NULL;
  if (members.empty())
    expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  else
    all = communicator_of(members);
  join(all);
}

// Without end() MPI stays as it is: the launcher sees that this process ends without MPI_Finalize, and ends the others.
MpiLink::~MpiLink() {
  if (ended_) return;
  if (is_running()) give_up_all();
  if (several_) several_->leave();
}

std::unique_lock<std::mutex> MpiLink::turn() const { return several_ ? several_->turn() : std::unique_lock<std::mutex>(); }

// Each channel has a communicator of its own, so that messages of different channels never match.
void MpiLink::join(MPI_Comm all) {
  all_ = all;
  // Not inherited from MPI_COMM_WORLD, whose handler ends the process.
  MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
  expect_success(MPI_Comm_rank(all_, &rank_), "MPI_Comm_rank");
  expect_success(MPI_Comm_size(all_, &size_), "MPI_Comm_size");
  for (MPI_Comm& each : channels_) {
    expect_success(MPI_Comm_dup(all_, &each), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  }
}

bool MpiLink::try_join(MPI_Comm all) {
  try {
    join(all);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Link::Transfer MpiLink::send(Channel channel, int to, int tag, std::span<const std::byte> bytes) {
  const auto turn = this->turn();
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, communicator(channel), &request);
  if (code != MPI_SUCCESS) throw_failed(to, code);
  return add(request, {++last_, to, false});
}

Link::Transfer MpiLink::receive(Channel channel, int from, int tag, std::span<std::byte> bytes) {
  const auto turn = this->turn();
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, communicator(channel), &request);
  if (code != MPI_SUCCESS) throw_failed(from, code);
  return add(request, {++last_, from, true});
}

Link::Transfer MpiLink::add(MPI_Request request, UnderWay under_way) {
  requests_.push_back(request);
  under_way_.push_back(under_way);
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  return under_way.transfer;
}

// The last one takes its place.
void MpiLink::forget(size_t index) {
  requests_[index] = requests_.back();
  under_way_[index] = under_way_.back();
  requests_.pop_back();
  under_way_.pop_back();
}

bool MpiLink::cancel(Transfer receive) {
  const auto found = std::find_if(under_way_.begin(), under_way_.end(), [&](const UnderWay& each) { return each.transfer == receive; });
  if (found == under_way_.end()) return false;
  const auto turn = this->turn();
  const auto index = static_cast<size_t>(found - under_way_.begin());
  expect_success(MPI_Cancel(&requests_[index]), "MPI_Cancel");
  const auto deadline = Clock::now() + kMostTimeToCancel;
  int is_settled = 0;
  MPI_Status status;
  do expect_success(MPI_Test(&requests_[index], &is_settled, &status), "MPI_Test");
  while (!is_settled && Clock::now() < deadline);
  if (!is_settled) return false;
  int is_cancelled = 0;
  expect_success(MPI_Test_cancelled(&status, &is_cancelled), "MPI_Test_cancelled");
  if (!is_cancelled) arrived_.push_back(receive);
  forget(index);
  return is_cancelled;
}

void MpiLink::poll(std::vector<Transfer>& done) {
  done.insert(done.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
  if (requests_.empty()) return;
  const auto turn = this->turn();
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
  const bool has_failed = code != MPI_SUCCESS;
  if (has_failed && class_of(code) != MPI_ERR_IN_STATUS) expect_success(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED) return;
  for (int i = 0; i < count; i++) {
    const UnderWay& each = under_way_[indices_[i]];
    // MPI sets the statuses' errors only where the call has failed.
    if (has_failed && statuses_[i].MPI_ERROR != MPI_SUCCESS) throw_failed(each.peer, statuses_[i].MPI_ERROR);
    done.push_back(each.transfer);
  }
  // From the last on, so that those before it keep their places.
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (int i = 0; i < count; i++) forget(static_cast<size_t>(indices_[i]));
}

// Waits until MPI has failed or finished every transfer, so that it no longer touches their memory. The other links of the process have
// their turns meanwhile.
void MpiLink::give_up_all() {
  {
    const auto turn = this->turn();
    for (size_t i = 0; i < requests_.size(); i++)
      if (requests_[i] != MPI_REQUEST_NULL && under_way_[i].is_receive) MPI_Cancel(&requests_[i]);
  }
  const auto deadline = Clock::now() + kMostTimeToGiveUp;
  int are_done = 0;
  while (!are_done && Clock::now() < deadline) {
    const auto turn = this->turn();
    int count = 0;
    const int length = static_cast<int>(requests_.size());
    MPI_Testsome(length, requests_.data(), &count, indices_.data(), statuses_.data());
    are_done = std::all_of(requests_.begin(), requests_.end(), [](MPI_Request each) { return each == MPI_REQUEST_NULL; });
  }
  requests_.clear();
  under_way_.clear();
  arrived_.clear();
}

std::vector<int> MpiLink::shrink() {
#ifdef MPIX_ERR_PROC_FAILED
  // Links of one process would wait for each other.
  if (several_ || !goes_on()) return {};
  std::vector<int> former(static_cast<size_t>(size_));
  std::iota(former.begin(), former.end(), 0);
  // A host that waits for one that is still there learns of the loss by this.
  for (const MPI_Comm each : channels_) MPIX_Comm_revoke(each);
  give_up_all();
  MPI_Comm before = all_;
  for (;;) {
    MPI_Comm survivors = MPI_COMM_NULL;
    if (MPIX_Comm_shrink(before, &survivors) != MPI_SUCCESS) return {};
    former = ranks_of(survivors, before, former);
    // A further host may be lost meanwhile: all join, or none.
    int has_joined = try_join(survivors);
    MPIX_Comm_agree(survivors, &has_joined);
    if (has_joined) return former;
    before = survivors;
  }
#else
  return {};
#endif
}

// MPI_Finalize waits for all processes of the launcher, also for those of other jobs and for those that have left without it. A link of a
// part of them does without: its hosts have agreed that nothing more comes.
void MpiLink::end() {
  ended_ = true;
  if (several_) return several_->end();
  if (is_part_) return;
  for (MPI_Comm& each : channels_) MPI_Comm_free(&each);
  MPI_Comm_free(&all_);
  expect_success(MPI_Finalize(), "MPI_Finalize");
}

void MpiLink::abort(int code) noexcept {
  ended_ = true;
  if (is_running()) MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace arbalest
