// Isolation of namespaces in the journal, against a real PostgreSQL. Any user can write any owner reference, so the
// journal ignores references to owners in other namespaces. On real API servers: test/e2e/walls.test.ts.

import { beforeEach, describe, expect, inject, it } from 'vitest'
import { CompiledQuery, createQueryId, type RootOperationNode, sql } from 'kysely'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import { countPasses } from '../../activities/journal/write/jobs.ts'
import { wakeIfBehind } from '../../activities/journal/write/resync.ts'
import { isChildRow } from '../../activities/journal/conditions.ts'
import { knownFamilies } from '../../activities/journal/read/known-objects.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { groupKindOf, isChildOf, projectObject, type WatchedKind } from '../../workflows/kit/index.ts'
import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import {
  deps,
  later,
  seen,
  task,
  TASK,
  taskKind,
  type TaskOptions,
  unrouted,
} from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'
const RUNNING = { phase: 'Progressing', jobID: JOB }
const VICTIM = 'alice'
const ATTACKER = 'mallory'

const built = { ...deps, ...builtInRegistry }
const quiet = unrouted

type Told = readonly [WatchedKind, TaskOptions]

async function journal(how: typeof built | typeof quiet, ...told: readonly Told[]) {
  const events = told.map(([watched, options]) => {
    const event = seen('ADDED', { finalizers: [FINALIZER], ...options }, watched)
    return { ...event, object: { ...event.object, apiVersion: watched.apiVersion, kind: watched.kind } }
  })
  return await test.journal({ events }, how)
}
/** Opens the job of the victim's Installation. */
const openInstallation = async () =>
  await openJob(
    test.db,
    job({ controller: 'installation', uid: 'inst', job_id: JOB, workflow_id: 'i', namespace: VICTIM }),
  )
/** Where the only wake leads to. */
const resolve = async () => {
  const [wake] = await test.wakes()
  return await resolveWake(wake!, directLookups(test.db))
}

const ownedBy = (watched: WatchedKind, uid: string, name: string) => {
  return { owner: { uid, name, kind: watched.kind, apiVersion: watched.apiVersion } }
}
const OF_INSTALLATION = ownedBy(installationKind, 'inst', 'shop')
const OF_EXECUTION = ownedBy(executionKind, 'exec', 'shop')

/** The victim's Installation, Execution and DeployItem while a job runs. */
const tree: readonly Told[] = [
  [installationKind, { uid: 'inst', name: 'shop', namespace: VICTIM, version: 1, status: RUNNING }],
  [executionKind, { uid: 'exec', name: 'shop', namespace: VICTIM, version: 2, status: RUNNING, ...OF_INSTALLATION }],
  [deployItemKind, { uid: 'item', name: 'shop-db', namespace: VICTIM, version: 3, ...OF_EXECUTION }],
]

const ended = { jobID: JOB, jobIDFinished: JOB, phase: 'Succeeded' }
const forgedExecution: Told = [
  executionKind,
  { uid: 'forged-exec', name: 'shop', namespace: ATTACKER, version: 11, status: ended, ...OF_INSTALLATION },
]
const forgedItem: Told = [
  deployItemKind,
  { uid: 'forged-item', name: 'shop-db', namespace: ATTACKER, version: 12, status: ended, ...OF_EXECUTION },
]

interface PlanNode {
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Returns how many rows PostgreSQL reads for a query, in all nodes of its plan. */
async function rowsRead(query: RootOperationNode): Promise<number> {
  const { sql: text, parameters } = test.db.getExecutor().compileQuery(query, createQueryId())
  const { rows } = await test.db.executeQuery<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
    CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...parameters]),
  )
  const count = (node: PlanNode): number => {
    const { 'Actual Rows': found = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 1 } = node
    return (node.Plans ?? []).reduce((sum, one) => sum + count(one), (found + removed) * loops)
  }
  return rows.flatMap((row) => row['QUERY PLAN']).reduce((sum, { Plan }) => sum + count(Plan), 0)
}

describe('an object that names an owner in another namespace', () => {
  beforeEach(async () => {
    await journal(quiet, ...tree)
  })

  it('wakes an owner only if namespace and name of the owner match', async () => {
    const [, forged] = forgedExecution
    const ofOther = { ...forged, uid: 'other-name', ...ownedBy(installationKind, 'inst', 'other') }
    await journal(built, forgedExecution, forgedItem, [executionKind, ofOther])
    expect(await test.wakes()).toEqual([])
    const outcome = 'ignored: no subject is concerned'
    expect((await test.outcomes()).slice(-3)).toEqual([11, 12, 11].map((version) => `watch ${version} ${outcome}`))
    await journal(built, [executionKind, { ...forged, uid: 'real', namespace: VICTIM }])
    expect(await test.wakes()).toMatchObject([
      { controller: 'installation', uid: 'inst', namespace: VICTIM, name: 'shop' },
    ])
  })

  it('is not among the children of that owner', async () => {
    await journal(quiet, forgedExecution, forgedItem)
    const owner = { ...groupKindOf(installationKind), uid: 'inst', namespace: VICTIM, name: 'shop' }
    const other = { ...groupKindOf(executionKind), uid: 'exec', namespace: VICTIM, name: 'shop' }
    const families = await knownFamilies(test.db, 'c', [owner, other])
    expect(families.map(({ self, children }) => [self?.uid, ...children.map(({ uid }) => uid)])).toEqual([
      ['inst', 'exec'],
      ['exec', 'item'],
    ])
  })

  it('adds no cost to reads of that owner, even if 20,000 such objects exist', async () => {
    await sql`insert into object (cluster, api_group, kind, uid, namespace, name, owner_uid, resource_version, seq, projection, updated_at)
      select 'c', ${executionKind.group}, 'Execution', 'forged' || n, ${ATTACKER}, 'n' || n, 'inst', 1, 1, '{}', now() from generate_series(1, 20000) n`.execute(
      test.db,
    )
    await sql`analyze object`.execute(test.db)
    const asked: RootOperationNode[] = []
    const heard = test.db.withPlugin({
      transformQuery: ({ node }) => {
        asked.push(node)
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    })
    const [family] = await knownFamilies(heard, 'c', [
      { ...groupKindOf(installationKind), uid: 'inst', namespace: VICTIM, name: 'shop' },
    ])
    expect(family?.children).toHaveLength(1)
    expect(asked).toHaveLength(1)
    for (const node of asked) expect(await rowsRead(node)).toBeLessThan(100)
  })

  it('is not woken when that owner is deleted', async () => {
    await journal(quiet, forgedExecution)
    const gone = seen('DELETED', { uid: 'inst', name: 'shop', namespace: VICTIM, version: 20 }, installationKind)
    await test.journal({ events: [gone] }, built)
    expect((await test.wakes()).filter(({ controller }) => controller === 'execution').map(({ uid }) => uid)).toEqual([
      'exec',
    ])
  })

  it('is not hosted by a run of that owner; its wake starts its own run', async () => {
    await openInstallation()
    await acquireLease(test.db, { cluster: 'c', ...groupKindOf(executionKind), owner: 'r', leaseMs: 1000 })
    await test.db.updateTable('watch_checkpoint').set({ resource_version: 9 }).execute()
    const [, forged] = forgedItem
    const spec = { type: 'landscaper.gardener.cloud/mock' }
    await journal(built, [deployItemKind, { ...forged, spec, status: RUNNING }])
    expect(await resolve()).toMatchObject({
      to: 'start',
      run: { controller: 'deploy', input: { subject: { uid: 'forged-item', namespace: ATTACKER } } },
    })
  })

  it('does not make the sweep wake an idle job of that owner', async () => {
    await openInstallation()
    await countPasses(test.db, [{ workflowID: 'i', runID: 'r1' }], later(1000))
    const isBehind = async () => {
      const open = await findOpenJob(test.db, 'installation', 'inst')
      return await wakeIfBehind(test.db, open!, later(3000))
    }
    const [, forged] = forgedItem
    await journal({ ...quiet, now: () => later(2000) }, forgedExecution, [
      deployItemKind,
      { ...forged, ...ownedBy(executionKind, 'forged-exec', 'shop'), uid: 'grandchild' },
    ])
    expect(await isBehind()).toBe(false)
    await journal({ ...quiet, now: () => later(2000) }, [deployItemKind, { ...tree[2]![1], version: 30 }])
    expect(await isBehind()).toBe(true)
  })
})

describe('an object whose owner in the same namespace does not host objects of this kind', () => {
  // A DeployItem that a user has created by hand, with an Installation as its owner.
  const item: Told = [
    deployItemKind,
    {
      uid: 'odd',
      name: 'odd',
      namespace: VICTIM,
      version: 5,
      status: RUNNING,
      ...OF_INSTALLATION,
      spec: { type: 'landscaper.gardener.cloud/mock' },
    },
  ]

  it('has its own run, even if both have the same job ID', async () => {
    await journal(quiet, ...tree)
    await openInstallation()
    await journal(built, item)
    expect(await resolve()).toMatchObject({
      to: 'start',
      run: { controller: 'deploy', input: { subject: { uid: 'odd' }, jobID: JOB } },
    })
  })

  it('is deleted without waiting for a job ID from the owner', async () => {
    await journal(quiet, ...tree)
    await journal(built, [item[0], { ...item[1], status: ended, deleting: true }])
    expect(await resolve()).toMatchObject({
      to: 'start',
      run: { controller: 'deploy', input: { cause: 'deletion without owner' } },
    })
  })
})

describe('an object that the journal saw before the owner that it names in another namespace', () => {
  it('does not divert the wakes of that owner', async () => {
    await journal(built, forgedItem)
    expect(await test.wakes()).toMatchObject([{ controller: 'execution', uid: 'exec', namespace: ATTACKER }])
    await journal(built, [executionKind, { uid: 'exec', name: 'shop', namespace: VICTIM, version: 2, status: RUNNING }])
    const wakes = (await test.wakes()).filter(({ uid }) => uid === 'exec')
    expect(wakes).toMatchObject([{ controller: 'execution', namespace: VICTIM, name: 'shop' }])
  })
})

describe('the set of children of an owner', () => {
  it('is the same in PostgreSQL and in the kit', async () => {
    const places = [VICTIM, ATTACKER, '']
    const owners = ['u1', 'u2'].flatMap((uid) => places.map((namespace) => ({ uid: `${uid}${namespace}`, namespace })))
    const tasks: TaskOptions[] = owners.map((at, index) => ({ ...at, version: index + 1 }))
    const variants = ['test.pawl.dev/v1', 'test.pawl.dev/v2', 'other.pawl.dev/v1', 'v1'].flatMap((apiVersion) =>
      ['Task', 'Chore'].flatMap((kind) =>
        [{}, { name: 'other' }].flatMap((name) =>
          owners.flatMap(({ uid }) =>
            places.map((namespace) => ({ owner: { uid, kind, apiVersion, ...name }, namespace })),
          ),
        ),
      ),
    )
    const children = variants.map((one, index): TaskOptions => ({ ...one, uid: `c${index}`, version: 100 + index }))
    await journal(quiet, ...[...tasks, ...children].map((options): Told => [taskKind, options]))
    const { rows } = await sql<{ pair: string }>`
      select c.uid || ' of ' || o.uid as pair from object o join object c on ${isChildRow('c', 'o')} order by 1`.execute(
      test.db,
    )
    const expected = tasks.flatMap((one) => {
      const { uid = '', name, namespace = '' } = { ...one, name: task(one).metadata.name }
      return children
        .filter((child) => isChildOf(projectObject(task(child), []), { ...TASK, uid, name, namespace }))
        .map((child) => `${child.uid ?? ''} of ${uid}`)
    })
    expect(rows.map(({ pair }) => pair)).toEqual(expected.sort())
    expect(expected.length).toBeGreaterThan(10)
    expect(expected.length).toBeLessThan(children.length / 4)
  })
})
