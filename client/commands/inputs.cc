#include "client/commands/inputs.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "client/commands/flags.h"
#include "client/commands/line_reader.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// `name` identifies the text in errors.
InputSource::Item MakeItem(const InputFlags& flags, std::string text,
                           const std::string& name) {
  InputSource::Item item;
  if (!IsUtf8(text)) {
    item.error = absl::InvalidArgumentError(fmt::format(
        "{} is not UTF-8: convert it, for example with iconv", name));
    return item;
  }
  if (flags.ids) {
    const std::optional<std::vector<uint32_t>> ids = ParseTokenIds(text);
    if (!ids) {
      item.error = absl::InvalidArgumentError(fmt::format(
          "{} is not a list of token ids, such as \"17 4 0\"", name));
      return item;
    }
    item.input.mutable_ids()->mutable_ids()->Add(ids->begin(), ids->end());
  } else {
    item.input.set_text(std::move(text));
  }
  if (!flags.target_prefix.empty()) {
    item.input.set_target_prefix(flags.target_prefix);
  }
  return item;
}

class Arguments : public CommandInputs {
 public:
  explicit Arguments(const InputFlags& flags) : flags_(flags) {}

  absl::StatusOr<std::optional<Item>> Next() override {
    if (interrupted_ || next_ == flags_.texts.size()) return std::nullopt;
    const std::string name = fmt::format("text {}", next_ + 1);
    return MakeItem(flags_, flags_.texts[next_++], name);
  }
  void Interrupt() override { interrupted_ = true; }
  bool Ready() const override { return true; }

 private:
  const InputFlags flags_;
  size_t next_ = 0;
  std::atomic<bool> interrupted_{false};
};

class Lines : public CommandInputs {
 public:
  Lines(const InputFlags& flags, std::unique_ptr<LineReader> reader)
      : flags_(flags), reader_(std::move(reader)) {}

  absl::StatusOr<std::optional<Item>> Next() override {
    TRIVIUM_ASSIGN_OR_RETURN(std::optional<std::string> line, reader_->Next());
    if (!line) return std::nullopt;
    return MakeItem(flags_, *std::move(line),
                    fmt::format("line {}", ++line_number_));
  }
  void Interrupt() override { reader_->Interrupt(); }
  bool Ready() const override { return reader_->Ready(); }

 private:
  const InputFlags flags_;
  const std::unique_ptr<LineReader> reader_;
  int64_t line_number_ = 0;
};

}  // namespace

void AddInputFlags(CLI::App& app, InputFlags* flags, bool ids,
                   bool target_prefix) {
  app.add_option("--file", flags->file, "Texts, one a line; -: standard input");
  if (ids) {
    app.add_flag("--ids", flags->ids,
                 "The texts are token ids (17 4 0), used unchanged")
        ->group(kMoreFlags);
  }
  if (target_prefix) {
    app.add_option("--target-prefix", flags->target_prefix,
                   "Beginning of the target text");
  }
}

absl::StatusOr<std::unique_ptr<CommandInputs>> OpenInputs(
    const InputFlags& flags, const Io& io) {
  // By itself "-" is standard input, as for other programs.
  const bool dash = flags.texts.size() == 1 && flags.texts[0] == "-";
  if (!flags.texts.empty() && !dash) {
    if (!flags.file.empty()) {
      return absl::InvalidArgumentError(
          "both texts and --file are given: choose one");
    }
    return std::make_unique<Arguments>(flags);
  }
  if (!dash && flags.file.empty() && isatty(io.in) == 1) {
    return absl::InvalidArgumentError(
        "no text: give texts as arguments, --file or a pipe");
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      std::unique_ptr<LineReader> reader,
      LineReader::Open(flags.file.empty() ? "-" : flags.file, io.in));
  return std::make_unique<Lines>(flags, std::move(reader));
}

absl::StatusOr<v1::Input> OneInput(const InputFlags& flags, const Io& io) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<CommandInputs> source,
                           OpenInputs(flags, io));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<InputSource::Item> item,
                           source->Next());
  if (!item) return absl::InvalidArgumentError("no text: give one");
  TRIVIUM_RETURN_IF_ERROR(item->error);
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<InputSource::Item> more,
                           source->Next());
  if (more) {
    return absl::InvalidArgumentError(
        "this command takes one text: quote it, or run the command once for "
        "each");
  }
  return item->input;
}

absl::StatusOr<std::vector<v1::Input>> AllInputs(const InputFlags& flags,
                                                 const Io& io) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<CommandInputs> source,
                           OpenInputs(flags, io));
  std::vector<v1::Input> inputs;
  while (true) {
    TRIVIUM_ASSIGN_OR_RETURN(std::optional<InputSource::Item> item,
                             source->Next());
    if (!item) return inputs;
    TRIVIUM_RETURN_IF_ERROR(item->error);
    inputs.push_back(std::move(item->input));
  }
}

absl::Status ExpectOneResult(int results) {
  if (results == 1) return absl::OkStatus();
  return absl::InternalError(
      fmt::format("the server sent {} results for one text", results));
}

}  // namespace trivium
