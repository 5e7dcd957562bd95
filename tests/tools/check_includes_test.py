#!/usr/bin/env python3
"""Tests check_includes on made-up trees."""

import pathlib
import tempfile
import unittest

import check_includes


class CheckIncludesTest(unittest.TestCase):
    def problems(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            return check_includes.check(pathlib.Path(folder))

    def assert_allowed(self, path, header):
        self.assertEqual(self.problems(path, f'#include "{header}"\n'), [])

    def assert_refused(self, path, header):
        problems = self.problems(path, f"// First.\n #  include <{header}>\n")
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(f"{path}:2: ", problems[0])
        self.assertIn(header, problems[0])

    def test_own_folder_base_and_standard_library(self):
        for path in ("base/a.cc", "model/search/a.cc", "server/transports/grpc/a.cc"):
            own = str(pathlib.PurePath(path).with_suffix(".h"))
            for header in (own, "base/clock.h", "vector", "fmt/format.h"):
                self.assert_allowed(path, header)

    def test_kernels_alone_see_onednn_and_simd(self):
        for header in ("dnnl.hpp", "oneapi/dnnl/dnnl.hpp", "hwy/highway.h",
                       "immintrin.h", "xmmintrin.h"):
            self.assert_allowed("model/kernels/a.cc", header)
            self.assert_refused("model/transformer/a.cc", header)
            self.assert_refused("server/main.cc", header)

    def test_layers_of_the_model(self):
        self.assert_allowed("model/transformer/a.cc", "model/kernels/a.h")
        self.assert_allowed("model/families/a.cc", "model/transformer/a.h")
        self.assert_refused("model/families/a.cc", "model/kernels/a.h")
        self.assert_refused("model/kernels/a.cc", "model/transformer/a.h")
        self.assert_refused("model/search/a.cc", "model/engine.h")
        self.assert_refused("model/model.cc", "server/batching/batcher.h")
        self.assert_refused("base/a.cc", "model/model.h")

    def test_batching_knows_no_grpc(self):
        self.assert_allowed("server/batching/a.cc", "model/engine.h")
        self.assert_allowed("server/batching/a.cc", "model/search/decoding.h")
        self.assert_refused("server/batching/a.cc", "model/transformer/a.h")
        self.assert_refused("server/batching/a.cc", "grpcpp/grpcpp.h")
        self.assert_refused("server/batching/a.cc", "trivium/v1/common.pb.h")
        self.assert_refused("server/batching/a.cc", "server/transports/grpc/a.h")
        self.assert_refused("server/observability/a.cc", "grpcpp/grpcpp.h")

    def test_handlers_know_no_transport(self):
        path = "server/calls/a.cc"
        self.assert_allowed(path, "google/protobuf/message.h")
        self.assert_allowed(path, "server/batching/batcher.h")
        self.assert_refused(path, "server/transports/grpc/wire.h")
        self.assert_refused(path, "grpcpp/grpcpp.h")
        self.assert_refused(path, "trivium/v1/models.grpc.pb.h")
        self.assert_refused("server/server.cc", "grpcpp/grpcpp.h")

    def test_calls_leave_messages_to_convert(self):
        self.assert_refused("server/calls/a.cc", "trivium/v1/models.pb.h")
        self.assert_allowed("server/calls/convert/a.cc", "trivium/v1/models.pb.h")
        self.assert_allowed("server/calls/a.cc", "server/calls/convert/a.h")
        for line in ("answer->set_text(text);", "*out.mutable_model() = model;",
                     "out->add_results();", "if (in.has_text()) return;",
                     "return request_.top();", "use(request().inputs(0));",
                     "response_.Clear();"):
            problems = self.problems("server/calls/a.cc", f"\n  {line}\n")
            self.assertEqual(len(problems), 1, line)
            self.assertIn("server/calls/a.cc:2: ", problems[0])
            for path in ("server/calls/convert/a.cc", "server/calls/load_reports.cc",
                         "server/batching/a.cc"):
                self.assertEqual(self.problems(path, line), [])
        for line in ("return result.has_value();", "// Calls in.has_text().",
                     "Take(&request_);", "request.set = in.top;"):
            self.assertEqual(self.problems("server/calls/a.cc", line), [], line)

    def test_rpc_and_client(self):
        self.assert_allowed("server/transports/grpc/a.cc", "trivium/v1/models.pb.h")
        self.assert_allowed("server/transports/grpc/a.cc", "grpcpp/grpcpp.h")
        self.assert_allowed("server/transports/grpc/a.cc", "trivium/v1/models.grpc.pb.h")
        self.assert_allowed("server/transports/grpc/a.cc", "server/calls/handlers.h")
        self.assert_refused("server/transports/grpc/a.cc", "server/batching/batcher.h")
        self.assert_refused("server/transports/grpc/a.cc", "model/model.h")
        self.assert_refused("server/transports/grpc/a.cc", "prometheus/counter.h")
        self.assert_allowed("client/load/a.cc", "client/client.h")
        self.assert_refused("client/client.cc", "model/model.h")
        self.assert_refused("client/client.cc", "server/options.h")

    def test_libraries_of_the_network_are_each_in_one_place(self):
        for header, file in (
                ("openssl/ssl.h", "server/transports/net/stream.cc"),
                ("openssl/sha.h", "server/limits/crypto.cc"),
                ("microhttpd.h", "server/transports/http/daemon.cc"),
                ("nghttp2/nghttp2.h", "server/transports/grpc/header_fields.h")):
            path = str(pathlib.PurePath(file).with_suffix(".cc"))
            self.assert_allowed(path, header)
            for other in ("server/limits/access.cc", "server/calls/a.cc",
                          "server/observability/a.cc",
                          "server/transports/http/exchange.cc",
                          "server/transports/grpc/relay.cc"):
                self.assert_refused(other, header)

    def test_tests_may_see_all_and_only_they_see_gtest(self):
        self.assert_allowed("tests/model/a.cc", "dnnl.hpp")
        self.assert_refused("base/a.cc", "gtest/gtest.h")
        self.assert_refused("base/a.cc", "tests/support/golden.h")

    def test_include_guards(self):
        guard = "#ifndef TRIVIUM_BASE_A_H_\n#define TRIVIUM_BASE_A_H_\n#endif\n"
        self.assertEqual(self.problems("base/a.h", guard), [])
        self.assertEqual(len(self.problems("base/b.h", guard)), 1)
        self.assertEqual(len(self.problems("base/b.h", "#pragma once\n")), 1)
        self.assertEqual(self.problems("model/kernels/v-inl.h", ""), [])


if __name__ == "__main__":
    unittest.main()
