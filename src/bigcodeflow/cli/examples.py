"""Examples of every command, as its `--help` and docs/cli.md show them; a test lets each command parse its examples."""

from collections.abc import Mapping, Sequence
from typing import Any

#: Examples by the command's words.
EXAMPLES: Mapping[str, Sequence[str]] = {
    "run": (
        "bigcodeflow run starter",
        "bigcodeflow run bigcodebench --model openai:gpt-4o --set dataset.subset=hard",
        "bigcodeflow run bigcodebench --set samples.source=answers.jsonl",
        "bigcodeflow run bigcodebench --model openai:gpt-4o --rounds 3",
    ),
    "sweep": (
        "bigcodeflow sweep nightly --dry-run",
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
    "evolution": (
        "bigcodeflow evolution",
        "bigcodeflow evolution --run my-model --ids 0-99",
    ),
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
    ),
    "env list": ("bigcodeflow env list",),
    "env check": ("bigcodeflow env check starter", "bigcodeflow env check bigcodebench --subset hard --repeat 5"),
    "env remove": ("bigcodeflow env remove bigcodebench",),
}


def with_examples(command: Any, name: str) -> Any:
    """Add the examples below the help of a command, or of a group and its commands, and return it."""
    for below, one in getattr(command, "commands", {}).items():
        with_examples(one, f"{name} {below}")
    if name in EXAMPLES:
        command.epilog = "\n".join(["Examples:", *(f"  {line}" for line in EXAMPLES[name])])
    return command
