// Tests examples/cronjob with kubectl on real servers. The schedules are on past days, so that no test waits for a
// schedule time.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { describe, expect, it, vi } from 'vitest'

import type { CronJob } from '../../examples/cronjob/kind.ts'
import { metricsOf, valueOf } from '../support/pawl/scrape.ts'
import { useStage } from '../support/pawl/stage.ts'

const FOLDER = new URL('../../examples/cronjob/', import.meta.url).pathname
const KIND = 'cronjobs.batch.example.pawl.dev'
const run = promisify(execFile)
const DAY_MS = 86_400_000
/** The same for all tests, so that a midnight during the test run changes no day. */
const BEGUN_MS = Date.now()

const stage = useStage('cronjob', async () => {
  await kubectl('apply', '--server-side', '-f', `${FOLDER}cron-job.crd.yaml`)
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', `crd/${KIND}`)
  return { controllers: `${FOLDER}controllers.ts` }
})

describe('the CronJob example', () => {
  it('starts a Job, sees it succeed, and waits for the next time', async () => {
    await kubectl('apply', '-f', `${FOLDER}hello.yaml`)
    await until('hello', ({ status }) => reasonOf(status), 'Waiting')
    await lastServed('hello', 1)
    await until('hello', ({ status }) => (status?.lastSuccessfulTime ?? '') > '2000', true)
    const [job] = await jobsOf('hello')
    expect(job?.metadata).toMatchObject({
      labels: { cronjob: 'hello' },
      ownerReferences: [{ kind: 'CronJob', name: 'hello', controller: true }],
    })
    await until('hello', ({ status }) => status?.active, [])
    expect(await openRun('hello')).toBe(true)
    await kubectl('delete', KIND, 'hello', '--wait=false')
  })

  it('waits for the active Job or deletes it, according to its concurrencyPolicy', async () => {
    await create('careful', { schedule: midnight(3), concurrencyPolicy: 'Forbid' })
    await lastServed('careful', 5)
    await until('careful', ({ status }) => status?.active?.length, 1)
    const [first] = await jobsOf('careful')

    await patch('careful', { spec: { schedule: midnight(1) } })
    await until('careful', ({ status }) => reasonOf(status), 'JobAlreadyActive')
    expect(await jobsOf('careful')).toHaveLength(1)

    await patch('careful', { spec: { concurrencyPolicy: 'Replace' } })
    const second = jobNameAt('careful', 1)
    await until('careful', ({ status }) => status?.active?.map(({ name }) => name), [second])
    expect(first?.metadata.name).toBe(jobNameAt('careful', 3))
    expect((await jobsOf('careful')).map(({ metadata }) => metadata.name)).toEqual([second])
  })

  it('deletes finished Jobs above its successfulJobsHistoryLimit', async () => {
    const template = { template: podTemplate() }
    await create('short', { schedule: midnight(1), successfulJobsHistoryLimit: 0, jobTemplate: { spec: template } })
    await lastServed('short', 2)
    await until('short', ({ status }) => (status?.lastSuccessfulTime ?? '') > '2000', true)
    await vi.waitFor(async () => expect(await jobsOf('short')).toEqual([]), { timeout: 60_000, interval: 200 })
  })

  it('starts no Job while it is suspended, and reports an invalid schedule', async () => {
    await create('still', { schedule: midnight(1), suspend: true })
    await lastServed('still', 2)
    await until('still', ({ status }) => reasonOf(status), 'Suspended')
    expect(await jobsOf('still')).toEqual([])
    await patch('still', { spec: { suspend: false, schedule: 'never' } })
    await until('still', ({ status }) => reasonOf(status), 'InvalidSchedule')
    expect(await jobsOf('still')).toEqual([])
    await patch('still', { spec: { schedule: midnight(1) } })
    await until('still', ({ status }) => status?.active?.length, 1)
  })

  it('has the metrics that controllers of Pawl have', async () => {
    const scraped = await metricsOf(stage.pawl.log('worker'))
    const passes = (result: string) =>
      valueOf(scraped, 'controller_runtime_reconcile_total', `controller="cronJob",result="${result}"`) ?? 0
    // A pass of a CronJob with a schedule sets the time of the next pass.
    expect(passes('requeue_after')).toBeGreaterThan(4)
    expect(passes('error')).toBe(0)
    for (const name of ['pawl_wake_to_start_seconds_count', 'pawl_event_to_first_write_seconds_count'])
      expect(valueOf(scraped, name, 'controller="cronJob"'), name).toBeGreaterThan(0)
    expect(valueOf(scraped, 'workqueue_depth', 'name="cronJob",controller="cronJob"')).toBeDefined()
  })
})

interface Named {
  readonly metadata: { readonly name: string; readonly labels?: object; readonly ownerReferences?: readonly object[] }
}

async function kubectl(...args: readonly string[]): Promise<string> {
  const { kubectlPath, kubeconfigPath } = stage.servers
  const { stdout } = await run(kubectlPath, ['--kubeconfig', kubeconfigPath, '-n', stage.cluster.namespace, ...args])
  return stdout
}

async function patch(name: string, body: object, ...flags: readonly string[]): Promise<void> {
  await kubectl('patch', KIND, name, '--type=merge', '-p', JSON.stringify(body), ...flags)
}

/** Creates a CronJob whose Jobs stay active, unless its spec says otherwise. */
async function create(name: string, spec: Partial<CronJob['spec']>): Promise<void> {
  const jobTemplate = { spec: { suspend: true, template: podTemplate() } }
  const body = {
    apiVersion: 'batch.example.pawl.dev/v1',
    kind: 'CronJob',
    metadata: { name },
    spec: { jobTemplate, ...spec },
  }
  await stage.cluster.kube.request('POST', `/apis/${body.apiVersion}/namespaces/${stage.cluster.namespace}/cronjobs`, {
    body,
  })
}

/** Sets the last schedule time to a past day. */
async function lastServed(name: string, daysAgo: number): Promise<void> {
  const lastScheduleTime = new Date(BEGUN_MS - daysAgo * DAY_MS).toISOString().replace(/\.\d+Z/, 'Z')
  await patch(name, { status: { lastScheduleTime } }, '--subresource=status')
}

/** A schedule with one time in a year: midnight UTC at the start of the day `daysAgo` days ago. */
function midnight(daysAgo: number): string {
  const day = new Date(BEGUN_MS - daysAgo * DAY_MS)
  return `0 0 ${day.getUTCDate()} ${day.getUTCMonth() + 1} *`
}

function jobNameAt(name: string, daysAgo: number): string {
  const days = Math.floor((BEGUN_MS - daysAgo * DAY_MS) / DAY_MS)
  return `${name}-${(days * DAY_MS) / 60_000}`
}

function podTemplate() {
  return { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } }
}

function reasonOf(status: CronJob['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Scheduled')?.reason
}

async function until(name: string, look: (cronJob: CronJob) => unknown, wanted: unknown): Promise<void> {
  await vi.waitFor(
    async () => expect(look(JSON.parse(await kubectl('get', KIND, name, '-o', 'json')) as CronJob)).toEqual(wanted),
    { timeout: 60_000, interval: 200 },
  )
}

async function jobsOf(name: string): Promise<readonly Named[]> {
  const list = JSON.parse(await kubectl('get', 'jobs', '-l', `cronjob=${name}`, '-o', 'json')) as { items: Named[] }
  return list.items
}

/** Whether the CronJob has an open run, which waits for the next schedule time. */
async function openRun(name: string): Promise<boolean> {
  const { outcome } = await stage.pawl.db
    .selectFrom('job')
    .select('outcome')
    .where('controller', '=', 'cronJob')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return outcome === null
}
