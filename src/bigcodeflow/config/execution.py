"""Settings of execution: backend, workers, limits of a sample, variants and reruns."""

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from bigcodeflow.core.plugins import plugin_entries
from bigcodeflow.core.settings import Address, SettingsModel

Variant = Literal["calibrated", "raw"]
Quarantine = Literal["off", "flag", "exclude"]
Start = Literal["warm", "cold"]
TimePolicy = Literal["fixed", "scaled"]
Integrity = Literal["passes", "off"]
#: Group of the entry points of backends, which plug-ins add; their names are those that settings and options take.
BACKENDS = "bigcodeflow.backends"
if TYPE_CHECKING:
    BackendName = str
else:
    BackendName = Literal["local", *plugin_entries(BACKENDS)]


class LimitsConfig(SettingsModel):
    """Limits of time and resources for each sample. The defaults are the original evaluator's."""

    time_seconds: float = Field(title="Time limit, seconds", default=240.0, gt=0, le=86_400)
    """Wall and CPU seconds for a whole sample; raised to the ground truth's own time where that is longer."""
    time_policy: TimePolicy = "fixed"
    """'fixed' gives every sample the whole limit, as the original does. 'scaled' ends it at 10 s, doubled until 20
    times the reference solution's time fits, where that is less: endless loops cost less, and few verdicts change."""
    memory_mib: int = Field(title="Memory limit, MiB", default=4096, ge=64, le=1_048_576)
    """Resident memory of all processes of a sample, in MiB. The original bounds address space only."""
    address_space_mib: int = Field(title="Address space limit, MiB", default=30 * 1024, ge=256, le=1_048_576)
    """Address space and data of each process, in MiB."""
    processes: int = Field(title="Limit of processes", default=512, ge=8, le=32_768)
    """Processes and threads that a sample may have at once."""
    disk_mib: int = Field(title="Disk limit, MiB", default=1024, ge=1, le=1_048_576)
    """Size of the temporary folder, the only writable place, in MiB."""
    output_kib: int = Field(title="Kept output, KiB", default=64, ge=1, le=65_536)
    """Tail of standard output and of standard error that is kept, in KiB each."""


class ClusterConfig(SettingsModel):
    """Dask cluster whose jobs or pods are the workers. None of these settings changes a verdict."""

    type: str = Field(default="", pattern=r"^([A-Za-z_]\w*(\.[A-Za-z_]\w*)+)?$")
    """Import path of a Dask cluster class, such as dask_jobqueue.SLURMCluster or dask_kubernetes.operator.KubeCluster;
    empty starts workers on this machine."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the class, such as queue, cores and memory. Recorded with the run: no place for passwords."""
    jobs: int = Field(default=1, ge=1, le=10_000)
    """Jobs, pods or workers to start."""
    most_jobs: int = Field(default=0, ge=0, le=10_000)
    """Grow to so many while there is work, and shrink back to jobs; 0 keeps to jobs."""
    patience_seconds: float = Field(default=600.0, gt=0, le=604_800)
    """Longest wait while there is no worker at all, such as for a job in a queue."""

    @model_validator(mode="after")
    def _options_belong_to_a_class(self) -> Self:
        if self.options and not self.type:
            raise ValueError("has options but no type: name a cluster class, such as dask_jobqueue.SLURMCluster")
        if self.most_jobs and self.most_jobs < self.jobs:
            raise ValueError(f"most_jobs {self.most_jobs} is less than jobs {self.jobs}: raise most_jobs")
        return self


class DockerConfig(SettingsModel):
    """Containers that hold the sandboxes, for the backend docker. Only the image can change a verdict."""

    image: str = ""
    """Image with a sandbox environment, as `bigcodeflow env build --backend docker` makes it; empty takes that of the
    environment and of this version."""
    url: Address = ""
    """Address of the engine, such as unix:///run/user/1000/podman/podman.sock; empty takes DOCKER_HOST or Docker's
    own."""
    runtime: str = ""
    """OCI runtime, such as runsc for gVisor; empty takes the engine's own."""
    containers: int = Field(default=1, ge=1, le=256)
    """Containers on each worker; they share its cores."""
    memory_mib: int = Field(default=0, ge=0, le=16_777_216)
    """Memory of each container, in MiB; 0 shares out nine tenths of what the machine has."""
    processes: int = Field(default=8192, ge=64, le=1_048_576)
    """Processes and threads in each container."""


class E2BConfig(SettingsModel):
    """Sandboxes in E2B's cloud, for the backend e2b."""

    template: str = ""
    """Name or id of a template, as `bigcodeflow env build --backend e2b` makes it; empty takes that of the environment
    and of this version."""
    sandboxes: int = Field(default=4, ge=1, le=1000)
    """Sandboxes at the same time."""
    timeout_seconds: int = Field(default=300, ge=60, le=86_400)
    """E2B ends a sandbox that was not extended for so long; it is what a killed run leaves behind."""
    usd_per_hour: float = Field(default=0.0, ge=0)
    """Price of a sandbox, in USD an hour, for the estimate; 0 takes E2B's list price of its cores and memory."""


class ServiceConfig(SettingsModel):
    """A service that executes, for the backends http (`bigcodeflow serve`) and gradio (an evaluator's space)."""

    url: Address = ""
    """Address of the service, or OWNER/NAME of a space on the hub."""
    key_variable: str = "BIGCODEFLOW_SERVICE_KEY"
    """Environment variable that holds the service's key, if it asks for one. The key itself is never stored."""
    concurrency: int = Field(default=16, ge=1, le=4096)
    """Items that are under way there at the same time."""
    timeout_seconds: float = Field(default=3600.0, gt=0, le=86_400)
    """Longest wait for an item, its time in the service's queue included."""


class ExecutionConfig(SettingsModel):
    """Execution of the solutions: backend, workers, limits and variants."""

    backend: BackendName = "local"
    """'local' runs bubblewrap sandboxes on the Dask workers, 'docker' within containers there, 'e2b' in E2B's cloud,
    'gradio' and 'http' at a service."""
    fallback: Literal["", BackendName] = ""  # type: ignore[valid-type]
    """Backend that executes what the first one cannot, because it is down or throttled; its libraries have to be the
    same. Empty leaves such samples unjudged, to be judged by the next run."""
    docker: DockerConfig = DockerConfig()
    """Containers, where the backend is docker."""
    e2b: E2BConfig = E2BConfig()
    """Cloud sandboxes, where the backend is e2b."""
    service: ServiceConfig = ServiceConfig()
    """Service, where the backend is http or gradio."""
    environment: str = "starter"
    """Name of the sandbox environment: 'starter' or 'bigcodebench', see `bigcodeflow env list`."""
    variants: tuple[Variant, ...] = ("calibrated",)
    """'calibrated' puts code_prompt in front of the solution, 'raw' runs it alone; both give both scores."""
    limits: LimitsConfig = LimitsConfig()
    """Limits of time and resources for each sample."""
    start: Start = "warm"
    """'warm' forks each sample from a process that has its libraries imported, 'cold' starts an interpreter for each.
    The choice is no part of a verdict's identity."""
    workers: int = Field(default=0, ge=0, le=1024)
    """Samples that compute at the same time; 0 takes one a core."""
    slots_per_worker: int = Field(default=8, ge=1, le=64)
    """Samples in flight for each worker, so that sleeping tests do not hold a core."""
    scheduler_address: str = ""
    """Dask scheduler to use, such as 'tcp://127.0.0.1:8786'; empty starts a cluster."""
    cluster: ClusterConfig = ClusterConfig()
    """Dask cluster to start, on other machines; by default the workers run on this machine."""
    reruns: int = Field(default=0, ge=0, le=100)
    """Further executions of each sample that does not pass. The majority of its executions then decides, and one whose
    executions disagree is marked flaky. An even number leaves no tie."""
    integrity: Integrity = "passes"
    """'passes' executes every sample that passes once more, against tests that contradict the task's; a sample that
    passes those too is tampered. 'off' does not check."""
    fail_fast: bool = False
    """End a sample at its first failing test, where only pass or not matters; the tests after it are missing then."""
    quarantine: Quarantine = "flag"
    """Treatment of tasks whose ground truth ever failed under `bigcodeflow env check --repeat`: 'off' does not look,
    'flag' also shows the score without them, 'exclude' leaves them out of every score."""
    allow_unisolated: bool = False
    """Run without bubblewrap where it is missing. Generated code can then harm this machine."""

    @field_validator("variants")
    @classmethod
    def _has_a_variant(cls, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        if not variants or len(set(variants)) != len(variants):
            raise ValueError("needs one or two different entries of: calibrated, raw")
        return variants

    @model_validator(mode="after")
    def _backends_and_workers_can_be_used(self) -> Self:
        chosen = (self.backend, self.fallback)
        if self.fallback == self.backend:
            raise ValueError(f"backend and fallback are both {self.fallback}: name another fallback, or none")
        if not self.service.url and {"http", "gradio"} & set(chosen):
            raise ValueError("backends http and gradio need service.url, such as http://127.0.0.1:8017")
        if {"http", "gradio"} <= set(chosen):
            raise ValueError("backend and fallback, http and gradio, are the same service: name another fallback")
        if self.scheduler_address and self.cluster.type:
            raise ValueError("names both scheduler_address and cluster.type: leave one of these two empty")
        return self

    @property
    def on_this_machine(self) -> bool:
        """True if workers are processes that this run starts on this machine."""
        return not (self.scheduler_address or self.cluster.type)
