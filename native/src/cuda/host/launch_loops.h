// How the stand-in runs launches: plain loops, on its stream's thread. Included by launch.h alone.
#pragma once

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "cuda/host/host_stream.h"
#include "cuda/host/launches.h"
#include "cuda/launch_ways.h"

namespace arbalest::cuda {

// A GPU runs blocks, and their threads between two meetings, in no order. The stand-in's devices of even numbers begin with the first one,
// those of odd numbers with the last one: what depends on the order, because a meeting is missing, differs between them.
struct ThreadOrder {
  bool backwards;

  explicit ThreadOrder(const DeviceBackend& device) : backwards(device.number() % 2 != 0) {}
  template <class Work> void each(int64_t count, const Work& work) const {
    for (int64_t i = 0; i < count; ++i) work(backwards ? count - 1 - i : i);
  }
  template <class Work> void each_thread(const Work& work) const {
    each(kThreads, [&](int64_t thread) { work(static_cast<int>(thread)); });
  }
};

template <class F> void perform(const Each<F>& way, const ThreadOrder& order) {
  order.each(way.n, [&](int64_t i) { way.program(i); });
}

template <class P> void perform(const Blocks<P>& way, const ThreadOrder& order) {
  order.each(way.count, [&](int64_t block) {
    typename P::Shared shared;
    // As on a GPU, shared memory is not initialised; these bits are a NaN.
    std::memset(static_cast<void*>(&shared), 0xff, sizeof shared);
    for (int phase = 0; phase < P::kPhases; ++phase) order.each_thread([&](int thread) { way.program.run(phase, block, thread, shared); });
  });
}

// A block goes on by itself to the next meeting of its cluster, before the next block begins.
template <class P> void perform(const Clusters<P>& way, const ThreadOrder& order) {
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };
  const size_t bytes = (way.program.shared_bytes() + 15) / 16 * 16;
  // A guard follows each block's memory. No block may write to it.
  constexpr size_t kGuard = 256;
  std::vector<Piece> shared((bytes + kGuard) / sizeof(Piece) * static_cast<size_t>(way.size));
  std::vector<typename P::Own> own(static_cast<size_t>(way.size) * kThreads);
  std::vector<unsigned char*> memory;
  for (int rank = 0; rank < way.size; ++rank)
    memory.push_back(reinterpret_cast<unsigned char*>(shared.data()) + static_cast<size_t>(rank) * (bytes + kGuard));
  order.each(way.count, [&](int64_t cluster) {
    std::memset(static_cast<void*>(shared.data()), 0xff, shared.size() * sizeof(Piece));
    std::memset(static_cast<void*>(own.data()), 0xff, own.size() * sizeof(typename P::Own));
    for (int begin = 0, end; begin < way.program.phases(); begin = end) {
      for (end = begin + 1; end < way.program.phases() && !way.program.together(end - 1);) ++end;
      order.each(way.size, [&](int64_t rank) {
        const ClusterBlock block{cluster, static_cast<int>(rank), way.size, memory.data()};
        for (int phase = begin; phase < end; ++phase)
          order.each_thread([&](int thread) { way.program.run(phase, block, thread, own[static_cast<size_t>(rank * kThreads + thread)]); });
      });
    }
    for (const unsigned char* const block : memory)
      for (size_t i = 0; i < kGuard; ++i)
        if (block[bytes + i] != 0xff) throw Error("INTERNAL", "a cluster: a block has written behind its shared memory; report this");
  });
}

// The last one first: none may depend on another.
template <class Way> void queue_rows(std::span<const Way* const> ways, DeviceStream& stream) {
  std::vector<Way> rows;
  for (const Way* way : ways) rows.push_back(*way);
  queue_of(stream).submit_kernel([rows = std::move(rows), order = ThreadOrder(stream.backend())] {
    count_launch<typename Way::Program>();
    for (size_t row = rows.size(); row-- > 0;) perform(rows[row], order);
  });
}

template <class Way> void queue(const Way& way, DeviceStream& stream) {
  queue_of(stream).submit_kernel([way, order = ThreadOrder(stream.backend())] {
    count_launch<typename Way::Program>();
    perform(way, order);
  });
}

}  // namespace arbalest::cuda
