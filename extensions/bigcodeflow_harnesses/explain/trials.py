"""Executions of programs under changed conditions, made by ordinary runs, so that their verdicts are cached."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bigcodeflow.config import load_settings
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.core.schemas import VARIANT_SEPARATOR
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.formatting import cause_line
from bigcodeflow.store import open_store
from bigcodeflow.studies.derived_files import dataset_file, hub_row, sample_file
from bigcodeflow_harnesses.explain import ExplainConfig
from bigcodeflow_harnesses.explain.conditions import CONDITIONS, NETWORK_EXIT

#: Text after program and test if a harness executes them together as a script, whose exit code is the verdict.
SCRIPTS = {"script": "\n\nif __name__ == '__main__':\n    unittest.main()\n", "script without a runner": "\n"}
_SCRIPT_TEST = """import os, subprocess, sys, unittest
class TestCases(unittest.TestCase):
    def test_script(self):
        variables = os.environ | ({"PYTHONHASHSEED": HASH_SEED} if HASH_SEED else {})
        done = subprocess.run([sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, env=variables)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
"""
_MOST_CHARACTERS = 200
#: Makes the test's hash unknown: known tests raise the limit to the time of the task's reference solution.
_FIXED_LIMIT = "\n# The limit holds for every program.\n"


@dataclass(frozen=True, slots=True)
class Trial:
    """An execution of a program, with everything on which its verdict may depend."""

    task: Mapping[str, Any] = field(compare=False, repr=False)
    solution: str
    setup: str
    """code_prompt that calibration puts before the solution; empty if the trial is not calibrated."""
    test: str
    environment: str
    seconds: float
    is_raised: bool
    """True if tasks with a slow reference solution have a longer limit."""
    memory_mib: int
    runner: str = "unittest"
    condition: str = ""
    hash_seed: str = ""
    """PYTHONHASHSEED of a script; empty keeps the sandbox's value."""
    answer: str | None = field(default=None, compare=False, repr=False)
    """Raw answer of the model, from which the solution was extracted; None if it is unknown."""
    repetition: int = 0

    @property
    def program(self) -> str:
        """Executed text: setup and solution. If the test runs as a script: SCRIPT = '…' with program and test."""
        program = calibrate(self.setup, self.solution) if self.setup else self.solution
        return self._text(f"{program}\n# execution {self.repetition}\n" if self.repetition else program)

    @property
    def row(self) -> dict[str, Any]:
        """Trial's task as a row of the study's dataset; its reference solution is executed as the program is."""
        task, test = {**self.task, "doc_struct": "{}", "test": self._test}, self._test
        if self.runner in SCRIPTS:
            reference = calibrate(task["code_prompt"], task["complete_prompt"] + task["canonical_solution"])
            task |= {"code_prompt": "if True:", "complete_prompt": self._text(reference), "canonical_solution": ""}
            task, test = task | {"entry_point": "SCRIPT"}, f"HASH_SEED = {self.hash_seed!r}\n{_SCRIPT_TEST}"
        return hub_row(task, test=test if self.is_raised else test + _FIXED_LIMIT)

    @property
    def _test(self) -> str:
        return f"{CONDITIONS[self.condition].code}\n{self.test}" if self.condition else self.test

    def _text(self, program: str) -> str:
        if self.runner not in SCRIPTS:
            return program
        return f"SCRIPT = {program + chr(10) + self._test + SCRIPTS[self.runner]!r}\n"


class Result(NamedTuple):
    """Outcome of a trial; `why` is the exception in its first traceback, or the reason why the sandbox ended."""

    status: str
    why: str
    seconds: float
    reference: str
    """Status of the task's reference solution under the same conditions."""

    @property
    def passed(self) -> bool | None:
        """True if the program passed; None if it was not judged. A missing library counts as a failure."""
        return None if self.status == "infra_error" and "Error" not in self.why else self.status == "pass"

    @property
    def asks_network(self) -> bool:
        """True if the program was ended because it tried to reach another machine."""
        return self.why.endswith(str(NETWORK_EXIT))

    def __str__(self) -> str:
        return "pass" if self.passed else f"{self.status} ({self.why[:_MOST_CHARACTERS]})"


class Trials:
    """Trials and their results; each trial is executed only once."""

    def __init__(self, config: ExplainConfig, listener: Listener) -> None:
        self._config, self._listener, self._store = config, listener, open_store(config.store)
        self.results: dict[Trial, Result] = {}

    def execute(self, trials: Iterable[Trial]) -> None:
        """Execute the trials that have no result yet, in one run for each combination of environment and limits."""
        groups: dict[tuple[str, float, int], list[Trial]] = defaultdict(list)
        for trial in dict.fromkeys(trials):
            if trial not in self.results:
                # The judge allows a second more than the limit, as the original does.
                seconds = trial.seconds if trial.is_raised else max(1.0, trial.seconds - 1.0)
                groups[trial.environment, seconds, trial.memory_mib].append(trial)
        for (environment, seconds, memory_mib), group in groups.items():
            limits = {"time_seconds": seconds, "memory_mib": memory_mib}
            self._run(group, {"environment": environment, "limits": limits})

    def _run(self, trials: list[Trial], execution: dict[str, Any]) -> None:
        names: dict[str, str] = {}
        rows: dict[str, dict[str, Any]] = {}
        owners: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:  # several may share a row
            task_id = names.setdefault(repr(trial.row), f"{trial.task['task_id']}{VARIANT_SEPARATOR}{len(names)}")
            rows[task_id] = trial.row | {"task_id": task_id}
            owners[task_id].append(trial)
        programs = [(task_id, trial.program) for task_id, owned in owners.items() for trial in owned]
        sections = {
            "store": self._config.store,
            "dataset": {"source": dataset_file(self._store, "explain", list(rows.values()))},
            "samples": {"source": sample_file(self._store, "explain", programs)},
            "sanitizing": {"mode": "none", "safety_policy": "off"},
            # Passes are not checked here: the recorded status shows if a program is tampered.
            "execution": {**execution, "variants": ("raw",), "integrity": "off", "quarantine": "off"},
        }
        run = load_settings(sections, "explain", self._config.overrides)
        refs = perform_up_to("execution", run, self._listener)
        references = {row["task_id"]: row["status"] for row in self._store.read(refs["ground_truth"]).to_pylist()}
        for row in self._store.read(refs["execution"]).to_pylist():
            traces = (row["module_trace"], *(test["trace"] for test in row["tests"]), row["exit"])
            trace = next(filter(None, traces), "unknown")
            why = cause_line(trace) or trace.strip().splitlines()[-1]
            trial = owners[row["task_id"]][row["sample_index"]]
            self.results[trial] = Result(row["status"], why, row["wall_seconds"] or 0.0, references[row["task_id"]])
