// Tests `pawl replay` of real jobs, from Temporal and the journal and from exported files: jobs that succeeded, that
// failed, and that still run. `pawl replay --against` replays past jobs with another build, and `pawl upgrade check`
// reports what else the other build changes. test/replay/gate.test.ts replays recorded runs.

import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

import { readSchema } from '../../activities/journal/migrate.ts'
import type { Finding } from '../../worker/cli/doctor/findings.ts'
import type { Comparison } from '../../worker/cli/replay/compare-runs.ts'
import type { ReplayedJob } from '../../worker/cli/replay/replayed-job.ts'
import { createTestDatabase } from '../activities/journal/test-database.ts'
import { CHAIN, execution, failingItem, installation, waitingItem } from '../support/cluster/cluster.ts'
import { type Ended, runCommand, startCommand } from '../support/pawl/run-command.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAME = 'replay-jobs'
const CHECKOUT = resolve(import.meta.dirname, '../..')
const HASTY = resolve(import.meta.dirname, '../replay/builds/hasty')
const folder = mkdtempSync(join(tmpdir(), 'pawl-replay-'))
// No worker is killed here. A long timeout prevents lost workflow tasks, whose results are in no history.
const stage = useStage(NAME, () => Promise.resolve({ workerFlags: ['--workflow-task-timeout-ms', '60000'] }))
// The journal may be a moment behind the API server.
const told = { timeout: 60_000, interval: 500 }

describe('pawl replay', { timeout: 300_000 }, () => {
  it('shows the events, plans and writes of a job that succeeded', async () => {
    const { cluster } = stage
    await cluster.create(installation('well', CHAIN), 'installations')
    await cluster.waitUntilFinished('well')
    const replayed = await whenItIs('Succeeded', 'inst/well')
    const [first] = replayed.passes
    expect(first?.wokenBy[0]).toMatch(
      /^the start of the job: reconcile annotation; Installation replay-jobs\/well \(event \d+, version \d+\) created by field manager \S+ at /,
    )
    expect(first?.plans.map(({ phase }) => phase)).toEqual(
      expect.arrayContaining(['Init', 'Progressing', 'Completing', 'Succeeded']),
    )
    const writes = replayed.passes.flatMap((pass) => pass.writes)
    const own = `Installation.landscaper.gardener.cloud/${NAME}/well`
    expect(writes.filter(({ object }) => object === own).map(({ step }) => step)).toEqual(
      expect.arrayContaining(['beginJob', 'settle']),
    )
    expect(writes.every(({ version, error }) => version !== undefined && error === undefined)).toBe(true)
    // The test of the file needs it after the history is deleted from Temporal.
    await pawl('journal', 'export', 'inst/well', '--out', fileOf('well'))
  })

  it('shows a job while it runs, and the event that woke its last pass when it has failed', async () => {
    const { cluster } = stage
    await cluster.create(installation('ill', [failingItem('db'), waitingItem('slow')]), 'installations')
    const items = await cluster.waitUntilItems('ill', ['slow'], (item) => item?.status?.phase === 'Progressing')
    await expect.poll(async () => (await replayOf('inst/ill')).passes.length, told).toBeGreaterThan(0)
    expect(await replayOf('inst/ill')).toMatchObject({ state: 'unfinished', notes: [] })
    expect((await pawl('replay', 'inst/ill')).stdout).toContain('awaitChildren: stops: waiting for Execution "ill"')
    await pawl('journal', 'export', 'inst/ill', '--out', fileOf('open'))

    await cluster.finishItem(items.get('slow')!, 'Succeeded')
    await cluster.waitUntilFinished('ill')
    const replayed = await whenItIs('Failed', 'inst/ill')
    // If the item ends during the pass that triggers it, this pass returns the event when it settles.
    const woken = replayed.passes.at(-1)?.wokenBy.join()
    expect(woken).toMatch(
      /DeployItem replay-jobs\/ill-slow-\w+ \(event \d+, version \d+\) changed by field manager \S+ at \S+, phase Succeeded/,
    )
    const { stdout } = await pawl('replay', 'inst/ill')
    expect(stdout).toContain(`pass 1 of ${replayed.passes.length}  `)
    expect(stdout).toMatch(/✗ triggerDeployItems: DeployItemsFailed: /)
  })

  it('shows the same job from an exported file, without Temporal and the journal', async () => {
    const before = await replayOf('inst/well')
    const nowhere = ['--database-url', 'postgresql://127.0.0.1:1/none', '--temporal-address', '127.0.0.1:1']
    const { stdout, stderr } = await startCommand({}, 'replay', '--file', fileOf('well'), '-o', 'json', ...nowhere)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(before)
    expect(JSON.parse((await runCommand('replay', '--file', fileOf('open'), '-o', 'json')).stdout)).toMatchObject({
      state: 'unfinished',
    })
  })

  it('shows the writes after an operator has reset the run in Temporal', async () => {
    const { cluster } = stage
    const { workflow, workflowService } = stage.pawl.client
    await cluster.create(installation('reset', [waitingItem('slow')]), 'installations')
    const items = await cluster.waitUntilItems('reset', ['slow'], (item) => item?.status?.phase === 'Progressing')
    await expect.poll(async () => (await replayOf('inst/reset')).passes.length, told).toBeGreaterThan(0)
    const before = await replayOf('inst/reset')
    const workflowExecution = { workflowId: before.workflowId, runId: before.runID }
    const { events } = await workflow.getHandle(before.workflowId).fetchHistory()
    const firstTask = events?.find(({ workflowTaskCompletedEventAttributes: completed }) => completed)
    await workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution,
      reason: 'a test',
      requestId: randomUUID(),
      workflowTaskFinishEventId: firstTask?.eventId ?? null,
    })
    await cluster.finishItem(items.get('slow')!, 'Succeeded')
    await cluster.waitUntilFinished('reset')
    const after = await whenItIs('Succeeded', 'inst/reset')
    expect(after.runID).not.toBe(before.runID)
    expect(after.notes).toEqual([expect.stringMatching(/^an operator reset the run in Temporal at /)])
    const writes = after.passes.flatMap((pass) => pass.writes)
    expect(writes.at(-1)).toMatchObject({ runID: after.runID, step: 'settle', verb: 'patchStatus' })
  })

  it('reports a job whose history was deleted from Temporal', async () => {
    const client = stage.pawl.client
    const { workflowId } = await replayOf('inst/well')
    await client.workflowService.deleteWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
    })
    await expect
      .poll(async () => (await pawl('replay', 'inst/well')).stderr, told)
      .toMatch(
        /: no history of workflow "installation\/replay-jobs\/well\/.*"; use --file with a file that pawl journal export wrote/,
      )
  })
})

describe('pawl replay --against', { timeout: 300_000 }, () => {
  it('finds no differences between this build and the past jobs, and reports how many runs have no history', async () => {
    const { code, stdout, stderr } = await startCommand(
      {},
      'replay',
      '--against',
      CHECKOUT,
      '--since',
      '1d',
      '-o',
      'json',
      ...places(),
    )
    expect(stderr).toBe('')
    const verdict = JSON.parse(stdout) as { readonly trials: readonly Comparison[]; readonly notes: readonly string[] }
    expect(verdict).toMatchObject({ same: verdict.trials.length, differ: 0, part: 0, unknown: 0 })
    expect(verdict.trials.length).toBeGreaterThanOrEqual(1)
    expect(verdict.notes).toContain('1 run is not compared: Temporal has deleted the history')
    expect(code).toBe(0)
  })

  it('shows the fields that another build would write differently, and the original write', async () => {
    const { cluster } = stage
    // A standalone Execution has its own runs, and the other build differs in the plan of Executions.
    await cluster.create(execution('alone', [failingItem('db')]), 'executions')
    let jobs = 0
    // When a worker pauses for longer than the workflow task timeout, Temporal drops the result of the task, and the
    // next attempt finds the job ended. So each poll runs a new job.
    const afterAnotherJob = async () => {
      await cluster.patch('executions', 'alone', { status: { jobID: `alone-${++jobs}` } }, 'status')
      await cluster.waitUntilFinished('alone', undefined, 'executions')
      return (await pawl('replay', '--against', HASTY, '--since', '1d')).stdout
    }
    await expect
      .poll(afterAnotherJob, told)
      .toMatch(
        /change\.lastError\.reason: DeployItemsFailed -> Failed\n(?: {4}.*\n)* {4}the run wrote: patchStatus Execution\.\S+\/alone\n/,
      )
    expect((await pawl('replay', '--against', HASTY, '--since', '1d')).code).toBe(3)
  })
})

describe('pawl upgrade check', { timeout: 300_000 }, () => {
  const CRD = 'deploy/crds/landscaper/landscaper.gardener.cloud_installations.yaml'

  /** A new version: the plans of HASTY, a further migration, and an Installation without a field. */
  async function nextVersion(): Promise<string> {
    const build = await mkdtemp(join(folder, 'next-'))
    for (const name of ['activities', 'node_modules', 'worker']) await symlink(join(CHECKOUT, name), join(build, name))
    await mkdir(join(build, 'workflows/kit/run/loop'), { recursive: true })
    for (const name of ['index.ts', 'kit/run/loop/index.ts', 'kit/run/loop/recording.ts'])
      await writeFile(join(build, 'workflows', name), `export * from '${join(HASTY, 'workflows', name)}'\n`)
    await cp(join(CHECKOUT, 'deploy/crds'), join(build, 'deploy/crds'), { recursive: true })
    await mkdir(join(build, 'deploy/rbac'))
    await cp(join(CHECKOUT, 'migrations'), join(build, 'migrations'), { recursive: true })
    await writeFile(join(build, 'migrations/0999_next.ts'), '')
    const crd = await readFile(join(CHECKOUT, CRD), 'utf8')
    await writeFile(join(build, CRD), crd.replaceAll('automaticReconcile:', 'reconcileAlone:'))
    return build
  }

  it('reports migrations, fields, roles and past decisions that the new version changes, and measures on a copy', async () => {
    const { kube } = stage.cluster
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'shop', namespace: NAME },
    }
    const rule = (verbs: readonly string[]) => ({ apiGroups: [''], resources: ['pods'], verbs })
    const body = { ...role, rules: [rule(['get'])] }
    await kube.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAME}/roles`, { body })
    const [build, manifests] = [await nextVersion(), join(folder, 'rbac.json')]
    await writeFile(manifests, JSON.stringify({ ...role, rules: [rule(['get', 'delete'])] }))
    const copy = await createTestDatabase(stage.servers.databaseUrl, { migrated: false })
    try {
      const flags = ['--against', build, '--since', '1d', '--manifests', manifests, '--journal-copy', copy.url]
      const kubeconfig = ['--kubeconfig', stage.servers.kubeconfigPath]
      const { code, stdout, stderr } = await startCommand(
        {},
        'upgrade',
        'check',
        ...flags,
        ...kubeconfig,
        '-o',
        'json',
        ...places(),
      )
      expect(stderr).toBe('')
      const texts = (JSON.parse(stdout) as Finding[]).map(({ part, verdict, text }) => `${part} ${verdict}: ${text}`)
      expect(texts).toEqual([
        expect.stringMatching(/^migrations warn: the journal lacks 0999_next; pawl migrate up took \S+ on the copy/),
        expect.stringMatching(
          /^crds warn: .*"installations.landscaper.gardener.cloud": the new version lacks v1alpha1 spec.automaticReconcile;/,
        ),
        `roles warn: Role "${NAME}/shop": the new version also needs delete pods; apply the new role before you replace processes`,
        expect.stringMatching(/^replay warn: \d+ of \d+ runs of the last 1d differ; "pawl replay --against /),
        expect.stringMatching(/^runs ok: /),
      ])
      expect(code).toBe(3)
      expect((await readSchema(copy.db)).missing).toEqual([])
    } finally {
      await copy.drop()
    }
  })

  it('refuses the journal as its own copy, and names a copy that does not answer', async () => {
    const build = await nextVersion()
    const { pathname } = new URL(stage.pawl.databaseUrl)
    const check = async (copy: string) => await pawl('upgrade', 'check', '--against', build, '--journal-copy', copy)
    // Another address of the same database.
    const alias = stage.pawl.databaseUrl.replace('127.0.0.1', 'localhost')
    for (const url of [stage.pawl.databaseUrl, alias])
      expect(await check(url)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          `--journal-copy: database ${new URL(url).host}${pathname} is the journal itself; pass another database with a restored backup`,
        ) as unknown,
      })
    const away = await check(`postgres://pawl:secret@127.0.0.1:1${pathname}`)
    expect(away).toMatchObject({
      code: 1,
      stderr: `pawl: --journal-copy: database 127.0.0.1:1${pathname} does not answer: connect ECONNREFUSED 127.0.0.1:1; check the URL\n`,
    })
  })

  it('refuses a folder that is no version of Pawl', async () => {
    const { code, stderr } = await pawl('upgrade', 'check', '--against', folder)
    expect(stderr).toContain('has no deploy/crds; expected a checkout of Pawl or node_modules/pawl of its package')
    expect(code).toBe(2)
  })
})

function fileOf(name: string): string {
  return join(folder, `${name}.json`)
}

/** Polls, because the journal and Temporal record the end of a job after the object shows it. */
async function whenItIs(state: string, ...job: readonly string[]): Promise<ReplayedJob> {
  await expect.poll(async () => (await replayOf(...job)).state, told).toBe(state)
  return await replayOf(...job)
}

async function replayOf(...job: readonly string[]): Promise<ReplayedJob> {
  const { stdout, stderr } = await pawl('replay', ...job, '-o', 'json')
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as ReplayedJob
}

function places(): readonly string[] {
  const { servers, pawl: own } = stage
  return ['--database-url', own.databaseUrl, '--temporal-address', servers.temporalAddress, '-n', NAME]
}

async function pawl(...words: readonly string[]): Promise<Ended> {
  return await runCommand(...words, ...places())
}
