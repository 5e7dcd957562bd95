"""A stand-in for grpcurl, which Debian does not have. It does what the README uses.

grpcurl.py STUBS -plaintext -d JSON ADDRESS SERVICE/METHOD: makes a call with one
request and prints each response as JSON. STUBS is the folder of protoc's Python
stubs.
"""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])

import grpc  # noqa: E402
from google.protobuf import json_format, symbol_database  # noqa: E402

from trivium.v1 import inference_pb2, models_pb2  # noqa: E402, F401

plaintext, flag, text, address, path = sys.argv[2:]
assert (plaintext, flag) == ("-plaintext", "-d"), sys.argv
service, name = path.split("/")
types = symbol_database.Default()
method = types.pool.FindServiceByName(service).methods_by_name[name]
request = json_format.Parse(text, types.GetPrototype(method.input_type)())
response = types.GetPrototype(method.output_type)
with grpc.insecure_channel(address) as channel:
    call = channel.unary_stream(  # a unary call is a stream of one response
        f"/{path}", type(request).SerializeToString, response.FromString)
    for message in call(request, timeout=60):
        print(json_format.MessageToJson(message))
