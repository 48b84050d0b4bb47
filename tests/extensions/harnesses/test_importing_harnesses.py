"""Result files of other harnesses, taken in as runs: programs, answers, verdicts and settings, as far as they tell them."""

import json
import subprocess
import zipfile

import pytest

from bigcodeflow.core.calibration import calibrate
from bigcodeflow.core.errors import EnvironmentUnusableError, SamplesError
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.results.inspection.samples import details_of
from bigcodeflow.results.run_settings import setting_of
from bigcodeflow.results.run_tables import open_tables, tables_of
from bigcodeflow.results.runs import find_run
from bigcodeflow_harnesses.importing import import_results
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener

TASKS = [json.loads(line) for line in (ROOT / "data" / "starter" / "tasks.jsonl").read_text().splitlines()][:3]
STATUSES = ("pass", "fail", "timeout")
PROGRAM = "def task_func(*values): ..."
ANSWER = f"Here:\n```python\n{PROGRAM}\n```"


def jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def evalplus(folder, statuses=STATUSES):
    entries = {
        task["task_id"]: [{"solution": PROGRAM, "base_status": "pass", "plus_status": status, "plus_fail_tests": []}]
        for task, status in zip(TASKS, statuses, strict=True)
    }
    path = folder / "nova--7b_vllm_temp_0.2_eval_results.json"
    path.write_text(json.dumps({"date": "2025-05-07 20:56", "hash": "0" * 32, "eval": entries}))
    return path


def lm_eval(folder, values=(1.0, 0.0, 0.0)):
    time = "2025-05-07T20-56-00.000001"
    config = {"model": "hf", "model_args": "pretrained=nova/7b,dtype=auto"}
    request = {"nova": {"generation_kwargs": {"do_sample": True, "temperature": 0.2, "max_gen_toks": 512}}}
    settings = {"lm_eval_version": "0.4.9", "config": config, "configs": request}
    (folder / f"results_{time}.json").write_text(json.dumps(settings))
    rows = [
        {
            "doc_id": number,
            "doc": {"task_id": task["task_id"]},
            "resps": [[ANSWER]],
            "filtered_resps": [[PROGRAM]],
            "filter": name,
            "metrics": ["pass@1"],
            "pass@1": value if name == "create_test" else 0.0,
        }
        for name in ("create_test", "none")
        for number, (task, value) in enumerate(zip(TASKS, values, strict=True))
    ]
    return jsonl(folder / f"samples_nova_{time}.jsonl", rows)


def evalscope(folder, *, reviewed=True):
    outputs = folder / "20250507_205600"
    (outputs / "configs").mkdir(parents=True)
    config = {
        "model_id": "nova-7b",
        "datasets": ["bigcodebench"],
        "generation_config": {"temperature": 0.2, "max_tokens": 512},
        "dataset_args": {"bigcodebench": {"extra_params": {"split": "instruct"}}},
    }
    (outputs / "configs" / "task_config_1.yaml").write_text(json.dumps(config))
    choice = {"message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}}
    predictions = outputs / "predictions" / "nova-7b" / "bigcodebench_default.jsonl"
    jsonl(predictions, ({"index": index, "model_output": {"choices": [choice]}} for index in range(3)))
    if not reviewed:
        return predictions
    rows = [
        {
            "index": index,
            "sample_score": {
                "score": {
                    "value": {"acc": status == "pass"},
                    "main_score_name": "acc",
                    "extracted_prediction": PROGRAM,
                    "metadata": {"timeout": 3, "execution_result": {"status": status}, "task_id": task["task_id"]},
                }
            },
        }
        for index, (task, status) in enumerate(zip(TASKS, STATUSES, strict=True))
    ]
    return jsonl(outputs / "reviews" / "nova-7b" / "bigcodebench_default.jsonl", rows)


def nemo_skills(folder, statuses=STATUSES):
    rows = [
        {"task_id": task["task_id"], "generation": ANSWER, "solution": PROGRAM, "split": "full", "status": status}
        for task, status in zip(TASKS, statuses, strict=True)
    ]
    return jsonl(folder / "output.jsonl", rows)


def inspect_log(folder):
    path = folder / "nova.eval"
    evaluation = {
        "model": "openai/nova-7b",
        "created": "2025-05-07T20:56:00+00:00",
        "packages": {"inspect_ai": "0.3.200"},
        "model_generate_config": {"temperature": 0.2, "max_tokens": 512},
        "config": {"epochs": 1},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": evaluation}))
        for number, (task, status) in enumerate(zip(TASKS, STATUSES, strict=True)):
            why = "Verification timed out." if status == "timeout" else ""
            score = {"value": "C" if status == "pass" else "I", "answer": PROGRAM, "explanation": why}
            sample = {
                "id": number,
                "epoch": 1,
                "output": {"choices": [{"message": {"content": ANSWER}}]},
                "metadata": {"task_id_metadata": task["task_id"]},
                "scores": {"verify": score},
            }
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return path


def take_in(path, store, split="complete"):
    settings = {"source": "starter", "ids": "0-2", "split": split}
    import_results(path, settings=settings, store=store, listener=RecordingListener())
    return find_run(store, "latest")


def samples_of(run):
    with open_tables([tables_of(run)]) as connection:
        return list(details_of(run, connection, "true"))


def values_of(config, above=""):
    for name, value in config.items():
        if isinstance(value, dict):
            yield from values_of(value, f"{above}{name}.")
        elif value is not None:
            yield f"{above}{name}", value


ALL = {
    "evalplus": (evalplus, "raw", "complete", {"n_samples": 1}),
    "lm_eval 0.4.9": (lm_eval, "raw", "complete", {"n_samples": 1, "sampling.max_tokens": 512}),
    "evalscope": (evalscope, "calibrated", "instruct", {"n_samples": 1, "sampling.max_tokens": 512}),
    "nemo_skills": (nemo_skills, "calibrated", "complete", {"n_samples": 1}),
    "inspect_ai 0.3.200": (inspect_log, "raw", "complete", {"n_samples": 1, "sampling.max_tokens": 512}),
}


@pytest.mark.parametrize("harness", ALL)
def test_a_file_of_each_harness_becomes_a_run(tmp_path, harness):
    """Verdicts, programs, answers, model and settings are the file's; what it does not tell is null."""
    write, variant, split, generation = ALL[harness]
    run = take_in(write(tmp_path), tmp_path / "store", split)
    assert run.imported["harness"] == harness
    found = samples_of(run)
    last = "fail" if harness.startswith("lm_eval") else "timeout"
    assert [one.verdict["status"] for one in found] == ["pass", "fail", last]
    for sample, task in zip(found, TASKS, strict=True):
        assert (sample.variant, sample.solution) == (variant, PROGRAM)
        assert sample.program == (PROGRAM if variant == "raw" else calibrate(task["code_prompt"], PROGRAM))
        assert sample.raw_answer == (None if harness == "evalplus" else ANSWER)
    told = {name.removeprefix("generation."): value for name, value in values_of(run.config) if "generation" in name}
    if harness != "nemo_skills":
        generation = generation | {"sampling.temperature": 0.2}
        assert "nova" in run.model
        assert run.started_at.isoformat().startswith("2025-05-07T20:56:00")
    assert told == generation
    assert run.config["execution"]["limits"]["time_seconds"] == (3.0 if harness == "evalscope" else None)
    assert run.config["execution"]["limits"]["memory_mib"] is None
    assert "imported results" in setting_of(run).text


def test_a_verdict_of_an_evaluator_that_executed_nothing_is_none(tmp_path):
    """evalscope scores 0.0 where its sandbox is not there: no failure of the program."""
    path = evalscope(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1]["sample_score"]["score"]["metadata"]["execution_result"] = {"error": "Sandbox is not initialized."}
    rows[2]["sample_score"]["score"]["metadata"] = {"task_id": TASKS[2]["task_id"], "error": "Connection refused"}
    found = samples_of(take_in(jsonl(path, rows), tmp_path / "store", "instruct"))
    assert [one.passed for one in found] == [True, None, None]
    assert "executed nothing: Sandbox is not initialized." in found[1].verdict["exit"]
    assert "executed nothing: Connection refused" in found[2].verdict["exit"]


def test_base_and_plus_verdicts_of_evalplus_are_those_of_their_tests(tmp_path):
    """Tests of a part that failed fail; those of the other part pass."""
    test = "".join(f"    def test_{name}(self):\n        pass\n" for name in ("base_1", "plus_1", "plus_2"))
    rows = [task | {"test": f"import unittest\nclass TestCases(unittest.TestCase):\n{test}"} for task in TASKS]
    source = jsonl(tmp_path / "tasks.jsonl", rows)
    run = import_results(
        evalplus(tmp_path),
        settings={"source": str(source), "split": "complete"},
        store=tmp_path / "store",
        listener=RecordingListener(),
    )
    failed = samples_of(find_run(tmp_path / "store", run.record))[1].verdict
    outcomes = {one["name"]: one["outcome"] for one in failed["tests"]}
    assert outcomes["test_base_1"] == "pass"
    assert {outcomes["test_plus_1"], outcomes["test_plus_2"]} <= {"fail", "error"}


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda folder: evalscope(folder, reviewed=False), "holds answers without verdicts"),
        (lambda folder: lm_eval(folder, (1.0, 0.5, 0.0)), "Starter/1, sample 0: status None"),
        (lambda folder: nemo_skills(folder, ("pass", None, "fail")), "Starter/1, sample 0: status None"),
        (lambda folder: evalplus(folder).rename(folder / "x.eval"), "is not a finished log of Inspect"),
        (lambda folder: jsonl(folder / "x_eval_results.json", [["hash"]]), "looks like a file of evalplus"),
    ],
)
def test_a_file_without_verdicts_is_refused(tmp_path, write, message):
    """A verdict that is not told is never counted as a failure."""
    with pytest.raises(SamplesError, match=message):
        take_in(write(tmp_path), tmp_path / "store", "instruct")
    assert not (tmp_path / "store" / "runs").exists()


_EVALUATE = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver

tasks, program, answer = json.loads(sys.argv[1])

@scorer(metrics=[mean()])
def verify():
    async def score(state, target):
        if state.sample_id == tasks[2]:
            raise RuntimeError("no sandbox")
        return Score(value="C" if state.sample_id == tasks[0] else "I", answer=program, explanation="x" * 10_000)
    return score

@solver
def recorded():  # mockllm's tokenizer is a download
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm", answer)
        return state
    return solve

task = Task(dataset=MemoryDataset([Sample(input="Write.", id=one) for one in tasks]), solver=recorded(), scorer=verify())
[log] = eval(task, model="mockllm/model", log_dir="logs", display="none", fail_on_error=False, temperature=0.2)
print(log.location)
"""


@pytest.mark.slow
def test_a_log_of_the_real_inspect(tmp_path):
    """Its compression is read; a sample with an error and without a score was not judged."""
    try:
        readers = find_environment("readers", "reader")
    except EnvironmentUnusableError as error:
        pytest.skip(str(error))
    given = json.dumps([[task["task_id"] for task in TASKS], PROGRAM, ANSWER])
    command = [readers.python, "-I", "-c", _EVALUATE, given]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    run = take_in(next((tmp_path / "logs").glob("*.eval")), tmp_path / "store")
    found = samples_of(run)
    assert [one.verdict["status"] for one in found] == ["pass", "fail", "infra_error"]
    assert [one.raw_answer for one in found] == [ANSWER] * 3
    assert run.config["generation"]["sampling"]["temperature"] == 0.2
    assert run.imported["harness"].startswith("inspect_ai 0.3.")
