"""`bigcodeflow export mlflow` and `wandb`: a plug-in of bigcodeflow, which finds its commands by their entry points."""

from bigcodeflow_trackers.clients import TrackedRun, log_to_mlflow, log_to_wandb

__all__ = ["TrackedRun", "log_to_mlflow", "log_to_wandb"]
