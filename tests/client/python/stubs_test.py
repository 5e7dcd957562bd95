"""Checks that the generated code in client/python is that of proto/, and that the
client's options are the requests' fields."""

import pathlib
import unittest

from google.protobuf import descriptor_pb2
from trivium import arguments
from trivium.v1 import (
    common_pb2,
    inference_pb2,
    inference_pb2_grpc,
    models_pb2,
    models_pb2_grpc,
)

ROOT = pathlib.Path(__file__).resolve().parents[3]
# For each class of options: the message, and the fields that are separate
# arguments.
OPTIONS = {
    arguments.EncodeArguments: (inference_pb2.EncodeRequest, {"inputs"}),
    arguments.TranslateArguments: (inference_pb2.TranslateOptions, set()),
    arguments.GenerateArguments: (inference_pb2.GenerateRequest, {"input", "chat"}),
    arguments.ScoreArguments: (inference_pb2.ScoreRequest, {"inputs"}),
    arguments.ClassifyArguments: (inference_pb2.ClassifyRequest, {"inputs"}),
    arguments.ClassifyTokensArguments: (inference_pb2.ClassifyTokensRequest, {"inputs"}),
    arguments.AnswerArguments: (inference_pb2.AnswerRequest, {"inputs"}),
    arguments.FillMaskArguments: (inference_pb2.FillMaskRequest, {"inputs"}),
    arguments.RerankArguments: (inference_pb2.RerankRequest, {"query", "documents"}),
    arguments.LoadModelArguments: (models_pb2.LoadModelRequest, {"folder"}),
    arguments.TokenizeArguments: (inference_pb2.TokenizeRequest, {"texts", "pairs"}),
}


def clear_names(message):
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        clear_names(nested)


def promised():
    """Returns the API in proto/trivium.v1.binpb, renamed as by ./generate."""
    data = (ROOT / "proto" / "trivium.v1.binpb").read_bytes()
    files = descriptor_pb2.FileDescriptorSet.FromString(data)
    for file in files.file:
        file.ClearField("source_code_info")
        for index, name in enumerate(file.dependency):
            file.dependency[index] = name.replace("google/rpc/", "trivium/rpc/")
        for message in file.message_type:
            rename(message)
            clear_names(message)
    return {file.name: file for file in files.file}


def rename(message):
    for field in message.field:
        field.type_name = field.type_name.replace(".google.rpc.", ".trivium.rpc.")
        if not field.type_name:
            field.ClearField("type_name")
    for nested in message.nested_type:
        rename(nested)


class StubsTest(unittest.TestCase):
    maxDiff = 4000

    def test_they_are_of_the_promised_api(self):
        files = promised()
        for module in (common_pb2, inference_pb2, models_pb2):
            made = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(made)
            made.ClearField("source_code_info")
            for message in made.message_type:
                clear_names(message)
            self.assertEqual(
                str(made), str(files.pop(made.name)),
                "the API has grown: run client/python/generate, and name what is "
                "new in client/python/trivium/arguments.py")
        self.assertFalse(files)

    def test_the_services_have_every_method(self):
        class Channel:
            def __getattr__(self, kind):
                return lambda path, **_: path
        for module, stub in ((inference_pb2, inference_pb2_grpc.InferenceStub),
                             (models_pb2, models_pb2_grpc.ModelsStub)):
            for service in module.DESCRIPTOR.services_by_name.values():
                made = stub(Channel())
                for method in service.methods:
                    self.assertEqual(getattr(made, method.name),
                                     f"/{service.full_name}/{method.name}")

    def test_options_are_the_fields(self):
        for options, (message, apart) in OPTIONS.items():
            with self.subTest(options.__name__):
                fields = set(message.DESCRIPTOR.fields_by_name) - apart
                self.assertEqual(set(options.__annotations__), fields)

    def test_similaritys_options_are_the_fields_of_two_lists_too(self):
        message = inference_pb2.SimilarityRequest
        lists = set(message.List.DESCRIPTOR.fields_by_name) - {"inputs"}
        self.assertEqual(
            set(arguments.SimilarityArguments.__annotations__),
            set(message.DESCRIPTOR.fields_by_name) - {"first", "second"}
            | {f"{one}_{name}" for one in ("first", "second") for name in lists})

    def test_a_chats_options_are_fields_of_two_messages(self):
        generate = set(inference_pb2.GenerateRequest.DESCRIPTOR.fields_by_name)
        chat = set(inference_pb2.Chat.DESCRIPTOR.fields_by_name)
        self.assertEqual(
            set(arguments.ChatArguments.__annotations__),
            (generate - {"input", "chat"}) | (chat - {"messages", "tool_name"}))


if __name__ == "__main__":
    unittest.main()
