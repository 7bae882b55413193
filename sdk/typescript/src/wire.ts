/** Requests and answers: headers, errors, and times that the server says. */

/** The server refused a request; `code` is stable, `detail` says what to do next. */
export class ApiError extends Error {
  readonly code: string;
  readonly detail: string;
  readonly errors: { pointer: string; code: string; detail: string }[];

  constructor(
    readonly status: number,
    problem: any,
  ) {
    super(`${status} ${problem?.code ?? ""}: ${problem?.detail ?? ""}`);
    this.name = "ApiError";
    this.code = String(problem?.code ?? "");
    this.detail = String(problem?.detail ?? "");
    this.errors = Array.isArray(problem?.errors) ? problem.errors : [];
  }
}

export async function problem(response: Response): Promise<ApiError> {
  return new ApiError(response.status, await response.json().catch(() => ({})));
}

export function headers(apiKey: string | undefined): Record<string, string> {
  const found: Record<string, string> = { "content-type": "application/json" };
  if (apiKey) found.authorization = `Bearer ${apiKey}`;
  return found;
}

/** Milliseconds to wait, from a number of seconds or a date. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("retry-after");
  if (!value) return undefined;
  const wait = Number.isNaN(Number(value)) ? Date.parse(value) - Date.now() : Number(value) * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** How many seconds this machine's clock is before the server's. */
export function clockAhead(response: Response): number | undefined {
  const date = Date.parse(response.headers.get("date") ?? "");
  return Number.isNaN(date) ? undefined : (Date.now() - date) / 1000;
}

/** The name of a failure, as short as a log wants it. */
export function named(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const cause = (error as { cause?: { code?: string } }).cause?.code;
  return cause ?? (error.name === "TimeoutError" ? "timeout" : error.message);
}
