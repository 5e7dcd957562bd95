// Parsing of messages from the wire, and conversion of statuses.
#include "server/transports/grpc/wire.h"

#include <gmock/gmock.h>

#include "google/rpc/status.pb.h"
#include "server/calls/convert/message_checks.h"
#include "server/errors/status.h"
#include "server/transports/grpc/grpc_status.h"
#include "server/transports/grpc/library_logs.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

TEST(StatusTest, CarriesDetailsToGrpc) {
  const grpc::Status status =
      ToGrpcStatus(InvalidField("inputs[3].text", "is bad"), "id7");
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "inputs[3].text: is bad (request id7)");
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 3);
  EXPECT_EQ(details.details_size(), 1);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus(), "id7").ok());
}

TEST(StatusTest, LongMessagesFitTrailers) {
  const grpc::Status status = ToGrpcStatus(
      InvalidField("f", std::string(100'000, 'x')), std::string(128, 'i'));
  EXPECT_LT(status.error_message().size() + status.error_details().size(),
            6000);
}

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Varint(size_t number) {
  std::string bytes;
  for (; number >= 128; number /= 128) {
    bytes += static_cast<char>(number % 128 + 128);
  }
  return bytes + static_cast<char>(number);
}

TEST(WireTest, FindsTheIdOfABadItem) {
  v1::TranslateStreamRequest message;
  message.mutable_item()->set_id("77");
  message.mutable_item()->mutable_input()->set_text("QQ");
  std::string bytes = message.SerializeAsString();
  bytes.replace(bytes.find("QQ"), 2, "\xff\xff");
  EXPECT_EQ(FindItemId(Bytes(bytes)), "77");
  std::string bad_id = bytes;
  bad_id.replace(bad_id.find("77"), 2, "\xff\xff");
  EXPECT_EQ(FindItemId(Bytes(bad_id)), std::nullopt);
  EXPECT_THAT(ParseMessage(Bytes(bytes), 1000, &message),
              IsError(absl::StatusCode::kInvalidArgument, "item.input.text"));
  EXPECT_EQ(FindItemId(Bytes("\xff")), std::nullopt);
  message.mutable_start();
  EXPECT_EQ(FindItemId(Bytes(message.SerializeAsString())), std::nullopt);
}

// Fields of two bytes each, known and unknown, would take a hundred times as
// much memory when parsed.
TEST(WireTest, FieldsAreCountedBeforeTheyAreParsed) {
  constexpr int64_t kMaxBytes = 1 << 20;
  constexpr int kMost = kMaxBytes / kMessageBytesAField + 1024;
  const auto status_of = [](int fields, const std::string& field) {
    v1::GenerateRequest message;
    std::string all;
    for (int i = 0; i < fields; ++i) all += field;
    // The fields are those of GenerateRequest, of its Chat, and of the Struct
    // in the Chat.
    const std::string chat = "\x42" + Varint(all.size()) + all;
    return ParseMessage(Bytes(all + chat), kMaxBytes, &message);
  };
  const auto too_many = IsError(absl::StatusCode::kInvalidArgument, "fields");
  for (const char* field : {"\x0a", "\x12", "\x1a", "\x7a"}) {
    const std::string one = std::string(field) + '\0';
    EXPECT_TRUE(status_of(kMost / 2 - 1, one).ok()) << one;
    EXPECT_THAT(status_of(kMost / 2 + 1, one), too_many);
  }
  for (const std::string& one : {std::string("\x78\0", 2), std::string("{|")}) {
    EXPECT_THAT(status_of(kMost / 2 + 1, one), too_many);
  }
  // Packed numbers count as one field.
  v1::EncodeRequest ids;
  for (int i = 0; i < kMost + 10; ++i) {
    if (i == 0) ids.add_inputs();
    ids.mutable_inputs(0)->mutable_ids()->add_ids(1);
  }
  v1::EncodeRequest parsed;
  EXPECT_TRUE(
      ParseMessage(Bytes(ids.SerializeAsString()), kMaxBytes, &parsed).ok());
}

TEST(WireTest, ParsesOrRefusesAnyBytes) {
  CaptureLibraryLogs();
  // Every truncation and every changed byte of a good message.
  v1::TranslateStreamRequest good;
  good.mutable_item()->set_id("7");
  good.mutable_item()->mutable_input()->mutable_pair()->set_first("äöü");
  good.mutable_item()->mutable_input()->set_target_prefix("€");
  const std::string bytes = good.SerializeAsString();
  v1::TranslateStreamRequest parsed;
  for (size_t i = 0; i < bytes.size(); ++i) {
    ParseMessage(Bytes(bytes.substr(0, i)), 1000, &parsed).IgnoreError();
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const absl::Status status = ParseMessage(Bytes(changed), 1000, &parsed);
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
      FindItemId(Bytes(changed));
    }
  }
}

}  // namespace
}  // namespace trivium
