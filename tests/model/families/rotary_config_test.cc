// Rotary positions of config.json, compared with the frequencies that
// Transformers' modeling_rope_utils.py computes in f32.
#include "model/families/rotary_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Case {
  const char* set;  // value of rope_parameters
  int max_positions;
  float magnitude;
  std::vector<float> frequencies;
};

constexpr char kLongRope[] =
    R"("short_factor": [1, 1, 1, 1.1, 1.2, 1.3, 1.5, 2],
       "long_factor": [1, 1.5, 2, 3, 4, 6, 8, 16])";

const Case kCases[] = {
    {R"({"rope_type": "default"})",
     64,
     1,
     {1, 0.316227764f, 0.1f, 0.0316227786f, 0.01f, 0.00316227786f, 0.001f,
      0.000316227786f}},
    {R"({"rope_type": "linear", "factor": 4})",
     64,
     1,
     {0.25f, 0.079056941f, 0.025f, 0.00790569466f, 0.0025f, 0.000790569466f,
      0.00025f, 7.90569466e-05f}},
    {R"({"type": "dynamic", "factor": 4})",
     64,
     1,
     {1, 0.316227764f, 0.1f, 0.0316227786f, 0.01f, 0.00316227786f, 0.001f,
      0.000316227786f}},
    // Computed in double precision by the formula of the model's own code.
    {R"({"type": "ntk", "factor": 8, "rope_theta": 20000})",
     64,
     1,
     {0.771105413f, 0.172424412f, 0.0385552706f, 0.0086212206f, 0.00192776353f,
      0.00043106103f, 9.63881766e-05f, 2.15530515e-05f}},
    {R"({"type": "ntk", "factor": 2, "mixed_b": 0.625})",
     64,
     1,
     {0.827810852f, 0.236283001f, 0.0686954592f, 0.0201746587f, 0.00596477183f,
      0.00177218332f, 0.000528534469f, 0.000158113883f}},
    {R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
         "high_freq_factor": 4, "original_max_position_embeddings": 8192,
         "rope_theta": 500000})",
     131072,
     1,
     {1, 0.193922758f, 0.0376060307f, 0.00729266508f, 0.000524846022f,
      3.42810235e-05f, 6.64787058e-06f, 1.28917316e-06f}},
    {R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
         "high_freq_factor": 4, "original_max_position_embeddings": 16,
         "rope_theta": 500000})",
     64,
     1,
     {0.576056361f, 0.0242403448f, 0.00470075384f, 0.000911583134f,
      0.000176776681f, 3.42810235e-05f, 6.64787058e-06f, 1.28917316e-06f}},
    {R"({"type": "yarn", "factor": 4, "rope_theta": 1000000,
         "original_max_position_embeddings": 32768})",
     131072,
     1.13862944f,
     {1, 0.177827939f, 0.0316227786f, 0.00421755994f, 0.0005f, 4.44569851e-05f,
      7.90569356e-06f, 1.40585337e-06f}},
    {R"({"rope_type": "yarn", "factor": 32, "rope_theta": 150000,
         "beta_fast": 32, "beta_slow": 1, "truncate": false,
         "original_max_position_embeddings": 4096})",
     131072,
     1.34657359f,
     {1, 0.225418001f, 0.05081328f, 0.00679495931f, 0.000456483918f,
      1.8188337e-05f, 4.09997847e-06f, 9.24208962e-07f}},
    {R"({"rope_type": "yarn", "factor": 40, "mscale": 1, "mscale_all_dim": 0.5,
         "original_max_position_embeddings": 4096})",
     131072,
     1.15572199f,
     {1, 0.316227764f, 0.1f, 0.0239147246f, 0.00512499968f, 0.000849862176f,
      2.5e-05f, 7.90569447e-06f}},
    {R"({"rope_type": "yarn", "factor": 40, "attention_factor": 0.8,
         "beta_fast": 16, "beta_slow": 2,
         "original_max_position_embeddings": 4096})",
     131072,
     0.8f,
     {1, 0.316227764f, 0.1f, 0.0316227786f, 0.00674999924f, 0.00110679714f,
      2.5e-05f, 7.90569447e-06f}},
};

RotaryDescription Read(const json& config, int max_positions,
                       Problems* problems) {
  ConfigReader reader({{"config.json", &config}}, problems);
  return ReadRotary(&reader, {.head_size = 16, .max_positions = max_positions});
}

void ExpectFrequencies(const RotaryDescription& rotary, float magnitude,
                       const std::vector<float>& frequencies) {
  EXPECT_FLOAT_EQ(rotary.magnitude, magnitude);
  ASSERT_EQ(rotary.frequencies.size(), frequencies.size());
  for (size_t i = 0; i < frequencies.size(); ++i) {
    EXPECT_FLOAT_EQ(rotary.frequencies[i], frequencies[i]) << i;
  }
}

TEST(RotaryConfigTest, EveryTypeEqualsTransformers) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.set);
    const json set = json::parse(c.set);
    // In the newer form and in the older one.
    json old = {{"rope_scaling", set}};
    if (set.contains("rope_theta")) {
      old["rope_theta"] = set["rope_theta"];
      old["rope_scaling"].erase("rope_theta");
    }
    for (const json& config : {json{{"rope_parameters", set}}, old}) {
      Problems problems;
      const RotaryDescription rotary = Read(config, c.max_positions, &problems);
      EXPECT_THAT(problems, IsEmpty());
      ExpectFrequencies(rotary, c.magnitude, c.frequencies);
    }
  }
}

// The model's longest text decides, not the length of a text.
TEST(RotaryConfigTest, LongRopeUsesLongFactorsForALongModel) {
  json config =
      json::parse(std::string(R"({"original_max_position_embeddings": 4096,
                      "rope_scaling": {"type": "longrope", )") +
                  kLongRope + "}}");
  Problems problems;
  // Phi 3's first folders have the other names.
  for (const char* type : {"longrope", "su", "yarn"}) {
    config["rope_scaling"]["type"] = type;
    ExpectFrequencies(Read(config, 131072, &problems), 1.19023807f,
                      {1, 0.210818499f, 0.05f, 0.010540925f, 0.0025f,
                       0.00052704633f, 0.000125f, 1.97642366e-05f});
  }
  ExpectFrequencies(Read(config, 4096, &problems), 1,
                    {1, 0.316227764f, 0.1f, 0.0287479796f, 0.00833333284f,
                     0.00243252143f, 0.00066666666f, 0.000158113893f});
  EXPECT_THAT(problems, IsEmpty());
}

// The recommended settings treat short texts like Transformers.
TEST(RotaryConfigTest, DescribesItsDifferenceFromTransformers) {
  const std::string set = R"({"original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "longrope", )" +
                          std::string(kLongRope);
  const json config = json::parse(set + "}}");
  Problems problems;
  EXPECT_THAT(Read(config, 131072, &problems).caveat,
              HasSubstr("one of up to 4096 tokens the short ones: its answers "
                        "differ a little; to serve only such texts, and with "
                        "the short factors, set max_position_embeddings to "
                        "4096 and factor to 32"));
  const json advised = json::parse(set + R"(, "factor": 32}})");
  const RotaryDescription rotary = Read(advised, 4096, &problems);
  EXPECT_THAT(rotary.caveat, IsEmpty());
  ExpectFrequencies(rotary, 1.19023807f,
                    {1, 0.316227764f, 0.1f, 0.0287479796f, 0.00833333284f,
                     0.00243252143f, 0.00066666666f, 0.000158113893f});

  const json dynamic = {{"rope_scaling", {{"type", "dynamic"}, {"factor", 4}}}};
  EXPECT_THAT(Read(dynamic, 2048, &problems).caveat,
              HasSubstr("longer than max_position_embeddings, 2048: such texts "
                        "are refused"));
  EXPECT_THAT(Read(json::object(), 2048, &problems).caveat, IsEmpty());
  EXPECT_THAT(problems, IsEmpty());
}

TEST(RotaryConfigTest, NamesUnusableValues) {
  const auto problem = [](const char* text) {
    Problems problems;
    Read(json::parse(text), 64, &problems);
    EXPECT_EQ(problems.size(), 1u) << text;
    return problems.empty() ? "" : problems[0];
  };
  EXPECT_THAT(problem(R"({"rope_scaling": {"rope_type": "3d"}})"),
              ErrorAt("3d"));
  EXPECT_THAT(problem(R"({"rope_scaling": [1]})"), ErrorAt("rope_scaling"));
  EXPECT_THAT(problem(R"({"rope_parameters": {"mrope_section": [1, 2]}})"),
              ErrorAt("mrope_section"));
  EXPECT_THAT(problem(R"({"partial_rotary_factor": 0.5})"),
              ErrorAt("partial_rotary_factor"));
  EXPECT_THAT(problem(R"({"rope_theta": -1})"), ErrorAt("rope_theta"));
  EXPECT_THAT(problem(R"({"rope_scaling": {"type": "linear"}})"),
              ErrorAt("factor"));
  EXPECT_THAT(problem(R"({"rope_scaling": {"type": "llama3", "factor": 8,
                  "low_freq_factor": 4, "high_freq_factor": 4}})"),
              ErrorAt("low_freq_factor"));
  EXPECT_THAT(problem(R"({"rope_scaling": {"type": "longrope",
                          "short_factor": [1], "long_factor":
                          [1, 1, 1, 1, 1, 1, 1, 1]}})"),
              ErrorAt("short_factor"));
}

TEST(RotaryConfigTest, RefusesOddHeads) {
  const json config = json::object();
  Problems problems;
  ConfigReader reader({{"config.json", &config}}, &problems);
  ReadRotary(&reader, {.head_size = 15, .max_positions = 64});
  EXPECT_THAT(problems, ElementsAre(ErrorAt("head_dim")));
}

}  // namespace
}  // namespace trivium
