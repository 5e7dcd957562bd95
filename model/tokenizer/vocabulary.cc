#include "model/tokenizer/vocabulary.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

// Reads a flat object of integers in the order of the file, without building a
// document.
class VocabularyReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<std::pair<std::string, int32_t>> entries;
  std::string problem;

  bool start_object(std::size_t) override {
    if (++depth_ == 1) return true;
    return Fail("is not a flat object");
  }
  bool end_object() override { return true; }
  bool key(string_t& piece) override {
    piece_ = piece;
    return true;
  }
  bool number_unsigned(number_unsigned_t id) override {
    if (depth_ != 1) return Fail("is not an object");
    if (id >= static_cast<number_unsigned_t>(Vocabulary::MostIds())) {
      return Fail(
          fmt::format("gives piece \"{}\" the impossible id {}", piece_, id));
    }
    // A piece may occur again, but not without limit.
    if (entries.size() >= static_cast<size_t>(Vocabulary::MostIds())) {
      return Fail(
          fmt::format("has more than {} pieces", Vocabulary::MostIds()));
    }
    entries.emplace_back(std::move(piece_), static_cast<int32_t>(id));
    return true;
  }
  bool number_integer(number_integer_t) override { return FailValue(); }
  bool number_float(number_float_t, const string_t&) override {
    return FailValue();
  }
  bool string(string_t&) override { return FailValue(); }
  bool boolean(bool) override { return FailValue(); }
  bool null() override { return FailValue(); }
  bool binary(binary_t&) override { return FailValue(); }
  bool start_array(std::size_t) override { return FailValue(); }
  bool end_array() override { return FailValue(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(fmt::format("is not JSON at byte {}", position));
  }

 private:
  bool Fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool FailValue() {
    if (depth_ == 0) return Fail("is not an object");
    return Fail(
        fmt::format("gives piece \"{}\" an id that is no number", piece_));
  }

  int depth_ = 0;
  std::string piece_;
};

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::Load(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string json, ReadFile(path));
  VocabularyReader reader;
  if (!nlohmann::json::sax_parse(json, &reader)) {
    return absl::InvalidArgumentError(
        fmt::format("{} {}; fetch it again", path, reader.problem));
  }
  if (reader.entries.empty()) {
    return absl::InvalidArgumentError(path + " has no pieces; fetch it again");
  }
  return Vocabulary(std::move(reader.entries));
}

absl::StatusOr<Vocabulary> Vocabulary::LoadLines(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::pair<std::string, int32_t>> entries;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    size_t trimmed = end;
    while (trimmed > at &&
           (text[trimmed - 1] == '\r' || text[trimmed - 1] == ' ' ||
            text[trimmed - 1] == '\t')) {
      --trimmed;
    }
    if (static_cast<int64_t>(entries.size()) >= MostIds()) {
      return absl::InvalidArgumentError(fmt::format(
          "{} has more than {} lines, check that it is a vocabulary", path,
          MostIds()));
    }
    entries.emplace_back(text.substr(at, trimmed - at),
                         static_cast<int32_t>(entries.size()));
    at = end + 1;
  }
  if (entries.empty()) {
    return absl::InvalidArgumentError(path + " has no pieces; fetch it again");
  }
  return Vocabulary(std::move(entries));
}

Vocabulary::Vocabulary(std::vector<std::pair<std::string, int32_t>> entries) {
  int32_t largest = -1;
  for (const auto& entry : entries) largest = std::max(largest, entry.second);
  pieces_.resize(largest + 1);
  ids_.reserve(entries.size());
  for (auto& [piece, id] : entries) {
    pieces_[id] = piece;
    ids_.insert_or_assign(std::move(piece), id);
  }
}

int32_t Vocabulary::IdOf(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

const std::string& Vocabulary::PieceOf(int32_t id) const {
  static const std::string* const kNone = new std::string;
  if (id < 0 || id >= size()) return *kNone;
  return pieces_[id];
}

}  // namespace trivium
