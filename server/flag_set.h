#ifndef TRIVIUM_SERVER_FLAG_SET_H_
#define TRIVIUM_SERVER_FLAG_SET_H_

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <climits>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"

namespace trivium {

// Upper bound for bytes and tokens; more than any machine has.
constexpr int64_t kMostBytes = int64_t{1} << 60;

// Adds options to an app. Each has a group and a variable in the environment:
// --kv-cache-bytes is TRIVIUM_KV_CACHE_BYTES.
class FlagSet {
 public:
  explicit FlagSet(CLI::App* app) : app_(app) {}

  void set_group(const std::string& group) { group_ = group; }

  template <typename T>
  CLI::Option* Add(const std::string& name, T* value, const std::string& help) {
    return Finish(
        name,
        app_->add_option("--" + name, *value, help)->capture_default_str());
  }

  CLI::Option* Flag(const std::string& name, bool* value,
                    const std::string& help) {
    return Finish(name, app_->add_flag("--" + name, *value, help));
  }

  // A number of bytes, also written as 64KiB or 4MiB. 0 is allowed if `none`.
  CLI::Option* Bytes(const std::string& name, int64_t* value,
                     const std::string& help, bool none = false) {
    return Add(name, value, help + " (bytes; 64KiB, 4MiB too)")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(int64_t{none ? 0 : 1}, kMostBytes));
  }

  CLI::Option* Count(const std::string& name, int* value,
                     const std::string& help) {
    return Add(name, value, help)->check(CLI::Range(1, INT_MAX));
  }

  // A number of seconds, which may be a fraction; 10s, 500ms and 2m, too.
  void Seconds(const std::string& name, absl::Duration* value,
               const std::string& help) {
    Parsed(name, help + " (seconds)",
           [value](const std::string& text) -> absl::Status {
             double seconds = 0;
             absl::Duration time;
             if (!absl::SimpleAtod(text, &seconds)) {
               seconds = absl::ParseDuration(text, &time)
                             ? absl::ToDoubleSeconds(time)
                             : -1;
             }
             // The negation also catches NaN.
             if (!(seconds >= 0 && seconds <= 1e9)) {
               return absl::InvalidArgumentError(fmt::format(
                   "'{}' must be 0 to 1e9 seconds, such as 10 or 10s", text));
             }
             *value = absl::Seconds(seconds);
             return absl::OkStatus();
           })
        ->default_str(fmt::format("{}", absl::ToDoubleSeconds(*value)))
        ->type_name("SECONDS");
  }

  // A text that `parse` reads.
  CLI::Option* Parsed(const std::string& name, const std::string& help,
                      std::function<absl::Status(const std::string&)> parse) {
    return Finish(name,
                  app_->add_option_function<std::string>(
                      "--" + name,
                      [name, parse](const std::string& text) {
                        const absl::Status status = parse(text);
                        if (!status.ok()) {
                          throw CLI::ValidationError(fmt::format(
                              "--{}: {}", name, std::string(status.message())));
                        }
                      },
                      help));
  }

  // One of at least two words, each with its value. The default is the word of
  // the present value.
  template <typename T>
  CLI::Option* Choice(const std::string& name, T* value,
                      std::vector<std::pair<std::string, T>> words,
                      const std::string& help) {
    std::string standard;
    for (const auto& [word, its] : words) {
      if (its == *value) standard = word;
    }
    const auto parse = [value,
                        words = std::move(words)](const std::string& text) {
      std::string all;
      for (size_t i = 0; i < words.size(); ++i) {
        if (words[i].first == text) {
          *value = words[i].second;
          return absl::OkStatus();
        }
        all += i == 0 ? "" : i + 1 < words.size() ? ", " : " or ";
        all += words[i].first;
      }
      return absl::InvalidArgumentError("must be " + all);
    };
    return Parsed(name, help, parse)->default_str(standard);
  }

  // `auto`, which leaves the value unset, or a number from 1 to `most`.
  void AutoOrCount(const std::string& name, int most, std::optional<int>* value,
                   const std::string& help) {
    const auto parse = [most, value](const std::string& text) -> absl::Status {
      value->reset();
      if (text == "auto") return absl::OkStatus();
      int count = 0;
      const char* const end = text.data() + text.size();
      const auto [rest, code] = std::from_chars(text.data(), end, count);
      if (code != std::errc() || rest != end || count < 1 || count > most) {
        return absl::InvalidArgumentError(fmt::format(
            "'{}' must be auto or a number from 1 to {}", text, most));
      }
      *value = count;
      return absl::OkStatus();
    };
    Parsed(name, help, parse)->default_str("auto");
  }

  // `auto`, which leaves the value unset, or a number of bytes, also 0.
  void AutoOrBytes(const std::string& name, std::optional<int64_t>* value,
                   const std::string& help) {
    const auto parse = [value](const std::string& text) -> absl::Status {
      value->reset();
      if (text == "auto") return absl::OkStatus();
      std::string bytes = text;
      int64_t count = 0;
      bool is_size = false;
      try {
        is_size = CLI::AsSizeValue(false)(bytes).empty();
      } catch (const CLI::ValidationError&) {
        // The unit is unknown.
      }
      if (!is_size || !absl::SimpleAtoi(bytes, &count) || count < 0 ||
          count > kMostBytes) {
        return absl::InvalidArgumentError(
            fmt::format("'{}' must be auto or bytes, such as 64MiB", text));
      }
      *value = count;
      return absl::OkStatus();
    };
    Parsed(name, help + " (bytes; 64KiB, 4MiB too)", parse)
        ->default_str("auto");
  }

  CLI::Option* Finish(const std::string& name, CLI::Option* option) {
    std::string variable = "TRIVIUM_";
    for (const char c : name) {
      variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    }
    option->envname(variable)->group(group_);
    return option;
  }

 private:
  CLI::App* const app_;
  std::string group_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_FLAG_SET_H_
