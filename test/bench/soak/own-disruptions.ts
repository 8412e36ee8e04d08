// A soak disturbs Pawl by Disruptions of Pawl's own controller. Each target pod represents a process: a second worker and a second bridge, which the injector
// kills, and a backend of PostgreSQL, which it terminates.
//
//   D1. An injector only gets pids of processes that the soak has started: its extra processes, and children of the set's own PostgreSQL.
//   D2. The next Disruption starts when the previous one does not exist any more.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeObject, ObjectList } from '../../../activities/kube/client.ts'
import { readObject } from '../../../activities/kube/read-family.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import { disruptionKind, type DisruptionStatus } from '../../../workflows/chaos/disruption/kind.ts'
import { identify, isRunning } from '../../../worker/server/process-identity.ts'
import { inTime } from '../../../worker/demo/in-time.ts'
import type { ExtraProcesses } from '../extra-processes.ts'
import type { JournalReader } from '../journal-reader.ts'
import { parentOf } from '../processes.ts'
import type { Claim } from '../report.ts'
import type { Stage } from '../servers.ts'

/** The API groups that the set must serve. */
export const WINGS = 'landscaper,chaos'

const NAMESPACE = 'soak-itself'
const PROCESSES = 'pawl.dev/processes'
const MERGE = 'application/merge-patch+json'
const PODS = { apiVersion: 'v1', plural: 'pods' }
/** A killed worker may hold the Disruption's pass until its time-outs have passed. */
const LIMIT_MS = 180_000
const POLL_MS = 200

const VICTIMS = ['worker-2', 'bridge-2', 'database'] as const
type Victim = (typeof VICTIMS)[number]

/** A process to end, and the function that starts it again. */
interface Target {
  readonly pid: number
  readonly forced: boolean
  readonly ended: Promise<unknown>
  readonly restore: () => Promise<void>
}

export class OwnDisruptions {
  readonly #stage: Stage
  readonly #processes: ExtraProcesses
  readonly #journal: JournalReader
  /** The number of strikes by victim. */
  readonly #strikes = new Map<Victim, number>()

  private constructor(stage: Stage, processes: ExtraProcesses, journal: JournalReader) {
    this.#stage = stage
    this.#processes = processes
    this.#journal = journal
  }

  /** Starts the second worker and bridge, and creates the pods that represent the victims. */
  static async open(stage: Stage, processes: ExtraProcesses, journal: JournalReader): Promise<OwnDisruptions> {
    const own = new OwnDisruptions(stage, processes, journal)
    await Promise.all([processes.start('worker-2', 'worker'), processes.start('bridge-2', 'bridge')])
    await stage.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
    await Promise.all(VICTIMS.map(async (victim) => await own.#makePod(victim)))
    return own
  }

  /** Disturbs the next victim and waits until the Disruption does not exist any more. @returns a line for the log. */
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
    await this.#until(name, 'is deleted', (object) => object === undefined)
    this.#strikes.set(victim, (this.#strikes.get(victim) ?? 0) + 1)
    return `soak: ${victim} (process ${pid}) was disturbed by a Disruption, and runs again`
  }

  get summary(): string {
    const parts = [...this.#strikes].map(([victim, times]) => `${victim} (${times})`)
    return `its own Disruptions ended ${parts.length === 0 ? 'nothing' : parts.join(', ')}`
  }

  /** The claims that Disruptions leave nothing, and that each victim was disturbed. */
  async claims(): Promise<readonly Claim[]> {
    const places = [resourcePath(disruptionKind, undefined), resourcePath(PODS, CHAOS_NAMESPACE)]
    const lists = await Promise.all(places.map((path) => this.#stage.kube.request<ObjectList>('GET', path)))
    const left = lists.flatMap(({ items }) => items).map(({ metadata }) => metadata.name)
    return [
      {
        sentence: 'no Disruption and no chaos pod is left',
        measured: left.length === 0 ? 'nothing' : left.join(', '),
        isTrue: left.length === 0,
      },
      {
        sentence: 'a Disruption ended worker, bridge and database backend, each at least once',
        measured: this.summary,
        isTrue: VICTIMS.every((victim) => this.#strikes.has(victim)),
      },
    ]
  }

  async #makePod(name: Victim): Promise<void> {
    const { kube } = this.#stage
    const body = {
      metadata: { name, labels: { app: name } },
      spec: { containers: [{ name: 'own', image: 'own' }] },
    }
    // The ServiceAccount of a new namespace is created a little later.
    await retry(async () => await kube.request('POST', resourcePath(PODS, NAMESPACE), { body }))
    await retry(async () => {
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
        throw new Error(`process ${pid} is not a child of the PostgreSQL server ${server ?? ''} of this set`)
      return { pid, forced: false, ended: waitForExit(pid), restore: () => Promise.resolve() }
    }
    const pid = this.#processes.processes.find(({ name }) => name === victim)?.pid
    if (pid === undefined) throw new Error(`${victim} does not run`)
    const restore = async () => await this.#processes.start(victim, victim === 'worker-2' ? 'worker' : 'bridge')
    return { pid, forced: true, ended: this.#processes.waitForEnd(victim), restore }
  }

  async #until(name: string, what: string, isSo: (object: KubeObject | undefined) => boolean): Promise<void> {
    await retry(async () => {
      if (!isSo(await readObject(this.#stage, disruptionKind, NAMESPACE, name)))
        throw new Error(`disruption ${NAMESPACE}/${name}: expected that it ${what} within ${LIMIT_MS / 1000} s`)
    })
  }
}

function statusOf(object: KubeObject | undefined): DisruptionStatus {
  return object?.['status'] ?? {}
}

/** @throws the error of the last attempt, after the limit. */
async function retry(attempt: () => Promise<unknown>): Promise<void> {
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

/** The identity includes the start time, because another process may get the same pid. */
async function waitForExit(pid: number): Promise<void> {
  const identity = identify(pid)
  while (identity !== undefined && isRunning(identity)) await sleep(POLL_MS)
}
