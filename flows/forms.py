"""Short forms for the Prefect UI: ask a model, judge samples, sweep models. The full forms are flows of their own."""

from typing import Annotated, Any

from pydantic import Field

from bigcodeflow.config import Split, Subset
from bigcodeflow.pipeline.forms import (
    NO_VALUES,
    Preset,
    SplitOrDefault,
    SubsetOrDefault,
    asked_run,
    judged_run,
    models_sweep,
)
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import Turns
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.pipeline.sweep_results import MemberResult
from flows.benchmark import judge
from flows.hooks import by_parameters, reporting_flow
from flows.sweep import run_members, sweep_title

Samples = Annotated[int, Field(ge=1, le=100_000)]
COMPLETE: list[Split] = ["complete"]
HARD: list[Subset] = ["hard"]


@reporting_flow("ask-a-model", flow_run_name=by_parameters(asked_run, run_title))
def ask_a_model(
    *,
    model: str,
    server: str = "",
    split: Split = "complete",
    subset: Subset = "hard",
    samples: Samples = 1,
    preset: Preset = "bigcodebench",
    name: str = "",
    settings: dict[str, Any] = NO_VALUES,
) -> RunArtifacts:
    """Ask a model and score its answers. What is finished is reused.

    Args:
        model: PROVIDER:NAME, such as openai:gpt-4o, anthropic:claude-sonnet-4-5 or vllm:Qwen/Qwen2.5-Coder-7B-Instruct.
        server: Address of a server that speaks the provider's protocol, such as http://127.0.0.1:8000/v1; empty takes
            the provider's own.
        split: 'complete' prompts with a docstring, 'instruct' with prose.
        subset: 'hard' takes the 148 tasks of BigCodeBench-Hard, 'full' all 1,140.
        samples: Answers to each task.
        preset: 'bigcodebench' is BigCodeBench with the original's limits, 'starter' the small shipped set.
        name: Name of the run; empty takes the model's.
        settings: Any other settings by path, such as {"generation.sampling.max_tokens": 8192}.
    """
    run = asked_run(
        model=model,
        server=server,
        split=split,
        subset=subset,
        samples=samples,
        preset=preset,
        name=name,
        settings=settings,
    )
    return judge(run, Resolver(), Turns(), preset)


@reporting_flow("judge-samples", flow_run_name=by_parameters(judged_run, run_title))
def judge_samples(
    *,
    samples: str = "",
    run: str = "",
    split: SplitOrDefault = "default",
    subset: SubsetOrDefault = "default",
    preset: Preset = "bigcodebench",
    name: str = "",
    settings: dict[str, Any] = NO_VALUES,
) -> RunArtifacts:
    """Judge samples that exist, of a file or of a recorded run. Asks no model.

    Args:
        samples: Sample file (JSONL, JSONL.gz) or folder, or 'oracle', 'stub', 'cheat' or 'starter'. Leave empty where a
            run is named.
        run: Recorded run whose samples are judged again, by record, run or model name, or 'latest'. Leave empty where
            samples are named.
        split: Which prompts the samples answer; 'default' takes the preset's or the run's.
        subset: 'hard' judges the 148 tasks of BigCodeBench-Hard, 'full' all; 'default' takes the preset's or the run's.
        preset: Settings for a sample file: 'bigcodebench' or 'starter'. A recorded run brings its own.
        name: Name of the new run; empty takes the preset's, or the recorded run's with '-rescored' behind it.
        settings: Any other settings by path, such as {"sanitizing.mode": "robust"}.
    """
    judged = judged_run(
        samples=samples, run=run, split=split, subset=subset, preset=preset, name=name, settings=settings
    )
    return judge(judged, Resolver(), Turns(), "" if run else preset)


@reporting_flow("sweep-models", flow_run_name=by_parameters(models_sweep, sweep_title))
def sweep_models(
    *,
    models: list[str],
    splits: list[Split] = COMPLETE,
    subsets: list[Subset] = HARD,
    samples: Samples = 1,
    preset: Preset = "bigcodebench",
    name: str = "models",
    settings: dict[str, Any] = NO_VALUES,
) -> list[MemberResult]:
    """Ask several models under several splits and subsets. What is finished is reused; a failure stops no other.

    Args:
        models: One PROVIDER:NAME an entry, such as openai:gpt-4o; or answers that exist: a sample file, 'oracle',
            'stub', 'cheat' or 'starter'.
        splits: 'complete' prompts with a docstring, 'instruct' with prose.
        subsets: 'hard' takes the 148 tasks of BigCodeBench-Hard, 'full' all 1,140.
        samples: Answers to each task.
        preset: 'bigcodebench' is BigCodeBench with the original's limits, 'starter' the small shipped set.
        name: Name of the sweep.
        settings: Any other settings of every run by path, such as {"generation.requests.max_cost_usd": 5}.
    """
    chosen = models_sweep(
        models=models, splits=splits, subsets=subsets, samples=samples, preset=preset, name=name, settings=settings
    )
    return run_members(chosen)
