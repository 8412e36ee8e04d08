// How long after a recovery the controllers disturb the database again: settings of the wing, from flags of the worker. Source: spec/foundationdb.md 4.5, 8.2.

import type { JsonValue } from '../kit/index.ts'

/** In seconds after the last recovery. */
export interface RecoveryWaits {
  readonly exclude: number
  readonly include: number
  /** Of a lost coordinator. */
  readonly replaceCoordinator: number
  /** Of coordinators that work, but should be others. */
  readonly moveCoordinators: number
  readonly configure: number
}

export const DEFAULT_RECOVERY_WAITS: RecoveryWaits = {
  exclude: 120,
  include: 600,
  replaceCoordinator: 120,
  moveCoordinators: 300,
  configure: 60,
}

/** @param most the value of `--fdb-recovery-wait` in seconds: the longest wait. */
export function recoveryWaits(most: number): RecoveryWaits {
  const waits = Object.entries(DEFAULT_RECOVERY_WAITS).map(([name, seconds]) => [
    name,
    Math.min(most, seconds as number),
  ])
  return Object.fromEntries(waits) as RecoveryWaits
}

/** @param settings of a pass. */
export function recoveryWaitsIn(settings: JsonValue | undefined): RecoveryWaits {
  const { recoveryWaits: found } = (settings ?? {}) as { readonly recoveryWaits?: RecoveryWaits }
  return { ...DEFAULT_RECOVERY_WAITS, ...found }
}
