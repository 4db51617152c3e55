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

template <class F> void perform(const Each<F>& way) {
  for (int64_t i = 0; i < way.n; ++i) way.program(i);
}

template <class P> void perform(const Blocks<P>& way) {
  for (int64_t block = 0; block < way.count; ++block) {
    typename P::Shared shared;
    // As on a GPU, shared memory is not initialised; these bits are a NaN.
    std::memset(static_cast<void*>(&shared), 0xff, sizeof shared);
    for (int phase = 0; phase < P::kPhases; ++phase)
      for (int thread = 0; thread < kThreads; ++thread) way.program.run(phase, block, thread, shared);
  }
}

template <class P> void perform(const Clusters<P>& way) {
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
  for (int64_t cluster = 0; cluster < way.count; ++cluster) {
    std::memset(static_cast<void*>(shared.data()), 0xff, shared.size() * sizeof(Piece));
    std::memset(static_cast<void*>(own.data()), 0xff, own.size() * sizeof(typename P::Own));
    for (int phase = 0; phase < way.program.phases(); ++phase)
      for (int rank = 0; rank < way.size; ++rank)
        for (int thread = 0; thread < kThreads; ++thread)
          way.program.run(phase, ClusterBlock{cluster, rank, way.size, memory.data()}, thread,
                          own[static_cast<size_t>(rank * kThreads + thread)]);
    for (const unsigned char* const block : memory)
      for (size_t i = 0; i < kGuard; ++i)
        if (block[bytes + i] != 0xff) throw Error("INTERNAL", "a cluster: a block has written behind its shared memory; report this");
  }
}

// The last one first: none may depend on another.
template <class Way> void queue_rows(std::span<const Way* const> ways, DeviceStream& stream) {
  std::vector<Way> rows;
  for (const Way* way : ways) rows.push_back(*way);
  queue_of(stream).submit_kernel([rows = std::move(rows)] {
    count_launch<typename Way::Program>();
    for (size_t row = rows.size(); row-- > 0;) perform(rows[row]);
  });
}

template <class Way> void queue(const Way& way, DeviceStream& stream) {
  queue_of(stream).submit_kernel([way] {
    count_launch<typename Way::Program>();
    perform(way);
  });
}

}  // namespace arbalest::cuda
