// Computes whether an App is paused, and when that changes. A pure function: the caller passes the time.

import { Cron } from 'croner'

import type { App } from './kind.ts'

export interface Pause {
  readonly isOn: boolean
  /** Undefined: never. */
  readonly changesAt: Date | undefined
}

export interface PauseProblem {
  readonly problem: string
}

const NEVER: Pause = { isOn: false, changesAt: undefined }
const SECOND_MS = 1000

/** A pause is on if its last begin is later than its last end. */
export function pauseAt(pause: App['spec']['pause'], now: Date): Pause | PauseProblem {
  if (pause === undefined) return NEVER
  const [from, until] = [cronOf(pause.from, pause.timeZone), cronOf(pause.until, pause.timeZone)]
  const wrong = from === undefined ? 'from' : until === undefined ? 'until' : undefined
  if (from === undefined || until === undefined)
    return {
      problem: `spec.pause.${wrong ?? ''}: found '${wrong === 'from' ? pause.from : pause.until}' with time zone '${pause.timeZone}'; expected five fields as in crontab, such as 0 20 * * *, and a time zone such as Europe/Berlin`,
    }
  const [begun, ended] = [lastOf(from, now), lastOf(until, now)]
  const isOn = begun !== undefined && (ended === undefined || begun > ended)
  return { isOn, changesAt: (isOn ? until : from).nextRun(now) ?? undefined }
}

// croner counts whole seconds and excludes the given time; one second more includes it.
function lastOf(cron: Cron, now: Date): Date | undefined {
  return cron.previousRuns(1, new Date(now.getTime() + SECOND_MS))[0]
}

function cronOf(pattern: string, timezone: string): Cron | undefined {
  try {
    const cron = new Cron(pattern, { timezone, mode: '5-part', paused: true })
    // croner reports an unknown time zone only when it computes a time.
    cron.nextRun(new Date(0))
    return cron
  } catch {
    return undefined
  }
}
