"""Calls over HTTP/1.1 that arrive at random, or of clients that wait."""

import asyncio
import json
import random
import time


class Connection:
    def __init__(self, port):
        self._port = port
        self._reader = self._writer = None

    async def post(self, path, body):
        """The answer's JSON; raises if it is no success."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                "127.0.0.1", self._port, limit=1 << 24)
        data = json.dumps(body).encode()
        self._writer.write(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin1").lower().split("\r\n")
        length = next((int(line.partition(":")[2]) for line in lines
                       if line.startswith("content-length:")), None)
        if length is None:
            raise RuntimeError(f"{path}: an answer without a length")
        answer = await self._reader.readexactly(length)
        if " 200 " not in lines[0] + " ":
            raise RuntimeError(f"{path}: {lines[0]} {answer[:200]}")
        return json.loads(answer)

    def close(self):
        if self._writer is not None:
            self._writer.close()


class Connections:
    """As many as are needed at a time, by port."""

    def __init__(self):
        self._free = {}

    async def post(self, port, path, body):
        free = self._free.setdefault(port, [])
        connection = free.pop() if free else Connection(port)
        try:
            answer = await connection.post(path, body)
        except BaseException:
            connection.close()
            raise
        free.append(connection)
        return answer

    def close(self):
        for free in self._free.values():
            for connection in free:
                connection.close()


async def _measure(call, seconds_of, latencies, wrong, errors):
    begin = time.perf_counter()
    try:
        right = await call.run(seconds_of)
        latencies.setdefault(call.kind, []).append(time.perf_counter() - begin)
        wrong[call.kind] = wrong.get(call.kind, 0) + (not right)
    except (Exception, asyncio.TimeoutError) as error:
        errors.append(f"{call.kind}: {error!r}")


def poisson(draw, rate, seconds, timeout, seed=7):
    """Runs draw(random)'s calls at random times, `rate` a second; those of the
    first tenth warm up. Returns latencies and answers that differ, by kind, and
    errors."""
    latencies, wrong, errors = {}, {}, []

    async def run():
        rng = random.Random(seed)
        tasks = []
        connections = Connections()
        begin = time.perf_counter()
        at = 0.0
        while True:
            at += rng.expovariate(rate)
            if at > seconds:
                break
            await asyncio.sleep(max(0, begin + at - time.perf_counter()))
            warms = at < seconds / 10
            tasks.append(asyncio.create_task(_measure(
                draw(rng), (connections, timeout),
                {} if warms else latencies, {} if warms else wrong, errors)))
        await asyncio.gather(*tasks)
        connections.close()

    asyncio.run(run())
    return latencies, wrong, errors


def clients(draw, count, seconds):
    """`count` clients that each wait for an answer before the next call.
    Returns calls a second, latencies and errors."""
    latencies, wrong, errors = {}, {}, []
    warm_up = seconds / 5

    async def one(seed, connections, begin):
        rng = random.Random(seed)
        while (now := time.perf_counter()) < begin + warm_up + seconds:
            warms = now < begin + warm_up
            await _measure(draw(rng), (connections, 60),
                           {} if warms else latencies, wrong, errors)

    async def run():
        connections = Connections()
        begin = time.perf_counter()
        await asyncio.gather(*(one(i, connections, begin)
                               for i in range(count)))
        connections.close()

    asyncio.run(run())
    done = sum(map(len, latencies.values()))
    return done / seconds, latencies, wrong, errors
