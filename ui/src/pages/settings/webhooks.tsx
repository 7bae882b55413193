/** Webhooks: programs, chats and people that are told of events; each with a test and the log of what was sent. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas, type Session } from "../../api/client.ts";
import { ago, at, plural } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { Copied } from "../../parts/code.tsx";
import { Button, Checkbox, Select, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Badge, Note, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { AskBefore, ListCard } from "./list-card.tsx";

type Webhook = Schemas["Webhook"];
type Delivery = Schemas["WebhookDelivery"];
/** A test is sent on request only. */
type EventType = Exclude<Schemas["EventType"], "webhook.test">;

/** The events that can be asked for, in words. */
const EVENTS: [EventType, string][] = [
  ["session.failed", "A session was judged a failure"],
  ["regeneration.done", "A regeneration has ended"],
  ["experiment.decided", "An experiment has an answer"],
  ["experiment.unhealthy", "An experiment is unhealthy"],
  ["playbook.helps", "A playbook helps"],
  ["playbook.hurts", "A playbook hurts"],
  ["judge.paused", "The judge is paused"],
  ["judge.budget_reached", "The judge's budget is spent"],
  ["alert.raised", "An alert was raised"],
  ["alert.cleared", "An alert is over"],
];

const FORMATS: [Webhook["format"], string][] = [
  ["standard", "A program: JSON, signed"],
  ["slack", "A chat: Slack, or what is compatible with it"],
  ["email", "A person: e-mail"],
];

export function Webhooks({ session }: { session: Session }) {
  const [adding, setAdding] = useState(false);
  const webhooks = useQuery({
    queryKey: ["webhooks"],
    queryFn: () => ok(api.GET("/api/webhooks")),
    refetchInterval: QUIET_POLL_MS,
  });
  const mayChange = session.role !== "auditor";
  return (
    <>
      <ListCard
        query={webhooks}
        items={(data) => data.webhooks}
        title={plural(webhooks.data?.webhooks.length ?? 0, "webhook")}
        lead="told when something happens"
        add={mayChange ? { text: "Add a webhook", onClick: () => setAdding(true) } : undefined}
        empty={{
          title: "Nobody is told yet",
          text: `A failed session, an experiment with an answer, a paused judge: have them sent to a program, to a chat, or
            by e-mail. Messages carry ids and numbers, never what somebody said.`,
        }}
        line={(webhook) => <Line key={webhook.webhook_id} webhook={webhook} mayChange={mayChange} />}
      />
      <AddWebhook open={adding} onClose={() => setAdding(false)} />
    </>
  );
}

function Line({ webhook, mayChange }: { webhook: Webhook; mayChange: boolean }) {
  const client = useQueryClient();
  const say = useSay();
  const [shown, setShown] = useState(false);
  const [removing, setRemoving] = useState(false);
  const path = { webhook_id: webhook.webhook_id };
  const refresh = () => client.invalidateQueries({ queryKey: ["webhooks"] });
  const test = useMutation({
    mutationFn: () => ok(api.POST("/api/webhooks/{webhook_id}/test", { params: { path } })),
    onSuccess: async () => {
      setShown(true);
      say("A test is on its way; the log says how it went");
      await refresh();
    },
  });
  const turn = useMutation({
    mutationFn: (enabled: boolean) =>
      ok(api.PATCH("/api/webhooks/{webhook_id}", { params: { path }, body: { enabled } })),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE("/api/webhooks/{webhook_id}", { params: { path } })),
    onSuccess: async () => {
      setRemoving(false);
      say("Deleted: nothing is sent there any more");
      await refresh();
    },
  });
  const name = webhook.description || webhook.url;
  return (
    <li className="border-b border-line px-5 py-2.5 last:border-0">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span className={`min-w-0 ${webhook.enabled ? "" : "opacity-60"}`}>
          <span className="font-medium [overflow-wrap:anywhere]">{name}</span>{" "}
          <Badge tone="neutral">{webhook.format}</Badge> {!webhook.enabled && <Badge tone="neutral">off</Badge>}
          {webhook.failures > 0 && <Badge tone="bad">failing</Badge>}
          <span className="block text-[0.84rem] [overflow-wrap:anywhere] text-faint">
            {webhook.description && `${webhook.url}, `}
            {webhook.events.join(", ")}
            {webhook.next_attempt_at != null && `, tried again ${at(webhook.next_attempt_at)}`}
          </span>
        </span>
        <span className="flex flex-wrap gap-2">
          <Button small aria-expanded={shown} onClick={() => setShown(!shown)}>
            Log
          </Button>
          {mayChange && (
            <>
              <Button small disabled={test.isPending} onClick={() => test.mutate()}>
                {test.isPending ? "Sending…" : "Send a test"}
              </Button>
              <Button small disabled={turn.isPending} onClick={() => turn.mutate(!webhook.enabled)}>
                {turn.isPending ? "Turning…" : webhook.enabled ? "Turn off" : "Turn on"}
              </Button>
              <Button small onClick={() => setRemoving(true)}>
                Delete
              </Button>
            </>
          )}
        </span>
      </div>
      {(test.isError || turn.isError) && (
        <div className="mt-2">
          <Trouble error={test.error ?? turn.error} />
        </div>
      )}
      {shown && <Log webhookId={webhook.webhook_id} name={name} />}
      <AskBefore
        title={`Delete ${name}?`}
        text="Its log goes too, and what waits is not sent. This cannot be undone."
        open={removing}
        onClose={() => setRemoving(false)}
        verb={["Delete", "Deleting…"]}
        action={remove}
      />
    </li>
  );
}

const TONES: Record<Delivery["state"], "good" | "bad" | "neutral"> = {
  waiting: "neutral",
  delivered: "good",
  failed: "bad",
};

/** How often the log is asked for while something waits in it. */
const WAITING_POLL_MS = 2000;

function Log({ webhookId, name }: { webhookId: string; name: string }) {
  const log = useQuery({
    queryKey: ["webhooks", webhookId, "deliveries"],
    queryFn: () =>
      ok(
        api.GET("/api/webhooks/{webhook_id}/deliveries", {
          params: { path: { webhook_id: webhookId }, query: { limit: 50 } },
        }),
      ),
    refetchInterval: ({ state }) =>
      state.data?.deliveries.some((one) => one.state === "waiting") ? WAITING_POLL_MS : QUIET_POLL_MS,
  });
  if (log.isError) return <Trouble error={log.error} retry={() => log.refetch()} />;
  if (!log.data) return <Skeleton height={60} className="mt-2" />;
  if (log.data.deliveries.length === 0) return <p className="mt-2 text-soft">Nothing was sent yet.</p>;
  return (
    <div className="scroll-thin mt-2 overflow-x-auto" role="region" aria-label={`Log of ${name}`} tabIndex={0}>
      <table className="w-full text-[0.87rem]">
        <thead>
          <tr className="text-left text-faint">
            <th className="py-1 pr-3 font-medium">Event</th>
            <th className="py-1 pr-3 font-medium">State</th>
            <th className="py-1 pr-3 font-medium">Attempts</th>
            <th className="py-1 pr-3 font-medium">Last</th>
            <th className="py-1 font-medium">Answer</th>
          </tr>
        </thead>
        <tbody>
          {log.data.deliveries.map((one) => (
            <tr key={one.delivery_id} className="border-t border-line align-top">
              <td className="py-1 pr-3 whitespace-nowrap">{one.event}</td>
              <td className="py-1 pr-3">
                <Badge tone={TONES[one.state]}>{one.state}</Badge>
              </td>
              <td className="num py-1 pr-3">{one.attempts}</td>
              <td className="py-1 pr-3 whitespace-nowrap">{ago(one.last_attempt_at ?? one.created_at)}</td>
              <td className="py-1 [overflow-wrap:anywhere]">
                {one.status_code} {one.error}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const HINTS: Record<Webhook["format"], { label: string; placeholder: string }> = {
  standard: { label: "URL", placeholder: "https://hooks.example.org/evenhand" },
  slack: { label: "URL", placeholder: "https://hooks.slack.com/services/…" },
  email: { label: "E-mail address", placeholder: "ops@example.org" },
};

function AddWebhook({ open, onClose }: { open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const [format, setFormat] = useState<Webhook["format"]>("standard");
  const [target, setTarget] = useState("");
  const [description, setDescription] = useState("");
  const [events, setEvents] = useState<EventType[]>([]);
  const create = useMutation({
    mutationFn: () => {
      const url = format === "email" ? `mailto:${target.trim()}` : target.trim();
      return ok(api.POST("/api/webhooks", { body: { url, format, description, events } }));
    },
    onSuccess: (created) => (created.secret == null ? close() : undefined),
  });
  const close = async () => {
    create.reset();
    setTarget("");
    setDescription("");
    setEvents([]);
    onClose();
    await client.invalidateQueries({ queryKey: ["webhooks"] });
  };
  const secret = create.data?.secret;
  return (
    <Dialog title={secret ? "Your signing secret" : "Add a webhook"} open={open} onClose={close}>
      {secret ? (
        <div className="flex flex-col gap-4">
          <p className="text-soft">
            Copy it now: it is not shown again. The receiver checks with it that a message comes from here, as Standard
            Webhooks says.
          </p>
          <div className="rounded-lg border border-line bg-raised py-1 pr-1 pl-3">
            <Copied text={secret} testid="secret" />
          </div>
          <div className="flex justify-end">
            <Button look="primary" onClick={close}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(e) => {
            e.preventDefault();
            create.mutate();
          }}>
          <Select
            label="Who is told"
            value={format}
            onChange={(e) => setFormat(e.target.value as Webhook["format"])}
            options={FORMATS}
          />
          <TextField
            label={HINTS[format].label}
            placeholder={HINTS[format].placeholder}
            required
            value={target}
            onChange={(e) => setTarget(e.target.value)}
            maxLength={2000}
          />
          <TextField
            label="Description"
            value={description}
            onChange={(e) => setDescription(e.target.value)}
            placeholder="on-call channel"
            maxLength={255}
          />
          <fieldset className="flex flex-col gap-2">
            <legend className="label mb-1">When</legend>
            {EVENTS.map(([event, text]) => (
              <Checkbox
                key={event}
                label={text}
                checked={events.includes(event)}
                onChange={(on) => setEvents((old) => (on ? [...old, event] : old.filter((one) => one !== event)))}
              />
            ))}
          </fieldset>
          {format === "standard" && <Note>Messages are signed; the secret is shown once, after this.</Note>}
          {create.isError && <Trouble error={create.error} />}
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button look="primary" type="submit" disabled={create.isPending || events.length === 0}>
              {create.isPending ? "Adding…" : "Add it"}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
