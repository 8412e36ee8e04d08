// Times and sizes of the bridge. Defaults for production; tests make their own.

export interface BridgeSettings {
  /** How long a reflector that fell silent keeps its kind; it renews three times as often. */
  readonly leaseMs: number
  /** Objects per page of a list. Source: spec/engine.md 2.4. */
  readonly pageLimit: number
  /** Events per transaction. */
  readonly batchLimit: number
  /** Events read but not yet journaled; more stay in the connection (back-pressure). */
  readonly pendingLimit: number
  /** The server ends a watch after a random time in between, so that not all reconnect together. Source: spec/engine.md 2.4. */
  readonly watchSeconds: readonly [number, number]
  /** Without a byte for this long the connection counts as dead; the server sends a bookmark about every minute. Source: spec/engine.md 2.4. */
  readonly watchdogMs: number
  /**
   * The longest time between two lists of a kind. A watch that goes on tells everything, says Kubernetes; servers have left events out all the same
   * (etcd #15271), and only a list shows what was lost. Source: docs/adr/0037.
   */
  readonly relistMs: number
  readonly backoffMs: { readonly first: number; readonly longest: number }
  /** How long a watch event waits at most for the answer of the write that caused it. Source: docs/architecture.md "Own writes". */
  readonly holdMs: number
  /** How often held events are looked at again, unless one comes that is not. */
  readonly holdPollMs: number
}

export const DEFAULT_SETTINGS: BridgeSettings = {
  leaseMs: 5000,
  pageLimit: 500,
  batchLimit: 500,
  pendingLimit: 1000,
  watchSeconds: [300, 600],
  watchdogMs: 75_000,
  relistMs: 3_600_000,
  backoffMs: { first: 100, longest: 10_000 },
  holdMs: 1000,
  holdPollMs: 100,
}
