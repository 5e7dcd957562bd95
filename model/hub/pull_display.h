#ifndef TRIVIUM_MODEL_HUB_PULL_DISPLAY_H_
#define TRIVIUM_MODEL_HUB_PULL_DISPLAY_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "model/hub/pull_observer.h"

namespace trivium {

// Shows a pull to a person: on a terminal a bar for each file, elsewhere a line
// when a file begins.
class PullDisplay : public PullObserver {
 public:
  explicit PullDisplay(FILE* file);

  void OnFile(const HubFile& file, int64_t have) override;
  void OnBytes(int64_t have) override;
  void OnFileEnd() override;
  void OnNote(const std::string& text) override;

 private:
  void Draw(absl::Time now);

  FILE* const file_;
  const bool terminal_;
  std::string path_;
  int64_t size_ = 0, have_ = 0, had_ = 0;
  absl::Time begin_, drawn_ = absl::InfinitePast();
};

// Returns "model.safetensors  [#####     ]  50 %  600 MB of 1.2 GB  85 MB/s
// 0:07 left" in less than `width` columns. `fetched`: bytes of `have` that came
// in `elapsed`.
std::string PullLine(const std::string& path, int64_t have, int64_t size,
                     int64_t fetched, absl::Duration elapsed, int width);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_PULL_DISPLAY_H_
