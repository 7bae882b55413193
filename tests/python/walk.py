"""Walks over the public client's methods against a server that was just started.

Arguments: the server's address, and a dashboard credential. The client checks every answer with its own models, so
a call that returns is a call whose shape is right; beyond that, values that were sent are looked for in what comes
back. A method that is not called fails the walk.
"""

import inspect
import sys
import time
from datetime import UTC, datetime, timedelta

import requests
from reflexio import ReflexioClient
from reflexio.models.config_schema import Config, StorageConfigSQLite, ToolUseConfig

NOW = int(time.time())
HOUR = timedelta(hours=1)
WINDOW = {"start_time": datetime.fromtimestamp(NOW, UTC) - HOUR, "end_time": datetime.fromtimestamp(NOW, UTC) + HOUR}

# They send in the background and give nothing back, so there is nothing to look at.
NOT_OBSERVABLE = {"manual_playbook_generation", "manual_profile_generation"}


class Walk:
    """Calls methods by name and remembers which were called."""

    def __init__(self, client):
        self.client, self.called = client, set()

    def __getattr__(self, name):
        def call(*args, **kwargs):
            self.called.add(name)
            answer = getattr(self.client, name)(*args, **kwargs)
            assert getattr(answer, "success", True) is not False, (name, answer)
            return answer

        return call


def refused(status, call):
    try:
        call()
    except requests.HTTPError as error:
        assert error.response.status_code == status, error.response.text
        return error.response.json()
    raise AssertionError(f"expected {status}")


def configuration(c):
    fresh = c.get_config()
    assert fresh.storage_config is None and fresh.agent_success_config.sampling_rate == 1.0
    c.update_config({"judge": {"session_success_prompt_version": "v1"}, "tool_can_use": [{"tool_name": "find"}]})
    # Read, written back, and read again: the same, including what the client has no field for.
    c.set_config(c.get_config())
    once = c.get_config()
    assert once.judge["session_success_prompt_version"] == "v1"
    c.set_config(once)
    assert c.get_config().model_dump() == once.model_dump()

    # The client's own defaults, as a new installation of it would send them.
    for storage in (None, StorageConfigSQLite(), StorageConfigSQLite(db_path="/data/x.db")):
        own = Config(storage_config=storage, agent_context_prompt="a shop", window_size=12, shadow_mode_enabled=True,
                     tool_can_use=[ToolUseConfig(tool_name="find", tool_description="finds orders")])
        assert c.set_config(own)["success"]
        back = Config.model_validate(c.get_config().model_dump(), extra="ignore")
        back.shadow_comparison_judge_prompt_version = own.shadow_comparison_judge_prompt_version
        assert back.model_dump() == own.model_dump(), (back, own)

    version = c.get_config().version
    c.update_config({"version": version, "skip_should_run_check": True, "llm_config": {"generation_model_name": "m"}})
    merged = c.get_config()
    assert merged.skip_should_run_check and merged.window_size == 12 and merged.llm_config.generation_model_name == "m"
    assert refused(409, lambda: c.update_config({"version": version, "window_size": 9}))["code"] == "config_version_stale"
    unknown = refused(422, lambda: c.update_config({"window_sise": 9}))
    assert "window_size" in unknown["errors"][0]["detail"], unknown
    c.update_config({"api_key_config": {"openai": {"api_key": "sk-secret"}}})
    assert c.get_config().api_key_config.openai.api_key == "***"
    c.update_config({"agent_success_config": {"sampling_rate": 1.0}})


def reads(c, found):
    """Everything that reads, on an empty server and on one with something in it."""
    assert c.whoami().org_id == "default"
    assert bool(c.get_requests(**WINDOW, user_id="ada").sessions) == found
    assert bool(c.get_interactions(user_id="ada").interactions) == found
    assert bool(c.get_profiles(user_id="ada", force_refresh=True).user_profiles) == found
    assert bool(c.get_user_playbooks(user_id="ada").user_playbooks) == found
    assert bool(c.get_agent_playbooks(force_refresh=True).agent_playbooks) == found
    assert bool(c.search(query="tea", user_id="ada").profiles) == found
    assert bool(c.search_user_profiles(user_id="ada", query="tea").user_profiles) == found
    assert bool(c.search_profiles(user_id="ada", query="tea").user_profiles) == found
    assert bool(c.search_user_playbooks(user_id="ada", query="tea").user_playbooks) == found
    assert bool(c.search_agent_playbooks(query="tea").agent_playbooks) == found
    assert bool(c.get_session_outcomes().session_outcomes) == found
    assert bool(c.get_agent_success_evaluation_results(**WINDOW).agent_success_evaluation_results) == found
    c.get_retrieved_learning_evaluation_results(user_id="ada", **WINDOW)
    assert bool(c.get_all_interactions().interactions) == found
    assert bool(c.get_all_profiles(status_filter="current", query="TEA").user_profiles) == found
    assert bool(c.search_interactions(user_id="ada", query="tea").interactions) == found
    assert bool(c.rerank_user_profiles(user_id="ada", query="tea", profile_ids=["p1"]).user_profiles) == found
    assert bool(c.storage_stats(user_id="ada").profile_count) == found
    assert c.get_profile_change_log().profile_change_logs == []
    assert not c.get_stall_state().stalled and not c.mark_stall_notified().notified_in_cc
    assert c.invalidate_cache()["org_id"] == "default"
    assert c.get_my_config().storage_type
    assert bool(c.list_pending_tool_calls().pending_tool_calls) == found
    c.list_retrieval_experiments()


def fill(c, ask):
    turns = [{"role": "User", "content": "Is there tea?"}, {"role": "Assistant", "content": "Yes, green tea is in stock."}]
    published = c.publish_interaction(user_id="ada", session_id="s1", interactions=turns, source="web", agent_version="v1")
    assert c.get_learning_status(published.request_id) in {"pending", "processing", "done"}
    profile = {"profile_id": "p1", "user_id": "ada", "content": "likes tea", "last_modified_timestamp": NOW,
               "generated_from_request_id": published.request_id}
    c.add_user_profile([profile])
    c.add_user_playbook([{"user_id": "ada", "agent_version": "v1", "request_id": published.request_id,
                          "content": "offer tea", "trigger": "asked for tea"}])
    c.add_agent_playbooks([{"agent_version": "v1", "content": "offer tea first", "playbook_status": "approved",
                            "playbook_metadata": "{}"}])

    outcome = {"session_id": "s1", "outcome": "success", "occurred_at": NOW, "label": "sold", "value": 2.5,
               "metadata": {"order": 7}}
    assert c.mark_session_outcome(**outcome).recorded
    assert not c.mark_session_outcome(**outcome).recorded
    [row] = c.get_session_outcomes(session_ids=["s1"], user_id="ada", source="web", outcome="success", label="sold",
                                   start_time=NOW, end_time=NOW, top_k=5).session_outcomes
    assert (row.user_id, row.source, row.value, row.metadata) == ("ada", "web", 2.5, {"order": 7}), row
    assert abs(row.created_at - NOW) < 60
    assert c.get_session_outcomes(source="app").session_outcomes == []
    assert c.get_session_outcomes(offset=1).session_outcomes == []

    ask("Is green tea organic?")
    graded = c.grade_on_demand(session_id="s1", agent_version="v1")
    assert graded.result_id, graded


def answers(c, ask):
    """Questions that an agent leaves; the client only answers them."""
    first = ask("Is green tea organic?")
    assert c.get_pending_tool_call(first).question_text == "Is green tea organic?"
    assert c.resolve_pending_tool_call(first, answer="Yes.", valid_for_seconds=60).result == {"answer": "Yes."}
    assert c.update_pending_tool_call_answer(first, "Some of it.").result == {"answer": "Some of it."}
    assert c.mark_pending_tool_call_not_applicable(ask("Is there milk?")).status == "resolved"
    assert c.cancel_pending_tool_call(ask("Is there sugar?")).status == "cancelled"
    assert len(c.list_pending_tool_calls(status="resolved").pending_tool_calls) == 2


def change(c):
    [user_playbook] = c.get_user_playbooks(user_id="ada").user_playbooks
    c.update_user_playbook(user_playbook.user_playbook_id, content="offer green tea")
    [agent_playbook] = c.get_agent_playbooks(force_refresh=True).agent_playbooks
    number = agent_playbook.agent_playbook_id
    c.update_agent_playbook(number, content="offer green tea first")
    c.update_agent_playbook_status(number, playbook_status="rejected")
    c.start_retrieval_experiment("tea", 50)
    c.get_retrieval_experiment_results("tea")
    c.stop_retrieval_experiment("tea")
    job = c.regenerate_evaluations(from_ts=NOW - 3600, to_ts=NOW + 600)
    c.get_evaluation_regeneration_status(job.job_id)
    c.cancel_evaluation_regeneration(job.job_id)


def delete(c):
    wait = {"wait_for_response": True}
    [session] = c.get_requests(user_id="ada").sessions
    turn = session.requests[0].interactions[0]
    c.delete_interaction("ada", turn.interaction_id, **wait)
    c.delete_profile("ada", "p1", **wait)
    c.delete_session("s1", **wait)
    many = [{"role": "User", "content": "hello"}]
    ids = [c.publish_interaction("bob", many, session_id=f"b{n}").request_id for n in range(3)]
    c.delete_request(ids[0], **wait)
    assert c.delete_requests_by_ids([ids[1], "unknown"]).deleted_count == 1
    refused(404, lambda: c.delete_requests_by_ids(["unknown"]))
    c.add_user_profile([{"profile_id": f"b{n}", "user_id": "bob", "content": f"fact {n}", "last_modified_timestamp": NOW,
                         "generated_from_request_id": ids[2]} for n in range(2)])
    assert c.delete_profiles_by_ids(["b0", "unknown"]).deleted_count == 1
    for kind, add, one, several, extra in (
        ("user", "add_user_playbook", "delete_user_playbook", "delete_user_playbooks_by_ids", {"user_id": "bob", "request_id": ids[2]}),
        ("agent", "add_agent_playbooks", "delete_agent_playbook", "delete_agent_playbooks_by_ids", {"playbook_status": "approved"}),
    ):
        getattr(c, add)([{"agent_version": "v2", "content": f"rule {n}", **extra} for n in range(2)])
        read = getattr(c, f"get_{kind}_playbooks")
        found = getattr(read(agent_version="v2"), f"{kind}_playbooks")
        numbers = [getattr(playbook, f"{kind}_playbook_id") for playbook in found]
        getattr(c, one)(numbers[0], **wait)
        assert getattr(c, several)([numbers[1], 999_999]).deleted_count == 1
    c.clear_user_data("bob")
    c.add_user_profile([{"profile_id": "e1", "user_id": "eve", "content": "likes milk", "last_modified_timestamp": NOW,
                         "generated_from_request_id": "r", "status": "pending"}])
    c.add_user_playbook([{"user_id": "eve", "agent_version": "v1", "request_id": "r", "content": "be brief"}])
    assert c.upgrade_profiles().profiles_promoted == 1
    assert c.upgrade_user_playbooks().user_playbooks_promoted == 0
    assert c.review_user_playbooks(**WINDOW).skipped_count >= 1
    assert c.delete_all_profiles().deleted_count == 1
    assert c.delete_all_user_playbooks().deleted_count >= 1
    c.add_agent_playbooks([{"agent_version": "v1", "content": "greet", "playbook_metadata": "{}"}])
    assert c.delete_all_agent_playbooks().deleted_count >= 1
    assert c.delete_all_playbooks().deleted_count == 0
    c.delete_all_interactions()


def learn(c):
    wait = {"wait_for_response": True}
    again = c.rerun_profile_generation(user_id="ada", **wait)
    assert again.success and again.profiles_generated == 1, again
    assert c.rerun_playbook_generation(agent_version="v1", **wait).success
    assert c.run_playbook_aggregation(agent_version="v1", **wait).success


async def without_blocking(client, called):
    turns = [{"role": "User", "content": "hello"}]
    assert (await client.publish_interaction_async("eve", turns, session_id="e1")).success
    assert (await client.search_async(query="tea", user_id="eve")).success
    called |= {"publish_interaction_async", "search_async"}


def main(url, token):
    import asyncio

    client = ReflexioClient(api_key=token, url_endpoint=url, timeout=30)
    c = Walk(client)

    def ask(text):
        """Asks as an agent does; the client has no method for it."""
        question = {"user_id": "ada", "question_text": text}
        answer = requests.post(f"{url.rstrip('/')}/api/pending_tool_calls", json=question, headers={"Authorization": f"Bearer {token}"})
        answer.raise_for_status()
        return answer.json()["id"]

    for step in (configuration, lambda c: reads(c, False), lambda c: fill(c, ask), lambda c: reads(c, True),
                 lambda c: answers(c, ask), change, learn, delete):
        step(c)
    asyncio.run(without_blocking(client, c.called))
    every = {name for name, member in inspect.getmembers(ReflexioClient, inspect.isfunction) if not name.startswith("_")}
    known = c.called | NOT_OBSERVABLE
    assert every == known, every ^ known
    print(f"{len(known)} methods work")


main(*sys.argv[1:])
