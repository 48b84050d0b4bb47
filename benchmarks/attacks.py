"""Count the programs in tests/attacks that forge a pass, and the honest programs that are misjudged.

    python benchmarks/attacks.py [--start cold] [--repeat 1]

Each program is judged in the environment starter as the pipeline judges samples, with the check of passes. Prints one
line for each forgery that passes, one for each honest program that does not pass, and the counts.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bigcodeflow.judge import Judge, Task
from tests.attacks.conftest import LIMITS
from tests.attacks.reading import Exhibit, read_honest
from tests.attacks.verdict.conftest import attacks

_HONEST = Path(__file__).parents[1] / "tests/attacks/honest/programs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", choices=("warm", "cold"), default="warm")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    forgeries = {attack.name: (attack.program, _task(attack.task)) for attack in attacks()}
    exhibits = {path.stem: read_honest(path) for path in sorted(_HONEST.glob("*.py"))}
    honest = {name: (exhibit.program, _task(exhibit)) for name, exhibit in exhibits.items()}
    with Judge("starter", limits=LIMITS, warm=arguments.start == "warm", cores=2) as judge:
        for number in range(arguments.repeat):
            for kind, samples, wrong in (
                ("forgeries", forgeries, lambda one: one == "pass"),
                ("honest programs", honest, lambda one: one != "pass"),
            ):
                found = [str(verdict["status"]) for verdict in judge.check_all(list(samples.values()))]
                for name, status in zip(samples, found, strict=True):
                    if wrong(status):
                        print(f"  {name}: {status}")
                counts = ", ".join(f"{count} {one}" for one, count in sorted(Counter(found).items()))
                print(f"round {number + 1}, {len(samples)} {kind}: {counts}", flush=True)


def _task(exhibit: Exhibit) -> Task:
    return Task(exhibit.test, exhibit.reference)


if __name__ == "__main__":
    main()
