// How a soak disturbs Pawl: by Disruptions of Pawl's own controller. Their targets are pods for which processes stand that the soak has started itself:
// a worker and a bridge beside those that are sampled, which are killed, and a connection's process of its database server, which is ended.
//
//   D1. Only what the soak has started is named to an injector: processes of the crew, and children of the database server of its own set.
//   D2. A Disruption has to be undone and gone before the next one is made.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { readObject } from '../../activities/kube/read-family.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'
import { disruptionKind, type DisruptionStatus } from '../../workflows/chaos/disruption/kind.ts'
import { identify, isRunning } from '../../worker/dev/process-identity.ts'
import { inTime } from '../../worker/demo/in-time.ts'
import type { Claim } from './claims.ts'
import type { Crew } from './crew.ts'
import type { JournalReader } from './journal-reader.ts'
import { parentOf } from './processes.ts'
import type { Stage } from './stage.ts'

/** The wings of a set that can be disturbed so. */
export const WINGS = 'landscaper,chaos'

const NAMESPACE = 'soak-itself'
const PROCESSES = 'pawl.dev/processes'
const MERGE = 'application/merge-patch+json'
const PODS = { apiVersion: 'v1', plural: 'pods' }
/** A worker that was killed may hold the Disruption's pass until its time-outs are over. */
const LIMIT_MS = 180_000
const POLL_MS = 200

const VICTIMS = ['worker-2', 'bridge-2', 'database'] as const
type Victim = (typeof VICTIMS)[number]

/** A process that is to be ended, and what is done then. */
interface Target {
  readonly pid: number
  readonly forced: boolean
  readonly ended: Promise<unknown>
  readonly restore: () => Promise<void>
}

export class OwnDisruptions {
  readonly #stage: Stage
  readonly #crew: Crew
  readonly #journal: JournalReader
  /** How often each was struck. */
  readonly #strikes = new Map<Victim, number>()

  private constructor(stage: Stage, crew: Crew, journal: JournalReader) {
    this.#stage = stage
    this.#crew = crew
    this.#journal = journal
  }

  /** Starts the second worker and bridge, and makes the pods for which they stand. */
  static async open(stage: Stage, crew: Crew, journal: JournalReader): Promise<OwnDisruptions> {
    const own = new OwnDisruptions(stage, crew, journal)
    await Promise.all([crew.start('worker-2', 'worker'), crew.start('bridge-2', 'bridge')])
    await stage.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
    await Promise.all(VICTIMS.map(async (victim) => await own.#makePod(victim)))
    return own
  }

  /** The next one, in turn, from its Disruption until that is gone. Returns what was done, in a line. */
  async strike(): Promise<string> {
    const { kube } = this.#stage
    const count = [...this.#strikes.values()].reduce((sum, one) => sum + one, 0)
    const victim = VICTIMS[count % VICTIMS.length] ?? 'worker-2'
    const { pid, forced, ended, restore } = await this.#target(victim)
    const annotations = { [PROCESSES]: JSON.stringify({ own: pid }) }
    const body = { metadata: { annotations } }
    await kube.request('PATCH', resourcePath(PODS, NAMESPACE, victim), { body, contentType: MERGE })
    const name = `${victim}-${count}`
    const spec = { selector: { app: victim }, count: 1, duration: '10m', containerFailure: { forced } }
    await kube.request('POST', resourcePath(disruptionKind, NAMESPACE), {
      body: { apiVersion: disruptionKind.apiVersion, kind: disruptionKind.kind, metadata: { name }, spec },
    })
    await inTime(`disruption ${name} ends process ${pid}`, LIMIT_MS, ended)
    await this.#until(name, 'is Injected', (object) => statusOf(object).injectionStatus === 'Injected')
    await restore()
    await kube.request('DELETE', resourcePath(disruptionKind, NAMESPACE, name))
    await this.#until(name, 'is gone', (object) => object === undefined)
    this.#strikes.set(victim, (this.#strikes.get(victim) ?? 0) + 1)
    return `soak: ${victim} (process ${pid}) was disturbed by a Disruption, and all is there again`
  }

  get summary(): string {
    const parts = [...this.#strikes].map(([victim, times]) => `${victim} (${times})`)
    return `its own Disruptions ended ${parts.length === 0 ? 'nothing' : parts.join(', ')}`
  }

  /** What they were to leave: nothing. */
  async claims(): Promise<readonly Claim[]> {
    const places = [resourcePath(disruptionKind, undefined), resourcePath(PODS, CHAOS_NAMESPACE)]
    const lists = await Promise.all(places.map((path) => this.#stage.kube.request<ObjectList>('GET', path)))
    const left = lists.flatMap(({ items }) => items).map(({ metadata }) => metadata.name)
    return [
      {
        sentence: 'of its own Disruptions nothing is left, no chaos pod either',
        found: left.length === 0 ? 'nothing' : left.join(', '),
        isKept: left.length === 0,
      },
      {
        sentence: 'worker, bridge and database were each disturbed by one',
        found: this.summary,
        isKept: VICTIMS.every((victim) => this.#strikes.has(victim)),
      },
    ]
  }

  async #makePod(name: Victim): Promise<void> {
    const { kube } = this.#stage
    const body = {
      metadata: { name, labels: { app: name } },
      spec: { containers: [{ name: 'own', image: 'own' }] },
    }
    // The account of a namespace that is new comes a little later.
    await retried(async () => await kube.request('POST', resourcePath(PODS, NAMESPACE), { body }))
    await retried(async () => {
      const pod = await kube.request<KubeObject>('GET', resourcePath(PODS, NAMESPACE, name))
      const { phase } = pod['status'] as { readonly phase?: string }
      if (phase !== 'Running') throw new Error(`pod ${name} is ${phase ?? 'new'}, expected it to run`)
    })
  }

  /** D1 */
  async #target(victim: Victim): Promise<Target> {
    if (victim === 'database') {
      const pid = await this.#journal.oldestBackend()
      const server = this.#stage.set.processes.find(({ name }) => name === 'postgresql')?.pid
      if (server === undefined || parentOf(pid) !== server)
        throw new Error(`process ${pid} is no child of the database server ${server ?? ''} of this set, expected it`)
      return { pid, forced: false, ended: untilGone(pid), restore: () => Promise.resolve() }
    }
    const pid = this.#crew.processes.find(({ name }) => name === victim)?.pid
    if (pid === undefined) throw new Error(`${victim} does not run, expected it to`)
    const restore = async () => await this.#crew.start(victim, victim === 'worker-2' ? 'worker' : 'bridge')
    return { pid, forced: true, ended: this.#crew.lost(victim), restore }
  }

  async #until(name: string, what: string, isSo: (object: KubeObject | undefined) => boolean): Promise<void> {
    await retried(async () => {
      if (!isSo(await readObject(this.#stage, disruptionKind, NAMESPACE, name)))
        throw new Error(`after ${LIMIT_MS / 1000} s it is not so that disruption ${NAMESPACE}/${name} ${what}`)
    })
  }
}

function statusOf(object: KubeObject | undefined): DisruptionStatus {
  return object?.['status'] ?? {}
}

/** @throws what the last try did, when none has succeeded in time. */
async function retried(attempt: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  for (;;) {
    try {
      await attempt()
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(POLL_MS)
    }
  }
}

/** A process of somebody else may have its number as soon as it is gone. */
async function untilGone(pid: number): Promise<void> {
  const there = identify(pid)
  while (there !== undefined && isRunning(there)) await sleep(POLL_MS)
}
