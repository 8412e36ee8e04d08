// The reference course of fault tests: the job of an Installation and its deletion, with results that tests compare.
//
//   C1. Two undisturbed courses have equal results: `stateOf` replaces names, uids, versions and times by placeholders.

import { sql } from 'kysely'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { ITEM_NAME_LABEL } from '../../../workflows/landscaper/contract.ts'
import type { OnWrite, RecordedWrite } from './http-proxy.ts'
import { type Cluster, installation, type Item } from '../cluster/cluster.ts'
import type { Pawl } from '../pawl/pawl.ts'
import { waitUntilJournalIdle, KINDS, type Lane, RESTART_MS } from './lane.ts'

/** An item with exports, and an item that depends on it. */
const ITEMS: readonly Item[] = [
  { name: 'a', config: { export: { greeting: 'hello' } } },
  { name: 'b', dependsOn: ['a'] },
]

/** The result of the job or of the deletion. */
export interface Course {
  /** The objects that exist afterwards, see `stateOf`. */
  readonly state: readonly unknown[]
  /** The number of the worker's writes with an effect, by label and object. Writes without an effect are omitted. */
  readonly effects: Readonly<Record<string, number>>
  /** The runs in the journal: controller and outcome. */
  readonly runs: readonly string[]
  /** The number of job IDs of the Installation so far. */
  readonly jobIDs: number
}

/** Creates the reference Installation or one with other items, and waits until its job ends and the journal is idle. */
export async function install(lane: Lane, name: string, items = ITEMS): Promise<Course> {
  await lane.cluster.create(installation(name, items), 'installations')
  await lane.cluster.waitUntilFinished(name, undefined, 'installations', RESTART_MS)
  return await courseOf(lane, name)
}

/** Deletes the reference Installation and waits until it is gone and the journal is idle. */
export async function uninstall(lane: Lane, name: string): Promise<Course> {
  await lane.cluster.delete('installations', name)
  await lane.cluster.waitUntilGone(name, 'installations', RESTART_MS)
  return await courseOf(lane, name)
}

/** Runs the job and the deletion with the same fault. @param onEnd called after each of them. */
export async function runBoth(
  on: Lane,
  name: string,
  disturb?: OnWrite,
  onEnd: () => void = () => undefined,
): Promise<readonly Course[]> {
  on.proxy.arm(undefined, disturb)
  const installed = await install(on, name)
  onEnd()
  on.proxy.arm(undefined, disturb)
  const uninstalled = await uninstall(on, name)
  onEnd()
  return [installed, uninstalled]
}

/** Waits until the journal is idle and returns the result so far. */
export async function courseOf(lane: Lane, name: string): Promise<Course> {
  await waitUntilJournalIdle(lane)
  return {
    state: await stateOf(lane, name),
    effects: effectsOf(lane.proxy.writes),
    ...(await journaled(lane.pawl, name)),
  }
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

/** The existing objects of the run, with placeholders (C1). */
async function stateOf({ cluster }: Lane, run: string): Promise<readonly unknown[]> {
  const found = await objectsOf(cluster, run)
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

/**
 * The objects of an Installation: objects with its name, objects whose names begin with it, and objects that these own.
 * Objects of deleted owners are omitted, because the garbage collector may still delete them.
 */
export async function objectsOf(cluster: Cluster, run: string): Promise<readonly Found[]> {
  const lists = await Promise.all(
    KINDS.map(async ([plural, apiVersion]) => {
      const objects = (await cluster.list(plural, apiVersion)) as readonly KubeObject[]
      return objects.map((object) => ({ object, role: roleOf(plural, object) }))
    }),
  )
  const all = lists.flat()
  const named = all.filter(({ object: { metadata } }) => metadata.name === run || metadata.name.startsWith(`${run}-`))
  const uids = new Set(named.map(({ object }) => object.metadata.uid))
  const isOwned = ({ object: { metadata } }: Found) => metadata.ownerReferences?.some(({ uid }) => uids.has(uid))
  return all.filter((one) => named.includes(one) || isOwned(one) === true)
}

interface Found {
  readonly object: KubeObject
  readonly role: string
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g

function roleOf(plural: string, { metadata }: KubeObject): string {
  const item = metadata.labels?.[ITEM_NAME_LABEL]
  return item === undefined ? plural : `${plural} ${item}`
}

/** Counts the writes that changed an object. A write whose answer has an already seen version had no effect. */
function effectsOf(writes: readonly RecordedWrite[]): Readonly<Record<string, number>> {
  const seen = new Set<string>()
  const counts: Record<string, number> = {}
  for (const { label, status, body, answer } of writes) {
    // The number of Kubernetes Events depends on the number of faults.
    if (status >= 300 || label === 'POST events') continue
    const { uid = '', resourceVersion = '' } = answer.metadata
    if (seen.has(`${label} ${uid} ${resourceVersion}`)) continue
    seen.add(`${label} ${uid} ${resourceVersion}`)
    const key = [label, roleOf('', answer), hasJobID(body) ? 'jobID' : ''].filter((part) => part !== '').join(' ')
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

function hasJobID({ status }: RecordedWrite['body']): boolean {
  return typeof status === 'object' && status !== null && 'jobID' in status
}

// A hosted Execution starts its job with its first status write, which contains the jobID.
const SETTLES = new Set(['PATCH installations/status', 'PATCH executions/status', 'PATCH executions/status jobID'])

/**
 * The course without effects of faults: omits the status writes at the end of passes and the status writes of deployers
 * with errors. A pass reports a fault in the status of its subject, and an item keeps the errors of its job.
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
