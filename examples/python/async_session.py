"""The same with asyncio."""

import asyncio

import evenhand


async def main() -> None:
    async with evenhand.AsyncClient() as client:
        async with client.session("ada", "chat-2") as s:
            s.user("Where is my parcel?")
            found = await s.search("parcel")
            s.assistant(f"It arrives on Tuesday. I know {len(found.profiles)} things about you.")
        sessions = await client.flush() and await client.api.list_sessions(user_id="ada")
        print(sessions)


asyncio.run(main())
