"""Trains a Marian model in both directions; stops and resumes at any step.

    python train.py --data build/training/data \\
        --output build/training/student --steps 20000

The folder gets checkpoint.pt (everything), log.jsonl, curve.svg and the model's
folder. The same command resumes. On a CPU, the same data, flags and machine
give the same weights, however often it was stopped.
"""

import argparse
import concurrent.futures
import copy
import dataclasses
import json
import os
import pathlib
import signal
import time

import torch

import batch as batches
import curve
import gradients
import grow
import marian
import muon
import packed
import validation
import vocabulary
from export import load_folder, write_folder

# Steps between two lines of progress, for which a GPU has to be waited for.
SHOWN = 20


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Trains the embedded model or its teacher.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True,
                        help="folder that prepare.py wrote")
    parser.add_argument("--train", default="data.npz", help="its pairs; "
                        "distil.py writes others")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--init", type=pathlib.Path, help="a Marian folder to "
                        "begin with; its shape is taken")
    parser.add_argument("--grow", type=pathlib.Path, help="a Marian folder, "
                        "half as wide as the new model, that this begins as")
    shape = marian.Shape(0)
    for name in ("d_model", "encoder_layers", "decoder_layers", "heads", "ffn"):
        parser.add_argument("--" + name.replace("_", "-"), type=int,
                            default=getattr(shape, name))
    parser.add_argument("--steps", type=int, default=0, help="0: as many as "
                        "the time allows, from the speed so far")
    parser.add_argument("--minutes", type=float, default=0, help="stop then, "
                        "with a checkpoint; 0: at the last step only")
    parser.add_argument("--until", type=float, default=0, help="stop at this "
                        "time instead, in seconds since 1970")
    parser.add_argument("--wait", action="store_true", help="prepare, and "
                        "begin when --train exists")
    parser.add_argument("--tokens", type=int, default=4096, help="target "
                        "tokens a step")
    parser.add_argument("--longest", type=int, default=320,
                        help="leave out pairs with a longer text")
    parser.add_argument("--lr", type=float, default=2e-3,
                        help="of embeddings, norms and biases (AdamW)")
    parser.add_argument("--matrix-lr", type=float, default=2e-3,
                        help="of the layers' matrices (Muon)")
    parser.add_argument("--warm-up", type=int, default=300, help="steps")
    parser.add_argument("--decay", type=float, default=0.4, help="the last "
                        "part of the steps, in which the rates go to 0")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--contrast", type=float, default=0.05, help="weight "
                        "of the term that brings the pooled states of "
                        "translations together; 0: none")
    parser.add_argument("--average", type=float, default=0.998, help="decay of "
                        "the averaged weights, which are exported")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="0: all")
    parser.add_argument("--device", default="cuda" if
                        torch.cuda.is_available() else "cpu")
    gpu = argparse.BooleanOptionalAction
    parser.add_argument("--record", action=gpu,
                        default=torch.cuda.is_available(), help="record a "
                        "step of each shape (gradients.py); needs CUDA")
    parser.add_argument("--compile", action=gpu, default=True,
                        help="compile what is recorded, where that is faster")
    parser.add_argument("--save-every", type=float, default=180,
                        help="seconds")
    parser.add_argument("--validate-every", type=int, default=500,
                        help="steps")
    return parser.parse_args()


def optimizers(model, options):
    """Muon for the layers' matrices, AdamW for the rest."""
    matrices, rest = [], []
    for name, parameter in model.named_parameters():
        inner = parameter.dim() == 2 and ".layers." in name
        (matrices if inner else rest).append(parameter)
    return [
        muon.Muon(matrices, lr=options.matrix_lr),
        torch.optim.AdamW(rest, lr=options.lr, betas=(0.9, 0.98), eps=1e-9,
                          weight_decay=0.0, fused=options.device != "cpu"),
    ]


def rate(step, options):
    """Returns the factor of the rate, up to 1: a linear warm-up, level, then
    linearly to 0."""
    warm_up = min(1.0, (step + 1) / max(1, options.warm_up))
    if not options.steps:  # not known yet
        return warm_up
    decay = max(1, options.decay * options.steps)
    return max(0.0, min(warm_up, (options.steps - step) / decay))


class Trainer:
    def __init__(self, options):
        self._options = options
        options.output.mkdir(parents=True, exist_ok=True)
        self._path = options.output / "checkpoint.pt"
        self._words = vocabulary.Vocabulary.of_folder(options.data)
        self._data = None
        self._validation = validation.Validation(
            options.data / "validation.npz", self._words, options.device)
        torch.manual_seed(options.seed)
        model = self._new_model()
        self._model = model.to(options.device)
        self._optimizers = optimizers(self._model, options)
        self._average = copy.deepcopy(self._model).eval()
        self._gradients = gradients.fastest(self._model, options)
        self._step = self._epoch = self._next = self._tokens = 0
        self._stop = False
        if self._path.is_file():
            self._restore()

    def _new_model(self):
        options = self._options
        if options.init:
            return load_folder(options.init, self._words, options.dropout)
        shape = marian.Shape(len(self._words), *(
            getattr(options, field.name)
            for field in dataclasses.fields(marian.Shape)[1:]))
        if options.grow:
            return grow.grown(load_folder(options.grow, self._words), shape,
                              options.dropout)
        return marian.Marian(shape, options.dropout, self._words.padding)

    def _restore(self):
        state = torch.load(self._path, map_location=self._options.device,
                           weights_only=True)
        self._model.load_state_dict(state["model"])
        self._average.load_state_dict(state["average"])
        for optimizer, one in zip(self._optimizers, state["optimizers"]):
            optimizer.load_state_dict(one)
        for name in ("step", "epoch", "next", "tokens"):
            setattr(self, "_" + name, state[name])
        self._options.steps = self._options.steps or state["steps"]
        print(f"resuming at step {self._step:,}", flush=True)

    def _save(self):
        """Writes the checkpoint as a whole or not at all, however it is
        stopped."""
        state = {
            "model": self._model.state_dict(),
            "average": self._average.state_dict(),
            "optimizers": [one.state_dict() for one in self._optimizers],
            "shape": dataclasses.asdict(self._model.shape),
            "steps": self._options.steps,
        }
        for name in ("step", "epoch", "next", "tokens"):
            state[name] = getattr(self, "_" + name)
        new = self._path.with_suffix(".new")
        torch.save(state, new)
        os.replace(new, self._path)

    def _write_folder(self):
        write_folder(self._average, self._words,
                     self._options.output / "folder")

    def _batches(self):
        """Yields (epoch, index, Batch) from the current step on, prepared in
        advance."""
        options = self._options
        fixed = self._gradients.fixed_shapes()

        def order_of(epoch):
            flags = (self._data, options.seed, epoch, options.tokens,
                     options.longest)
            if fixed:
                return packed.fixed_batches(*flags)
            return [(pairs, 0) for pairs in packed.batches(*flags)]

        def make(epoch, index, pairs, length):
            made = batches.make(self._data, pairs, self._words, options.seed,
                                (epoch << 32) + index, length=length)
            # Only pinned memory is copied to a device without waiting for it.
            return epoch, index, (made if options.device == "cpu"
                                  else made.pinned())

        with (concurrent.futures.ThreadPoolExecutor(1) as pool,
              concurrent.futures.ThreadPoolExecutor(1) as orders):
            waiting = []
            epoch, first = self._epoch, self._next
            following = orders.submit(order_of, epoch)
            while True:
                order = following.result()
                following = orders.submit(order_of, epoch + 1)
                if not order:
                    raise SystemExit(f"{options.data / options.train}: all "
                                     "texts are longer than --longest "
                                     f"{options.longest}")
                for index in range(first, len(order)):
                    waiting.append(pool.submit(make, epoch, index,
                                               *order[index]))
                    if len(waiting) > 4:
                        yield waiting.pop(0).result()
                epoch, first = epoch + 1, 0

    def _train(self, batch):
        options = self._options
        # The seed depends on the step alone, so that a resumed run draws the
        # same numbers.
        torch.manual_seed((options.seed << 32) + self._step)
        factor = rate(self._step, options)
        for optimizer, lr in zip(self._optimizers,
                                 (options.matrix_lr, options.lr)):
            for group in optimizer.param_groups:
                group["lr"] = lr * factor
        loss = self._gradients(batch)
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        for optimizer in self._optimizers:
            optimizer.step()
        self._step += 1
        decay = min(options.average, self._step / (self._step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(self._average.parameters()),
                                 list(self._model.parameters()), 1 - decay)
        return loss

    def _log(self, **entry):
        with open(self._options.output / "log.jsonl", "a") as file:
            file.write(json.dumps(
                {"step": self._step, "tokens": self._tokens, **entry}) + "\n")

    def _validate(self):
        bleu, loss = self._validation.scores(self._average)
        self._log(validation_loss=loss, bleu=bleu)
        print(f"\nstep {self._step:,}: validation loss {loss:.3f}, greedy BLEU "
              + ", ".join(f"to {k} {v:.1f}" for k, v in bleu.items()),
              flush=True)
        curve.draw(self._options.output)

    def _fit_steps(self, each):
        """Sets --steps to as many steps of `each` seconds as the time
        allows."""
        left = self._options.until - time.time()
        self._options.steps = self._step + max(1, int(left / each))

    def _wait(self):
        """Waits for the training data, which may still be made."""
        path = self._options.data / self._options.train
        while self._options.wait and not path.is_file():
            if self._stop or 0 < self._options.until < time.time():
                raise SystemExit("stopped while waiting")
            time.sleep(0.1)
        self._data = packed.Packed.load(path)

    def run(self):
        options = self._options
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "_stop", True))
        self._wait()
        fits = not options.steps
        began, saved, shown = time.time(), time.time(), time.monotonic()
        if options.minutes:
            options.until = options.until or began + 60 * options.minutes
        warm = None  # when the speed is steady: (time, step)
        counted, places, losses = 0, 0, []
        for epoch, index, batch in self._batches():
            if 0 < options.steps <= self._step and not fits:
                break
            loss = self._train(batch)
            self._epoch, self._next = epoch, index + 1
            self._tokens += batch.tokens
            counted += batch.tokens
            places += batch.targets.numel()
            losses.append(loss)
            if self._step % SHOWN == 0:
                mean = torch.stack(losses).mean().item()  # waits for a GPU
                now = time.monotonic()
                if fits and warm:
                    self._fit_steps((now - warm[0]) / (self._step - warm[1]))
                warm = warm or (now, self._step)
                speed = counted / (now - shown)
                self._log(loss=mean, speed=speed)
                print(f"step {self._step:,}/{options.steps or '?'}, epoch "
                      f"{epoch}, {self._tokens / 1e6:.2f} M target tokens, "
                      f"loss {mean:.3f}, {speed:,.0f} tokens/s, padding "
                      f"{1 - counted / places:.1%}", flush=True)
                losses, counted, places = [], 0, 0
                shown = now
            if self._step % options.validate_every == 0:
                self._validate()
                shown = time.monotonic()
            if time.time() - saved > options.save_every:
                self._write_folder()
                self._save()
                saved = time.time()
            if self._stop or (options.until and time.time() > options.until):
                break
        self._write_folder()
        if self._step % options.validate_every:
            self._validate()
        self._save()
        return (fits or options.steps <= self._step) and not self._stop


def main():
    options = parse_arguments()
    if not (options.steps or options.minutes or options.until):
        raise SystemExit("give --steps, --minutes or --until")
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "cpu":
        torch.use_deterministic_algorithms(True, warn_only=True)
        # It takes time.
        torch.utils.deterministic.fill_uninitialized_memory = False
    done = Trainer(options).run()
    print("done" if done else "stopped; run the same command to go on")


if __name__ == "__main__":
    main()
