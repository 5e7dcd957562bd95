#include "server/observability/rpc.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <set>
#include <string>

#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

TEST(RpcTest, NamesAreTheApisMethods) {
  std::set<std::string> names, methods = {"ModelInfer"};  // KServe's
  for (int i = 0; i < kRpcs; ++i) names.emplace(RpcName(static_cast<Rpc>(i)));
  for (const auto* file : {v1::EncodeRequest::descriptor()->file(),
                           v1::GetModelRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int k = 0; k < file->service(i)->method_count(); ++k) {
        methods.insert(file->service(i)->method(k)->name());
      }
    }
  }
  EXPECT_EQ(names, methods);
}

}  // namespace
}  // namespace trivium
