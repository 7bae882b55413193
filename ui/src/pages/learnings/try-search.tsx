/** What an agent would be told: the same search that agents call, as an inspection that no experiment touches. */
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, ok } from "../../api/client.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, TextField } from "../../parts/controls.tsx";
import { Badge, Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";

type Hit = { key: string; kind: string; title: string; text: string };

export function TrySearch() {
  const [params, change] = useUrlState();
  const [text, user] = [params.get("q") ?? "", params.get("user") ?? ""];
  const [typed, setTyped] = useState(text);
  const [whose, setWhose] = useState(user);
  const search = useQuery({
    queryKey: ["search", text, user],
    enabled: text !== "",
    queryFn: () => ok(api.POST("/api/search", { body: { query: text, user_id: user || null, top_k: 10 } })),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ q: typed.trim(), user: whose.trim() });
  };
  const hits: Hit[] = search.data
    ? [
        ...search.data.profiles.map((p) => ({ key: `p${p.profile_id}`, kind: "profile", title: p.content, text: "" })),
        ...search.data.user_playbooks.map((p) => ({
          key: `u${p.user_playbook_id}`,
          kind: "user playbook",
          title: p.playbook_name || p.content,
          text: p.playbook_name ? p.content : "",
        })),
        ...search.data.agent_playbooks.map((p) => ({
          key: `a${p.agent_playbook_id}`,
          kind: "agent playbook",
          title: p.playbook_name || p.content,
          text: p.playbook_name ? p.content : "",
        })),
      ]
    : [];
  return (
    <>
      <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
        <TextField
          label="What the person asks"
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
          className="min-w-[260px] flex-1"
          placeholder="Where is my refund?"
        />
        <TextField
          label="User id (optional)"
          value={whose}
          onChange={(e) => setWhose(e.target.value)}
          className="w-[200px]"
        />
        <Button type="submit" look="primary">
          Search
        </Button>
      </form>
      {search.isError && <Trouble error={search.error} retry={() => search.refetch()} />}
      {search.isLoading && <Skeleton height={220} className="rounded-xl" />}
      {text === "" && (
        <Card>
          <Empty title="See what the agent would see">
            Agents call this search before they answer. With a user id, that person's profiles and playbooks are
            searched, too.
          </Empty>
        </Card>
      )}
      {search.data && (
        <Card
          flush
          title={`${hits.length} found`}
          lead={`searched by ${search.data.search_mode_effective === "fts" ? "words" : search.data.search_mode_effective === "hybrid" ? "words and meaning" : "meaning"}`}>
          {hits.length === 0 ? (
            <Empty title="Nothing fits" />
          ) : (
            <ol className="border-t border-line">
              {hits.map((hit) => (
                <li key={hit.key} className="flex gap-3 border-b border-line px-5 py-2.5 last:border-0">
                  <span className="w-[110px] shrink-0">
                    <Badge tone={hit.kind === "profile" ? "rival" : "accent"}>{hit.kind}</Badge>
                  </span>
                  <span className="min-w-0">
                    <span className="font-medium">{hit.title}</span>
                    {hit.text && <span className="block text-soft">{hit.text}</span>}
                  </span>
                </li>
              ))}
            </ol>
          )}
        </Card>
      )}
    </>
  );
}
