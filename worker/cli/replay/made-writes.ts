// What the calls that differ wrote at the time, as the journal has it: the answer to whose writes an upgrade would change. Pure.

import type { Difference } from './compare.ts'

/** A write of a run, as both the journal and the file of an export have it. */
export interface MadeWrite {
  readonly pass: number
  readonly step: string
  readonly object: string
  readonly verb: string
}

/** Calls whose writes have other names in the journal than they have. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  startInstallation: ['beginJob', 'adoptInstallation'],
  deployMockItems: ['deployMockItems', 'exportMockItems', 'endRefusedItems'],
  finalizeLevel: ['addFinalizer', 'removeFinalizer'],
  writeLevelStatus: ['status'],
}

/** Of a call that writes, `patch Widget/default/one`; of what did not happen then, none. */
export function madeBy({ kind, how, name, pass }: Difference, writes: readonly MadeWrite[]): readonly string[] {
  if (kind !== 'write' || how === 'more') return []
  const steps = STEPS[name] ?? [name, name.replace(/Level$/, '')]
  const own = writes.filter((write) => write.pass === pass && steps.includes(write.step))
  return own.map(({ verb, object }) => `${verb} ${object}`)
}
