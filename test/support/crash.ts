// What crash and fault tests share: lanes (one Pawl with its worker and bridge behind proxies each), a reference scenario, and how its end is judged.
//
//   C1. Lanes run side by side; a run has its lane for itself. A lane whose run failed is thrown away, so that one fault fails one test.
//   C2. Two undisturbed runs look the same (`stateOf`): what differs by nature (names, uids, versions, times) is replaced by what it stands for.

import { ITEM_NAME_LABEL } from '../../workflows/landscaper/contract.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { KubeObject } from '../../activities/kube/client.ts'
import { ApiProxy, type Disturb, type SeenWrite, type WritePoint } from './api-proxy.ts'
import { API, Cluster, installation, type Item } from './cluster.ts'
import { Pawl, type PawlOptions } from './pawl.ts'
import { accountsOf } from './rights.ts'
import type { TestServers } from './servers.ts'
import { PATIENT } from './stage.ts'

/** An item that exports, and one that waits for it. */
const ITEMS: readonly Item[] = [
  { name: 'a', config: { export: { greeting: 'hello' } } },
  { name: 'b', dependsOn: ['a'] },
]

export interface Lane {
  readonly pawl: Pawl
  readonly cluster: Cluster
  /** In front of the worker. */
  readonly proxy: ApiProxy
  /** In front of the bridge. */
  readonly bridgeProxy: ApiProxy
}

/** How long to wait, in milliseconds, for what a process does that may have to start first: on a busy machine that alone takes up to 90 s. */
export const RESTART_MS = 150_000

let laneCount = 0

export async function openLane(name: string, servers: TestServers, options: Partial<PawlOptions> = {}): Promise<Lane> {
  const namespace = `${name}-${++laneCount}`
  const cluster = new Cluster(servers.kubeconfigPath, namespace)
  const accounts = options.accounts ?? (await accountsOf(servers, { name: namespace, ...options }))
  const [proxy, bridgeProxy] = await Promise.all([
    ApiProxy.start(accounts.worker),
    ApiProxy.start(accounts.bridge),
    cluster.createNamespace(),
  ])
  const pawl = await Pawl.start({
    ...{ name: namespace, servers, accounts, namespace, workerKubeconfig: proxy.kubeconfigPath },
    bridgeKubeconfig: bridgeProxy.kubeconfigPath,
    ...options,
  })
  return { pawl, cluster, proxy, bridgeProxy }
}

export async function closeLane({ pawl, cluster, proxy, bridgeProxy }: Lane): Promise<void> {
  await pawl.stop()
  await Promise.all([proxy.stop(), bridgeProxy.stop(), cluster.kube.close()])
}

/** Runs on a lane of its own, whose time-outs nothing but a dead process exceeds: where the undisturbed course is recorded. */
export async function undisturbedOn<T>(
  name: string,
  servers: TestServers,
  run: (lane: Lane) => Promise<T>,
): Promise<T> {
  const lane = await openLane(name, servers, { workerFlags: PATIENT })
  try {
    return await run(lane)
  } finally {
    await closeLane(lane)
  }
}

/** A few lanes for many runs (C1). */
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

/** What a half of the scenario came to. */
export interface Course {
  /** The objects that are there afterwards, see `stateOf`. */
  readonly state: readonly unknown[]
  /** Effective writes of the worker by label and object; one that was repeated without effect counts once. */
  readonly effects: Readonly<Record<string, number>>
  /** Runs in the journal: controller and outcome. */
  readonly runs: readonly string[]
  /** Job IDs that the Installation has had so far. */
  readonly jobIDs: number
}

/** Applies the reference Installation, or one of other items, and waits until its job is over and nothing more is to come. */
export async function install(lane: Lane, name: string, items = ITEMS): Promise<Course> {
  await lane.cluster.create(installation(name, items), 'installations')
  await lane.cluster.finished(name, undefined, 'installations', RESTART_MS)
  return await courseOf(lane, name)
}

/** Deletes the reference Installation and waits until it is gone and nothing more is to come. */
export async function uninstall(lane: Lane, name: string): Promise<Course> {
  await lane.cluster.delete('installations', name)
  await lane.cluster.gone(name, 'installations', RESTART_MS)
  return await courseOf(lane, name)
}

/** Both halves, each disturbed in the same way. */
export async function runBoth(on: Lane, name: string, disturb?: Disturb): Promise<readonly Course[]> {
  on.proxy.arm(undefined, disturb)
  const installed = await install(on, name)
  on.proxy.arm(undefined, disturb)
  return [installed, await uninstall(on, name)]
}

/** What has come of the scenario so far, when nothing more is to come. */
export async function courseOf(lane: Lane, name: string): Promise<Course> {
  await atRest(lane)
  return {
    state: await stateOf(lane, name),
    effects: effectsOf(lane.proxy.writes),
    ...(await journaled(lane.pawl, name)),
  }
}

/** Waits until the journal knows every object as it is, and has neither a wake nor an open run: whatever was to come has come. */
export async function atRest({ pawl, cluster }: Pick<Lane, 'pawl' | 'cluster'>, timeoutMs = RESTART_MS): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const news = await unknownTo(pawl, cluster)
    const [wakes, jobs] = await Promise.all([
      pawl.db.selectFrom('wake').selectAll().execute(),
      pawl.db.selectFrom('job').select(['workflow_id', 'passes']).where('outcome', 'is', null).execute(),
    ])
    if (news.length + wakes.length + jobs.length === 0) return
    if (Date.now() > deadline)
      throw new Error(`the journal is not at rest: ${JSON.stringify({ news, wakes, jobs }, null, 1)}`)
    await sleep(50)
  }
}

/** Objects that are not what the journal thinks: of another version, new, or gone. */
async function unknownTo({ db }: Pawl, cluster: Cluster): Promise<readonly string[]> {
  const lists = await Promise.all(
    KINDS.filter(([, version]) => version === API).map(([plural]) => cluster.list(plural)),
  )
  const found = lists.flat().map(({ metadata: { uid, resourceVersion } }) => `${uid ?? ''} ${resourceVersion ?? ''}`)
  const rows = await db
    .selectFrom('object')
    .select(['uid', 'resource_version'])
    .where('deleted', '=', false)
    // Written, but not followed.
    .where('kind', 'not in', ['Secret', 'Target'])
    .execute()
  const known = rows.map(({ uid, resource_version }) => `${uid} ${resource_version}`)
  return [...found.filter((one) => !known.includes(one)), ...known.filter((one) => !found.includes(one))]
}

async function journaled({ db }: Pawl, name: string): Promise<Pick<Course, 'runs' | 'jobIDs'>> {
  const [runs, ids] = await Promise.all([
    db.selectFrom('job').select(['controller', 'outcome']).where('name', '=', name).orderBy('started_at').execute(),
    sql<{ jobID: string }>`
      select distinct projection #>> '{status,jobID}' as "jobID" from watch_event
      where kind = 'Installation' and name = ${name} and projection #>> '{status,jobID}' is not null`.execute(db),
  ])
  const described = runs.map(({ controller, outcome }) => `${controller}: ${outcome ?? 'open'}`)
  return { runs: described.sort(), jobIDs: ids.rows.length }
}

const KINDS: readonly (readonly [plural: string, apiVersion: string])[] = [
  ['installations', API],
  ['executions', API],
  ['deployitems', API],
  ['dataobjects', API],
  ['secrets', 'v1'],
]

/** Every object of the run that is there, comparable with another run's (C2). */
async function stateOf({ cluster }: Lane, run: string): Promise<readonly unknown[]> {
  const all = await objectsOf(cluster)
  const found = ofRun(all, run)
  const renamed = found.flatMap(({ object: { metadata }, role }): [string, string][] => [
    [metadata.uid ?? '', `<uid of ${role}>`],
    ...(metadata.name === run ? [] : [[metadata.name, `<${role}>`] as [string, string]]),
  ])
  return found
    .map(({ object, role }) => {
      const metadata = { ...object.metadata, managedFields: undefined, resourceVersion: undefined }
      const text = renamed.reduce(
        (so, [from, to]) => so.replaceAll(from, to),
        JSON.stringify({ role, ...object, metadata }),
      )
      return JSON.parse(
        text
          .replaceAll(`"${cluster.namespace}"`, '"<namespace>"')
          .replaceAll(run, '<run>')
          .replaceAll(UUID, '<job>')
          .replaceAll(TIME, '<time>'),
      ) as unknown
    })
    .sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))
}

/** Every object of the namespace that Pawl has to do with. */
export async function objectsOf(cluster: Cluster): Promise<readonly Found[]> {
  const lists = await Promise.all(
    KINDS.map(async ([plural, apiVersion]) => {
      const objects = (await cluster.list(plural, apiVersion)) as readonly KubeObject[]
      return objects.map((object) => ({ object, role: roleOf(plural, object) }))
    }),
  )
  return lists.flat()
}

interface Found {
  readonly object: KubeObject
  readonly role: string
}

// What runs before this one left to the garbage collector is not of this run.
function ofRun(found: readonly Found[], run: string): readonly Found[] {
  const named = found.filter(({ object: { metadata } }) => metadata.name === run || metadata.name.startsWith(`${run}-`))
  const uids = new Set(named.map(({ object }) => object.metadata.uid))
  const isOwned = ({ object: { metadata } }: Found) => metadata.ownerReferences?.some(({ uid }) => uids.has(uid))
  return found.filter((one) => named.includes(one) || isOwned(one) === true)
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g

function roleOf(plural: string, { metadata }: KubeObject): string {
  const item = metadata.labels?.[ITEM_NAME_LABEL]
  return item === undefined ? plural : `${plural} ${item}`
}

/** Counts the writes that changed something: a version that was there before was no effect. */
function effectsOf(writes: readonly SeenWrite[]): Readonly<Record<string, number>> {
  const seen = new Set<string>()
  const counts: Record<string, number> = {}
  for (const { label, status, body, answer } of writes) {
    // Kubernetes Events tell of a fault as often as it is met.
    if (status >= 300 || label === 'POST events') continue
    const { uid = '', resourceVersion = '' } = answer.metadata
    if (seen.has(`${label} ${uid} ${resourceVersion}`)) continue
    seen.add(`${label} ${uid} ${resourceVersion}`)
    const key = [label, roleOf('', answer), hasJobID(body) ? 'jobID' : ''].filter((part) => part !== '').join(' ')
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

function hasJobID({ status }: SeenWrite['body']): boolean {
  return typeof status === 'object' && status !== null && 'jobID' in status
}

// The job of a hosted Execution begins with the first of them.
const SETTLES = new Set(['PATCH installations/status', 'PATCH executions/status', 'PATCH executions/status jobID'])

/**
 * The course without what tells of faults: the writes that settle a pass, and those with which a deployer shows its errors.
 * A pass that met a fault says so in the status of its subject, and an item keeps the errors of its job.
 */
export function withoutSettles(course: Course): Course {
  const effects = Object.entries(course.effects).filter(([key]) => !SETTLES.has(key) && !isDeployerStatus(key))
  return { ...course, effects: Object.fromEntries(effects), state: course.state.map(withoutErrors) }
}

function isDeployerStatus(key: string): boolean {
  return key.startsWith('PATCH deployitems/status') && !key.endsWith('jobID')
}

function withoutErrors(object: unknown): unknown {
  const { status, ...rest } = object as { status?: Readonly<Record<string, unknown>> }
  if (status === undefined) return rest
  return { ...rest, status: { ...status, lastErrors: undefined, firstError: undefined } }
}

/** What happens to one half of the scenario. */
export interface Crash {
  readonly part: 'worker' | 'bridge'
  readonly when: 'before' | 'after'
  readonly at: WritePoint
}

/** Runs one half of the scenario; at the given write the process is killed, and started again. */
export async function crashed<T>(
  lane: Pick<Lane, 'pawl' | 'proxy'>,
  { part, when, at }: Crash,
  half: () => Promise<T>,
): Promise<T> {
  const { proxy, pawl } = lane
  const killed = new Promise<void>((resolve) =>
    proxy.arm({
      ...{ at, when },
      async act() {
        await pawl.kill(part)
        resolve()
        // The bridge has no part in the write; the answer of a dead worker has no reader.
        return part === 'worker' ? 'cut' : 'go on'
      },
    }),
  )
  const course = half()
  const started = killed.then(() => (part === 'worker' ? pawl.startWorker() : pawl.startBridge()))
  const [result] = await Promise.all([course, Promise.race([started, course])])
  if (proxy.isArmed) throw new Error(`there was no ${at.label} number ${at.nth}`)
  await started
  return result
}

/** The nth write of each label, in the order of a list of labels. */
export function pointsOf(labels: readonly string[]): WritePoint[] {
  return labels.map((label, index) => ({
    label,
    nth: labels.slice(0, index + 1).filter((one) => one === label).length,
  }))
}
