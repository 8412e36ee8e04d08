// `pawl journal export`, `verify` and `prune` on a real journal.

import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { beginActions } from '../../activities/journal/write/actions.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { seen, unrouted } from '../activities/journal/build-events.ts'
import { job, newWake } from '../activities/journal/build-job.ts'
import { endJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { runCommand } from '../support/pawl/run-command.ts'

const RUN = 'installation/team-a/shop/i1/j1'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const journal = useJournal(inject('servers').databaseUrl)
const ago = (ms: number) => new Date(Date.now() - ms)
const OBJECT = `Installation.${installationKind.group}/team-a/shop`
const SHOP = { controller: 'installation', cluster: 'local', uid: 'i1', namespace: 'team-a', name: 'shop' }

beforeEach(() => {
  const nowhere = { KUBECONFIG: '/nonexistent', PAWL_DATA_DIR: '/nonexistent' }
  for (const [name, value] of Object.entries({ ...nowhere, PAWL_TEMPORAL_ADDRESS: '', TEMPORAL_ADDRESS: '' }))
    vi.stubEnv(name, value)
})
afterAll(() => {
  vi.unstubAllEnvs()
})
const pawl = async (...words: readonly string[]) => await runCommand('journal', ...words, '--database-url', journal.url)

/** Journals a version of the Installation. */
async function shopAt(ms: number, version: number, type: 'MODIFIED' | 'DELETED' = 'MODIFIED'): Promise<void> {
  const status = { phase: 'Init', jobID: 'j1' }
  const shop = { uid: 'i1', namespace: 'team-a', name: 'shop', finalizers: [FINALIZER], generation: version, status }
  const events = [seen(type, { ...shop, version }, installationKind)]
  await journal.journal({ cluster: 'local', events }, { ...unrouted, now: () => ago(ms) })
}

/** An Installation with an open job. */
async function shop(): Promise<void> {
  await shopAt(HOUR_MS, 5)
  await openJob(journal.db, job({ ...SHOP, workflow_id: RUN, started_at: ago(HOUR_MS) }))
}

describe('pawl journal export', { timeout: 120_000 }, () => {
  it('has the rows of the job, and no others', async () => {
    await shop()
    await journal.journal({ cluster: 'local', events: [seen('ADDED', { uid: 'other', version: 4 })] }, unrouted)
    for (const workflow_id of [RUN, 'installation/team-a/other/i2/j1']) {
      const action = { workflow_id, run_id: 'r1', pass: 1, step: 'settle', object: OBJECT, verb: 'patch' }
      await beginActions(journal.db, [{ ...action, field_manager: 'pawl', started_at: new Date() }])
    }
    const { code, stdout, stderr } = await pawl('export', 'inst/shop', '-n', 'team-a')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'pawl: warning: the file has no history: Temporal has deleted it, or its address is unknown (--temporal-address)\n',
    })
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'pawl.job/1',
      workflowId: RUN,
      jobID: 'j1',
      journal: {
        job: { workflow_id: RUN, outcome: null },
        writes: [{ workflow_id: RUN, step: 'settle' }],
        events: [{ uid: 'i1', resource_version: 5 }],
        cut: [],
      },
    })
    expect((await pawl('export', 'inst/shop', 'j9', '-n', 'team-a')).stderr).toContain(
      'installation "team-a/shop": job "j9" is not in the journal; the newest jobs are j1',
    )
  })
})

describe('pawl journal verify', { timeout: 120_000 }, () => {
  it('finds nothing in a sound journal', async () => {
    await shop()
    const { code, stdout } = await pawl('verify')
    expect({ code, stdout }).toMatchObject({ code: 0 })
    expect(stdout).toMatch(/^rules +ok +16 of 16 hold$/m)
    expect(stdout).toMatch(/^runs +skipped/m)
  })

  it('names what contradicts itself', async () => {
    await shop()
    const started_at = ago(DAY_MS)
    await openJob(journal.db, job({ ...SHOP, workflow_id: `${RUN}-2`, job_id: 'j2', started_at }))
    await shopAt(HOUR_MS, 6, 'DELETED')
    await journal.db.updateTable('object').set({ deleted: false, resource_version: 5 }).execute()
    const hosted = { workflow_id: 'gone', controller: 'execution', cluster: 'local', uid: 'e1', job_id: 'j1' }
    const phases = { phase: 'Init', phases: '[]', started_at }
    const row = { ...hosted, ...phases, namespace: 'team-a', name: 'shop' }
    await journal.db.insertInto('hosted_job').values(row).execute()
    await upsertWakes(journal.db, [newWake({ ...SHOP, seq: 1_000_000_000, due: started_at })], new Date())
    try {
      const { code, stdout } = await pawl('verify')
      expect(code).toBe(1)
      expect(stdout).toMatch(/^undead +bad +Installation team-a\/shop: deleted at .*, lives in version 5; expected/m)
      expect(stdout).toMatch(/^two-jobs +bad +installation team-a\/shop: 2 open jobs, j\d j\d; expected/m)
      expect(stdout).toMatch(/^hosted-jobs +bad +execution team-a\/shop, job j1: its run has no row; expected/m)
      expect(stdout).toMatch(/^wake-of-nothing +bad +installation team-a\/shop: wake by event 1000000000, /m)
    } finally {
      await journal.db.deleteFrom('hosted_job').execute()
    }
  })
})

describe('a job whose run Temporal has', { timeout: 180_000 }, () => {
  it('is exported with its history, and verified against it', async () => {
    await shop()
    const { temporalAddress } = inject('servers')
    const at = ['--temporal-address', temporalAddress, '--temporal-namespace', 'default']
    const without = await pawl('verify', ...at)
    expect(without.code).toBe(1)
    expect(without.stdout).toMatch(
      /^runs +bad +installation team-a\/shop, job j1: the job is open, but its run is not there; a running worker/m,
    )
    const connection = await Connection.connect({ address: temporalAddress })
    try {
      const options = { taskQueue: 'nobody', workflowId: RUN }
      const run = await new Client({ connection }).workflow.start('installation', options)
      const exported = await pawl('export', 'inst/shop', '-n', 'team-a', ...at)
      expect(exported).toMatchObject({ code: 0, stderr: '' })
      expect(JSON.parse(exported.stdout)).toMatchObject({
        runId: run.firstExecutionRunId,
        history: { events: [{ eventId: '1', eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED' }, {}] },
      })
      expect((await pawl('verify', ...at)).stdout).toMatch(/^runs +ok +1 of 1 open jobs have a run in Temporal$/m)
      await run.terminate()
    } finally {
      await connection.close()
    }
  })
})

describe('pawl journal prune', { timeout: 120_000 }, () => {
  it('says what it would forget, and forgets that only when told to', async () => {
    const versions = async () =>
      (await journal.rows('watch_event', 'resource_version')).map((row) => row.resource_version)
    await shopAt(40 * DAY_MS, 3)
    await shopAt(DAY_MS, 4)
    await openJob(journal.db, job({ ...SHOP, workflow_id: 'old', job_id: 'j2', started_at: ago(40 * DAY_MS) }))
    await endJob(journal.db, 'old', ago(39 * DAY_MS))
    const told = await pawl('prune', '--keep', '7d', '-o', 'json')
    expect(JSON.parse(told.stdout)).toMatchObject({ rows: 1, ended: { job: 1, action: 0 }, done: false })
    expect(await versions()).toEqual([3, 4])
    const done = await pawl('prune', '--keep', '7d', '--yes')
    expect(done).toMatchObject({ code: 0, stdout: 'events without a partition: 1 rows deleted\njob: 1 rows deleted\n' })
    expect(await versions()).toEqual([4])
    const again = await pawl('prune', '--keep', '7d')
    expect(again.code).toBe(0)
    expect(again.stdout).toMatch(/^no rows ended before /)
    expect((await pawl('prune')).stderr).toBe('pawl: --before or --keep is missing\n')
    expect((await pawl('prune', '--before', 'soon')).code).toBe(2)
  })
})
