"""Checks of the Dockerfile, the compose file, the chart and the pipeline; scripts/test-deployment runs it."""

import json
import os
import re
import subprocess
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import yaml

HERE = Path(__file__).parent
CHART = str(HERE / "chart")
KEY = "0" * 64
SECRETS = {
    "POSTGRES_PASSWORD": KEY,
    "EVENHAND_DASHBOARD_KEY": KEY,
    "EVENHAND_GOVERNANCE__KEYS": f"k1:{KEY}",
}


def run(*command, env=None, expect=0):
    """Standard output of a command; standard error where it is expected to fail."""
    # Nothing of the caller's own settings.
    base = {name: value for name, value in os.environ.items() if not name.startswith("EVENHAND_")}
    done = subprocess.run(command, env=base | (env or {}), capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == (expect == 0), f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if expect == 0 else done.stderr


def check_settings(environment):
    """The binary itself knows every setting."""
    said = run(os.environ["BINARY"], "config", "check", env=environment)
    assert said == "the settings are valid\n", said


def render(*values):
    return run("helm", "template", "test", CHART, *(part for value in values for part in ("--set", value)))


def check_dockerfile():
    run("hadolint", str(HERE / "Dockerfile"))
    text = (HERE / "Dockerfile").read_text()
    environment = dict(re.findall(r"(EVENHAND_\w+)=(\S+)", text))
    assert environment, text
    check_settings(environment)
    return environment


def check_compose():
    compose = ["podman-compose", "--file", str(HERE / "compose.yaml")]
    for missing in SECRETS:
        given = {name: value for name, value in SECRETS.items() if name != missing}
        assert missing in run(*compose, "config", env=given, expect=1), missing
    services = yaml.safe_load(run(*compose, "config", env=SECRETS))["services"]
    check_settings({name: value or "" for name, value in services["evenhand"]["environment"].items()})


def check_chart(image_environment):
    version = re.search(r'^version = "(.*)"', (HERE.parent / "Cargo.toml").read_text(), re.MULTILINE).group(1)
    chart = yaml.safe_load((HERE / "chart/Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version, (chart, version)

    assert "existingSecret" in run("helm", "template", "test", CHART, expect=1)
    two = ["--set", "existingSecret=own", "--set", "replicas=2"]
    assert "SQLite has one" in run("helm", "template", "test", CHART, *two, expect=1)
    run("helm", "lint", "--strict", CHART, "--set", "existingSecret=own")

    sqlite = ["existingSecret=own"]
    postgres = [
        "existingSecret=own",
        "postgres=true",
        "replicas=3",
        "metrics=true",
        "settings.EVENHAND_LOG__FORMAT=json",
    ]
    for values, claims, strategy in [(sqlite, 1, "Recreate"), (postgres, 0, "RollingUpdate")]:
        text = render(*values)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            run("kubernetes-validate", "--strict", "--no-warn", file.name)
        kinds = {}
        for thing in yaml.safe_load_all(text):
            kinds.setdefault(thing["kind"], []).append(thing)
        assert "Secret" not in kinds, "secrets are the operator's"
        assert len(kinds.get("PersistentVolumeClaim", [])) == claims, text
        (deployment,), (service,) = kinds["Deployment"], kinds["Service"]
        assert deployment["spec"]["strategy"]["type"] == strategy
        pod = deployment["spec"]["template"]
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        (container,) = pod["spec"]["containers"]
        assert pod["spec"]["securityContext"]["runAsNonRoot"] and pod["spec"]["enableServiceLinks"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"]
        environment = {line["name"]: line["value"] for line in container["env"]}
        given = {"EVENHAND_SERVER__DATABASE_URL": "postgres://a:b@c/d"} if strategy == "RollingUpdate" else {}
        check_settings(image_environment | environment | SECRETS | given)


@contextmanager
def server():
    """Address of a server with an empty database, and keys that publish and read."""
    with tempfile.TemporaryDirectory() as folder:
        create = [os.environ["BINARY"], "keys", "create", "--data-dir", folder, "--role"]
        keys = [run(*create, role).strip() for role in ("publish", "auditor")]
        command = [os.environ["BINARY"], "serve", "--listen", "127.0.0.1:0", "--data-dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield process.stdout.readline().split()[-1], *keys
        finally:
            process.terminate()
            process.wait(30)


def post(url, key, body):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def check_pipeline():
    """The step of examples/github-actions, against a server: 0 reached, 1 not reached, 2 cannot tell."""
    workflow = yaml.safe_load((HERE.parent / "examples/github-actions/agent-success.yml").read_text())
    (step,) = workflow["jobs"]["check"]["steps"]

    def ends_with(url, **changed):
        env = os.environ | step["env"] | {"EVENHAND_URL": url, "EVENHAND_TOKEN": auditor} | changed
        # As GitHub runs a step.
        done = subprocess.run(["bash", "-e", "-c", step["run"]], env=env, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout

    with server() as (url, publisher, auditor):
        code, said = ends_with(url)
        assert code == 2 and "too few verdicts" in said, (code, said)
        now = int(time.time())
        for i in range(5):
            turns = [{"role": "User", "content": "Where is it?"}]
            publish = {"request_id": f"r{i}", "user_id": f"u{i}", "session_id": f"s{i}", "interaction_data_list": turns}
            post(f"{url}/api/publish_interaction", publisher, publish)
            outcome = {"session_id": f"s{i}", "outcome": "failure" if i == 0 else "success", "occurred_at": now}
            post(f"{url}/api/session_outcome", publisher, outcome)
        patience = time.monotonic() + 30
        while (found := ends_with(url, MINIMUM_SESSIONS="5"))[0] == 2 and time.monotonic() < patience:
            time.sleep(0.2)
        assert found[0] == 0 and found[1].startswith("80"), found
        assert ends_with(url, MINIMUM_SESSIONS="5", MINIMUM_PERCENT="81")[0] == 1
        assert ends_with(url, MINIMUM_SESSIONS="6")[0] == 2
    assert ends_with(url)[0] == 2, "the server is away"


def main():
    image_environment = check_dockerfile()
    print("  ok  Dockerfile: hadolint, settings")
    check_compose()
    print("  ok  compose file: every secret is asked for, settings")
    check_chart(image_environment)
    print("  ok  chart: refusals, lint, schemas, no secrets, settings")
    check_pipeline()
    print("  ok  pipeline: 0 reached, 1 not reached, 2 cannot tell")


main()
