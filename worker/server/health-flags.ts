// The flags of the object that tells the engine's health: bridge and worker have the same.

import { type FlagTable, type FlagValues } from './flags.ts'
import type { HealthSettings } from './tell-health.ts'
import { tellingPlace } from './telling-object.ts'

export const HEALTH_FLAGS = {
  'health-check': {
    takes: '<namespace/name>',
    reads: 'text',
    default: 'none',
    text: "the object that tells the engine's health, such as pawl/landscaper; the same for all bridges and workers",
  },
  'health-check-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 600,
    otherwise: 60_000,
    text: 'how often that is written while nothing changes, and within what time a part that died is told',
  },
} as const satisfies FlagTable

/** Undefined: nobody is told. @throws as `tellingPlace`. */
export function healthSettings(
  flags: FlagValues<typeof HEALTH_FLAGS>,
  wings: readonly string[],
): HealthSettings | undefined {
  const found = tellingPlace('health-check', flags['health-check'], wings)
  return found && { at: found.at, tells: found.tells.health, everyMs: flags['health-check-ms'] }
}
