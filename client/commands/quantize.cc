// trivium quantize: writes a model in four bits. It calls no server.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/print.h"
#include "base/progress_bar.h"
#include "base/status.h"
#include "client/commands/command.h"
#include "client/commands/interrupts.h"
#include "model/quantizer/quantize_folder.h"

namespace trivium {
namespace {

// Draws how far the work is on the last line of a terminal.
class QuantizeDisplay {
 public:
  explicit QuantizeDisplay(FILE* file)
      : file_(file), terminal_(isatty(fileno(file)) == 1) {}
  ~QuantizeDisplay() {
    if (drawn_ > absl::InfinitePast()) PrintTo(file_, "\r\033[K");
    std::fflush(file_);
  }

  void Show(double fraction) {
    constexpr int kCells = 30;
    const absl::Time now = SteadyNow();
    if (!terminal_ || now - drawn_ < absl::Milliseconds(100)) return;
    drawn_ = now;
    std::string line = ProgressBar(fraction, kCells);
    if (fraction > 0) {
      line += "  " + TimeLeft(absl::ToDoubleSeconds(now - begin_) *
                              (1 / fraction - 1));
    }
    CutToWidth(&line, TerminalWidth(file_));
    PrintTo(file_, "\r{}\033[K", line);
    std::fflush(file_);
  }

 private:
  FILE* const file_;
  const bool terminal_;
  const absl::Time begin_ = SteadyNow();
  absl::Time drawn_ = absl::InfinitePast();
};

class QuantizeCommand : public Command {
 public:
  bool has_priority() const override { return false; }
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client&, const Io& io) override {
    if (inputs_.texts.size() != 2) {
      return absl::InvalidArgumentError(
          "name a model and a new folder: trivium quantize FOLDER OUT");
    }
    const std::string &from = inputs_.texts[0], &to = inputs_.texts[1];
    const absl::Time begin = SteadyNow();
    // They remove what was written.
    TRIVIUM_ASSIGN_OR_RETURN(
        auto interrupts, Interrupts::Create([] {}, {SIGINT, SIGTERM, SIGHUP}));
    const std::stop_token stop = interrupts->Begin();
    absl::StatusOr<QuantizeReport> report;
    {
      QuantizeDisplay display(io.err);
      report = QuantizeFolder(from, to, options_, [&](double fraction) {
        display.Show(fraction);
        return !stop.stop_requested();
      });
    }
    const int signal = interrupts->End();
    interrupts.reset();
    // The program's own handler tells so, and ends it.
    if (signal != 0 && !report.ok()) raise(signal);
    switch (report.status().code()) {
      case absl::StatusCode::kOk:
        break;
      case absl::StatusCode::kAlreadyExists:
      case absl::StatusCode::kNotFound:
      case absl::StatusCode::kUnavailable:
        return AsIoError(report.status());
      default:
        return report.status();
    }
    Output output(io, /*keep_newlines=*/false, nullptr);
    return output.Line(fmt::format(
        "{}: {} matrices of {:.3g} billion numbers in {:.2f} bits, {:.3g} "
        "billion as they were; {:.2f} GB of weights; {:.0f} s",
        to, report->matrices, static_cast<double>(report->rounded) / 1e9,
        4 + 16.0 / options_.group_size, static_cast<double>(report->kept) / 1e9,
        static_cast<double>(report->bytes) / 1e9,
        absl::ToDoubleSeconds(SteadyNow() - begin)));
  }

  QuantizeOptions* options() { return &options_; }

 private:
  InputFlags inputs_;
  QuantizeOptions options_;
};

}  // namespace

Subcommand AddQuantize(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "quantize", "Write a model in four bits: trivium quantize FOLDER OUT");
  auto command = std::make_unique<QuantizeCommand>();
  sub->add_option("--group-size", command->options()->group_size,
                  "Numbers of a row that share a scale: 32, 64 or 128. Larger "
                  "groups take fewer bytes and are less exact")
      ->check(CLI::IsMember({32, 64, 128}))
      ->capture_default_str();
  return {sub, std::move(command)};
}

}  // namespace trivium
