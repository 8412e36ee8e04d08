// T4: the journal's PostgreSQL fails over to a second server that follows it by streaming replication. Synchronously nothing is lost. Asynchronously the last
// commits are: then the bridge begins at the checkpoint that the new server has, and what was journaled after it is seen again.

import { afterEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { CHAIN, installation, waiting } from '../support/cluster.ts'
import { atRest, closeLane, type Lane, openLane, RESTART_MS } from '../support/crash.ts'
import { crowd, doubled, unevenJobs } from '../support/crowd.ts'
import { FickleProxy } from '../support/fickle-proxy.ts'
import { OwnPostgres } from '../support/own-postgres.ts'
import { PATIENT } from '../support/stage.ts'

const servers = inject('servers')
const LIMIT_MS = 240_000

interface Pair {
  readonly primary: OwnPostgres
  readonly standby: OwnPostgres
  /** In front of the one that serves. */
  readonly door: FickleProxy
  /** Between the two. */
  readonly stream: FickleProxy
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
  const stream = await FickleProxy.to(primary.port)
  onTestFinished(() => stream.stop())
  const standby = await primary.addStandby(stream.port)
  onTestFinished(() => standby.remove())
  const door = await FickleProxy.to(primary.port)
  onTestFinished(() => door.stop())
  const databaseUrl = door.through(primary.url)
  lane = await openLane(name, { ...servers, databaseUrl }, { workerFlags: PATIENT })
  const opened = lane
  onTestFinished(() => closeLane(opened))
  return { primary, standby, door, stream, lane }
}

/** The primary dies, the other server takes over, and connections lead there. */
async function failOver({ primary, standby, door }: Pair): Promise<void> {
  door.refuse()
  await primary.kill()
  await standby.promote()
  door.switchTo(standby.port)
}

describe('a journal that fails over', { timeout: LIMIT_MS }, () => {
  it('T4: to a server that is up to date, in the middle of jobs, loses none and doubles none', async () => {
    const pair = await open('failover')
    const { primary, lane } = pair
    await primary.set('synchronous_standby_names', '*')
    await expect.poll(() => syncStates(primary)).toEqual(['sync'])
    lane.proxy.arm()
    let steps = 0
    let over: Promise<void> | undefined
    await crowd(lane.cluster, { prefix: 'sync', lives: 6, abreast: 4, limitMs: RESTART_MS }, () => {
      if (++steps === 4) over = failOver(pair)
    })
    await over
    await atRest(lane)
    expect(doubled(lane.proxy.writes)).toEqual([])
    expect(await unevenJobs(lane.pawl)).toEqual([])
  })

  it('T4: to a server that lacks the last commits sees again what was journaled in them', async () => {
    const pair = await open('lagging')
    const { primary, standby, stream, lane } = pair
    const { cluster, pawl } = lane
    await cluster.create(
      installation('before', [waiting('slow'), { name: 'next', dependsOn: ['slow'] }]),
      'installations',
    )
    const items = await cluster.untilItems('before', ['slow'], (item) => item?.status?.phase === 'Progressing')
    await cluster.create(installation('edited', CHAIN), 'installations')
    const edited = await cluster.finished('edited')
    await cluster.create(installation('removed', CHAIN), 'installations')
    await pawl.settled(await cluster.finished('removed'))
    await pawl.settled(edited)
    await expect.poll(async () => (await lagOf(primary, standby)) >= 0).toBe(true)

    // From here on the standby hears nothing any more.
    stream.refuse()
    await cluster.finishItem(items.get('slow')!, 'Succeeded')
    const before = await cluster.finished('before')
    await cluster.create(
      installation('midway', [waiting('slow'), { name: 'next', dependsOn: ['slow'] }]),
      'installations',
    )
    const midway = await cluster.untilItems('midway', ['slow'], (item) => item?.status?.phase === 'Progressing')
    await cluster.create(installation('lost', CHAIN), 'installations')
    const made = await cluster.finished('lost')
    await cluster.trigger('edited')
    const again = await cluster.finished('edited', edited.status?.jobID)
    await cluster.delete('installations', 'removed')
    await cluster.gone('removed')
    for (const one of [before, made, again]) await pawl.settled(one)
    // Seen and journaled, and nothing has come of it yet.
    await cluster.create(installation('idle', CHAIN, { triggered: false }), 'installations')
    await pawl.settled((await cluster.get('installations', 'idle'))!)
    await failOver(pair)

    await cluster.finishItem(midway.get('slow')!, 'Succeeded')
    const { status } = await cluster.finished('midway', undefined, 'installations', RESTART_MS)
    expect(status, JSON.stringify(status?.lastError)).toMatchObject({ phase: 'Succeeded' })
    await atRest(lane)
    await cluster.trigger('idle')
    expect((await cluster.finished('idle')).status).toMatchObject({ phase: 'Succeeded' })
    await atRest(lane)
    expect(doubled(lane.proxy.writes)).toEqual([])
    for (const one of [before, made, again])
      expect((await cluster.get('installations', one.metadata.name))?.status).toEqual(one.status)
  })
})

async function syncStates(primary: OwnPostgres): Promise<readonly unknown[]> {
  return (await primary.ask('select sync_state from pg_stat_replication')).map((row) => row['sync_state'])
}

/** How far the standby is beyond what the primary has written by now, in bytes. */
async function lagOf(primary: OwnPostgres, standby: OwnPostgres): Promise<number> {
  const [{ at } = {}] = await primary.ask('select pg_current_wal_flush_lsn() as at')
  const [{ ahead } = {}] = await standby.ask(`select pg_last_wal_replay_lsn() - '${String(at)}'::pg_lsn as ahead`)
  return Number(ahead)
}
