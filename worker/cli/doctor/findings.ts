// The findings of `pawl doctor` as data and as text. Pure.

import { tableText, type Colour, formatDuration, type Paint } from '../query/format.ts'

/** `bad`: something will not work. `warn`: it may be intended. `skipped`: the address is unknown. */
type Verdict = 'ok' | 'warn' | 'bad' | 'skipped'

export interface Finding {
  readonly part: string
  readonly verdict: Verdict
  /** The state and, for a problem, what to do. */
  readonly text: string
}

const COLOURS: Readonly<Record<Verdict, Colour>> = { ok: 'green', warn: 'yellow', bad: 'red', skipped: 'dim' }

export function findingsText(findings: readonly Finding[], paint: Paint): string {
  const rows = findings.map(({ part, verdict, text }) => [part, { text: verdict, colour: COLOURS[verdict] }, text])
  return tableText(['PART', 'VERDICT', 'FOUND'], rows, paint)
}

/** 1 if any finding is bad. */
export function exitCodeOf(findings: readonly Finding[]): number {
  return findings.some(({ verdict }) => verdict === 'bad') ? 1 : 0
}

/** Leases and due times use the database's clock, statuses use the worker's clock. */
const NOTABLE_MS = 5000

/**
 * @param aheadMs how far this machine's clock is ahead; negative if it is behind. @param unsureMs measurement error.
 */
export function clockFinding(whose: string, aheadMs: number, unsureMs: number): Finding {
  const off = Math.abs(aheadMs)
  const isWell = off <= NOTABLE_MS + unsureMs
  const text = `the clock ${whose} is ${formatDuration(off)} ${aheadMs < 0 ? 'ahead of' : 'behind'} the clock of this machine`
  return {
    part: 'clocks',
    verdict: isWell ? 'ok' : 'warn',
    text: isWell
      ? text
      : `${text}, which is more than ${formatDuration(NOTABLE_MS)}: times in answers are not comparable; synchronize the clocks`,
  }
}

interface SchemaFound {
  readonly missing: readonly string[]
  readonly newer: readonly string[]
}

export function schemaFinding({ missing, newer }: SchemaFound): Finding {
  const part = 'migrations'
  if (missing.length > 0)
    return { part, verdict: 'bad', text: `${missing.join(', ')} are missing; run pawl migrate up` }
  if (newer.length > 0)
    return {
      part,
      verdict: 'warn',
      text: `a newer Pawl has applied ${newer.join(', ')}; upgrade this Pawl if commands fail`,
    }
  return { part, verdict: 'ok', text: 'all migrations are applied' }
}

export interface Right {
  readonly verb: string
  readonly resource: string
  readonly isAllowed: boolean
  /** The commands that need this permission. */
  readonly serves: string
}

export function rightsFinding(rights: readonly Right[], who: string, namespace: string): Finding {
  const lacking = rights.filter(({ isAllowed }) => !isAllowed)
  const part = 'rights'
  if (lacking.length === 0)
    return {
      part,
      verdict: 'ok',
      text: `user "${who}" has all permissions for steering commands in namespace "${namespace}"`,
    }
  const missingRights = lacking.map(({ verb, resource, serves }) => `${verb} ${resource} (${serves})`)
  return {
    part,
    verdict: 'warn',
    text: `user "${who}" lacks permissions in namespace "${namespace}": ${missingRights.join(', ')}`,
  }
}

interface KeptFound {
  /** End of the oldest job in the journal. */
  readonly oldest: Date | null
  /** True if events exist outside of the daily partitions. */
  readonly hasLeftOver: boolean
  readonly now: Date
}

export function retentionFinding({ oldest, hasLeftOver, now }: KeptFound): Finding {
  const part = 'retention'
  const history =
    oldest === null
      ? 'the journal has no ended job yet'
      : `the oldest job in the journal ended ${formatDuration(now.getTime() - oldest.getTime())} ago`
  if (!hasLeftOver) return { part, verdict: 'ok', text: history }
  return {
    part,
    verdict: 'warn',
    text: `${history}; some events have no daily partition, which slows retention; check that a bridge runs`,
  }
}
