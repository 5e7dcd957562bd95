#include "server/unknown_variables.h"

#include <gmock/gmock.h>

#include "server/options.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::ElementsAre;

TEST(UnknownVariablesTest, NamesTheNearestVariable) {
  const char* const environment[] = {"PATH=/bin",
                                     "TRIVIUM_WORKERS=2",
                                     "TRIVIUM_WORKER_THREAD=2",
                                     "TRIVIUM_LISTENN",
                                     "TRIVIUM_SERVICE_HOST=10.0.0.1",
                                     "TRIVIUM_SERVICE_PORT_GRPC=50051",
                                     "TRIVIUM_PORT=tcp://10.0.0.1:50051",
                                     "TRIVIUM_PORT_50051_TCP=tcp://10.0.0.1",
                                     "TRIVIUM_ADDRESS=10.0.0.1:50051",
                                     "TRIVIUM_PORT_FIEL=/x",
                                     nullptr};
  EXPECT_THAT(
      UnknownVariables({"TRIVIUM_WORKERS", "TRIVIUM_WORKER_THREADS",
                        "TRIVIUM_LISTEN", "TRIVIUM_PORT_FILE"},
                       environment),
      ElementsAre(AllOf(ErrorAt("TRIVIUM_WORKER_THREAD "),
                        ErrorAt("TRIVIUM_WORKER_THREADS?")),
                  ErrorAt("TRIVIUM_LISTEN?"), ErrorAt("TRIVIUM_PORT_FILE?")));
}

TEST(UnknownVariablesTest, ListsTheVariablesOfOptions) {
  EXPECT_THAT(OptionVariables(),
              testing::IsSupersetOf({"TRIVIUM_WORKERS", "TRIVIUM_MODEL",
                                     "TRIVIUM_METRICS_LISTEN"}));
}

}  // namespace
}  // namespace trivium
