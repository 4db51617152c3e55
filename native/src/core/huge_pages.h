// Memory for large arrays that are read in no order.
#pragma once

#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace arbalest {

// An allocator whose large arrays lie on huge pages, where the system has them: of small pages the processor knows the addresses of a few
// megabytes only, and looks up that of each sample that is gathered from anywhere.
template <class T> class OnHugePages {
 public:
  using value_type = T;

  OnHugePages() = default;
  template <class U> OnHugePages(const OnHugePages<U>&) {}

  T* allocate(size_t count) {
    if (count > (size_t{1} << 48) / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = count * sizeof(T);
    if (bytes < kLarge) return static_cast<T*>(::operator new(bytes));
    const size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = ::operator new (whole, std::align_val_t{kPage});
#ifdef __linux__
    madvise(memory, whole, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, size_t count) noexcept {
    if (count * sizeof(T) < kLarge)
      ::operator delete(memory);
    else
      ::operator delete (memory, std::align_val_t{kPage});
  }

  friend bool operator==(const OnHugePages&, const OnHugePages&) { return true; }

 private:
  static constexpr size_t kPage = size_t{2} << 20, kLarge = 2 * kPage;
};

}  // namespace arbalest
