// A lane: one Pawl for fault tests, with an API proxy for its worker and another one for its bridge.
//
//   L1. A test case has a lane to itself while it runs. The pool closes the lane of a failed case, so that one fault
//       fails only one case.

import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { HttpProxy } from './http-proxy.ts'
import { API, Cluster } from '../cluster/cluster.ts'
import { Pawl, type PawlOptions } from '../pawl/pawl.ts'
import { accountsOf } from '../rights/accounts.ts'
import type { TestServers } from '../servers/servers.ts'
import { PRODUCTION_TIMEOUTS } from '../pawl/stage.ts'

export interface Lane {
  readonly pawl: Pawl
  readonly cluster: Cluster
  /** The proxy between the worker and the API server. */
  readonly proxy: HttpProxy
  /** The proxy between the bridge and the API server. */
  readonly bridgeProxy: HttpProxy
}

/** Time-out for results of a process that may have to start first. On a busy machine, the start takes up to 90 s. */
export const RESTART_MS = 150_000

let laneCount = 0

export async function openLane(name: string, servers: TestServers, options: Partial<PawlOptions> = {}): Promise<Lane> {
  const namespace = `${name}-${++laneCount}`
  const cluster = new Cluster(servers.kubeconfigPath, namespace)
  const accounts = options.accounts ?? (await accountsOf(servers, { name: namespace, ...options }))
  const [proxy, bridgeProxy] = await Promise.all([
    HttpProxy.start(accounts.worker),
    HttpProxy.start(accounts.bridge),
    cluster.createNamespace(),
  ])
  const pawl = await Pawl.start({
    name: namespace,
    servers,
    accounts,
    namespace,
    workerKubeconfig: proxy.kubeconfigPath,
    bridgeKubeconfig: bridgeProxy.kubeconfigPath,
    ...options,
  })
  return { pawl, cluster, proxy, bridgeProxy }
}

export async function closeLane({ pawl, cluster, proxy, bridgeProxy }: Lane): Promise<void> {
  await pawl.stop()
  await Promise.all([proxy.stop(), bridgeProxy.stop(), cluster.kube.close()])
}

/** Records an undisturbed course on its own lane, with production time-outs, which only a dead process exceeds. */
export async function runUndisturbed<T>(
  name: string,
  servers: TestServers,
  run: (lane: Lane) => Promise<T>,
): Promise<T> {
  const lane = await openLane(name, servers, { workerFlags: PRODUCTION_TIMEOUTS })
  try {
    return await run(lane)
  } finally {
    await closeLane(lane)
  }
}

/** A few lanes for many runs (L1). */
export class LanePool {
  readonly #open: () => Promise<Lane>
  readonly #free: Lane[] = []
  readonly #waiting: ((lane: Lane) => void)[] = []

  constructor(open: () => Promise<Lane>) {
    this.#open = open
  }

  async fill(count: number): Promise<void> {
    const lanes = await Promise.all(Array.from({ length: count }, this.#open))
    this.#free.push(...lanes)
  }

  async use<T>(run: (lane: Lane) => Promise<T>): Promise<T> {
    const lane = this.#free.pop() ?? (await new Promise<Lane>((resolve) => this.#waiting.push(resolve)))
    try {
      const result = await run(lane)
      this.#give(lane)
      return result
    } catch (error) {
      await closeLane(lane)
      this.#give(await this.#open())
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#free.map(closeLane))
  }

  #give(lane: Lane): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(lane)
    else next(lane)
  }
}

/**
 * Waits until the journal has the current version of every object, no open run, and no wake except those of scheduled
 * automatic reconciles.
 */
export async function waitUntilJournalIdle(
  { pawl, cluster }: Pick<Lane, 'pawl' | 'cluster'>,
  timeoutMs = RESTART_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const news = await unknownTo(pawl, cluster)
    const [wakes, jobs] = await Promise.all([
      pendingWakes(pawl),
      pawl.db.selectFrom('job').select(['workflow_id', 'passes']).where('outcome', 'is', null).execute(),
    ])
    if (news.length + wakes.length + jobs.length === 0) return
    if (Date.now() > deadline)
      throw new Error(`the journal is not at rest: ${JSON.stringify({ news, wakes, jobs }, null, 1)}`)
    await sleep(50)
  }
}

async function pendingWakes({ db }: Pawl): Promise<readonly unknown[]> {
  const { rows } = await sql`select w.* from wake w where not (w.due > now() + interval '10 s' and exists (
    select from object o where o.uid = w.uid and o.projection #> '{spec,automaticReconcile}' is not null))`.execute(db)
  return rows
}

/** The objects for which the journal has another version than the API server, or which only one of them has. */
async function unknownTo({ db }: Pawl, cluster: Cluster): Promise<readonly string[]> {
  const lists = await Promise.all(
    KINDS.filter(([, version]) => version === API).map(([plural]) => cluster.list(plural)),
  )
  const found = lists.flat().map(({ metadata: { uid, resourceVersion } }) => `${uid ?? ''} ${resourceVersion ?? ''}`)
  const rows = await db
    .selectFrom('object')
    .select(['uid', 'resource_version'])
    .where('deleted', '=', false)
    .where('kind', 'in', ['Installation', 'Execution', 'DeployItem', 'DataObject'])
    .execute()
  const known = rows.map(({ uid, resource_version }) => `${uid} ${resource_version}`)
  return [...found.filter((one) => !known.includes(one)), ...known.filter((one) => !found.includes(one))]
}

/** The kinds that an Installation's job writes. */
export const KINDS: readonly (readonly [plural: string, apiVersion: string])[] = [
  ['installations', API],
  ['executions', API],
  ['deployitems', API],
  ['dataobjects', API],
  ['secrets', 'v1'],
]
