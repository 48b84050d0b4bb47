"""Examples of every command, for its `--help` and docs/cli.md, and equivalents of the options of BigCodeBench.

A test makes each command parse its examples.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

#: Examples by the name of the command, such as 'runs show'.
EXAMPLES: Mapping[str, Sequence[str]] = {
    "run": (
        "bigcodeflow run starter",
        "bigcodeflow run bigcodebench --model openai:gpt-4o --subset hard",
        "bigcodeflow run bigcodebench --model openai:gpt-4o --limit 5 --dry-run",
        "bigcodeflow run bigcodebench --samples answers.jsonl",
        "bigcodeflow run bigcodebench --model openai:gpt-4o --rounds 3",
    ),
    "sweep": (
        "bigcodeflow sweep nightly --subset hard --dry-run",
        "bigcodeflow sweep my-sweep.yaml --set execution.workers=8",
    ),
    "generate": (
        "bigcodeflow generate --model openai:gpt-4o --subset hard --dry-run",
        "bigcodeflow generate --model openai:gpt-4o --split instruct --max-cost-usd 5",
        "bigcodeflow generate --model openai:mine --base-url http://127.0.0.1:8000/v1",
    ),
    "evaluate": (
        "bigcodeflow evaluate --samples answers.jsonl --split complete",
        "bigcodeflow evaluate --samples oracle --dataset starter --ids 0-9",
    ),
    "sanitize": ("bigcodeflow sanitize --samples raw.jsonl --mode robust --out clean.jsonl",),
    "syncheck": ("bigcodeflow syncheck --samples clean.jsonl",),
    "import": (
        "bigcodeflow import results/*_eval_results.json",
        "bigcodeflow import my_eval_results.json --samples answers.jsonl --name mine",
    ),
    "runs": ("bigcodeflow runs --sort score", "bigcodeflow runs --tag baseline --json"),
    "runs show": ("bigcodeflow runs show latest",),
    "runs rename": ("bigcodeflow runs rename latest baseline",),
    "runs tag": ("bigcodeflow runs tag latest baseline paper",),
    "runs note": ('bigcodeflow runs note latest "server had a wrong template"',),
    "runs archive": ("bigcodeflow runs archive old-run other-run",),
    "runs delete": ("bigcodeflow runs delete old-run",),
    "runs retry": ("bigcodeflow runs retry latest",),
    "inspect": (
        "bigcodeflow inspect latest --status timeout",
        "bigcodeflow inspect latest 12",
        "bigcodeflow inspect my-model 12 --sample 0 --variant calibrated --rerun",
    ),
    "compare": (
        "bigcodeflow compare my-model other-model --by domain",
        "bigcodeflow compare my-model other-model --html comparison.html",
    ),
    "perturb write": (
        "bigcodeflow perturb write --dataset starter --out variants.parquet",
        "bigcodeflow perturb write --kinds function+docstring --out variants.jsonl",
    ),
    "perturb compare": ("bigcodeflow perturb compare my-model my-model-perturbed",),
    "contamination": (
        "bigcodeflow contamination training-data --ngram 13",
        "bigcodeflow contamination OWNER/NAME@train --subset hard",
    ),
    "plan": ("bigcodeflow plan --difference 3", "bigcodeflow plan my-model other-model"),
    "recommend": (
        "bigcodeflow recommend --requirements requirements.txt",
        "bigcodeflow recommend --imports src --split instruct",
        "bigcodeflow recommend --libraries numpy,scikit-learn --json",
    ),
    "evolution": ("bigcodeflow evolution", "bigcodeflow evolution --run my-model --ids 0-99"),
    "explain": ("bigcodeflow explain my-run other-run@raw --environment bigcodebench",),
    "report": ("bigcodeflow report latest --open", "bigcodeflow report my-model other-model --out both.html"),
    "export inspect": ("bigcodeflow export inspect latest --out logs",),
    "export every-eval-ever": ("bigcodeflow export every-eval-ever my-model --organization MINE",),
    "export hub": ("bigcodeflow export hub my-model --repository OWNER/NAME",),
    "export mlflow": ("bigcodeflow export mlflow latest --tracking-uri http://127.0.0.1:5000",),
    "export wandb": ("bigcodeflow export wandb latest --offline",),
    "explore": ("bigcodeflow explore --open",),
    "catalog": ("bigcodeflow catalog", "bigcodeflow catalog pass_at_k"),
    "up": ("bigcodeflow up", "bigcodeflow up --port 4300 --runs 1"),
    "status": ("bigcodeflow status",),
    "down": ("bigcodeflow down --wait",),
    "clean": ("bigcodeflow clean --older-than-days 90", "bigcodeflow clean --keep-runs-per-name 30 --delete"),
    "serve": ("bigcodeflow serve --environment starter --port 8017",),
    "audit": (
        "bigcodeflow audit --environment starter --ids 0-4",
        "bigcodeflow audit --environment bigcodebench --run my-model --run other-model",
    ),
    "audit show": ("bigcodeflow audit show BigCodeBench/59 --code",),
    "doctor": ("bigcodeflow doctor --quiet",),
    "dataset show": ("bigcodeflow dataset show starter", "bigcodeflow dataset show bigcode/bigcodebench 13"),
    "dataset validate": ("bigcodeflow dataset validate my-tasks.jsonl",),
    "cheating tasks": ("bigcodeflow cheating tasks --dataset starter --out contradicted.parquet",),
    "cheating run": (
        "bigcodeflow cheating run --samples oracle --ids 0-4",
        "bigcodeflow cheating run --model openai:gpt-4o --wording neutral",
    ),
    "leaderboard show": ("bigcodeflow leaderboard show --split instruct --subset hard",),
    "leaderboard write": ("bigcodeflow leaderboard write --out leaderboard",),
    "leaderboard diff": ("bigcodeflow leaderboard diff previous latest --fail-on-regression",),
    "leaderboard publish": ("bigcodeflow leaderboard publish my-name/my-leaderboard --dry-run",),
    "leaderboard card": ("bigcodeflow leaderboard card latest",),
    "env build": (
        "bigcodeflow env build bigcodebench",
        "bigcodeflow env build bigcodebench --backend docker",
        "bigcodeflow env build bigcodebench --find-links wheels",
    ),
    "env export": ("bigcodeflow env export bigcodebench wheels",),
    "env list": ("bigcodeflow env list",),
    "env check": ("bigcodeflow env check starter", "bigcodeflow env check bigcodebench --subset hard --repeat 5"),
    "env remove": ("bigcodeflow env remove bigcodebench",),
}


def with_examples(command: Any, name: str) -> Any:
    """Add the examples to the help of a command, or of a group and its commands; return the command."""
    for below, one in getattr(command, "commands", {}).items():
        with_examples(one, f"{name} {below}")
    if name in EXAMPLES:
        command.epilog = "\n".join(["Examples:", *(f"  {line}" for line in EXAMPLES[name])])
    return command


_TASK_MEMORY = "--set execution.limits.memory_mib=N, of a sample with all its processes"
#: Equivalents here of the options of `bigcodebench.evaluate` and `bigcodebench.generate`.
_OF_THE_ORIGINAL: Mapping[str, str] = {
    "execution": "--backend local, e2b, gradio, docker or http",
    "selective_evaluate": "--ids",
    "id_range": "--ids",
    "parallel": "--workers",
    "pass_k": "--k",
    "calibrated": "nothing to give, since calibrated is the default; --uncalibrated turns it off",
    "check_gt_only": "the command `bigcodeflow env check bigcodebench`",
    "no_gt": "nothing to give: ground truths are executed once and then reused",
    "no_execute": "the command `bigcodeflow generate`",
    "save_pass_rate": "nothing to give: the file is always written",
    "resume": "nothing to give: the same command goes on where it stopped",
    "gradio_endpoint": "--backend gradio --service-url URL",
    "e2b_endpoint": "--backend e2b --set execution.e2b.template=NAME",
    "min_time_limit": "--set execution.limits.time_seconds=N",
    "max_as_limit": _TASK_MEMORY,
    "max_data_limit": _TASK_MEMORY,
    "backend": "--model PROVIDER:NAME, such as vllm:NAME",
    "root": "--out",
    "bs": "--set generation.samples_per_request=N",
    "greedy": "nothing to give: --temperature 0 is the default",
    "direct_completion": "--set generation.prompt.form=direct",
    "tp": "--set generation.offline.tensor_parallel=N",
    "revision": "--set generation.offline.revision=NAME",
    "trust_remote_code": "--set generation.offline.trust_remote_code=true",
    "instruction_prefix": "--set generation.prompt.instruction_prefix=TEXT",
    "reasoning_effort": "--set generation.sampling.reasoning_effort=low, medium or high",
}


def foreign_options(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Return an error line with the right option for each word that is BigCodeBench's option or a shortened option."""
    flags = (word.partition("=")[0] for word in words if word.startswith("--"))
    names = {flag: flag.removeprefix("--").replace("-", "_") for flag in flags if flag not in known}
    ours = {flag: f"--{name.replace('_', '-')}" for flag, name in names.items()}
    found = {flag: ours[flag] if ours[flag] in known else _OF_THE_ORIGINAL.get(name) for flag, name in names.items()}
    begun = {flag: ", ".join(sorted(one for one in known if one.startswith(f"{flag}-"))) for flag in names}
    lines = [f"{flag} is an option of BigCodeBench; here: {answer}" for flag, answer in found.items() if answer]
    return lines + [f"{flag} is no option: write {begun[flag]}" for flag in names if begun[flag] and not found[flag]]
