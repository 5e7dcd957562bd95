"""The gradients of a batch, computed in the fastest way that works.

Python gives a GPU its work more slowly than the GPU does it. So a step is
recorded once for each shape of a batch (CUDA graphs) and then replayed as a
whole. torch.compile makes one kernel of what stands between two matrix
products, and saves most of the memory's traffic. Neither changes what is
computed, beyond rounding.
"""

import time
import types

import torch

import batch as batches
import marian
import objective
import packed


class Plain:
    """Computes them as Python says."""

    def __init__(self, model, options):
        self._model, self._options = model, options
        self._token_loss = objective.token_loss

    def fixed_shapes(self):
        return False

    def compute(self, batch):
        """Adds to the parameters' gradients; returns the loss."""
        options = self._options
        with torch.autocast(options.device.split(":")[0], torch.bfloat16):
            loss, translation = objective.loss_of(
                self._model, batch, options, self._token_loss)
        loss.backward()
        return translation

    def __call__(self, batch):
        for parameter in self._model.parameters():
            parameter.grad = None
        return self.compute(batch.to(self._options.device))

    def compile(self):
        torch._dynamo.config.recompile_limit = 64
        for stack, name in ((self._model.encoder, "encode"),
                            (self._model.decoder, "decode")):
            compiled = torch.compile(getattr(marian.Layer, name), dynamic=True)
            for layer in stack.layers:
                setattr(layer, name, types.MethodType(compiled, layer))
        self._token_loss = torch.compile(objective.fused_token_loss,
                                         dynamic=True)

    def uncompile(self):
        for stack, name in ((self._model.encoder, "encode"),
                            (self._model.decoder, "decode")):
            for layer in stack.layers:
                layer.__dict__.pop(name, None)
        self._token_loss = objective.token_loss


class Recorded(Plain):
    """Replays them. Batches must have the shapes of packed.fixed_batches."""

    def __init__(self, model, options):
        super().__init__(model, options)
        self._graphs = {}  # (graph, its batch) of each length of the targets
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()
        self._loss = torch.zeros((), device=options.device)

    def fixed_shapes(self):
        return True

    def _example(self, length):
        """Makes a batch of the shape, of end tokens alone."""
        rows = 2 * max(1, self._options.tokens // (2 * length))
        device = self._options.device

        def whole(width, value, dtype):
            return torch.full((rows, width), value, dtype=dtype, device=device)

        return batches.Batch(
            whole(length + 1, 0, torch.int64),
            whole(length + 1, True, torch.bool),
            whole(length, 0, torch.int64), whole(length, True, torch.bool))

    def record(self, length):
        batch = self._example(length)
        # The graphs write the gradients where they are now.
        for parameter in self._model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [one.grad for one in self._model.parameters()]
        torch.cuda.synchronize()
        with torch.cuda.stream(self._stream):
            self.compute(batch)  # compiles, and lets libraries prepare
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream,
                              capture_error_mode="thread_local"):
            torch._foreach_zero_(gradients)
            self._loss.copy_(self.compute(batch))
        self._graphs[length] = graph, batch

    def ensure(self, length):
        if length not in self._graphs:
            self.record(length)

    def seconds(self, length, count=10):
        """Measures a replay."""
        graph, _ = self._graphs[length]
        graph.replay()
        torch.cuda.synchronize()
        began = time.monotonic()
        for _ in range(count):
            graph.replay()
        torch.cuda.synchronize()
        return (time.monotonic() - began) / count

    def forget(self):
        self._graphs.clear()
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, batch):
        graph, static = self._graphs[batch.targets.shape[1]]
        for mine, theirs in zip(static.tensors(), batch.tensors()):
            mine.copy_(theirs, non_blocking=True)
        graph.replay()
        return self._loss.clone()


def fastest(model, options):
    """Returns a way that works here, and prints which."""
    if not options.record:
        return Plain(model, options)
    made = Recorded(model, options)
    middle = packed.LENGTHS[len(packed.LENGTHS) // 2]
    made.record(middle)
    plain = made.seconds(middle)
    print(f"recorded: {plain * 1000:.1f} ms", flush=True)
    if options.compile:
        began = time.monotonic()
        made.forget()
        compiled = float("inf")
        try:
            made.compile()
            made.record(middle)
            compiled = made.seconds(middle)
        except Exception as error:  # whatever a compiler may say
            print(f"not compiled: {error!r}"[:2000], flush=True)
        print(f"recorded and compiled: {compiled * 1000:.1f} ms, in "
              f"{time.monotonic() - began:.1f} s", flush=True)
        if compiled > plain:
            made.uncompile()
            made.forget()
    began = time.monotonic()
    for length in packed.fixed_lengths(options.longest):
        made.ensure(length)
    print(f"all shapes recorded in {time.monotonic() - began:.1f} s",
          flush=True)
    return made
