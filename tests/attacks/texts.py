"""Attacks with texts: calls whose cost would be out of proportion to their
bytes, if it were not bounded before the work."""

import time

import attack
import grpc
from trivium.v1 import inference_pb2


class TextsAttack(attack.Attack):
    def flood(self, method, request, clients=4):
        """Sends the request from some clients at once, for as long as a test
        attacks; gives the codes that came back."""
        codes = set()
        payload = request.SerializeToString()
        until = attack.deadline()

        def run(_):
            with grpc.insecure_channel(self.server.address) as channel:
                call = channel.unary_unary(attack.INFERENCE + method)
                while time.monotonic() < until:
                    try:
                        call(payload, timeout=30)
                        codes.add("OK")
                    except grpc.RpcError as error:
                        codes.add(error.code().name)

        with self.honest_client() as honest:
            attack.in_threads(clients, run)
        self.assert_unharmed(honest)
        return codes

    def test_texts_over_the_limit(self):
        request = inference_pb2.TranslateRequest()
        for _ in range(3):
            request.inputs.add().text = "a " * (1 << 19) + "a"
        self.assertEqual(self.flood("Translate", request),
                         {"INVALID_ARGUMENT"})


if __name__ == "__main__":
    attack.main()
