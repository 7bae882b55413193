"""Prints what each public method of `reflexio-client` gets: works, 404, refused, or an answer in the wrong shape.

    scripts/python-client                       # prints a Python that has the client
    that-python tests/python/table.py BINARY    # starts servers of its own and stops them

Every method is called three times: on a fresh server, on a filled one, and on the filled one with an agent key. The
client checks answers with its own models, so a call that returns has the right shape. Methods that send in the
background are looked at by what they sent. With --gaps, requests and response models of paths that do not exist are
printed as JSON instead.
"""

import asyncio
import inspect
import json
import socket
import subprocess
import sys
import tempfile
import time
import typing
from collections import Counter
from datetime import UTC, datetime, timedelta

import requests
from pydantic import BaseModel, ValidationError
from reflexio import ReflexioClient

NOW = int(time.time())
WINDOW = {
    "start_time": datetime.fromtimestamp(NOW, UTC) - timedelta(hours=1),
    "end_time": datetime.fromtimestamp(NOW, UTC) + timedelta(hours=1),
}
TURNS = [{"role": "User", "content": "Is there tea?"}, {"role": "Assistant", "content": "Yes, green tea."}]
PROFILE = {"profile_id": "p1", "user_id": "ada", "content": "likes tea", "last_modified_timestamp": NOW,
           "generated_from_request_id": "r1"}
PLAYBOOK = {"agent_version": "v1", "content": "offer tea", "trigger": "asked for tea"}
WAIT = {"wait_for_response": True}
PENDING = {"pending_tool_call_id": "x"}


def calls(known):
    """Arguments by method, in the order of the calls: reads, then changes, then deletions."""
    return {
        "whoami": {}, "get_config": {}, "get_my_config": {}, "storage_stats": {"user_id": "ada"},
        "get_requests": {"user_id": "ada"}, "get_interactions": {"user_id": "ada"}, "get_all_interactions": {},
        "search_interactions": {"user_id": "ada", "query": "tea"},
        "get_profiles": {"user_id": "ada", "force_refresh": True}, "get_all_profiles": {},
        "get_profile_change_log": {}, "get_user_playbooks": {"user_id": "ada"},
        "get_agent_playbooks": {"force_refresh": True}, "get_learning_status": {"request_id": known["request"]},
        "search": {"query": "tea", "user_id": "ada"}, "search_async": {"query": "tea", "user_id": "ada"},
        "search_profiles": {"user_id": "ada", "query": "tea"},
        "search_user_profiles": {"user_id": "ada", "query": "tea"}, "search_user_playbooks": {"query": "tea"},
        "search_agent_playbooks": {"query": "tea"},
        "rerank_user_profiles": {"user_id": "ada", "query": "tea", "profile_ids": ["p1"]},
        "get_session_outcomes": {}, "get_agent_success_evaluation_results": WINDOW,
        "get_retrieved_learning_evaluation_results": {"user_id": "ada", **WINDOW}, "list_retrieval_experiments": {},
        "get_stall_state": {}, "list_pending_tool_calls": {}, "get_pending_tool_call": PENDING,
        "review_user_playbooks": WINDOW,
        "publish_interaction": {"user_id": "eve", "interactions": TURNS, "session_id": "e1"},
        "publish_interaction_async": {"user_id": "eve", "interactions": TURNS, "session_id": "e2"},
        "add_user_profile": {"user_profiles": [{**PROFILE, "profile_id": f"extra-{known['n']}"}]},
        "add_user_playbook": {"user_playbooks": [{**PLAYBOOK, "user_id": "ada", "request_id": "r1"}]},
        "add_agent_playbooks": {"agent_playbooks": [{**PLAYBOOK, "playbook_status": "pending", "playbook_metadata": "{}"}]},
        "mark_session_outcome": {"session_id": "s1", "outcome": "success", "occurred_at": NOW},
        "grade_on_demand": {"session_id": "s1", "agent_version": "v1"},
        "set_config": {"config": known["config"]}, "update_config": {"partial": {"window_size": 9}},
        "update_user_playbook": {"user_playbook_id": known["user_playbook"], "content": "offer green tea"},
        "update_agent_playbook": {"agent_playbook_id": known["agent_playbook"], "content": "offer green tea"},
        "update_agent_playbook_status": {"agent_playbook_id": known["agent_playbook"], "playbook_status": "rejected"},
        "start_retrieval_experiment": {"experiment_id": f"tea-{known['n']}", "holdout_percentage": 50},
        "get_retrieval_experiment_results": {"experiment_id": f"tea-{known['n']}"},
        "stop_retrieval_experiment": {"experiment_id": f"tea-{known['n']}"},
        "regenerate_evaluations": {"from_ts": NOW - 3600, "to_ts": NOW + 600},
        "get_evaluation_regeneration_status": {"job_id": known["job"]},
        "cancel_evaluation_regeneration": {"job_id": known["job"]},
        "mark_stall_notified": {}, "update_pending_tool_call_answer": {**PENDING, "answer": "no"},
        "resolve_pending_tool_call": {**PENDING, "answer": "yes"}, "mark_pending_tool_call_not_applicable": PENDING,
        "cancel_pending_tool_call": PENDING, "invalidate_cache": {}, "upgrade_profiles": {},
        "upgrade_user_playbooks": {}, "manual_profile_generation": {"user_id": "ada"},
        "manual_playbook_generation": {"agent_version": "v1"},
        "rerun_profile_generation": {"user_id": "ada", **WAIT},
        "rerun_playbook_generation": {"agent_version": "v1", **WAIT},
        "run_playbook_aggregation": {"agent_version": "v1", **WAIT},
        "delete_interaction": {"user_id": "ada", "interaction_id": known["interaction"], **WAIT},
        "delete_profile": {"user_id": "ada", "profile_id": "p1", **WAIT},
        "delete_profiles_by_ids": {"profile_ids": ["p2", "unknown"]},
        "delete_user_playbook": {"user_playbook_id": known["user_playbook"], **WAIT},
        "delete_user_playbooks_by_ids": {"user_playbook_ids": [known["user_playbook_2"], 999_999]},
        "delete_agent_playbook": {"agent_playbook_id": known["agent_playbook"], **WAIT},
        "delete_agent_playbooks_by_ids": {"agent_playbook_ids": [known["agent_playbook_2"], 999_999]},
        "delete_request": {"request_id": known["request_2"], **WAIT},
        "delete_requests_by_ids": {"request_ids": [known["request_3"], "unknown"]},
        "delete_session": {"session_id": "s1", **WAIT}, "clear_user_data": {"user_id": "bob"},
        "delete_all_interactions": {}, "delete_all_profiles": {}, "delete_all_user_playbooks": {},
        "delete_all_agent_playbooks": {}, "delete_all_playbooks": {},
    }  # fmt: skip


class Watched(ReflexioClient):
    """Remembers what was sent."""

    sent = None

    def _make_request(self, method, endpoint, headers=None, **kwargs):
        self.sent = (method, endpoint, kwargs.get("json") or kwargs.get("params"))
        return super()._make_request(method, endpoint, headers, **kwargs)

    async def _make_async_request(self, method, endpoint, headers=None, **kwargs):
        self.sent = (method, endpoint, kwargs.get("json"))
        try:
            answer = await super()._make_async_request(method, endpoint, headers, **kwargs)
            self.background = "works"
        except Exception as error:
            self.background = f"{getattr(error, 'status', type(error).__name__)}"
            raise
        return answer


def outcome(client, name, arguments):
    """The fate of one call, in a word or two."""
    client.sent = client.background = None
    try:
        answer = getattr(client, name)(**arguments)
        if inspect.iscoroutine(answer):
            answer = asyncio.run(answer)
        if client.sent is None or name.startswith("manual_"):
            limit = time.monotonic() + 10
            while client.background is None and time.monotonic() < limit:
                time.sleep(0.02)
            return "404 no path" if client.background == "404" else client.background or "nothing sent"
        return "success: false" if getattr(answer, "success", True) is False else "works"
    except requests.HTTPError as error:
        problem = error.response.json()
        if "no such path" in problem.get("detail", ""):
            return "404 no path"
        return f"{error.response.status_code} {problem.get('code')}"
    except ValidationError as error:
        return "WRONG SHAPE: " + "; ".join(f"{'.'.join(map(str, one['loc']))} {one['type']}" for one in error.errors()[:5])
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:120]


NOTHING = {"request": "unknown", "request_2": "unknown", "request_3": "unknown", "interaction": 1, "user_playbook": 1,
           "user_playbook_2": 2, "agent_playbook": 1, "agent_playbook_2": 2, "job": "unknown"}  # fmt: skip


def fill(client):
    """Something of everything, and its ids."""
    first = client.publish_interaction(user_id="ada", session_id="s1", interactions=TURNS, source="web", agent_version="v1")
    others = [client.publish_interaction(user_id="bob", session_id=f"b{n}", interactions=TURNS) for n in range(3)]
    client.add_user_profile([{**PROFILE, "generated_from_request_id": first.request_id}, {**PROFILE, "profile_id": "p2"}])
    for _ in range(2):
        client.add_user_playbook([{**PLAYBOOK, "user_id": "ada", "request_id": first.request_id}])
        client.add_agent_playbooks([{**PLAYBOOK, "playbook_status": "approved", "playbook_metadata": "{}"}])
    [session] = client.get_requests(user_id="ada").sessions
    mine = [one.user_playbook_id for one in client.get_user_playbooks(user_id="ada").user_playbooks]
    ours = [one.agent_playbook_id for one in client.get_agent_playbooks(force_refresh=True).agent_playbooks]
    job = client.regenerate_evaluations(from_ts=NOW - 3600, to_ts=NOW + 600)
    limit = time.monotonic() + 30
    while client.get_evaluation_regeneration_status(job.job_id).status == "running" and time.monotonic() < limit:
        time.sleep(0.05)
    return {"request": first.request_id, "request_2": others[0].request_id, "request_3": others[1].request_id,
            "interaction": session.requests[0].interactions[0].interaction_id, "user_playbook": mine[0],
            "user_playbook_2": mine[-1], "agent_playbook": ours[0], "agent_playbook_2": ours[-1],
            "job": job.job_id}  # fmt: skip


class Server:
    """The binary on data of its own, with keys for both roles."""

    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory()
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/"
        data = ["--data-dir", f"{self.folder.name}/data"]
        self.keys = {}
        for role in ("dashboard", "agent"):
            made = subprocess.run([binary, "keys", "create", *data, "--role", role], check=True, capture_output=True, text=True)
            self.keys[role] = made.stdout.strip()
        listen = ["--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen([binary, "serve", *data, *listen], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            try:
                requests.get(self.url + "health/ready", timeout=5).raise_for_status()
                return
            except requests.RequestException:
                time.sleep(0.05)
        raise SystemExit("the server did not start")

    def client(self, role):
        return Watched(api_key=self.keys[role], url_endpoint=self.url, timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()


def models(annotation):
    return [one for one in typing.get_args(annotation) or [annotation] if isinstance(one, type) and issubclass(one, BaseModel)]


def main():
    options = [one for one in sys.argv[1:] if one.startswith("--")]
    [binary] = [one for one in sys.argv[1:] if not one.startswith("--")]
    every = [name for name, member in inspect.getmembers(ReflexioClient, inspect.isfunction) if not name.startswith("_")]
    results = {name: [] for name in every}
    sent = {}
    with Server(binary) as server:
        client = server.client("dashboard")
        order = calls({**NOTHING, "n": 0, "config": client.get_config()})
        assert set(order) == set(every), set(order) ^ set(every)
        for name, arguments in order.items():
            results[name].append(outcome(client, name, arguments))
    for turn, role in enumerate(("dashboard", "agent"), 1):
        with Server(binary) as server:
            known = fill(server.client("dashboard"))
            config = server.client("dashboard").get_config()
            client = server.client(role)
            for name, arguments in calls({**known, "n": turn, "config": config}).items():
                results[name].append(outcome(client, name, arguments))
                sent.setdefault(name, client.sent)
    if "--gaps" in options:
        gaps = []
        for name in every:
            if "404 no path" in results[name]:
                method, path, body = sent[name]
                answer = models(typing.get_type_hints(getattr(ReflexioClient, name)).get("return"))
                gaps.append({"method": name, "http": method, "path": path, "request": body,
                             "response": answer[0].model_json_schema() if answer else None})  # fmt: skip
        print(json.dumps(gaps, default=str, indent=1))
        return
    print("| method | fresh server | filled server | with an agent key |\n|---|---|---|---|")
    for name in every:
        print(f"| `{name}` | " + " | ".join(results[name]) + " |")
    print()
    for column, title in enumerate(("fresh", "filled", "agent key")):
        print(f"{title}: " + ", ".join(f"{n} {what}" for what, n in Counter(row[column] for row in results.values()).most_common()))
    wrong = [name for name, row in results.items() if any("WRONG" in one or "success: false" in one for one in row)]
    sys.exit(f"answers in the wrong shape: {', '.join(wrong)}" if wrong else 0)


main()
