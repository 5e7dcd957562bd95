#ifndef TRIVIUM_SERVER_BATCHING_ROW_TIME_H_
#define TRIVIUM_SERVER_BATCHING_ROW_TIME_H_

namespace trivium {

// What a decoder row lately took of an iteration, of one kind of iterations.
// Not thread-safe.
class RowTime {
 public:
  // Seconds; 0: not known.
  double seconds() const { return seconds_; }

  // An iteration's rows, and its seconds besides encoding.
  void Observe(int rows, double seconds) {
    if (rows == 0) return;
    // The last four or so count.
    constexpr double kDecay = 0.75;
    const double mean = seconds / rows;
    seconds_ = seconds_ <= 0 ? mean : kDecay * seconds_ + (1 - kDecay) * mean;
  }

 private:
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ROW_TIME_H_
