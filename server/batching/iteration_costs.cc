#include "server/batching/iteration_costs.h"

#include <algorithm>

namespace trivium {

int IterationCosts::RowsIn(double seconds) const {
  const double row = row_seconds();
  if (seconds <= 0 || row <= 0) return 0;
  return static_cast<int>(std::min<double>(seconds / row, max_rows_));
}

void IterationCosts::Observe(const Iteration& it) {
  const double other = it.seconds - it.encode_seconds;
  encode_.Observe(it.encode_work, it.encode_seconds, it.rows, other);
  // The cost of a row shows only where all rows are next tokens, of all
  // requests.
  const bool plain = it.prefill_tokens == 0 && it.draft_tokens == 0;
  row_limit_.Observe(plain && !it.paused ? it.rows : 0, other);
  if (it.draft_tokens == 0) {
    prefill_.Observe(it.prefill_tokens, it.rows - it.prefill_tokens, other);
  }
  if (it.prefill_tokens == 0 && it.rows > 0) {
    draft_.Observe(it.draft_tokens, other);
  }
  row_times_[share_->beside_interactive()].Observe(it.rows, other);
  if (!share_->beside_interactive()) return;
  double background = 0;
  if (it.rows > 0) background += other * it.background_rows / it.rows;
  if (it.encode_work > 0) {
    background += it.encode_seconds *
                  static_cast<double>(it.background_encode_work) /
                  static_cast<double>(it.encode_work);
  }
  share_->Observe(it.seconds, background);
}

}  // namespace trivium
