#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "model/kernels/runtime.h"
#include "model/precision.h"
#include "nlohmann/json.hpp"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr LoadOptions kF32{.precision = Precision::kF32};

std::unique_ptr<Model> Load(const std::string& folder) {
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(folder, kF32);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

void CopyFile(const std::string& from, const TemporaryFolder& to,
              const std::string& name) {
  to.Write(name, ReadWholeFile(from + "/" + name));
}

TEST(PrecisionTest, ParsesNamesAndResolvesAuto) {
  for (const Precision precision :
       {Precision::kAuto, Precision::kF32, Precision::kBf16, Precision::kInt8,
        Precision::kInt4}) {
    const auto parsed = ParsePrecision(PrecisionName(precision));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, precision);
  }
  EXPECT_THAT(ParsePrecision("fp16").status(),
              IsError(absl::StatusCode::kInvalidArgument, "fp16"));
  EXPECT_THAT(ParseKvPrecision("int4").status(),
              IsError(absl::StatusCode::kInvalidArgument, "int4"));
  EXPECT_EQ(ParseKvPrecision("int8").value_or(Precision::kAuto),
            Precision::kInt8);
  const auto choice = [](Precision precision, Isa isa) {
    return ResolvePrecision(precision, isa).value_or(Precision::kAuto);
  };
  EXPECT_EQ(choice(Precision::kAuto, Isa::kNeon), Precision::kF32);
  EXPECT_EQ(choice(Precision::kAuto, Isa::kAvx2), Precision::kInt8);
  EXPECT_EQ(choice(Precision::kAuto, Isa::kAvx512), Precision::kInt8);
  EXPECT_EQ(choice(Precision::kAuto, Isa::kAvx512Vnni), Precision::kInt8);
  EXPECT_EQ(choice(Precision::kAuto, Isa::kAmx), Precision::kInt8);
  EXPECT_EQ(choice(Precision::kInt8, Isa::kNeon), Precision::kInt8);
  EXPECT_EQ(choice(Precision::kInt8, Isa::kAvx2), Precision::kInt8);
  EXPECT_EQ(choice(Precision::kBf16, Isa::kAmx), Precision::kBf16);
  EXPECT_EQ(choice(Precision::kBf16, Isa::kAvx512Bf16), Precision::kBf16);
  const absl::Status refused =
      ResolvePrecision(Precision::kBf16, Isa::kAvx512Vnni).status();
  EXPECT_THAT(refused,
              IsError(absl::StatusCode::kFailedPrecondition, "AVX512_BF16"));
}

TEST(ModelTest, LoadsTheEmbeddedModel) {
  const auto model = Load("model/embedded");
  ASSERT_NE(model, nullptr);
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.family, "marian");
  EXPECT_EQ(info.design, Design::kEncoderDecoder);
  EXPECT_EQ(info.precision, Precision::kF32);
  EXPECT_EQ(info.isa, ActiveIsa());
  EXPECT_EQ(info.d_model, 256);
  EXPECT_EQ(info.encoder_layers, 4);
  EXPECT_EQ(info.decoder_layers, 2);
  EXPECT_EQ(info.encoder_heads, 4);
  EXPECT_EQ(info.decoder_heads, 4);
  EXPECT_EQ(info.vocabulary, 8004);
  EXPECT_EQ(info.max_source_tokens, 512);
  EXPECT_EQ(info.max_target_tokens, 512);
  EXPECT_GT(info.parameters, 7'000'000);
  EXPECT_GT(info.weight_bytes, 4 * 7'000'000);
  EXPECT_THAT(info.revision, SizeIs(16));
  EXPECT_EQ(info.source_languages, info.target_languages);
  EXPECT_THAT(info.target_languages,
              ElementsAre(Language{"de", ">>de<<"}, Language{"en", ">>en<<"}));
  ASSERT_NE(model->tokenizer(), nullptr);
  EXPECT_THAT(model->decoder_prefix(), ElementsAre(8000));
  const DecodingOptions& options = model->decoding_defaults();
  EXPECT_EQ(options.beam_size, 4);
  EXPECT_EQ(options.max_new_tokens, 511);
  EXPECT_THAT(options.end_ids, ElementsAre(0));
  EXPECT_EQ(options.forced_last_id, 0);
  EXPECT_TRUE(options.renormalize_logits);
  EXPECT_THAT(
      options.banned_sequences,
      ElementsAre(ElementsAre(8000), ElementsAre(8001), ElementsAre(8002)));
  EXPECT_TRUE(ValidateDecodingOptions(options, info.vocabulary).ok());
  EXPECT_THAT(model->ResolveDirection("en", "de").value().prefix_ids,
              ElementsAre(8001));
  EXPECT_THAT(model->ResolveDirection("de", "en").value().prefix_ids,
              ElementsAre(8002));
  EXPECT_THAT(model->ResolveDirection({}, {}).value().prefix_ids,
              ElementsAre(8001));
}

TEST(ModelTest, LoadsEveryGoldenWithoutATokenizer) {
  for (const char* name :
       {"marian.translate", "marian.bin_zip", "marian.bin_legacy",
        "marian.separate_vocabularies"}) {
    const auto model = Load(std::string("tests/golden/") + name);
    ASSERT_NE(model, nullptr) << name;
    EXPECT_EQ(model->tokenizer(), nullptr);
    EXPECT_THAT(model->decoder_prefix(), ElementsAre(306));
    EXPECT_FALSE(model->decoding_defaults().forced_last_id.has_value());
    EXPECT_EQ(model->info().vocabulary, 307);
  }
}

TEST(ModelTest, LoadsDecoderOnlyModels) {
  for (const char* name :
       {"gpt2.lm", "gpt2.old_names", "gpt_neo.lm", "openai-gpt.lm", "opt.lm"}) {
    SCOPED_TRACE(name);
    const auto model = Load(std::string("tests/golden/") + name);
    ASSERT_NE(model, nullptr);
    const ModelInfo& info = model->info();
    EXPECT_EQ(info.design, Design::kDecoder);
    EXPECT_EQ(info.decoder_layers, 2);
    EXPECT_EQ(info.decoder_heads, 2);
    EXPECT_EQ(info.encoder_layers, 0);
    EXPECT_EQ(info.max_source_tokens, 0);
    EXPECT_EQ(info.max_target_tokens, 64);
    EXPECT_EQ(info.d_model, 32);
    EXPECT_EQ(info.vocabulary, 307);
    EXPECT_FALSE(info.head.has_value());
    EXPECT_THAT(model->decoder_prefix(), IsEmpty());
    EXPECT_EQ(model->decoding_defaults().max_new_tokens, 64);
    EXPECT_THAT(model->decoding_defaults().end_ids, ElementsAre(2));
    const auto engine = model->NewEngine({.kv_cache_bytes = 16 << 20});
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_EQ((*engine)->limits().encoder_layers, 0);
    EXPECT_TRUE(absl::IsFailedPrecondition(
        (*engine)->AddSource({{1}, {}}, {}).status()));
  }
}

TEST(ModelTest, AnEmbeddingOfDprIsTheFirstTokensState) {
  const auto model = Model::Load("tests/golden/dpr.question", {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->sentence_encoder().poolings(),
              ElementsAre(TokenPooling::kFirst));
}

TEST(ModelTest, ClassifiersOfEncoderDecodersAreEncoders) {
  for (const char* golden : {"bart.classify", "t5.classify"}) {
    const auto model =
        Model::Load(std::string("tests/golden/") + golden, LoadOptions());
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model)->info().design, Design::kEncoder);
    EXPECT_EQ((*model)->info().head->kind, HeadKind::kClassify);
  }
}

TEST(ModelTest, MakesEngines) {
  const auto model = Load("tests/golden/marian.translate");
  ASSERT_NE(model, nullptr);
  const auto engine = model->NewEngine({.kv_cache_bytes = 16 << 20});
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_EQ((*engine)->limits().vocabulary, 307);
  EXPECT_TRUE(absl::IsResourceExhausted(
      model->NewEngine({.kv_cache_bytes = 1}).status()));
}

TEST(ModelTest, RevisionsTellModelsApart) {
  const auto first = Load("tests/golden/marian.translate");
  const auto same = Load("tests/golden/marian.bin_zip");
  const auto other = Load("tests/golden/marian.separate_vocabularies");
  ASSERT_TRUE(first && same && other);
  EXPECT_EQ(first->info().revision, same->info().revision);
  EXPECT_NE(first->info().revision, other->info().revision);
}

TEST(ModelTest, CheckListsEveryProblem) {
  EXPECT_THAT(Model::Check("model/embedded", kF32), IsEmpty());
  EXPECT_THAT(Model::Check("no/such/folder", kF32),
              ElementsAre(ErrorAt("no/such/folder")));

  const TemporaryFolder empty;
  EXPECT_THAT(Model::Check(empty.path(), kF32),
              testing::UnorderedElementsAre(ErrorAt("model.safetensors"),
                                            ErrorAt("config.json")));

  const TemporaryFolder folder;
  CopyFile("tests/golden/marian.translate", folder, "model.safetensors");
  folder.Write("config.json", R"({"model_type": "marian", "d_model": 32})");
  folder.Write("generation_config.json", "[");
  EXPECT_THAT(Model::Check(folder.path(), kF32),
              testing::IsSupersetOf({ErrorAt("generation_config.json"),
                                     ErrorAt("encoder_layers"),
                                     ErrorAt("vocab_size")}));
  const absl::Status status = Model::Load(folder.path(), kF32).status();
  EXPECT_THAT(status,
              IsError(absl::StatusCode::kInvalidArgument, "encoder_layers"));

  folder.Write("config.json", R"({"model_type": "newest"})");
  folder.Remove("generation_config.json");
  EXPECT_THAT(Model::Check(folder.path(), kF32),
              ElementsAre(ErrorAt("newest")));
}

TEST(ModelTest, RefusesWeightsThatAreNotFinite) {
  const TemporaryFolder folder;
  CopyFile("tests/golden/marian.translate", folder, "config.json");
  std::string weights =
      ReadWholeFile("tests/golden/marian.translate/model.safetensors");
  const uint32_t kInfinity = 0x7f800000u;
  std::memcpy(weights.data() + weights.size() - sizeof(kInfinity), &kInfinity,
              sizeof(kInfinity));
  folder.Write("model.safetensors", weights);
  EXPECT_THAT(Model::Check(folder.path(), kF32),
              ElementsAre(ErrorAt("model.")));
}

TEST(ModelTest, TokenizerAndModelMustMatch) {
  const TemporaryFolder folder;
  for (const char* name : {"config.json", "model.safetensors"}) {
    CopyFile("tests/golden/marian.translate", folder, name);
  }
  for (const char* name :
       {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}) {
    CopyFile("model/embedded", folder, name);
  }
  EXPECT_THAT(Model::Check(folder.path(), kF32), Contains(ErrorAt("8004")));
}

// As Gemma 3 1B has it: one piece more than embeddings.
TEST(ModelTest, OnlyATextWithAPieceWithoutEmbeddingIsRefused) {
  const TemporaryFolder folder;
  std::filesystem::copy("tests/golden/sentences/gemma3.embedding",
                        folder.path(),
                        std::filesystem::copy_options::recursive |
                            std::filesystem::copy_options::overwrite_existing);
  const auto whole = Load(folder.path());
  ASSERT_NE(whole, nullptr);
  const int embeddings = whole->info().vocabulary;
  const Tokenizer& pieces = *whole->tokenizer();
  ASSERT_EQ(pieces.vocabulary_size(TextSide::kSource), embeddings);
  nlohmann::json tokenizer =
      nlohmann::json::parse(ReadWholeFile(folder.path() + "/tokenizer.json"));
  nlohmann::json added = tokenizer["added_tokens"].back();
  added["id"] = embeddings;
  added["content"] = "<picture>";
  tokenizer["added_tokens"].push_back(added);
  folder.Write("tokenizer.json", tokenizer.dump());

  const auto model = Load(folder.path());
  ASSERT_NE(model, nullptr);
  const Tokenizer& bounded = *model->tokenizer();
  EXPECT_EQ(bounded.vocabulary_size(TextSide::kSource), embeddings);
  EXPECT_EQ(bounded.PieceToId("<picture>", TextSide::kSource), -1);
  EXPECT_EQ(bounded.IdToPiece(embeddings, TextSide::kSource), "");
  EXPECT_EQ(bounded.Encode("a text", {})->ids,
            pieces.Encode("a text", {})->ids);
  EXPECT_EQ(bounded.EncodePair("a", "text", {})->ids,
            pieces.EncodePair("a", "text", {})->ids);
  EXPECT_THAT(bounded.Encode("a <picture>", {}).status(),
              IsError(absl::StatusCode::kInvalidArgument, "<picture>"));
  EXPECT_THAT(bounded.EncodePair("<picture>", "a", {}).status(),
              IsError(absl::StatusCode::kInvalidArgument, "<picture>"));
  const TextPart part = {"<picture>"};
  EXPECT_THAT(bounded.EncodeParts({&part, 1}, {}).status(),
              IsError(absl::StatusCode::kInvalidArgument, "<picture>"));
}

TEST(ModelTest, AnAdapterAloneIsToldWhatItIs) {
  const TemporaryFolder folder;
  folder.Write("adapter_config.json",
               R"({"base_model_name_or_path": "meta/llama", "r": 8})");
  folder.Write("adapter_model.safetensors", "");
  EXPECT_THAT(Model::Check(folder.path(), kF32),
              ElementsAre(ErrorAt("adapter_config.json")));
}

// As sentence-transformers saved it before version 1.0.
TEST(ModelTest, TheTransformerMayBeInAFolderOfItsOwn) {
  const std::string golden = "tests/golden/sentences/gemma3.embedding";
  const TemporaryFolder folder;
  const std::string inner = folder.path() + "/0_Transformer";
  std::filesystem::create_directory(inner);
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    const bool root =
        entry.is_directory() || entry.path().filename() == "modules.json" ||
        entry.path().filename() == "config_sentence_transformers.json";
    std::filesystem::copy(
        entry.path(),
        (root ? folder.path() : inner) + "/" + entry.path().filename().string(),
        std::filesystem::copy_options::recursive);
  }
  nlohmann::json modules =
      nlohmann::json::parse(ReadWholeFile(golden + "/modules.json"));
  modules[0]["path"] = "0_Transformer";
  folder.Write("modules.json", modules.dump());
  EXPECT_TRUE(Model::IsAt(folder.path()));
  const auto inside = Load(folder.path());
  const auto flat = Load(golden);
  ASSERT_NE(inside, nullptr);
  ASSERT_NE(flat, nullptr);
  EXPECT_EQ(inside->sentence_encoder().embedding_size(inside->info().d_model),
            flat->sentence_encoder().embedding_size(flat->info().d_model));
  EXPECT_EQ(inside->sentence_encoder().max_tokens(),
            flat->sentence_encoder().max_tokens());
  EXPECT_EQ(inside->tokenizer()->Encode("A Text", {})->ids,
            flat->tokenizer()->Encode("A Text", {})->ids);
  modules[0]["path"] = "../0_Transformer";
  folder.Write("modules.json", modules.dump());
  EXPECT_FALSE(Model::IsAt(folder.path())) << "leads out of the folder";
}

TEST(ModelTest, OlderFoldersKeepGenerationSettingsInConfigJson) {
  const TemporaryFolder folder;
  CopyFile("tests/golden/marian.bin_legacy", folder, "pytorch_model.bin");
  std::string config =
      ReadWholeFile("tests/golden/marian.bin_legacy/config.json");
  config.replace(config.find('{'), 1,
                 R"({"num_beams": 6, "bad_words_ids": [[306]],
                     "max_length": 50,)");
  const std::string null_end = R"("forced_eos_token_id": null,)";
  config.erase(config.find(null_end), null_end.size());
  folder.Write("config.json", config);
  const auto model = Load(folder.path());
  ASSERT_NE(model, nullptr);
  const DecodingOptions& options = model->decoding_defaults();
  EXPECT_EQ(options.beam_size, 6);
  EXPECT_EQ(options.max_new_tokens, 49);
  EXPECT_THAT(options.banned_sequences, ElementsAre(ElementsAre(306)));
  EXPECT_THAT(options.end_ids, ElementsAre(0));
  // MarianConfig's own default.
  EXPECT_EQ(options.forced_last_id, 0);
}

// Gemma 4's table of inputs by token is read from the file at each step.
TEST(ModelTest, FailsStepsAfterAFileThatItReadsHasChanged) {
  const std::string golden = "tests/golden/gemma4_text.lm";
  const TemporaryFolder folder;
  CopyFile(golden, folder, "config.json");
  CopyFile(golden, folder, "model.safetensors");
  const auto model = Load(folder.path());
  ASSERT_NE(model, nullptr);
  const auto engine = model->NewEngine({.kv_cache_bytes = 1 << 20});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto step = [&] {
    const int32_t token = 7;
    StepPlan plan;
    plan.decode.push_back({.hypothesis = (*engine)->AddHypothesis(kNoSource),
                           .tokens = {&token, 1},
                           .queries = {&kAllLogits, 1}});
    StepResult result;
    return (*engine)->Step(plan, &result);
  };
  EXPECT_EQ(step(), absl::OkStatus());
  const std::string file = folder.path() + "/model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THAT(step(),
              IsError(absl::StatusCode::kInvalidArgument, "model.safetensors"));
}

}  // namespace
}  // namespace trivium
