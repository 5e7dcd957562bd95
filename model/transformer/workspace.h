#ifndef TRIVIUM_MODEL_TRANSFORMER_WORKSPACE_H_
#define TRIVIUM_MODEL_TRANSFORMER_WORKSPACE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/team.h"
#include "model/kernels/buffer.h"
#include "model/kernels/matmul.h"

namespace trivium {

// The threads of a worker and the scratch memory of each.
class Workspace {
 public:
  // Rows of some hundred numbers whose normalization or quantization justifies
  // another thread.
  static constexpr int kLeastRows = 8;

  // Aligned so that no two threads write to the same cache line.
  struct alignas(64) Thread {
    MatmulWorkspace products;
    Buffer<int32_t> product;   // [kMaxMatmulRows, N], s32 or f32
    Buffer<float> row;         // [N]
    int64_t padding_rows = 0;  // computed beyond the requested rows
    absl::Status status;       // result of a run
  };

  explicit Workspace(int threads = 1) : team_(threads), threads_(threads) {}

  Team& team() { return team_; }
  int threads() const { return team_.threads(); }
  Thread& thread(int i) { return threads_[i]; }

  // Runs work(begin, end, thread), which returns an absl::Status, as Team::Run
  // does. Returns the first error, by thread.
  template <typename Work>
  absl::Status Run(int items, int least, const Work& work) {
    team_.Run(items, least, [&](int begin, int end, int thread) {
      threads_[thread].status = work(begin, end, thread);
    });
    absl::Status status;
    for (Thread& thread : threads_) {
      status.Update(std::exchange(thread.status, absl::OkStatus()));
    }
    return status;
  }

  // Products whose columns several threads compute, [kMaxMatmulRows, N].
  Buffer<int32_t> product;
  // Their input, if the matrix prepares it (PackedMatrix::Prepare).
  Buffer<char> prepared;

  // Returns the padding rows computed since the last call.
  int64_t ConsumePaddingRows() {
    int64_t rows = 0;
    for (Thread& thread : threads_) {
      rows += std::exchange(thread.padding_rows, 0);
    }
    return rows;
  }

 private:
  Team team_;
  std::vector<Thread> threads_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_WORKSPACE_H_
