// The frequencies f_i, with theta the base, d the dimensions of a head and
// i < d / 2 ("RoFormer", Su et al. 2021):
//
//   f_i = theta^(-2 i / d)             default, and dynamic (see the header)
//   f_i / factor                       linear (Chen et al. 2023)
//   (theta factor)^(-2 i / d) / factor^(2 / d) or, with mixed_b b,
//     f_i / exp(log(factor) ((i + 1) / (d / 2))^b)
//                                      ntk (Su 2023, kexue.fm/archives/9706)
//   f_i / long_i or short_i            longrope (Ding et al. 2024)
//   f_i / factor where a wave is longer than original / low, f_i where it is
//     shorter than original / high, and linear in its reciprocal between
//                                      llama3 (Dubey et al. 2024)
//   f_i (1 - r_i + r_i / factor), where r_i rises from 0 to 1 between the
//     dimensions that turn fast and slow times in the original length
//                                      yarn (Peng et al. 2023)
//   f_i / factor for the first part of the i, 0 for the others
//                                      proportional (Gemma 4)
//
// Computed in f32 and in the order of Transformers' modeling_rope_utils.py.
#include "model/families/rotary_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "model/families/sizes.h"

namespace trivium {
namespace {

constexpr double kMost = 1e15;  // bound of any number

// The keys of a set, whatever its type.
constexpr std::array<std::string_view, 18> kKnown = {
    "rope_theta",
    "rope_type",
    "type",
    "factor",
    "attention_factor",
    "original_max_position_embeddings",
    "beta_fast",
    "beta_slow",
    "truncate",
    "mscale",
    "mscale_all_dim",
    "short_factor",
    "long_factor",
    "low_freq_factor",
    "high_freq_factor",
    "mixed_b",
    "partial_rotary_factor",
    "finetuned"};

class Reader {
 public:
  Reader(ConfigReader* config, const RotaryDefaults& defaults)
      : config_(config), defaults_(defaults), pairs_(defaults.head_size / 2) {
    if (defaults.turned > 0) pairs_ = defaults.turned / 2;
  }

  RotaryDescription Read() {
    theta_ = config_->Real("rope_theta", 1, kMost).value_or(defaults_.theta);
    original_ =
        config_->Integer("original_max_position_embeddings", 2, kMaxPositions)
            .value_or(defaults_.max_positions);
    if (defaults_.head_size % 2 != 0) {
      config_->problems()->push_back(fmt::format(
          "config.json: rotary positions turn pairs of dimensions, and a head "
          "has {}; make it even (the hidden size by the heads, or head_dim)",
          defaults_.head_size));
      return {};
    }
    if (Type() == "proportional") return Proportional();
    ReadPart();
    if (const auto alpha = config_->Real("alpha", 1e-3, kMost)) {
      // The base is stretched for all texts alike (Hunyuan).
      const double d = 2.0 * pairs_;
      if (Type() == "dynamic") theta_ *= std::pow(*alpha, d / (d - 2));
      stretched_ = true;
    }
    rotary_.query_growth = static_cast<float>(
        config_->Real("llama_4_scaling_beta", 0, kMost).value_or(0));
    rotary_.growth_length = original_;
    for (int i = 0; i < pairs_; ++i) {
      const float exponent =
          static_cast<float>(2 * i) / static_cast<float>(2 * pairs_);
      waves_.push_back(
          static_cast<float>(std::pow(static_cast<float>(theta_), exponent)));
      rotary_.frequencies.push_back(1.0f / waves_.back());
    }
    Scale(Type());
    ReadScoreFactor();
    return std::move(rotary_);
  }

 private:
  void ReadPart() {
    constexpr char kKey[] = "partial_rotary_factor";
    const double usual = defaults_.partial > 0 ? defaults_.partial : 1;
    const double part = config_->Real(kKey, 0, 1).value_or(usual);
    if (defaults_.partial == 0) {
      if (part == 1) return;
      return config_->Report(kKey, config_->Find(kKey),
                             "this family turns whole heads; give 1");
    }
    const int turned = static_cast<int>(defaults_.head_size * part);
    if (turned < 2 || turned % 2 != 0) {
      return config_->Report(
          kKey, config_->Find(kKey),
          fmt::format("it makes {} of a head's {} dimensions turn; give one "
                      "that makes it an even number above 0",
                      turned, defaults_.head_size));
    }
    pairs_ = turned / 2;
  }

  // Reads the type proportional (Gemma 4): pairs are halves of whole heads, but
  // only the first part of them turns.
  RotaryDescription Proportional() {
    const auto factor =
        static_cast<float>(config_->Real("factor", 1e-3, kMost).value_or(1));
    const double part =
        config_->Real("partial_rotary_factor", 0, 1).value_or(1);
    const auto turning =
        static_cast<int>(std::floor(part * defaults_.head_size / 2));
    const auto size = static_cast<float>(defaults_.head_size);
    for (int i = 0; i < pairs_; ++i) {
      const float wave = std::pow(static_cast<float>(theta_),
                                  static_cast<float>(2 * i) / size);
      rotary_.frequencies.push_back(i < turning ? 1 / wave / factor : 0.0f);
    }
    return std::move(rotary_);
  }

  void ReadScoreFactor() {
    const double all = config_->Real("mscale_all_dim", 0, kMost).value_or(0);
    if (all == 0 || Type() == "default") return;
    const double magnitude = Magnitude(Factor(), all);
    rotary_.score_factor = static_cast<float>(magnitude * magnitude);
  }

  // Returns YaRN's magnitude for texts `factor` times as long.
  static double Magnitude(double factor, double scale) {
    return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
  }

  std::string Type() {
    const auto type = config_->Text("rope_type");
    return type.has_value() ? *type : config_->Text("type").value_or("default");
  }

  void Scale(const std::string& type) {
    if (type == "default") return;
    // Phi 3's first folders call longrope yarn.
    if (type == "longrope" || type == "su" ||
        (type == "yarn" && config_->Find("long_factor").json != nullptr)) {
      return LongRope();
    }
    for (const char* key : {"short_mscale", "long_mscale"}) {
      const ConfigReader::Layer given = config_->Find(key);
      if (given.json == nullptr) continue;
      config_->Report(key, given, "this server knows it for longrope only");
    }
    if (type == "dynamic") {
      if (stretched_) return;
      Required("factor", 1);
      rotary_.caveat = fmt::format(
          "rotary positions of the type dynamic are scaled for texts longer "
          "than max_position_embeddings, {}: such texts are refused, and "
          "shorter ones need no scaling; for longer ones give the type yarn or "
          "linear and a larger max_position_embeddings",
          defaults_.max_positions);
    } else if (type == "linear") {
      const auto factor = static_cast<float>(Required("factor", 1));
      for (float& frequency : rotary_.frequencies) frequency /= factor;
    } else if (type == "ntk") {
      Ntk();
    } else if (type == "llama3") {
      Llama3();
    } else if (type == "yarn") {
      Yarn();
    } else {
      const char* key =
          config_->Find("rope_type").json != nullptr ? "rope_type" : "type";
      config_->Report(key, config_->Find(key),
                      "this server supports default, linear, dynamic, ntk, "
                      "yarn, longrope, llama3 and proportional");
    }
  }

  double Required(std::string_view key, double least) {
    if (config_->Find(key).json == nullptr) {
      config_->Report(key, config_->Find(key),
                      "rotary positions of this type need it");
    }
    return config_->Real(key, least, kMost).value_or(least);
  }

  double Factor() {
    return config_->Real("factor", 1e-3, kMost)
        .value_or(static_cast<double>(defaults_.max_positions) / original_);
  }

  // For texts of any length (GTE's own code), unlike dynamic.
  void Ntk() {
    const auto factor = static_cast<float>(Required("factor", 1));
    const auto mixed = config_->Real("mixed_b", 1e-3, 1e3);
    const auto size = static_cast<float>(2 * pairs_);
    for (int i = 0; i < pairs_; ++i) {
      float& frequency = rotary_.frequencies[i];
      if (mixed.has_value()) {
        const auto part = static_cast<float>(i + 1) / (size / 2);
        frequency /= std::exp(std::log(factor) *
                              std::pow(part, static_cast<float>(*mixed)));
      } else {
        frequency = 1 / std::pow(static_cast<float>(theta_) * factor,
                                 static_cast<float>(2 * i) / size);
        frequency /= std::pow(factor, 2 / size);
      }
    }
  }

  void Llama3() {
    const auto factor = static_cast<float>(Required("factor", 1));
    const double low = Required("low_freq_factor", 1e-3);
    const double high = Required("high_freq_factor", 1e-3);
    if (high <= low) {
      config_->Report("high_freq_factor", config_->Find("high_freq_factor"),
                      "it must be more than low_freq_factor");
      return;
    }
    const auto length = static_cast<float>(original_);
    const auto longest = static_cast<float>(original_ / low);
    const auto shortest = static_cast<float>(original_ / high);
    for (float& frequency : rotary_.frequencies) {
      const float wave = static_cast<float>(2 * std::numbers::pi) / frequency;
      if (wave > longest) {
        frequency /= factor;
      } else if (wave >= shortest) {
        const float smooth = (length / wave - static_cast<float>(low)) /
                             static_cast<float>(high - low);
        frequency = (1 - smooth) * frequency / factor + smooth * frequency;
      }
    }
  }

  // Returns the dimension that turns so many times in the original length.
  double Dimension(double turns) const {
    return 2 * pairs_ * std::log(original_ / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(theta_));
  }

  void Yarn() {
    if (theta_ == 1) {
      config_->Report("rope_theta", config_->Find("rope_theta"),
                      "yarn needs more than 1");
      return;
    }
    const double factor = Factor();
    const double scale = config_->Real("mscale", 0, kMost).value_or(0);
    const double all = config_->Real("mscale_all_dim", 0, kMost).value_or(0);
    const double usual = scale != 0 && all != 0
                             ? Magnitude(factor, scale) / Magnitude(factor, all)
                             : Magnitude(factor, 1);
    rotary_.magnitude = static_cast<float>(
        config_->Real("attention_factor", 0, kMost).value_or(usual));
    const auto turns = [this](std::string_view key, double fallback) {
      const double value = config_->Real(key, 0, kMost).value_or(fallback);
      return value > 0 ? value : fallback;
    };
    double low = Dimension(turns("beta_fast", 32));
    double high = Dimension(turns("beta_slow", 1));
    if (config_->Boolean("truncate").value_or(true)) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, 2.0 * pairs_ - 1);
    if (low == high) high += 0.001;
    for (int i = 0; i < pairs_; ++i) {
      const float ramp =
          std::clamp((static_cast<float>(i) - static_cast<float>(low)) /
                         static_cast<float>(high - low),
                     0.0f, 1.0f);
      const float kept = 1 - ramp;
      const float scaled = 1 / (static_cast<float>(factor) * waves_[i]);
      rotary_.frequencies[i] = scaled * (1 - kept) + 1 / waves_[i] * kept;
    }
  }

  void LongRope() {
    const std::vector<float> short_factors = Factors("short_factor");
    const std::vector<float> long_factors = Factors("long_factor");
    const double factor = Factor();
    const double usual =
        factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original_));
    rotary_.magnitude = static_cast<float>(
        config_->Real("attention_factor", 0, kMost).value_or(usual));
    const bool is_long = defaults_.max_positions > original_;
    // Phi 3.5 MoE's own magnitudes.
    if (const auto own =
            config_->Real(is_long ? "long_mscale" : "short_mscale", 0, kMost)) {
      rotary_.magnitude = static_cast<float>(*own);
    }
    if (is_long) {
      rotary_.caveat = fmt::format(
          "rotary positions of the type longrope have their long factors for "
          "every text, whose keys are kept for texts of any length, where "
          "Transformers gives one of up to {0} tokens the short ones: its "
          "answers differ a little; to serve only such texts, and with the "
          "short factors, set max_position_embeddings to {0} and factor to "
          "{1:.9g}",
          original_, factor);
    }
    const std::vector<float>& factors = is_long ? long_factors : short_factors;
    for (size_t i = 0; i < factors.size(); ++i) {
      rotary_.frequencies[i] = 1 / (factors[i] * waves_[i]);
    }
  }

  // Returns a factor for each pair; none after a problem.
  std::vector<float> Factors(std::string_view key) {
    const ConfigReader::Layer value = config_->Find(key);
    std::vector<float> factors;
    if (value.json != nullptr && value.json->is_array() &&
        value.json->size() == static_cast<size_t>(pairs_)) {
      for (const auto& factor : *value.json) {
        if (!factor.is_number()) break;
        const auto number = static_cast<float>(factor.get<double>());
        if (!(number > 0 && number <= static_cast<float>(kMost))) break;
        factors.push_back(number);
      }
    }
    if (factors.size() == static_cast<size_t>(pairs_)) return factors;
    config_->Report(key, value,
                    fmt::format("give a list of {} numbers above 0, one for "
                                "each pair of a head's dimensions",
                                pairs_));
    return {};
  }

  ConfigReader* const config_;
  const RotaryDefaults defaults_;
  int pairs_;
  double theta_ = 0;
  bool stretched_ = false;  // by alpha
  int original_ = 0;
  std::vector<float> waves_;  // theta^(2 i / d)
  RotaryDescription rotary_;
};

void RefuseUnknown(const nlohmann::json& values, const std::string& name,
                   const std::vector<std::string_view>& of_family,
                   Problems* problems) {
  for (const auto& [key, value] : values.items()) {
    if (value.is_null() ||
        std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end() ||
        std::find(of_family.begin(), of_family.end(), key) != of_family.end()) {
      continue;
    }
    problems->push_back(fmt::format(
        "config.json: {} has the key {}, which this server does not know; "
        "remove it if it has no effect",
        name, key));
  }
}

// Returns the object of that key, or null; adds a problem if it is something
// else.
const nlohmann::json* Object(ConfigReader* config, std::string_view key) {
  const ConfigReader::Layer value = config->Find(key);
  if (value.json == nullptr) return nullptr;
  if (value.json->is_object()) {
    return value.json->empty() ? nullptr : value.json;
  }
  config->Report(key, value, "it must be an object");
  return nullptr;
}

}  // namespace

RotaryDescription ReadRotary(ConfigReader* config,
                             const RotaryDefaults& defaults) {
  const nlohmann::json* scaling = Object(config, "rope_scaling");
  const char* name = scaling != nullptr ? "rope_scaling" : "rope_parameters";
  if (scaling == nullptr) scaling = Object(config, "rope_parameters");
  // Keys beside the set count if the set does not have them, except for this
  // one, which comes before all.
  nlohmann::json values =
      scaling != nullptr ? *scaling : nlohmann::json::object();
  for (const char* key : {"rope_theta", "partial_rotary_factor"}) {
    const ConfigReader::Layer beside = config->Find(key);
    if (beside.json != nullptr && !values.contains(key)) {
      values[key] = *beside.json;
    }
  }
  constexpr char kOriginal[] = "original_max_position_embeddings";
  if (const auto beside = config->Find(kOriginal); beside.json != nullptr) {
    values[kOriginal] = *beside.json;
  }
  return ReadRotarySet(values, name, defaults, config->problems());
}

RotaryDescription ReadRotarySet(const nlohmann::json& values,
                                const std::string& name,
                                const RotaryDefaults& defaults,
                                Problems* problems) {
  RefuseUnknown(values, name, defaults.keys, problems);
  ConfigReader config({{"config.json: " + name, &values}}, problems);
  return Reader(&config, defaults).Read();
}

}  // namespace trivium
