/** Pages ask again by themselves while their tab is visible (TanStack Query's `refetchInterval` rests in hidden tabs). */
export const QUIET_POLL_MS = 30_000;
