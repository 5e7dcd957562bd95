#include "base/config_reader.h"

#include <fmt/format.h>

namespace trivium {
namespace {

using nlohmann::json;

// Integers beyond int64 and doubles are outside every range.
std::optional<int> InRange(const json& value, int min, int max) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  }
  const int64_t number = value.get<int64_t>();
  if (number < min || number > max) return std::nullopt;
  return static_cast<int>(number);
}

std::string Expectation(int min, int max) {
  return fmt::format("give an integer from {} to {}", min, max);
}

// Returns the JSON text of a value, shortened so that a message stays readable.
std::string Shown(const json& value) {
  constexpr size_t kLongest = 100;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

ConfigReader::Layer ConfigReader::Find(std::string_view key) const {
  for (const Layer& layer : layers_) {
    const auto found = layer.json->find(key);
    if (found != layer.json->end() && !found->is_null()) {
      return {layer.file, &*found};
    }
  }
  return {layers_.empty() ? "" : layers_.back().file, nullptr};
}

void ConfigReader::Report(std::string_view key, const Layer& value,
                          const std::string& expectation) {
  problems_->push_back(
      value.json == nullptr
          ? fmt::format("{}: {} is missing; {}", value.file, key, expectation)
          : fmt::format("{}: {} is {}; {}", value.file, key, Shown(*value.json),
                        expectation));
}

std::optional<int> ConfigReader::Integer(std::string_view key, int min,
                                         int max) {
  const Layer value = Find(key);
  if (value.json == nullptr) return std::nullopt;
  const std::optional<int> number = InRange(*value.json, min, max);
  if (!number) Report(key, value, Expectation(min, max));
  return number;
}

int ConfigReader::RequiredInteger(std::string_view key, int min, int max) {
  const Layer value = Find(key);
  if (value.json == nullptr) Report(key, value, Expectation(min, max));
  return Integer(key, min, max).value_or(min);
}

std::optional<double> ConfigReader::Real(std::string_view key, double min,
                                         double max) {
  const Layer value = Find(key);
  if (value.json == nullptr) return std::nullopt;
  if (value.json->is_number()) {
    const double number = value.json->get<double>();
    if (number >= min && number <= max) return number;
  }
  Report(key, value, fmt::format("give a number from {} to {}", min, max));
  return std::nullopt;
}

std::optional<bool> ConfigReader::Boolean(std::string_view key) {
  const Layer value = Find(key);
  if (value.json == nullptr) return std::nullopt;
  if (value.json->is_boolean()) return value.json->get<bool>();
  Report(key, value, "give true or false");
  return std::nullopt;
}

std::optional<std::string> ConfigReader::Text(std::string_view key) {
  const Layer value = Find(key);
  if (value.json == nullptr) return std::nullopt;
  if (value.json->is_string()) return value.json->get<std::string>();
  Report(key, value, "give a string");
  return std::nullopt;
}

std::vector<int> ConfigReader::Integers(std::string_view key, int min,
                                        int max) {
  const Layer value = Find(key);
  if (value.json == nullptr) return {};
  if (!value.json->is_array()) {
    const std::optional<int> number = Integer(key, min, max);
    return number ? std::vector<int>{*number} : std::vector<int>{};
  }
  std::vector<int> numbers;
  for (const json& entry : *value.json) {
    const std::optional<int> number = InRange(entry, min, max);
    if (!number) {
      Report(key, value,
             Expectation(min, max) + ", or a list of such integers");
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::vector<int>> ConfigReader::IntegerLists(std::string_view key,
                                                         int min, int max) {
  const Layer value = Find(key);
  if (value.json == nullptr) return {};
  std::vector<std::vector<int>> lists;
  bool usable = value.json->is_array();
  if (usable) {
    for (const json& entry : *value.json) {
      usable = usable && entry.is_array() && !entry.empty();
      if (!usable) break;
      std::vector<int>& list = lists.emplace_back();
      for (const json& item : entry) {
        const std::optional<int> number = InRange(item, min, max);
        usable = usable && number;
        list.push_back(number.value_or(min));
      }
    }
  }
  if (usable) return lists;
  Report(
      key, value,
      fmt::format("give a list of lists of integers from {} to {}", min, max));
  return {};
}

}  // namespace trivium
