"""How many of the programs in tests/attacks that forge a verdict get a pass, and how many honest ones are misjudged.

    python benchmarks/attacks.py [--start cold] [--repeat 1]

Each program is judged as the pipeline judges a sample, its pass checked, in the environment starter. Prints a line for
each forgery that passes and each honest program that does not, and the counts.
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bigcodeflow.environments import find_environment
from bigcodeflow.execution.backends.local import LocalBackend
from tests.attacks.conftest import LIMITS, Exhibit, judge_of, read_exhibit
from tests.attacks.verdict.conftest import attacks

_HONEST = Path(__file__).parents[1] / "tests/attacks/honest/programs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", choices=("warm", "cold"), default="warm")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    backend = LocalBackend(find_environment("starter"), LIMITS, warm=arguments.start == "warm")
    backend.check()
    judge = judge_of(backend)
    forgeries = {attack.name: (attack.program, attack.task) for attack in attacks()}
    exhibits = {path.stem: read_exhibit(path) for path in sorted(_HONEST.glob("*.py"))}
    honest = {name: (exhibit.program, exhibit) for name, exhibit in exhibits.items()}

    def status(work: tuple[str, Exhibit]) -> str:
        return str(judge(*work)["status"])

    with ThreadPoolExecutor(2) as pool:
        for number in range(arguments.repeat):
            for kind, programs, wrong in (
                ("forgeries", forgeries, lambda one: one == "pass"),
                ("honest programs", honest, lambda one: one != "pass"),
            ):
                found = dict(zip(programs, pool.map(status, programs.values()), strict=True))
                for name in [name for name, one in found.items() if wrong(one)]:
                    print(f"  {name}: {found[name]}")
                counts = ", ".join(f"{count} {one}" for one, count in sorted(Counter(found.values()).items()))
                print(f"round {number + 1}, {len(programs)} {kind}: {counts}", flush=True)
    backend.close()


if __name__ == "__main__":
    main()
