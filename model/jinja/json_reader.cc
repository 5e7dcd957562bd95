#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/jinja/json_text.h"

namespace trivium::jinja {

namespace {

using nlohmann::json;

// The roles of speakers in published templates.
constexpr std::array<std::string_view, 12> kRoles = {
    "assistant", "chatbot", "developer", "document",    "function", "ipython",
    "model",     "system",  "tool",      "observation", "user",     "context"};

// Builds the value from nlohmann's events while the JSON is parsed.
class Reader : public json::json_sax_t {
 public:
  Reader(Heap& heap, const JsonSource& source) : heap_(heap), source_(source) {}

  bool null() override {
    Value value = Value::None();
    value.from_data = source_.from_data;
    return Put(std::move(value));
  }
  bool boolean(bool boolean) override {
    Value value = Value::Boolean(boolean);
    value.from_data = source_.from_data;
    return Put(std::move(value));
  }
  bool number_integer(int64_t integer) override {
    return Put(Value::Integer(integer, source_.from_data));
  }
  bool number_unsigned(uint64_t integer) override {
    if (integer > static_cast<uint64_t>(INT64_MAX)) return TooLarge();
    return number_integer(static_cast<int64_t>(integer));
  }
  bool number_float(double real, const std::string& digits) override {
    if (digits.find_first_of(".eE") == digits.npos) return TooLarge();
    return Put(Value::Real(real, source_.from_data));
  }
  bool string(std::string& text) override {
    return PutText(text, source_.from_data && !IsRole(text));
  }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(/*is_object=*/true); }
  bool start_array(size_t) override { return Open(/*is_object=*/false); }
  bool key(std::string& text) override {
    last_key_ = text;
    return PutText(text, source_.from_data);
  }
  bool end_object() override {
    std::vector<std::pair<Value, Value>> entries;
    std::vector<Value>& values = open_.back().values;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      entries.emplace_back(std::move(values[i]), std::move(values[i + 1]));
    }
    return Close(heap_.NewDict(std::move(entries)));
  }
  bool end_array() override {
    return Close(heap_.NewList(std::move(open_.back().values)));
  }
  bool parse_error(size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(
        absl::InvalidArgumentError(fmt::format("is not JSON at byte {}", at)));
  }

  absl::StatusOr<Value> Take() {
    if (!status_.ok()) return status_;
    return std::move(result_);
  }

 private:
  struct Container {
    std::vector<Value> values;  // of an object: keys and values in turn
  };

  bool IsRole(std::string_view text) const {
    return source_.messages && open_.size() == 2 && last_key_ == "role" &&
           std::find(kRoles.begin(), kRoles.end(), text) != kRoles.end();
  }

  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }
  bool TooLarge() {
    return Fail(absl::InvalidArgumentError(
        "has a whole number of more than 64 bits; write it as a string"));
  }

  bool Put(Value value) {
    if (absl::Status status = heap_.Spend(kStepWork); !status.ok()) {
      return Fail(std::move(status));
    }
    if (open_.empty()) {
      result_ = std::move(value);
    } else {
      open_.back().values.push_back(std::move(value));
    }
    return true;
  }
  bool PutText(std::string_view text, bool from_data) {
    auto value = heap_.NewText(TextFromUtf8(text, from_data));
    if (!value.ok()) return Fail(std::move(value).status());
    return Put(*std::move(value));
  }

  bool Open(bool is_object) {
    if (open_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      return Fail(absl::InvalidArgumentError(
          fmt::format("is nested deeper than {} levels", kMaxJsonDepth)));
    }
    open_.emplace_back();
    if (!is_object) last_key_.clear();
    return true;
  }
  bool Close(absl::StatusOr<Value> value) {
    open_.pop_back();
    if (!value.ok()) return Fail(std::move(value).status());
    return Put(*std::move(value));
  }

  Heap& heap_;
  const JsonSource source_;
  std::vector<Container> open_;
  std::string last_key_;
  Value result_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Value> FromJson(Heap& heap, std::string_view text,
                               const JsonSource& source) {
  Reader reader(heap, source);
  json::sax_parse(text.begin(), text.end(), &reader);
  return reader.Take();
}

}  // namespace trivium::jinja
