#include "model/weights/packed_rows.h"

#include <algorithm>
#include <vector>

namespace trivium {

void PackedRows::Read(int64_t begin, std::span<float> out) const {
  std::vector<float> whole;  // a row that is only partly requested
  while (!out.empty()) {
    const int64_t row = begin / columns_, skipped = begin % columns_;
    const int64_t left = static_cast<int64_t>(out.size());
    int64_t count;
    if (skipped == 0 && left >= columns_) {
      count = left / columns_ * columns_;
      UnpackRows(row, left / columns_, out.data());
    } else {
      count = std::min(left, columns_ - skipped);
      whole.resize(static_cast<size_t>(columns_));
      UnpackRows(row, 1, whole.data());
      std::copy_n(whole.begin() + skipped, count, out.begin());
    }
    begin += count;
    out = out.subspan(static_cast<size_t>(count));
  }
}

}  // namespace trivium
