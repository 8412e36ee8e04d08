// T4: the journal's PostgreSQL fails over to a standby with streaming replication. Synchronous replication loses nothing. Asynchronous replication loses the last
// commits: the bridge starts at the checkpoint of the new server, and journals all later events again.

import { afterEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { CHAIN, installation, waitingItem } from '../support/cluster/cluster.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane, RESTART_MS } from '../support/faults/lane.ts'
import { crowd, doubled, unevenJobs } from '../support/tenants/crowd.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'
import { OwnPostgres } from '../support/servers/own-postgres.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')
const LIMIT_MS = 240_000

interface Pair {
  readonly primary: OwnPostgres
  readonly standby: OwnPostgres
  /** Leads Pawl to the present primary. */
  readonly door: TcpProxy
  /** Between primary and standby. */
  readonly stream: TcpProxy
  readonly lane: Lane
}

let lane: Lane | undefined
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail')
    process.stderr.write(`open after "${task.name}": ${await lane?.pawl.openState()}\n`)
})

async function open(name: string): Promise<Pair> {
  const primary = await OwnPostgres.start()
  onTestFinished(() => primary.remove())
  const stream = await TcpProxy.to(primary.port)
  onTestFinished(() => stream.stop())
  const standby = await primary.addStandby(stream.port)
  onTestFinished(() => standby.remove())
  const door = await TcpProxy.to(primary.port)
  onTestFinished(() => door.stop())
  const databaseUrl = door.through(primary.url)
  lane = await openLane(name, { ...servers, databaseUrl }, { workerFlags: PRODUCTION_TIMEOUTS })
  const opened = lane
  onTestFinished(() => closeLane(opened))
  return { primary, standby, door, stream, lane }
}

/** Kills the primary, promotes the standby, and leads connections there. */
async function failOver({ primary, standby, door }: Pair): Promise<void> {
  door.refuse()
  await primary.kill()
  await standby.promote()
  door.switchTo(standby.port)
}

const CASES: readonly (readonly [title: string, run: () => Promise<void>])[] = [
  ['to a server that is up to date, in the middle of jobs, loses none and doubles none', failOverSynchronously],
  ['to a server that lacks the last commits journals them again', failOverWithLag],
]

describe('T4: a journal that fails over', { timeout: LIMIT_MS }, () => {
  it.each(sampleOf('faults: failover', CASES, 1))('%s', async (_title, run) => {
    await run()
  })
})

async function failOverSynchronously(): Promise<void> {
  const pair = await open('failover')
  const { primary, lane } = pair
  await primary.set('synchronous_standby_names', '*')
  await expect.poll(() => syncStates(primary)).toEqual(['sync'])
  lane.proxy.arm()
  let steps = 0
  let over: Promise<void> | undefined
  await crowd(lane.cluster, { prefix: 'sync', lives: byForm(4, 6), abreast: 4, limitMs: RESTART_MS }, () => {
    if (++steps === 4) over = failOver(pair)
  })
  await over
  await waitUntilJournalIdle(lane)
  expect(doubled(lane.proxy.writes)).toEqual([])
  expect(await unevenJobs(lane.pawl)).toEqual([])
}

async function failOverWithLag(): Promise<void> {
  const pair = await open('lagging')
  const { primary, standby, stream, lane } = pair
  const { cluster, pawl } = lane
  await cluster.create(
    installation('before', [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]),
    'installations',
  )
  const items = await cluster.waitUntilItems('before', ['slow'], (item) => item?.status?.phase === 'Progressing')
  await cluster.create(installation('edited', CHAIN), 'installations')
  const edited = await cluster.waitUntilFinished('edited')
  await cluster.create(installation('removed', CHAIN), 'installations')
  await pawl.waitUntilSettled(await cluster.waitUntilFinished('removed'))
  await pawl.waitUntilSettled(edited)
  await expect.poll(async () => (await lagOf(primary, standby)) >= 0).toBe(true)

  // From here on the standby gets no commits.
  stream.refuse()
  await cluster.finishItem(items.get('slow')!, 'Succeeded')
  const before = await cluster.waitUntilFinished('before')
  await cluster.create(
    installation('midway', [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]),
    'installations',
  )
  const midway = await cluster.waitUntilItems('midway', ['slow'], (item) => item?.status?.phase === 'Progressing')
  await cluster.create(installation('lost', CHAIN), 'installations')
  const made = await cluster.waitUntilFinished('lost')
  await cluster.trigger('edited')
  const again = await cluster.waitUntilFinished('edited', edited.status?.jobID)
  await cluster.delete('installations', 'removed')
  await cluster.waitUntilGone('removed')
  for (const one of [before, made, again]) await pawl.waitUntilSettled(one)
  // Journaled, but no job has started.
  await cluster.create(installation('idle', CHAIN, { triggered: false }), 'installations')
  await pawl.waitUntilSettled((await cluster.get('installations', 'idle'))!)
  await failOver(pair)

  await cluster.finishItem(midway.get('slow')!, 'Succeeded')
  const { status } = await cluster.waitUntilFinished('midway', undefined, 'installations', RESTART_MS)
  expect(status, JSON.stringify(status?.lastError)).toMatchObject({ phase: 'Succeeded' })
  await waitUntilJournalIdle(lane)
  await cluster.trigger('idle')
  expect((await cluster.waitUntilFinished('idle')).status).toMatchObject({ phase: 'Succeeded' })
  await waitUntilJournalIdle(lane)
  expect(doubled(lane.proxy.writes)).toEqual([])
  for (const one of [before, made, again])
    expect((await cluster.get('installations', one.metadata.name))?.status).toEqual(one.status)
}

async function syncStates(primary: OwnPostgres): Promise<readonly unknown[]> {
  return (await primary.ask('select sync_state from pg_stat_replication')).map((row) => row['sync_state'])
}

/** The position of the standby minus the primary's last written position, in bytes. */
async function lagOf(primary: OwnPostgres, standby: OwnPostgres): Promise<number> {
  const [{ at } = {}] = await primary.ask('select pg_current_wal_flush_lsn() as at')
  const [{ ahead } = {}] = await standby.ask(`select pg_last_wal_replay_lsn() - '${String(at)}'::pg_lsn as ahead`)
  return Number(ahead)
}
