"""Measure the build of an environment with all downloads cached and nothing compiled.

    python benchmarks/environment_build.py                # bigcodebench
    python benchmarks/environment_build.py --name starter

The environment, and a copy of uv's cache without the packages that were compiled before, are in a temporary folder next
to that cache (hard links: little space). The sources of those packages are fetched again, which counts. The environment
must be built already: it says which packages were compiled, and the sha256 that the measured build must have, too.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bigcodeflow.judge.environments import InstalledEnvironment, find_environment, load_definition
from bigcodeflow.judge.environments.build import build_environment


def main() -> None:
    """Build the environment that the options name, and print each line with its time, and the total."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="bigcodebench", help="environment to build")
    parser.add_argument("--data", type=Path, help="folder with the environment's data files")
    options = parser.parse_args()
    definition = load_definition(options.name)
    present = find_environment(options.name, definition.purpose)
    cache = Path(subprocess.check_output([sys.executable, "-m", "uv", "cache", "dir"], text=True).strip())
    with tempfile.TemporaryDirectory(dir=cache.parent, prefix="environment-build-") as folder:
        os.environ |= {"UV_CACHE_DIR": f"{folder}/uv", "BIGCODEFLOW_ENVIRONMENTS": f"{folder}/environments"}
        subprocess.run(["cp", "--archive", "--link", str(cache), f"{folder}/uv"], check=True)
        Path(folder, "uv", ".lock").unlink(missing_ok=True)  # the same file as that of the real cache: a link
        forgotten = compiled_packages(present)
        subprocess.run([sys.executable, "-m", "uv", "cache", "clean", "--quiet", *forgotten], check=True)
        print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores; to compile: {len(forgotten)}")
        began = time.monotonic()

        def show(line: str) -> None:
            print(f"{time.monotonic() - began:6.1f} s  {line}", flush=True)

        built = build_environment(definition, on_line=show, data_folder=options.data)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        show(f"ready; {used.ru_utime + used.ru_stime:.0f} s of CPU; load {os.getloadavg()[0]:.1f}")
        if built.environment_sha != present.environment_sha:
            sys.exit(f"sha {built.environment_sha} instead of {present.environment_sha}")


def compiled_packages(environment: InstalledEnvironment) -> list[str]:
    """Return the names of the packages that uv built for an environment."""
    marks = environment.root.glob("venv/lib/python3.*/site-packages/*.dist-info/uv_build.json")
    return sorted(mark.parent.name.partition("-")[0].replace("_", "-") for mark in marks)


if __name__ == "__main__":
    main()
