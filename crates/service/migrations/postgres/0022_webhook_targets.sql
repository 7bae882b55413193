-- A webhook may be a person's e-mail address, and the address of a chat is sealed: `url` is then the part that is shown.
ALTER TABLE webhooks DROP CONSTRAINT webhooks_format_check;
ALTER TABLE webhooks ADD CONSTRAINT webhooks_format_check CHECK (format IN ('standard', 'slack', 'email'));
ALTER TABLE webhooks ADD COLUMN sealed_url TEXT;
