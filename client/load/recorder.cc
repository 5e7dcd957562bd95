#include "client/load/recorder.h"

#include <utility>

#include "fmt/format.h"

namespace trivium {

void Recorder::Add(Sample sample) {
  if (sample.finished < measure_from_) return;
  ++(sample.aborted ? counts_.aborted
     : sample.ok()  ? counts_.succeeded
                    : counts_.failed);
  counts_.source_tokens += sample.outcome.source_tokens;
  counts_.new_tokens += sample.outcome.new_tokens;
  samples_.push_back(std::move(sample));
}

Recording Recorder::Finish(absl::Time measure_to) && {
  return {measure_from_, measure_to, std::move(samples_)};
}

std::string LiveLine(const Counts& counts, absl::Duration elapsed,
                     absl::Duration measured, int in_flight) {
  const double seconds = absl::ToDoubleSeconds(measured);
  const int64_t tokens =
      counts.new_tokens > 0 ? counts.new_tokens : counts.source_tokens;
  return fmt::format(
      "{:.0f} s  {} done  {} failed  {}{} in flight  {:.1f}/s  {:.0f} tokens/s",
      absl::ToDoubleSeconds(elapsed), counts.succeeded, counts.failed,
      counts.aborted > 0 ? fmt::format("{} aborted  ", counts.aborted) : "",
      in_flight, seconds > 0 ? counts.succeeded / seconds : 0,
      seconds > 0 ? tokens / seconds : 0);
}

}  // namespace trivium
