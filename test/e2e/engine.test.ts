// Users and other programs change Temporal, the journal and objects while a job runs: the job continues, once. Two workers share a task queue, and more jobs wait
// than a worker has slots for. Tests date rows of the journal back to make a run look quiet for two minutes.

import { sql } from 'kysely'
import { afterAll, describe, expect, it, vi } from 'vitest'
import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { HttpProxy } from '../support/faults/http-proxy.ts'
import {
  CHAIN,
  execution,
  FINALIZER,
  installation,
  item,
  type LsObject,
  API,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { Gate } from '../support/faults/gate.ts'
import { useStage } from '../support/pawl/stage.ts'

let proxy: HttpProxy | undefined
const stage = useStage('engine', async () => {
  proxy = await HttpProxy.start(stage.servers.accounts.worker)
  return { workerKubeconfig: proxy.kubeconfigPath }
})
afterAll(() => proxy?.stop())

/** Starts a job that waits in its first item, which the second depends on. */
async function startWaiting(name: string): Promise<LsObject> {
  const items = [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]
  await stage.cluster.create(installation(name, items), 'installations')
  const found = await stage.cluster.waitUntilItems(name, ['slow'], (it) => it?.status?.phase === 'Progressing')
  return found.get('slow')!
}

/** Ends the waiting item. @returns the end of the job. */
async function finishWaiting(name: string, slow: LsObject) {
  await stage.cluster.finishItem(slow, 'Succeeded')
  const root = await stage.cluster.waitUntilFinished(name)
  await stage.pawl.waitUntilSettled(root)
  return { phase: root.status?.phase, items: await stage.cluster.phases(name), jobs: await stage.pawl.jobs(root) }
}

function succeeded(slow: LsObject) {
  return {
    phase: 'Succeeded',
    items: { slow: 'Succeeded', next: 'Succeeded' },
    jobs: [{ jobID: slow.status?.jobID, cause: expect.any(String) as string, outcome: 'Succeeded' }],
  }
}

/** The open run of a name. The worker writes the row of a run during its first pass, so the row may come after the writes of the pass. */
async function allRuns(name: string) {
  return await vi.waitFor(
    async () => {
      const runs = await openRuns(name)
      const controllers = runs.map(({ controller }) => controller)
      expect(controllers).toEqual(['installation'])
      return runs
    },
    { timeout: 30_000, interval: 50 },
  )
}

async function openRuns(name: string) {
  return await stage.pawl.db
    .selectFrom('job')
    .select(['controller', 'workflow_id', 'run_id'])
    .where('name', '=', name)
    .where('outcome', 'is', null)
    .orderBy('controller')
    .execute()
}

/** Dates the last passes of runs two minutes back in the journal. */
async function makeQuiet(workflowIDs: readonly string[]): Promise<void> {
  await sql`update job set started_at = now() - interval '2 min', last_pass_at = now() - interval '2 min',
    lookup_after = null where workflow_id = any(${workflowIDs}::text[])`.execute(stage.pawl.db)
}

/** Waits until new runs have replaced all open runs of the name. Makes the old runs look quiet. */
async function replaced(name: string, before: Awaited<ReturnType<typeof openRuns>>): Promise<void> {
  const old = new Set(before.map(({ run_id }) => run_id))
  await expect
    .poll(
      async () => {
        const open = await openRuns(name)
        // An activity that was running when its run ended may have journaled the start of a pass since.
        const left = open.filter(({ run_id }) => old.has(run_id))
        await makeQuiet(left.map(({ workflow_id }) => workflow_id))
        return open.length - left.length
      },
      { timeout: 30_000 },
    )
    .toBe(before.length)
}

describe('a job whose runs a user ended in Temporal', () => {
  it('gets new runs when they were terminated, without any event', async () => {
    const slow = await startWaiting('terminated')
    const before = await allRuns('terminated')
    for (const { workflow_id } of before) await stage.pawl.client.workflow.getHandle(workflow_id).terminate('test')
    await replaced('terminated', before)
    expect(await finishWaiting('terminated', slow)).toEqual(succeeded(slow))
  })

  it('continues with the next event when they were deleted', async () => {
    const slow = await startWaiting('emptied')
    const { client } = stage.pawl
    for (const { workflow_id: workflowId } of await allRuns('emptied')) {
      const workflowExecution = { workflowId }
      await client.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution })
      await expect
        .poll(
          () =>
            client.workflow
              .getHandle(workflowId)
              .describe()
              .then(
                () => 'there',
                () => 'gone',
              ),
          { timeout: 30_000 },
        )
        .toBe('gone')
    }
    expect(await finishWaiting('emptied', slow)).toEqual(succeeded(slow))
  })
})

describe('a wake of a running job that is deleted from the journal by hand', () => {
  it('is replaced, because the sweep finds that the run is behind', async () => {
    const slow = await startWaiting('lost-wake')
    await stage.pawl.kill('worker', 'SIGTERM')
    await stage.cluster.finishItem(slow, 'Succeeded')
    await stage.pawl.waitUntilJournaled((await stage.cluster.items('lost-wake')).get('slow')!)
    const { numDeletedRows } = await stage.pawl.db
      .deleteFrom('wake')
      .where('name', '=', 'lost-wake')
      .executeTakeFirstOrThrow()
    expect(numDeletedRows).toBeGreaterThan(0n)
    await makeQuiet((await openRuns('lost-wake')).map(({ workflow_id }) => workflow_id))
    await stage.pawl.startWorker()
    const root = await stage.cluster.waitUntilFinished('lost-wake')
    expect(root.status).toMatchObject({ phase: 'Succeeded', jobID: slow.status?.jobID })
  })
})

describe('an installation that is edited between its trigger and the first write of its job', () => {
  it('runs exactly one job', async () => {
    const seen: LsObject[] = []
    const act = async () => {
      seen.push(await stage.cluster.patch('installations', 'labelled', { metadata: { labels: { team: 'a' } } }))
      await stage.pawl.waitUntilJournaled(seen[0]!)
      return 'go on' as const
    }
    proxy?.arm({ at: { label: 'PATCH installations/status', nth: 1 }, when: 'before', act })
    await stage.cluster.create(installation('labelled', CHAIN), 'installations')
    const root = await stage.cluster.waitUntilFinished('labelled')
    await stage.pawl.waitUntilSettled(root)
    expect(seen).toHaveLength(1)
    expect(root.metadata.labels).toEqual({ team: 'a' })
    expect(await stage.pawl.jobs(root)).toEqual([
      { jobID: root.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
    ])
    const created = proxy?.writes.filter(({ label }) => label === 'POST executions') ?? []
    expect(created).toHaveLength(1)
  })
})

describe('an invalid job ID that a user writes into a status', () => {
  it('starts nothing on an Execution, an Installation or a DeployItem, and an Event says why', async () => {
    const { cluster, pawl } = stage
    const { type, config } = item({ name: 'x' })
    const object = { apiVersion: API, kind: 'DeployItem', metadata: { name: 'strange' }, spec: { type, config } }
    await cluster.create(object, 'deployitems')
    await cluster.create(execution('strange-execution', CHAIN), 'executions')
    await cluster.create(installation('strange', CHAIN, { triggered: false }), 'installations')
    await cluster.waitUntil('deployitems', 'strange', isGuarded)
    await cluster.waitUntil('executions', 'strange-execution', isGuarded)
    const ids = { deployitems: '../../etc', executions: 'with\nbreak', installations: 'x'.repeat(300) }
    for (const [plural, jobID] of Object.entries(ids)) {
      const name = plural === 'executions' ? 'strange-execution' : 'strange'
      const patched = await cluster.patch(plural, name, { status: { jobID } }, 'status')
      await pawl.waitUntilJournaled(patched)
      await pawl.waitUntilSettled(patched)
      await expect
        .poll(() => refusalsOf(patched))
        .toEqual([expect.stringMatching(/^status.jobID is invalid.*expected at most 128 bytes/)])
      expect(await pawl.jobs(patched)).toEqual([])
      expect(await cluster.get(plural, name)).toMatchObject({ status: patched.status })
    }
    await cluster.patch('executions', 'strange-execution', { status: { jobID: 'mended' } }, 'status')
    const finished = await cluster.waitUntilFinished('strange-execution', undefined, 'executions')
    expect(finished.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'mended' })
  })
})

describe('an operation annotation with an unknown value', () => {
  it('starts no job, and an Event on the object says which values do', async () => {
    const created = await stage.cluster.create(installation('typo', CHAIN, { triggered: false }), 'installations')
    await stage.pawl.waitUntilSettled(created)
    const patched = await stage.cluster.patch('installations', 'typo', {
      metadata: { annotations: { [OPERATION]: 'Reconcile' } },
    })
    await expect
      .poll(() => refusalsOf(patched, 'UnknownOperation'))
      .toEqual([expect.stringContaining('found "Reconcile", which starts nothing; expected "reconcile"')])
    expect(await stage.pawl.jobs(patched)).toEqual([])
  })
})

describe('a job ID with uncommon characters', () => {
  it('starts a job on an execution, and labels what it exports', async () => {
    const [name, jobID] = ['signs', '.ü:1 b']
    const exporting = execution(name, [{ name: 'a', config: { export: { answer: 42 } } }])
    await stage.cluster.create(exporting, 'executions')
    await stage.cluster.waitUntil('executions', name, isGuarded)
    await stage.cluster.patch('executions', name, { status: { jobID } }, 'status')
    const { status } = await stage.cluster.waitUntilFinished(name, undefined, 'executions')
    expect(status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID, exportRef: expect.anything() as unknown })
  })
})

describe('a job that a user ends', () => {
  const runsOf = async (name: string) => {
    const query = `PawlName = "${name}" and ExecutionStatus = "Running"`
    const open: string[] = []
    for await (const { type } of stage.pawl.client.workflow.list({ query })) open.push(type)
    return open
  }

  it('leaves no run behind when its objects are freed of their finalizers', async () => {
    const slow = await startWaiting('freed')
    const root = (await stage.cluster.get('installations', 'freed'))!
    await expect.poll(() => runsOf('freed')).toHaveLength(1)
    for (const [plural, name] of [
      ['deployitems', slow.metadata.name],
      ['executions', 'freed'],
      ['installations', 'freed'],
    ] as const) {
      await stage.cluster.patch(plural, name, { metadata: { finalizers: null } })
      await stage.cluster.delete(plural, name)
      await stage.cluster.waitUntilGone(name, plural)
    }
    await expect.poll(() => runsOf('freed')).toEqual([])
    // The run may have seen the missing item before the Installation lost its finalizer.
    const ends = (await stage.pawl.jobs(root)).map(({ outcome }) => outcome)
    expect([['Deleted'], ['Failed']]).toContainEqual(ends)
  })

  it('is superseded by the job whose ID an execution gets meanwhile', async () => {
    const name = 'replaced'
    await stage.cluster.create(execution(name, [waitingItem('slow')]), 'executions')
    await stage.cluster.patch('executions', name, { status: { jobID: 'first' } }, 'status')
    await stage.cluster.waitUntilItems(name, ['slow'], (it) => it?.status?.phase === 'Progressing')
    const second = await stage.cluster.patch('executions', name, { status: { jobID: 'second' } }, 'status')
    // The started item ends first. It has its own run now, because the Execution has another job.
    const first = await stage.cluster.items(name)
    await expect.poll(() => runsOf(first.get('slow')?.metadata.name ?? '')).toEqual(['deploy'])
    await expect.poll(() => runsOf(name)).toEqual(['execution'])
    expect(first.get('slow')?.status).toMatchObject({ jobID: 'first', phase: 'Progressing' })
    await stage.cluster.finishItem(first.get('slow')!, 'Succeeded')
    const isTakenUp = (it?: LsObject) => it?.status?.jobID === 'second' && it.status.phase === 'Progressing'
    const found = await stage.cluster.waitUntilItems(name, ['slow'], isTakenUp)
    await stage.cluster.finishItem(found.get('slow')!, 'Succeeded')
    const finished = await stage.cluster.waitUntilFinished(name, 'first', 'executions')
    expect(finished.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'second' })
    expect(await stage.pawl.jobs(second)).toEqual([
      { jobID: 'first', cause: 'job ID in its status', outcome: 'Superseded' },
      { jobID: 'second', cause: 'job ID in its status', outcome: 'Succeeded' },
    ])
  })
})

const isGuarded = (object?: LsObject) => object?.metadata.finalizers?.includes(FINALIZER) === true

async function refusalsOf({ metadata: { uid = '' } }: LsObject, reason = 'InvalidJobID'): Promise<readonly unknown[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, stage.cluster.namespace)
  const query = { fieldSelector: `involvedObject.uid=${uid},reason=${reason}` }
  const { items } = await stage.cluster.kube.request<ObjectList>('GET', path, { query })
  return items.map(({ message }) => message)
}

// More jobs than a worker runs and Temporal's queue holds.
const CROWD = 40
/** A job that has not started by then gets an Event. */
const LATE_MS = 10_000
const CROWD_LIMIT_MS = 180_000

interface KubeEvent {
  readonly involvedObject: { readonly kind: string; readonly name: string }
  readonly reason: string
  readonly message: string
}

async function eventsOfWaitingJobs(): Promise<readonly KubeEvent[]> {
  const events = (await stage.cluster.list('events', 'v1')) as unknown as readonly (LsObject & KubeEvent)[]
  return events.filter(({ reason }) => reason === 'WaitingForTurn')
}

describe('a worker whose slots are all in use', { timeout: CROWD_LIMIT_MS }, () => {
  it('emits Events for jobs that wait for their turn, and none for a job that starts at once', async () => {
    const { cluster } = stage
    const created = performance.now()
    await cluster.create(installation('prompt', []), 'installations')
    await cluster.waitUntilFinished('prompt')
    // On a machine that stood still this job had to wait as well.
    const isPrompt = performance.now() - created < LATE_MS
    // The API server takes no status, so each started run occupies its slot for many seconds.
    const gate = new Gate()
    proxy?.arm(undefined, async (label) => {
      if (label !== 'PATCH installations/status') return undefined
      await gate.opened
      return 'lost before'
    })
    const names = Array.from({ length: CROWD }, (_, index) => `job-${index}`)
    for (const name of names) await cluster.create(installation(name, []), 'installations')
    const isBehind = ({ message }: KubeEvent) =>
      /^waits for a worker since \S+: (?:\d+|no other job) of its namespace (?:is|are) ahead/.test(message)
    const hasOneBehind = async () => (await eventsOfWaitingJobs()).some(isBehind)
    await expect.poll(hasOneBehind, { timeout: 90_000, interval: 500 }).toBe(true)
    proxy?.arm()
    gate.open()
    for (const name of names)
      expect((await cluster.waitUntilFinished(name, undefined, 'installations', CROWD_LIMIT_MS)).status?.phase).toBe(
        'Succeeded',
      )
    const subjects = (await eventsOfWaitingJobs()).map(({ involvedObject: { kind, name } }) => `${kind} ${name}`)
    if (isPrompt) expect(subjects).not.toContain('Installation prompt')
  })
})

describe('T5: two workers on one task queue and one journal', () => {
  it('run twenty installations, each of them once', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `many-${index}`)
    await stage.pawl.startWorker('second')
    await Promise.all(names.map((name) => stage.cluster.create(installation(name, CHAIN), 'installations')))
    const roots = await Promise.all(names.map((name) => stage.cluster.waitUntilFinished(name)))
    for (const root of roots) await stage.pawl.waitUntilSettled(root)

    expect(roots.map(({ status }) => status?.phase)).toEqual(names.map(() => 'Succeeded'))
    const jobs = await Promise.all(roots.map((root) => stage.pawl.jobs(root)))
    expect(jobs.map((rows) => rows.map(({ jobID }) => jobID))).toEqual(roots.map(({ status }) => [status?.jobID]))
    const items = await stage.cluster.list('deployitems')
    expect(items.filter(({ metadata }) => metadata.name.startsWith('many-'))).toHaveLength(20 * CHAIN.length)
  })
})
