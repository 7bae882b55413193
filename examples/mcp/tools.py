"""Lists and calls every tool over stdio and over HTTP, and prints one line for each.

    pip install mcp
    python examples/mcp/tools.py

It uses the official client in its version 2. Set BINARY if `evenhand` is not on the PATH, EVENHAND_URL if the server is
not at http://127.0.0.1:8700, and EVENHAND_TOKEN once a key was made; or give --binary, --url and --token.
"""

import argparse
import asyncio
import os
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

USER = "ada"


def calls(session):
    """Every tool with its arguments, in the order in which an agent and then its operator need them."""
    this = {"user_id": USER, "session_id": session}
    turns = [
        {"role": "User", "content": "Where is my parcel?"},
        {
            "role": "Assistant",
            "content": "It arrives on Tuesday.",
            "tools_used": [{"tool_name": "look_up_order", "tool_data": {"order": 7}}],
        },
        {"role": "User", "content": "Thanks, that solved it."},
    ]
    return {
        "search_learnings": {"query": "parcel", **this},
        "publish_turns": {"turns": turns, "source": "mcp", "session_finished": True, **this},
        "report_outcome": {"outcome": "success", "label": "delivered", **this},
        "overview": {},
        "session": this,
        "explain_verdict": this,
        "experiment_results": {},
    }


async def walk(way, client):
    """Calls every tool that the server lists; gives the number of calls that failed."""
    failed = 0
    offered = {tool.name for tool in (await client.list_tools()).tools}
    expected = calls(f"chat-over-{way}")
    for name in sorted(offered ^ expected.keys()):
        print(f"{way} {name}: {'not called here' if name in offered else 'not offered'}")
        failed += 1
    for name, arguments in expected.items():
        if name not in offered:
            continue
        result = await client.call_tool(name, arguments)
        line = result.content[0].text.splitlines()[0]
        print(f"{way} {name}: {'FAILED ' if result.is_error else ''}{line}")
        failed += result.is_error
    try:
        playbooks = (await client.list_resources()).resources
    except MCPError as error:  # without a dashboard's token, while an experiment runs
        print(f"{way} playbooks: FAILED {error}".splitlines()[0])
        return failed + 1
    print(f"{way} playbooks: {len(playbooks)}")
    for playbook in playbooks[:1]:
        page = await client.read_resource(playbook.uri)
        print(f"{way} {playbook.uri}: {page.contents[0].text.splitlines()[0]}")
    return failed


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.environ.get("BINARY", "evenhand"))
    parser.add_argument("--url", default=os.environ.get("EVENHAND_URL", "http://127.0.0.1:8700"))
    parser.add_argument("--token", default=os.environ.get("EVENHAND_TOKEN", ""))
    given = parser.parse_args()

    env = {"EVENHAND_URL": given.url}
    headers = {}
    if given.token:
        env["EVENHAND_TOKEN"] = given.token
        headers["Authorization"] = f"Bearer {given.token}"
    async with Client(StdioServerParameters(command=given.binary, args=["mcp"], env=env)) as client:
        failed = await walk("stdio", client)
    http = httpx2.AsyncClient(headers=headers, timeout=30)
    async with http, Client(streamable_http_client(f"{given.url}/mcp", http_client=http)) as client:
        failed += await walk("http", client)
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
