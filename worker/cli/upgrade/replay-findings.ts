// Turns the replay of past runs with a new version into findings. Pure.

import type { Finding } from '../doctor/findings.ts'
import type { GateResult } from '../replay/upgrade-gate.ts'

interface Asked {
  readonly against: string
  readonly since: string
  readonly allNamespaces?: boolean
  readonly controllers?: string
}

/** One finding about decisions and writes, and one about the open runs that will restart. */
export function replayFindings({ verdict, open }: GateResult, asked: Asked): readonly Finding[] {
  const { trials, same, differ, part, unknown } = verdict
  const restarting = trials.filter(
    ({ comparison }) => open.has(comparison.workflowId) && comparison.verdict === 'parts',
  ).length
  const openCount = trials.filter(({ comparison }) => open.has(comparison.workflowId)).length
  return [
    replayed({ count: trials.length, same, changed: differ + part, unknown }, asked),
    restarting === 0
      ? { part: 'runs', verdict: 'ok', text: `all ${openCount} open runs that were compared continue` }
      : {
          part: 'runs',
          verdict: 'warn',
          text: `${restarting} of ${openCount} open runs restart from the phase in their object's status, within a minute`,
        },
  ]
}

interface Counts {
  readonly count: number
  readonly same: number
  readonly changed: number
  readonly unknown: number
}

function replayed({ count, same, changed, unknown }: Counts, asked: Asked): Finding {
  const part = 'replay'
  if (count === 0)
    return { part, verdict: 'skipped', text: `no run of the last ${asked.since} has a history; use a longer --since` }
  const incomplete = unknown === 0 ? '' : `; this version cannot replay ${unknown}`
  if (changed === 0) {
    const text = `${same} of ${count} runs of the last ${asked.since} make the same decisions and writes${incomplete}`
    return { part, verdict: unknown > 0 ? 'skipped' : 'ok', text }
  }
  const controllers = asked.controllers === undefined ? '' : ` --controllers ${asked.controllers}`
  const all = asked.allNamespaces === true ? ' -A' : ''
  const shows = `pawl replay --against ${asked.against} --since ${asked.since}${all}${controllers}`
  return {
    part,
    verdict: 'warn',
    text: `${changed} of ${count} runs of the last ${asked.since} differ${incomplete}; "${shows}" shows how`,
  }
}
