"""Answer requests with transformers; run by path inside its environment, see `worker_protocol`.

Tokens are drawn here instead of by ``generate``, which seeds a whole batch at once: each sample has its own random
generator, so that its text depends on its seed and not on the other samples of its batch. (Sums in float arithmetic may
still round differently in another batch, as with every engine.)
"""

import importlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bigcodeflow_engines.workers import worker_protocol as protocol
else:  # run by path: the module lies in the same folder
    import worker_protocol as protocol

_BATCH_SIZE = 16
_TOP_K = 50  # the default of transformers if neither the user nor the model sets it
_PREFIX_TOKENS = 6
_NO_LIMIT = 1 << 30
_CHOICE = ("temperature", "top_p", "top_k")


@dataclass(slots=True)
class _SampleRow:
    """Sample of a request while its text is generated."""

    asked: protocol.WorkerRequest
    sample: int
    prompt: list[int]
    limit: int
    """Maximum number of tokens to generate."""
    tokens: list[int] = field(default_factory=list)
    finish_reason: str = ""
    text: str = ""


class TransformersEngine:
    def __init__(self, job: protocol.WorkerJob) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._transformers: Any = importlib.import_module("transformers")
        self._tokenizer = protocol.load_tokenizer(job)
        self._model = self._load(job)
        settings = job.settings
        own = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if own and settings["max_model_tokens"] > own:
            raise protocol.WorkerError("bad_settings", f"max_model_tokens is more than the model's limit of {own:,}")
        self._context_tokens: int = settings["max_model_tokens"] or own or _NO_LIMIT
        self._batch_size: int = settings["batch_size"] or _BATCH_SIZE
        self.name = f"transformers {self._transformers.__version__}"
        self.commit = str(getattr(self._model.config, "_commit_hash", None) or "")

    def answer(self, requests: Sequence[protocol.WorkerRequest]) -> Iterator[protocol.Answered | protocol.Rejected]:
        """Yield the result of each request once; the longest prompts run first, to show a lack of memory at once."""
        rows: list[_SampleRow] = []
        for asked in requests:
            prompt = protocol.prompt_tokens(self._tokenizer, asked, self._context_tokens)
            if isinstance(prompt, protocol.Rejected):
                yield prompt
                continue
            room = self._context_tokens - len(prompt)
            limit = min(room, asked.sampling.get("max_tokens") or room)
            rows += [_SampleRow(asked, sample, prompt, limit) for sample in range(len(asked.seeds))]
        began = time.monotonic()
        written: dict[int, list[_SampleRow]] = {row.asked.id: [] for row in rows}
        for batch in self._batches(rows):
            self._write(batch)
            for row in batch:
                mine = written[row.asked.id]
                mine.append(row)
                if len(mine) == len(row.asked.seeds):
                    mine.sort(key=lambda row: row.sample)
                    answers = [protocol.WorkerSample(row.text, row.finish_reason, len(row.tokens)) for row in mine]
                    yield protocol.Answered(row.asked.id, len(row.prompt), time.monotonic() - began, answers)
            began = time.monotonic()

    def _batches(self, rows: list[_SampleRow]) -> Iterator[list[_SampleRow]]:
        def alike(row: _SampleRow) -> str:
            return repr((sorted(row.asked.sampling.items()), sorted(row.asked.extra.items())))

        rows.sort(key=lambda row: (alike(row), -len(row.prompt), row.asked.id, row.sample))
        for _, group in groupby(rows, key=alike):
            same = list(group)
            for start in range(0, len(same), self._batch_size):
                yield same[start : start + self._batch_size]

    def _write(self, rows: list[_SampleRow]) -> None:
        """Generate the texts of a batch of samples that have the same sampling and extra parameters."""
        torch, asked = self._torch, rows[0].asked
        own = self._model.generation_config.eos_token_id
        known = {*(own if isinstance(own, list) else [own]), self._tokenizer.eos_token_id}
        ends = sorted(end for end in known if end is not None)
        pad = self._tokenizer.pad_token_id
        pad = pad if pad is not None else next(iter(ends), 0)
        width = max(len(row.prompt) for row in rows)
        ids = [[pad] * (width - len(row.prompt)) + row.prompt for row in rows]
        mask = [[0] * (width - len(row.prompt)) + [1] * len(row.prompt) for row in rows]
        device = self._model.device
        watch = _StopWatch(self._torch, self._tokenizer, rows, ends, tuple(asked.sampling.get("stop", ())))
        try:
            with torch.inference_mode():
                self._model.generate(
                    torch.tensor(ids, device=device),
                    attention_mask=torch.tensor(mask, device=device),
                    max_new_tokens=max(row.limit for row in rows),
                    **dict.fromkeys(_CHOICE),
                    **{
                        "do_sample": False,
                        "pad_token_id": pad,
                        "eos_token_id": ends or None,
                        **asked.engine_parameters,
                    },
                    logits_processor=self._choosing(rows),
                    stopping_criteria=[watch],
                )
        except ValueError as error:
            raise protocol.WorkerError("bad_settings", str(error)) from error

    def _choosing(self, rows: list[_SampleRow]) -> list[Any]:
        """Return the logits processors that draw the next token; an empty list for greedy decoding."""
        own = self._model.generation_config
        given: Mapping[str, Any] = rows[0].asked.sampling
        temperature = given.get("temperature", (own.temperature or 1.0) if own.do_sample else 0)
        if not temperature:
            return []
        top_k = given.get("top_k", own.top_k if own.top_k is not None else _TOP_K)
        top_p = given.get("top_p", own.top_p if own.top_p is not None else 1.0)
        chain = [self._transformers.TemperatureLogitsWarper(float(temperature))]
        if top_k > 0:
            chain.append(self._transformers.TopKLogitsWarper(top_k))
        if top_p < 1:
            chain.append(self._transformers.TopPLogitsWarper(top_p))
        return [*chain, _Draw(self._torch, [row.asked.seeds[row.sample] for row in rows], self._model.device)]

    def _load(self, job: protocol.WorkerJob) -> Any:
        torch, settings = self._torch, job.settings
        dtype = settings["dtype"] if settings["dtype"] == "auto" else getattr(torch, settings["dtype"], None)
        if dtype != "auto" and not isinstance(dtype, torch.dtype):
            raise protocol.WorkerError("bad_settings", f"torch has no dtype {settings['dtype']!r}")
        gpus = torch.cuda.device_count()
        if settings["tensor_parallel"] > max(1, gpus):
            raise protocol.WorkerError("bad_settings", f"tensor_parallel is more than the {gpus} GPUs of this machine")
        device_map = "auto" if settings["tensor_parallel"] > 1 else {"": 0 if gpus else "cpu"}
        model = self._transformers.AutoModelForCausalLM.from_pretrained(
            job.model,
            revision=settings["revision"] or None,
            dtype=dtype,
            trust_remote_code=settings["trust_remote_code"],
            device_map=device_map,
        )
        if settings["lora"]:
            peft: Any = importlib.import_module("peft")
            model = peft.PeftModel.from_pretrained(model, settings["lora"]).merge_and_unload()
        return model.eval()


class _Draw:
    """Logits processor that draws each row's next token with the row's own random generator.

    Adding Gumbel noise to the scores and taking the largest is the same as drawing from their softmax (Gumbel 1954);
    tokens that were filtered have a score of minus infinity and are never drawn.
    """

    def __init__(self, torch: Any, seeds: Sequence[int | None], device: Any) -> None:
        self._torch = torch
        self._generators = [torch.Generator(device) for _ in seeds]
        for generator, seed in zip(self._generators, seeds, strict=True):
            generator.seed() if seed is None else generator.manual_seed(seed)

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        scores = scores.float()
        noise = self._torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return scores - noise.log()


@dataclass(frozen=True, eq=False)
class _StopWatch:
    """Stopping criterion that records each row's tokens and ends a row at an end token, a stop text or its limit."""

    torch: Any
    tokenizer: Any
    rows: list[_SampleRow]
    ends: list[int]
    stops: tuple[str, ...]

    def __call__(self, input_ids: Any, _scores: Any, **_more: Any) -> Any:
        for row, token in zip(self.rows, input_ids[:, -1].tolist(), strict=True):
            if not row.finish_reason:
                row.tokens.append(token)
                self._judge(row, token)
        done = [bool(row.finish_reason) for row in self.rows]
        return self.torch.tensor(done, device=input_ids.device)

    def _judge(self, row: _SampleRow, token: int) -> None:
        if token in self.ends:
            row.finish_reason, row.text = "stop", self._decode(row)
            return
        # A token has at least one byte, so a stop text that this token completes is within the last tokens.
        window = max((len(stop.encode()) for stop in self.stops), default=0) + 1
        tail = self.tokenizer.decode(row.tokens[-window:], skip_special_tokens=True) if self.stops else ""
        if any(stop in tail for stop in self.stops):
            text = self._decode(row)
            places = [place for stop in self.stops if (place := text.find(stop)) >= 0]
            if places:
                row.finish_reason, row.text = "stop", text[: min(places)]
                return
        if len(row.tokens) >= row.limit:
            row.finish_reason, row.text = "length", self._decode(row)

    def _decode(self, row: _SampleRow) -> str:
        """Return the generated text, decoded after the prompt's end: decoded alone, it could lose its first blank."""
        before = row.prompt[-_PREFIX_TOKENS:]
        known: str = self.tokenizer.decode(before, skip_special_tokens=True)
        whole: str = self.tokenizer.decode(before + row.tokens, skip_special_tokens=True)
        return whole[len(known) :]


if __name__ == "__main__":
    protocol.serve(TransformersEngine)
