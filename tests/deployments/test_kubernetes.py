"""The Kubernetes examples agree with one another, with the images and with the lock."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployments.files import DEPLOYMENTS, GUIDE, assert_command_exists, instructions, pinned_version

FOLDER = DEPLOYMENTS / "kubernetes"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
TEMPLATE: dict[str, Any] = json.loads((FOLDER / "job-template.json").read_text())
JOB = TEMPLATE["job_configuration"]["job_manifest"]


def documents(manifest: Path) -> list[dict[str, Any]]:
    """The documents of a YAML file."""
    return list(yaml.safe_load_all(manifest.read_text()))


def walk(node: Any) -> Iterator[dict[str, Any]]:
    """Every mapping within a document."""
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(value)


OBJECTS = [item for path in MANIFESTS if ".values." not in path.name for item in documents(path)]
PODS = [item["spec"]["template"]["spec"] for item in OBJECTS if item["kind"] == "Deployment"]
PODS.append(JOB["spec"]["template"]["spec"])


def test_images_are_pinned() -> None:
    """Ours has a version; Prefect's is that of requirements.lock, so that server, worker and flow run agree."""
    ours = {container["image"] for pod in PODS for container in pod["containers"]}
    ours.discard("{{ image }}")
    ours.add(TEMPLATE["variables"]["properties"]["image"]["default"])
    assert len(ours) == 1
    assert re.search(r":\d+\.\d+\.\d+$", ours.pop())
    values = [documents(path)[0] for path in MANIFESTS if ".values." in path.name]
    tags = [node["prefectTag"] for value in values for node in walk(value) if "prefectTag" in node]
    assert len(tags) == 2
    for tag in tags:
        assert tag.startswith(f"{pinned_version('prefect')}-python3.11")


def test_commands_exist_in_the_image() -> None:
    """What the pods are told to run is what the installed packages have."""
    commands = [container["args"] for pod in PODS for container in pod["containers"] if container["args"][0] != "{"]
    assert len(commands) == 2
    for command in commands:
        assert_command_exists(command)


def test_pods_run_as_the_images_user_without_privilege() -> None:
    """The user is the one who owns the folders of the image."""
    users = [item.text for item in instructions(DEPLOYMENTS / "server" / "Dockerfile") if item.name == "USER"]
    for pod in PODS:
        security = pod["securityContext"]
        assert f"{security['runAsUser']}:{security['runAsGroup']}" == users[-1]
        for container in pod["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


def test_pods_with_sandboxes_may_make_them() -> None:
    """An unmasked /proc needs a user namespace of the pod's own, and the namespace's level of security allows both."""
    pods = {container["name"]: (pod, container) for pod in PODS for container in pod["containers"]}
    for name in ("worker", "prefect-job"):
        pod, container = pods[name]
        assert pod["hostUsers"] is False
        assert container["securityContext"]["procMount"] == "Unmasked"
        assert container["securityContext"]["seccompProfile"] == {"type": "Unconfined"}
        assert container["securityContext"]["appArmorProfile"] == {"type": "Unconfined"}
    assert "procMount" not in pods["scheduler"][1]["securityContext"]
    (namespace,) = (item for item in OBJECTS if item["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_what_is_referred_to_is_there() -> None:
    """Secrets, empty, and volumes that pods name are among the examples, all in one namespace and in the guide."""
    named = {(item["kind"], item["metadata"]["name"]) for item in OBJECTS}
    for node in walk([*PODS, JOB]):
        if "secretRef" in node:
            assert ("Secret", node["secretRef"]["name"]) in named
        if "persistentVolumeClaim" in node:
            assert ("PersistentVolumeClaim", node["persistentVolumeClaim"]["claimName"]) in named
    server = documents(FOLDER / "prefect-server.values.yaml")[0]
    assert ("Secret", server["secret"]["name"]) in named
    assert {item["metadata"].get("namespace", "bigcodeflow") for item in OBJECTS} == {"bigcodeflow"}
    assert {value for item in OBJECTS for value in item.get("stringData", {}).values()} == {""}
    assert [path.name for path in FOLDER.iterdir() if f"`{path.name}`" not in GUIDE] == []


def test_the_job_template_asks_for_what_it_uses() -> None:
    """Every placeholder has a variable, every variable a placeholder, and each a title for the form."""
    used = set(re.findall(r"{{ (\w+) }}", json.dumps(TEMPLATE["job_configuration"])))
    assert used == set(TEMPLATE["variables"]["properties"])
    assert all(variable["title"] for variable in TEMPLATE["variables"]["properties"].values())


def test_deployments_set_no_variable_that_the_job_template_lacks() -> None:
    """prefect.yaml serves process pools and this one alike."""
    declared = yaml.safe_load((DEPLOYMENTS.parent / "prefect.yaml").read_text())
    variables = {name for node in walk(declared) for name in node.get("job_variables") or ()}
    assert variables
    assert variables <= set(TEMPLATE["variables"]["properties"])


def test_objects_match_the_schemas_of_kubernetes() -> None:
    """No unknown field, none missing, for the newest release that the installed schemas know."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for item in OBJECTS:
        kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)
