// A single deploy item: skipped, so that other items continue without it, and retried in its own job. Source: spec/engine.md 6 (rank 7), docs/adr/0053.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { failingItem, installation, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { metricsOf, valueOf } from '../support/pawl/scrape.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub } from '../support/landscaper/sub-installations.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const stage = useStage('one-item')

const SKIP = 'landscaper.gardener.cloud/pawl-skip'

async function annotateItem(execution: string, item: string, annotations: object): Promise<LsObject> {
  const found = (await stage.cluster.items(execution)).get(item)
  return await stage.cluster.patch('deployitems', found?.metadata.name ?? '', { metadata: { annotations } })
}

async function itemOf(execution: string, item: string): Promise<LsObject> {
  const found = (await stage.cluster.items(execution)).get(item)
  if (found === undefined) throw new Error(`execution ${execution} has no item ${item}`)
  return found
}

function conditionOf({ status }: LsObject, type: string) {
  return (status?.['conditions'] as readonly { readonly type: string }[] | undefined)?.find((one) => one.type === type)
}

describe.concurrent('a skipped item', () => {
  it('no longer blocks its dependents in the running job, although it is in progress', async () => {
    const { cluster } = stage
    const type = 'example.org/never'
    const deployer = Deployer.start(cluster, type, { install: () => 'wait' })
    const items = [
      { name: 'never', type },
      { name: 'behind', dependsOn: ['never'] },
    ]
    await cluster.create(installation('under-way', items), 'installations')
    await cluster.waitUntilItems('under-way', ['never'], (item) => item?.status?.phase === 'Progressing')
    await annotateItem('under-way', 'never', { [SKIP]: 'not here' })
    expect((await cluster.waitUntilFinished('under-way')).status).toMatchObject({ phase: 'Succeeded' })
    expect(await cluster.phases('under-way')).toEqual({ never: 'Succeeded', behind: 'Succeeded' })
    await deployer.stop()
  })

  it('counts as succeeded in the next job, has the condition Skipped, and is deployed again when its spec changes', async () => {
    const { cluster } = stage
    const items = (config?: object) => [
      { ...failingItem('bad'), ...(config !== undefined && { config: { ...config } }) },
      { name: 'behind', dependsOn: ['bad'] },
    ]
    await cluster.create(installation('next', items()), 'installations')
    const first = await cluster.waitUntilFinished('next')
    expect(first.status).toMatchObject({ phase: 'Failed' })
    await annotateItem('next', 'bad', { [SKIP]: 'known to be broken' })
    await cluster.trigger('next')
    const second = await cluster.waitUntilFinished('next', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const bad = await itemOf('next', 'bad')
    expect(bad.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: second.status?.jobID })
    expect(bad.status?.lastError).toBeUndefined()
    expect(conditionOf(bad, 'Skipped')).toMatchObject({
      status: 'True',
      reason: 'SkippedByAnnotation',
      message: expect.stringMatching(/^not deployed: skipped by .*\(not verified\).*: known to be broken$/) as string,
    })

    await cluster.patch('installations', 'next', installation('next', items({ phase: 'Succeeded', other: true })))
    const third = await cluster.waitUntilFinished('next', second.status?.jobID)
    expect(third.status).toMatchObject({ phase: 'Succeeded' })
    const mended = await itemOf('next', 'bad')
    expect(mended.metadata.annotations?.[SKIP]).toBeUndefined()
    expect(conditionOf(mended, 'Skipped')).toBeUndefined()
    expect(mended.status?.['deployer']).toBeDefined()
  })

  it('is uninstalled like any other item', async () => {
    const { cluster } = stage
    const type = 'example.org/goes'
    const gone: string[] = []
    const deployer = Deployer.start(cluster, type, {
      uninstall: ({ metadata }) => {
        gone.push(metadata.name)
        return 'done'
      },
    })
    await cluster.create(installation('leaves', [{ name: 'goes', type }]), 'installations')
    await cluster.waitUntilFinished('leaves')
    const { metadata } = await annotateItem('leaves', 'goes', { [SKIP]: 'true' })
    await cluster.delete('installations', 'leaves')
    await cluster.waitUntilGone('leaves')
    expect(gone).toContain(metadata.name)
    await deployer.stop()
  })
})

describe.concurrent('a retried item', () => {
  it('gets its own job; the installation and the other items get none', async () => {
    const { cluster, pawl } = stage
    const type = 'example.org/mended'
    const deployer = Deployer.start(cluster, type, { install: () => 'failed' })
    const items = [{ name: 'ours' }, { name: 'theirs', type }]
    await cluster.create(installation('alone', items), 'installations')
    const failed = await cluster.waitUntilFinished('alone')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    await pawl.waitUntilSettled(failed)
    deployer.install = () => 'done'
    for (const item of ['theirs', 'ours']) {
      await annotateItem('alone', item, { [OPERATION]: 'retry' })
      // The run takes the annotation off behind the beginning; who deploys may be through before.
      await cluster.waitUntilItems('alone', [item], (one) => {
        const { jobID, jobIDFinished, phase } = one?.status ?? {}
        const isOver = jobID !== failed.status?.jobID && jobIDFinished === jobID && phase === 'Succeeded'
        return isOver && one?.metadata.annotations?.[OPERATION] === undefined
      })
    }
    expect((await cluster.get('installations', 'alone'))?.status?.jobID).toBe(failed.status?.jobID)
    const jobs = await Promise.all(['ours', 'theirs'].map(async (item) => (await itemOf('alone', item)).status?.jobID))
    expect(new Set(jobs).size).toBe(2)
    await deployer.stop()

    await cluster.trigger('alone')
    const again = Deployer.start(cluster, type)
    expect((await cluster.waitUntilFinished('alone', failed.status?.jobID)).status).toMatchObject({
      phase: 'Succeeded',
    })
    await again.stop()
  })

  it('gets its job after the current job of its execution has ended', async () => {
    const { cluster } = stage
    const type = 'example.org/beside'
    const deployer = Deployer.start(cluster, type, { install: () => 'wait' })
    await cluster.create(installation('waits', [failingItem('bad'), { name: 'slow', type }]), 'installations')
    await cluster.waitUntilItems('waits', ['slow'], (item) => item?.status?.phase === 'Progressing')
    await cluster.waitUntilItems('waits', ['bad'], (item) => item?.status?.phase === 'Failed')
    const before = await annotateItem('waits', 'bad', { [OPERATION]: 'retry' })
    deployer.install = () => 'done'
    const failed = await cluster.waitUntilFinished('waits')
    expect(before.status?.jobID).toBe(failed.status?.jobID)
    await cluster.waitUntilItems('waits', ['bad'], (item) => {
      const { jobID, jobIDFinished } = item?.status ?? {}
      return jobID !== failed.status?.jobID && jobID === jobIDFinished
    })
    await deployer.stop()
  })
})

describe.concurrent('an item that a user selects by its name in the blueprint', () => {
  it('is retried and skipped by its name, and the next job of its root succeeds', { timeout: 300_000 }, async () => {
    const { cluster } = stage
    const subinstallations = [sub('part', { blueprint: deploying(failingItem('db')) })]
    const items = [failingItem('bad'), { name: 'good' }]
    await cluster.create(installation('named', items, { blueprint: { subinstallations } }), 'installations')
    const failed = await cluster.waitUntilFinished('named')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    await stage.pawl.waitUntilSettled(failed)

    expect(await person('retry', 'inst', 'named', 'good', 'db')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('item "db" does not exist; expected part/db, bad, good\n') as unknown,
    })
    const flags = ['--kubeconfig', stage.servers.kubeconfigPath, '-n', 'one-item']
    const complete = async () => (await run('__complete', '--', 'skip', ...flags, 'inst/named', '')).stdout
    // Where the machine is busy, completion gives up before the API server has answered.
    await vi.waitFor(async () => expect(await complete()).toBe('bad\ngood\npart/db\n'), 90_000)

    const retried = await person('retry', 'exec/named', 'good', '--reason', 'to see')
    expect(retried).toMatchObject({ code: 0, stderr: '' })
    expect(retried.stdout).toMatch(
      /^deployitem "one-item\/named-good-\w+": \S+ requested a job of this item alone; it starts /,
    )
    expect(retried.stdout).toMatch(/ pawl reconcile installation\/named -n one-item\n$/)
    await cluster.waitUntilItems('named', ['good'], (one) => {
      const { jobID, jobIDFinished, phase } = one?.status ?? {}
      return jobID !== failed.status?.jobID && jobIDFinished === jobID && phase === 'Succeeded'
    })
    expect((await cluster.get('installations', 'named'))?.status).toMatchObject({ phase: 'Failed' })

    const left = await person('skip', 'inst/named', 'part/db', 'bad', '--reason', 'known to be broken', '-o', 'json')
    expect(JSON.parse(left.stdout)).toMatchObject([
      { kind: 'DeployItem.landscaper.gardener.cloud', asked: 'asked', why: 'known to be broken' },
      { kind: 'DeployItem.landscaper.gardener.cloud', asked: 'asked', why: 'known to be broken' },
    ])
    expect((await person('reconcile', 'installation/named')).code).toBe(0)
    const second = await cluster.waitUntilFinished('named', failed.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
  })
})

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Of a person with a kubeconfig of the cluster, and nothing else. */
async function person(...words: readonly string[]): Promise<Run> {
  return await run(...words, '--kubeconfig', stage.servers.kubeconfigPath, '-n', 'one-item')
}

async function run(...args: readonly string[]): Promise<Run> {
  return await new Promise((done, failed) => {
    execFile(process.execPath, [PAWL, ...args], (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === 'number') done({ code, stdout, stderr })
      else failed(error ?? new Error('pawl has not ended'))
    })
  })
}

describe('the metrics of a bridge and a worker after these jobs', () => {
  it('count the jobs, the passes and the size of the journal, and name no object', async () => {
    const scraped = [await metricsOf(stage.pawl.log('bridge')), await metricsOf(stage.pawl.log('worker'))].join('\n')
    const value = (name: string, labels: string) => valueOf(scraped, name, labels) ?? 0
    for (const controller of ['installation', 'execution', 'deploy'])
      expect(value('pawl_jobs_total', `controller="${controller}",outcome="Failed"`), controller).toBeGreaterThan(0)
    // The job of one item that was retried alone, and three jobs of items that Executions host.
    expect(value('pawl_jobs_total', 'controller="deploy",outcome="Failed"')).toBeGreaterThanOrEqual(4)
    const installation = 'controller="installation"'
    // Each of the six Installations has had a job.
    expect(value('pawl_wake_to_start_seconds_count', installation)).toBeGreaterThanOrEqual(6)
    expect(value('pawl_event_to_first_write_seconds_count', installation)).toBeGreaterThan(0)
    expect(value('controller_runtime_reconcile_total', `${installation},result="success"`)).toBeGreaterThan(0)
    expect(value('pawl_journal_size_bytes', '')).toBeGreaterThan(1_000_000)
    expect(scraped).not.toMatch(/(?:namespace|object)="|one-item|under-way/)
  })
})
