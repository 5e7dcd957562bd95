#ifndef TRIVIUM_BASE_CONFIG_READER_H_
#define TRIVIUM_BASE_CONFIG_READER_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace trivium {

// All problems of a folder, one sentence each: the file and the key or tensor,
// what is wrong, and how to correct it.
using Problems = std::vector<std::string>;

// Reads values from one or several JSON objects; the first one that has a key
// wins. A null counts as absent. A value of the wrong type or out of its range
// is reported as a problem and counts as absent, too.
class ConfigReader {
 public:
  struct Layer {
    std::string file;  // for messages
    const nlohmann::json* json;
  };

  ConfigReader(std::vector<Layer> layers, Problems* problems)
      : layers_(std::move(layers)), problems_(problems) {}

  // Returns the value and its file; `json` is null if the key is absent.
  Layer Find(std::string_view key) const;

  std::optional<int> Integer(std::string_view key, int min, int max);
  std::optional<double> Real(std::string_view key, double min, double max);
  std::optional<bool> Boolean(std::string_view key);
  std::optional<std::string> Text(std::string_view key);
  // An integer or a list of integers (eos_token_id may be either); empty if
  // absent.
  std::vector<int> Integers(std::string_view key, int min, int max);
  // A list of non-empty lists of integers; empty if absent.
  std::vector<std::vector<int>> IntegerLists(std::string_view key, int min,
                                             int max);

  // Like Integer, but reports a problem if absent. Returns `min` after a
  // problem.
  int RequiredInteger(std::string_view key, int min, int max);

  // Adds "FILE: KEY is VALUE; <expectation>".
  void Report(std::string_view key, const Layer& value,
              const std::string& expectation);

  Problems* problems() const { return problems_; }

 private:
  std::vector<Layer> layers_;
  Problems* problems_;
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_CONFIG_READER_H_
