// Every process with --health-check says in the journal that it lives, looks at what the others say, and writes the object that tells the engine's health.
//
//   T1. No leader: all look. The object itself says when it was last written, by the database's clock, and a write is for the version that was read: so one
//       of them writes, once in each interval, and at once when what it says would be wrong. Also while the journal is away. Source: docs/adr/0048.
//   T2. Looks are six to an interval: a part is silent after half of one, and told before it is over.
//   T3. A part that does not answer in five seconds is not well: nobody waits for it longer.

import { hostname } from 'node:os'
import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { sendHeartbeat, endHeartbeat, type Heartbeat, heartbeats } from '../../activities/journal/write/heartbeats.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { isAlreadyExists, isConflict } from '../../activities/kube/errors.ts'
import { requestsWithDeadline } from '../../activities/kube/client-with-deadline.ts'
import { pause } from './backoff.ts'
import type { FlagTable, FlagValues } from './flags.ts'
import { describeHealth, type HealthState, type ToldHealth, toTell, wrongWith } from './health-state.ts'
import type { Logger } from './log.ts'
import { type Place, readTelling, tellingPlace, writeTelling } from './report-object.ts'
import type { StatusReports } from '../../workflows/kit/index.ts'

export interface HealthSettings {
  readonly at: Place
  readonly tells: StatusReports['health']
  readonly everyMs: number
}

export interface HealthDeps {
  /** Quick to give up (T3). */
  readonly db: Kysely<Database>
  readonly kube: Pick<KubeClient, 'request'>
  readonly log: Logger
  readonly now: () => Date
  readonly own: Pick<Heartbeat, 'cluster' | 'owner' | 'role' | 'serves'>
  /** What is wrong with this process, by part. */
  readonly wrong: () => Readonly<Record<string, string>>
  /** Asks whatever else has to answer, by part. */
  readonly probes?: Readonly<Record<string, () => Promise<unknown>>>
}

/** Limits of the connection (T3). */
export const QUICK_DATABASE = { statementMs: 4000, answerMs: 5000 } as const

const LOOKS = 6
const PROBE_MS = 5000
const FORGET_INTERVALS = 10

/** Runs until the signal. Never throws: what it cannot say is logged. */
export async function tellHealth(deps: HealthDeps, settings: HealthSettings, signal: AbortSignal): Promise<void> {
  const teller = new HealthTeller(deps, settings)
  const lookMs = Math.ceil(settings.everyMs / LOOKS)
  while (!signal.aborted) {
    await teller.look()
    await pause(lookMs, signal)
  }
  await teller.end()
}

export class HealthTeller {
  readonly #deps: HealthDeps
  readonly #settings: HealthSettings
  #badLooks = 0
  /** As far as this process knows. */
  #told: ToldHealth | undefined
  #isUntold = false

  constructor(deps: HealthDeps, settings: HealthSettings) {
    this.#deps = deps
    this.#settings = settings
  }

  /** Never throws. */
  async look(): Promise<void> {
    const wrong = await this.#wrong()
    this.#badLooks = wrong.length === 0 ? 0 : this.#badLooks + 1
    try {
      await this.#tell(wrong)
      this.#isUntold = false
    } catch (error) {
      if (!this.#isUntold) this.#deps.log.warn({ err: error }, 'the health of the engine cannot be told')
      this.#isUntold = true
    }
  }

  async end(): Promise<void> {
    await endHeartbeat(this.#deps.db, this.#beat([])).catch((error: unknown) =>
      this.#deps.log.debug({ err: error }, 'others will miss this process for a while'),
    )
  }

  #beat(wrong: readonly string[]): Heartbeat {
    return { ...this.#deps.own, place: hostname(), wrong, everyMs: Math.ceil(this.#settings.everyMs / LOOKS) }
  }

  async #wrong(): Promise<readonly string[]> {
    const { db, own } = this.#deps
    const parts = [
      ...Object.keys(this.#deps.wrong()),
      ...(this.#isUntold ? ['kubernetes'] : []),
      ...(await this.#probed()),
    ]
    const said = this.#beat([...new Set(parts)].sort())
    try {
      await sendHeartbeat(db, said, FORGET_INTERVALS * this.#settings.everyMs)
      return wrongWith(await heartbeats(db, own.cluster))
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'the journal takes no heartbeat')
      return [`the journal does not answer ${own.role} ${said.place}`]
    }
  }

  async #probed(): Promise<readonly string[]> {
    const { probes = {}, log } = this.#deps
    const asked = Object.entries(probes).map(async ([part, probe]) => {
      try {
        await within(PROBE_MS, probe())
        return []
      } catch (error) {
        log.debug({ part, err: error }, 'a part does not answer')
        return [part]
      }
    })
    return (await Promise.all(asked)).flat()
  }

  /** T1. What this process remembers is enough to see that nothing is to be written; before it writes, it looks. */
  async #tell(wrong: readonly string[]): Promise<void> {
    if (this.#toTell(wrong) === undefined) return
    const { now } = this.#deps
    const kube = requestsWithDeadline(this.#deps.kube, { requestMs: PROBE_MS, totalMs: PROBE_MS })
    const { at, tells } = this.#settings
    const found = await readTelling(kube, tells, at)
    this.#told = told(found && tells.read(found))
    const state = this.#toTell(wrong)
    if (state === undefined) return
    const time = now()
    const fields = tells.fields({ state, at: time.toISOString(), description: describeHealth(state, wrong) })
    try {
      await writeTelling(kube, { of: tells, at, before: found }, fields)
      this.#told = { state, at: time }
    } catch (error) {
      // Another one was quicker: what it wrote is read with the next look that finds something to write.
      if (!isConflict(error) && !isAlreadyExists(error)) throw error
    }
  }

  #toTell(wrong: readonly string[]): HealthState | undefined {
    const { everyMs } = this.#settings
    const looked = { isWell: wrong.length === 0, badLooks: this.#badLooks, now: this.#deps.now(), everyMs }
    return toTell(looked, this.#told)
  }
}

/** A time that is none says nothing. */
function told(read: { readonly state: HealthState; readonly at: string } | undefined): ToldHealth | undefined {
  const at = new Date(read?.at ?? '')
  return read === undefined || Number.isNaN(at.getTime()) ? undefined : { state: read.state, at }
}

async function within<Result>(ms: number, asked: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}

// The flags of the object that tells the engine's health: bridge and worker have the same.

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
