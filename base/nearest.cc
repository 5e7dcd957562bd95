#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace trivium {
namespace {

size_t Distance(std::string_view a, std::string_view b) {
  // [b.size() + 1]: distances from a's current prefix to each prefix of b.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Names that other programs give to flags here.
struct FlagTwin {
  std::string_view name, flag;
};
constexpr FlagTwin kTwins[] = {{"port", "http-listen"},
                               {"host", "http-listen"},
                               {"bind", "http-listen"},
                               {"addr", "http-listen"},
                               {"port", "address"},
                               {"host", "address"},
                               {"server", "address"},
                               {"url", "address"},
                               {"base-url", "address"},
                               {"v", "version"},
                               {"V", "version"},
                               {"m", "model"},
                               {"model-path", "model"},
                               {"model-id", "model"},
                               {"threads", "worker-threads"},
                               {"dtype", "precision"},
                               {"quantization", "precision"},
                               {"api-key", "tokens-file"},
                               {"api-key", "token-file"},
                               {"token", "token-file"},
                               {"from", "source-language"},
                               {"source", "source-language"},
                               {"src", "source-language"},
                               {"to", "target-language"},
                               {"target", "target-language"},
                               {"tgt", "target-language"},
                               {"lang", "target-language"},
                               {"language", "target-language"},
                               {"max-tokens", "max-new-tokens"},
                               {"max-length", "max-new-tokens"},
                               {"num-predict", "max-new-tokens"},
                               {"n-predict", "max-new-tokens"},
                               {"num-beams", "beam-size"},
                               {"beams", "beam-size"},
                               {"temp", "temperature"},
                               {"input", "file"},
                               {"i", "file"},
                               {"f", "file"},
                               {"ssl", "tls"},
                               {"prompt", "system"},
                               {"http", "address"},
                               {"https", "address"}};

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The name that `name` stands for elsewhere, or the shortest that begins with
// it, or the nearest.
std::string MeantFlag(std::string_view name,
                      const std::vector<std::string>& names) {
  for (const FlagTwin& twin : kTwins) {
    if (twin.name == name && Has(names, twin.flag)) {
      return std::string(twin.flag);
    }
  }
  constexpr size_t kLeastBeginning = 3;
  const std::string* longer = nullptr;
  for (const std::string& each : names) {
    if (name.size() < kLeastBeginning || !each.starts_with(name)) continue;
    if (longer == nullptr || each.size() < longer->size()) longer = &each;
  }
  return longer != nullptr ? *longer : Nearest(name, names);
}

}  // namespace

bool IsNear(std::string_view name, std::string_view other) {
  return Distance(name, other) <= std::max<size_t>(2, name.size() / 3);
}

std::string Nearest(std::string_view name,
                    const std::vector<std::string>& names) {
  return *std::min_element(names.begin(), names.end(),
                           [name](const auto& a, const auto& b) {
                             return Distance(name, a) < Distance(name, b);
                           });
}

std::string UnknownFlag(std::string_view flag,
                        const std::vector<std::string>& names) {
  // "--name=value" is one argument.
  flag = flag.substr(0, flag.find('='));
  const size_t begin = flag.find_first_not_of('-');
  const std::string_view name = begin == flag.npos ? "" : flag.substr(begin);
  return "unknown flag " + std::string(flag) + "; did you mean --" +
         MeantFlag(name, names) + "?";
}

}  // namespace trivium
