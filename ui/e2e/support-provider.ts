/** A small OpenID Connect provider: authorization code with PKCE, rotating refresh tokens, RS256. */
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Claims = Record<string, unknown> & { sub: string };

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

async function form(request: IncomingMessage): Promise<URLSearchParams> {
  let text = "";
  for await (const part of request) text += part;
  return new URLSearchParams(text);
}

export class Provider {
  issuer = "";
  /** Those who have an account. */
  readonly people: Claims[] = [];
  private readonly keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  private readonly codes = new Map<string, { sub: string; nonce: string; challenge: string }>();
  private readonly refreshTokens = new Map<string, string>();
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });

  async start(): Promise<this> {
    await new Promise<void>((listening) => this.server.listen(0, "127.0.0.1", listening));
    this.issuer = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.issuer);
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    switch (pathname) {
      case "/.well-known/openid-configuration":
        json(200, {
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          jwks_uri: `${this.issuer}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
        });
        break;
      case "/keys": {
        const key = this.keys.publicKey.export({ format: "jwk" });
        json(200, { keys: [{ ...key, kid: "k", use: "sig", alg: "RS256" }] });
        break;
      }
      case "/authorize":
        this.choose(searchParams, response);
        break;
      case "/chosen":
        this.sendBack(searchParams, response);
        break;
      case "/token":
        this.exchange(await form(request), json);
        break;
      default:
        json(404, {});
    }
  }

  /** Asks who sits there: one link for each account. */
  private choose(asked: URLSearchParams, response: ServerResponse): void {
    const link = ({ sub }: Claims) => `<p><a href="/chosen?${asked}&amp;sub=${sub}">I am ${sub}</a></p>`;
    const page = `<!doctype html><html lang="en"><title>Who is it?</title>${this.people.map(link).join("")}</html>`;
    response.writeHead(200, { "Content-Type": "text/html" }).end(page);
  }

  private sendBack(asked: URLSearchParams, response: ServerResponse): void {
    const back = new URL(asked.get("redirect_uri") ?? "");
    const code = randomUUID();
    this.codes.set(code, {
      sub: asked.get("sub") ?? "",
      nonce: asked.get("nonce") ?? "",
      challenge: asked.get("code_challenge") ?? "",
    });
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    response.writeHead(302, { Location: back.href }).end();
  }

  private exchange(asked: URLSearchParams, json: (status: number, body: unknown) => void): void {
    const [code, refresh] = [asked.get("code") ?? "", asked.get("refresh_token") ?? ""];
    const given = this.codes.get(code);
    const verifier = createHash("sha256")
      .update(asked.get("code_verifier") ?? "")
      .digest("base64url");
    const sub = given ? given.challenge === verifier && given.sub : this.refreshTokens.get(refresh);
    const person = this.people.find((one) => one.sub === sub);
    this.codes.delete(code);
    this.refreshTokens.delete(refresh);
    if (!person) {
      json(400, { error: "invalid_grant" });
      return;
    }
    const next = randomUUID();
    this.refreshTokens.set(next, person.sub);
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.issuer, aud: "evenhand", iat: now, exp: now + 300, nonce: given?.nonce, ...person };
    const signed = `${encoded({ alg: "RS256", kid: "k", typ: "JWT" })}.${encoded(claims)}`;
    const signature = sign("sha256", Buffer.from(signed), this.keys.privateKey).toString("base64url");
    const tokens = { access_token: "unused", token_type: "Bearer", expires_in: 60, refresh_token: next };
    json(200, { ...tokens, id_token: `${signed}.${signature}` });
  }
}
