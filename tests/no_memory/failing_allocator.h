#ifndef TRIVIUM_TESTS_NO_MEMORY_FAILING_ALLOCATOR_H_
#define TRIVIUM_TESTS_NO_MEMORY_FAILING_ALLOCATOR_H_

#include <string>

namespace trivium {

// This program's operator new, which fails once at each site of our own code: a
// stack of up to kSiteFrames functions, the first of them ours. Functions of
// the standard library and {fmt} count as part of their caller. What other
// libraries allocate inside never fails.
//
//   FailingAllocator::Forget();
//   do {
//     FailingAllocator::Arm();
//     ... a request
//   } while (FailingAllocator::Disarm());
class FailingAllocator {
 public:
  static constexpr int kSiteFrames = 5;

  // Forgets the sites that have failed.
  static void Forget();
  // The next allocation at a site that has not failed yet fails, on any thread
  // but those of clients. It is the only one.
  static void Arm();
  // True if one has failed.
  static bool Disarm();
  // The functions of the site that failed last, innermost first.
  static std::string Site();
};

// While it lives, its thread is a client's: nothing fails there.
class ClientThread {
 public:
  ClientThread();
  ~ClientThread();
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_NO_MEMORY_FAILING_ALLOCATOR_H_
