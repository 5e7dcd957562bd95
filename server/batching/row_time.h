#ifndef TRIVIUM_SERVER_BATCHING_ROW_TIME_H_
#define TRIVIUM_SERVER_BATCHING_ROW_TIME_H_

namespace trivium {

// Recent seconds of a decoder row, in one kind of iterations. Not thread-safe.
class RowTime {
 public:
  // 0: unknown.
  double seconds() const { return seconds_; }

  // Records an iteration's rows, and its seconds besides encoding.
  void Observe(int rows, double seconds) {
    if (rows == 0) return;
    // About the last four iterations count.
    constexpr double kDecay = 0.75;
    const double mean = seconds / rows;
    seconds_ = seconds_ <= 0 ? mean : kDecay * seconds_ + (1 - kDecay) * mean;
  }

 private:
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ROW_TIME_H_
