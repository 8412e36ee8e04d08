// Creates a database with Pawl, from `kubectl apply` to the reconciled cluster, and observes the cluster while nothing changes.

import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'

import { clusterKind, type FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import type { LsObject } from '../../support/cluster/cluster.ts'
import { Informer } from '../informer.ts'
import { readCounters, requestsBetween } from '../requests.ts'
import type { Stage } from '../servers.ts'
import { MANIFEST } from './plan.ts'

const PODS = { apiVersion: 'v1', plural: 'pods' }

interface Seen {
  readonly cluster: FoundationDBCluster | undefined
  readonly pods: readonly PodView[]
}

interface PodView {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly containerStatuses?: readonly { readonly ready: boolean }[]
    readonly initContainerStatuses?: readonly { readonly state?: { readonly terminated?: object } }[]
  }
}

const all = (pods: readonly PodView[], count: number, isTrue: (pod: PodView) => boolean) =>
  pods.filter(isTrue).length >= count

/** The last goal is the end of the creation. Status fields count when the API server has them. */
const GOALS: Readonly<Record<string, (seen: Seen, count: number) => boolean>> = {
  'all pods exist': ({ pods }, count) => pods.length >= count,
  'all pods have a node': ({ pods }, count) => all(pods, count, ({ spec }) => spec?.nodeName !== undefined),
  'all init containers have ended': ({ pods }, count) =>
    all(pods, count, ({ status }) => status?.initContainerStatuses?.every((one) => one.state?.terminated) ?? false),
  'all containers run': ({ pods }, count) => all(pods, count, ({ status }) => status?.phase === 'Running'),
  'all containers are ready': ({ pods }, count) =>
    all(pods, count, ({ status }) => status?.containerStatuses?.every(({ ready }) => ready) ?? false),
  'the connection string is chosen': ({ cluster }) => (cluster?.status?.connectionString ?? '') !== '',
  'the database is configured': ({ cluster }) => cluster?.status?.configured === true,
  'the cluster is Available': ({ cluster }) => cluster?.status?.health?.available === true,
  'the cluster is reconciled and Available': ({ cluster }) =>
    cluster?.status?.health?.available === true &&
    cluster.status.generations?.reconciled === cluster.metadata.generation,
}
export const GOAL_NAMES: readonly string[] = Object.keys(GOALS)

export interface PawlTimes {
  /** From the start of `kubectl apply`, by goal. */
  readonly goals: ReadonlyMap<string, number>
  readonly totalMs: number
  /** Milliseconds since the epoch. */
  readonly appliedAt: number
}

/** @param count the number of processes. @throws if the cluster is not reconciled in time. */
export async function createWithPawl(stage: Stage, namespace: string, count: number): Promise<PawlTimes> {
  const { kube, set, options } = stage
  const clusters = await Informer.open(kube, [namespace], clusterKind)
  const pods = await Informer.open(kube, [namespace], PODS)
  const goals = new Map<string, number>()
  try {
    const [appliedAt, startedAt] = [Date.now(), performance.now()]
    const ended = new Promise<number>((resolve) => {
      const look = (_object: LsObject, _isDeleted: boolean, at: number) => {
        const seen = seenBy(clusters, pods)
        for (const [name, isReached] of Object.entries(GOALS))
          if (!goals.has(name) && isReached(seen, count)) goals.set(name, at - startedAt)
        if (goals.has(GOAL_NAMES.at(-1) ?? '')) resolve(at - startedAt)
      }
      clusters.listen(look)
      pods.listen(look)
    })
    const flags = ['--kubeconfig', set.kubeconfigPath, '--namespace', namespace]
    await promisify(execFile)(set.kubectlPath, [...flags, 'apply', '-f', MANIFEST])
    const late = sleep(options.timeoutMs, undefined, { ref: false }).then(() => {
      const missing = GOAL_NAMES.filter((name) => !goals.has(name)).join(', ')
      throw new Error(`cluster in ${namespace}: after ${options.timeoutMs} ms not true: ${missing}`)
    })
    return { goals, totalMs: await Promise.race([ended, late]), appliedAt }
  } finally {
    await Promise.all([clusters.close(), pods.close()])
  }
}

function seenBy(clusters: Informer, pods: Informer): Seen {
  const [cluster] = clusters.known.values()
  return {
    // The informer's type of objects has no fields of this kind.
    cluster: cluster as unknown as FoundationDBCluster | undefined,
    pods: [...pods.known.values()],
  }
}

const IDLE_MS = 60_000
const POLL_MS = 500
/** After the cluster has become healthy: writes of that pass still arrive. */
const SETTLE_MS = 3000

export interface IdleCosts {
  /** In the minute between two resyncs, by "VERB resource". Nodes, which kwok simulates, do not count. */
  readonly writes: Readonly<Record<string, number>>
  readonly statusReads: number
}

/**
 * Waits until the database has finished its first data movement, then observes the cluster for a minute.
 *
 * @param countReads counts the calls of `status json` up to now.
 */
export async function observeIdle(stage: Stage, namespace: string, countReads: () => number): Promise<IdleCosts> {
  const { kube, options, signal } = stage
  const clusters = await Informer.open(kube, [namespace], clusterKind)
  try {
    const isHealthy = () => seenBy(clusters, clusters).cluster?.status?.health?.healthy === true
    for (const deadline = performance.now() + options.timeoutMs; !isHealthy();) {
      if (performance.now() > deadline) throw new Error(`cluster in ${namespace}: not healthy in time`)
      await sleep(POLL_MS, undefined, { signal })
    }
  } finally {
    await clusters.close()
  }
  await sleep(SETTLE_MS, undefined, { signal })
  const [before, readsBefore] = [await readCounters(kube), countReads()]
  await sleep(IDLE_MS, undefined, { signal })
  const { byResource } = requestsBetween(before, await readCounters(kube), {})
  const writes = Object.entries(byResource).filter(([what]) => !/ nodes(?:\/|$)/.test(what))
  return { writes: Object.fromEntries(writes), statusReads: countReads() - readsBefore }
}

/** The writes of Pawl to the objects of a namespace by pass, with their times since `appliedAt`, for a profile. */
export async function readWrites(
  { set }: Stage,
  namespace: string,
  appliedAt: number,
): Promise<readonly (readonly [text: string, firstMs: number, lastMs: number])[]> {
  const client = new pg.Client({ connectionString: set.databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ text: string; first: number; last: number }>(
      `select 'pass ' || pass || ': ' || step || ', ' || verb || ' ' || count(*) || ' ' || kind as text,
        extract(epoch from min(started_at))::float8 * 1000 as first,
        extract(epoch from max(coalesce(finished_at, started_at)))::float8 * 1000 as last
      from action where namespace = $1 group by run_id, pass, step, verb, kind order by min(started_at)`,
      [namespace],
    )
    return rows.map(({ text, first, last }) => [text, first - appliedAt, last - appliedAt])
  } finally {
    await client.end()
  }
}
