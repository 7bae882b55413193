/** What is known of one person: profiles and playbooks of their own. */
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, ok } from "../../api/client.ts";
import { ago, onDate, plural } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, TextField } from "../../parts/controls.tsx";
import { Badge, Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";
import { ImpactBar } from "./agent-playbooks.tsx";
import { useImpact } from "./impact.ts";

const NEVER = 4_102_444_800;

export function OfUser() {
  const [params, change] = useUrlState();
  const user = params.get("user");
  const [typed, setTyped] = useState(user ?? "");
  const ask = (event: FormEvent) => {
    event.preventDefault();
    change({ user: typed.trim() });
  };
  return (
    <>
      <form onSubmit={ask} className="flex items-end gap-2">
        <TextField
          label="User id"
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
          className="w-[280px]"
          placeholder="customer-0042"
        />
        <Button type="submit" look="primary">
          Look up
        </Button>
      </form>
      {user ? (
        <Known user={user} />
      ) : (
        <Card>
          <Empty title="Whose learnings?">
            Profiles and user playbooks belong to one person and go with them when they are erased.
          </Empty>
        </Card>
      )}
    </>
  );
}

function Known({ user }: { user: string }) {
  const profiles = useQuery({
    queryKey: ["profiles", user],
    queryFn: () => ok(api.POST("/api/get_profiles", { body: { user_id: user, top_k: 1000 } })),
  });
  const playbooks = useQuery({
    queryKey: ["user-playbooks", user],
    queryFn: () => ok(api.POST("/api/get_user_playbooks", { body: { user_id: user, top_k: 1000 } })),
  });
  const impact = useImpact();
  if (profiles.isError) return <Trouble error={profiles.error} retry={() => profiles.refetch()} />;
  if (playbooks.isError) return <Trouble error={playbooks.error} retry={() => playbooks.refetch()} />;
  if (!profiles.data || !playbooks.data) return <Skeleton height={240} className="rounded-xl" />;
  const { user_profiles } = profiles.data;
  const { user_playbooks } = playbooks.data;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title={plural(user_profiles.length, "profile")} lead="facts and preferences of this person" flush>
        {user_profiles.length === 0 && <Empty title="Nothing is known of this person" />}
        <ul className="border-t border-line">
          {user_profiles.map((profile) => (
            <li key={profile.profile_id} className="border-b border-line px-5 py-2.5 last:border-0">
              <p>{profile.content}</p>
              <p className="mt-0.5 flex flex-wrap gap-x-3 text-[0.84rem] text-faint">
                <span>{ago(profile.last_modified_timestamp)}</span>
                <span>
                  {profile.expiration_timestamp >= NEVER ? "kept" : `until ${onDate(profile.expiration_timestamp)}`}
                </span>
                {profile.tags.map((tag) => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </p>
            </li>
          ))}
        </ul>
      </Card>
      <Card title={plural(user_playbooks.length, "user playbook")} lead="how to handle this person's matters" flush>
        {user_playbooks.length === 0 && <Empty title="No playbook came from this person's sessions" />}
        <ul className="border-t border-line">
          {user_playbooks.map((playbook) => (
            <li key={playbook.user_playbook_id} className="border-b border-line px-5 py-2.5 last:border-0">
              <p className="font-medium">{playbook.playbook_name || playbook.content}</p>
              {playbook.playbook_name && <p className="text-soft">{playbook.content}</p>}
              <p className="mt-0.5 mb-1.5 text-[0.84rem] text-faint">
                {playbook.trigger && `when ${playbook.trigger}, `}
                {ago(playbook.created_at)}
              </p>
              <div className="max-w-[230px]">
                <ImpactBar impact={impact.data?.of("user_playbook", playbook.user_playbook_id)} />
              </div>
            </li>
          ))}
        </ul>
      </Card>
    </div>
  );
}
