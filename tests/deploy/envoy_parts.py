"""Tests of Envoy's other parts, for replicas.py: JSON without gRPC, TLS, and
conversations that stay with one server."""

import collections
import http.client
import json
import shutil
import ssl
import subprocess

from replica import REQUEST, ROOT, TEXT, Expectations, wait_for

# The address that the client uses and that the certificate names.
BALANCER = "localhost:50050"


def post(path, body, headers=(), tls=None):
    """Posts JSON to Envoy; returns status and answer. `tls` is a context, or None."""
    connection = (http.client.HTTPConnection(BALANCER, timeout=60) if tls is None
                  else http.client.HTTPSConnection(BALANCER, timeout=60, context=tls))
    try:
        connection.request("POST", path, body if isinstance(body, bytes)
                           else json.dumps(body),
                           {"Content-Type": "application/json", **dict(headers)})
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, json.loads(text) if text.startswith(("{", "[")) else text
    finally:
        connection.close()


TRANSLATE = "/trivium.v1.Inference/Translate"
GENERATE = "/trivium.v1.Inference/Generate"
ONE = {"inputs": [{"text": TEXT.decode()}]}


def try_json(callers):
    """Tests calls without gRPC, alone and beside gRPC calls."""
    expect = Expectations("json")
    callers.wait_until_served()
    status, answer = post(TRANSLATE, ONE)
    expect("a call", status == 200 and "Apfel" in json.dumps(answer), answer)
    status, answer = post(GENERATE, {"input": {"text": TEXT.decode()}})
    text = "".join(one.get("piece", {}).get("text", "") for one in answer)
    expect("a stream is a list", status == 200 and "Apfel" in text, text)
    status, answer = post(TRANSLATE, {"inputs": [{"text": "x" * 1100000}] * 3})
    expect("the server's own refusal", status == 400 and "bytes" in str(answer),
           f"{status} {answer}")
    for what, wanted, path, body, headers in (
            ("no message", 400, TRANSLATE, {"inputs": 1}, ()),
            ("no JSON", 400, TRANSLATE, b"nothing", ()),
            ("no such call", 404, TRANSLATE + "d", ONE, ()),
            ("a request that is too large", 400, TRANSLATE,
             {"inputs": [{"text": "x" * 5000000}]}, ()),
            ("a web page", 403, TRANSLATE, ONE, [("Origin", "https://x.org")])):
        status, answer = post(path, body, headers)
        expect(what, status == wanted, f"{status} {answer}")
    return expect.failed


def make_tls_files(folder):
    """Makes a self-signed certificate of localhost."""
    made = folder / "tls"
    made.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
         made / "tls.key", "-out", made / "tls.crt"],
        check=True, capture_output=True)


def try_tls(folder):
    import grpc

    expect = Expectations("tls")

    authority = folder / "tls/tls.crt"
    context = ssl.create_default_context(cafile=authority)
    wait_for("Envoy", lambda: post(TRANSLATE, ONE, tls=context)[0] == 200)
    channel = grpc.secure_channel(BALANCER, grpc.ssl_channel_credentials(
        authority.read_bytes()), [("grpc.enable_http_proxy", 0)])
    call = channel.unary_unary(TRANSLATE)
    expect("gRPC", b"Apfel" in call(REQUEST, timeout=20))
    expect("JSON", post(TRANSLATE, ONE, tls=context)[0] == 200)
    try:
        plain = str(post(TRANSLATE, ONE))
    except (OSError, http.client.HTTPException) as error:
        plain = ""
        detail = type(error).__name__
    expect("what is not TLS is refused", not plain, plain or detail)
    channel.close()
    return expect.failed


CONVERSATIONS, TURNS = 12, 5


def make_chat_folder(folder):
    """Makes the folder of tests/integration/chat_folder.h."""
    golden = ROOT / "tests/golden/qwen3.lm"
    chats = ROOT / "tests/integration/chats"
    folder.mkdir()
    for file in (golden / "generation_config.json", golden / "model.safetensors",
                 chats / "tokenizer.json", chats / "chat_template.jinja"):
        shutil.copy(file, folder)
    config = json.loads((golden / "config.json").read_text())
    config["max_position_embeddings"] = 1024
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def converse(replicas, name, says_which):
    """Runs all conversations, one turn of each at a time. Returns how many turns found
    their prefix cached, and how many servers answered each conversation."""
    def figures(figure):
        return [replica.figure(figure) for replica in replicas]

    hits = sum(figures("trivium_prefix_hits_total"))
    servers = collections.defaultdict(set)
    # No conversation begins like another.
    chats = [[] for _ in range(CONVERSATIONS)]
    for turn in range(TURNS):
        for number, chat in enumerate(chats):
            chat.append({"role": "user", "content":
                         f"{name} {number}: " + "Hello you. " * (6 + turn)})
            before = figures("trivium_texts_total")
            status, answer = post(
                GENERATE,
                {"chat": {"messages": chat},
                 "decoding": {"temperature": 0, "maxNewTokens": 8}},
                [("x-conversation", f"{name}-{number}")] if says_which else ())
            if status != 200:
                raise SystemExit(f"affinity: {status} {answer}")
            chat.append({"role": "assistant", "content": "".join(
                one.get("piece", {}).get("text", "") for one in answer)})
            servers[number] |= {i for i, (now, was) in enumerate(
                zip(figures("trivium_texts_total"), before)) if now > was}
    return (sum(figures("trivium_prefix_hits_total")) - hits,
            [len(some) for some in servers.values()])


def try_affinity(replicas):
    """Compares how many turns find their prefix cached, with x-conversation and
    without."""
    expect = Expectations("affinity")
    wait_for("Envoy", lambda: post(
        "/trivium.v1.Models/ListModels", {})[0] == 200)
    later = CONVERSATIONS * (TURNS - 1)
    without, scattered = converse(replicas, "without", False)
    found, servers = converse(replicas, "with", True)
    expect("each conversation has one server", max(servers) == 1,
           f"servers of each: {servers}; without x-conversation: {scattered}")
    expect("later turns find what was read before", found >= later > without,
           f"{found:.0f} of {later}; without x-conversation: {without:.0f}")
    used = sum(1 for replica in replicas
               if replica.figure("trivium_texts_total") > 0)
    expect("all servers are used", used == len(replicas), used)
    return expect.failed
