// The simulated backup_agent: writes the snapshots of running backups, and the keys of restores.
//
// A1. One agent works at a time: the one with the lease, which another one takes when it has expired.
// A2. All progress is in the database and in the files, so any agent continues the work of another one.
// A3. A snapshot is written only when the keys differ from the last one of its backup.
// A4. A backup is restorable when its initial snapshot has lasted for INITIAL_SECONDS, as recorded (21/069 to 21/083).
// A5. A restore is completed before the database is unlocked, so a lost agent never repeats a restore over newer writes;
//     the next agent unlocks.

import { toBytes } from '../core/byte-string.ts'
import type { Host } from '../cli/context.ts'
import { sleep } from '../core/clock.ts'
import { LAYER_STATUS_PREFIX } from '../core/status-document.ts'
import type { Mutation } from '../core/state.ts'
import { BackupContainer, sizeOf } from './backup-container.ts'
import { describeState, isRestorable, isRunning } from './backup-status.ts'
import { isInRanges } from './fdbrestore.ts'
import type { Records } from './records.ts'
import { type BackupRecord, type RestoreRecord } from './records.ts'
import { newUid, runTool, toolVersion, type ToolSession } from './tool-session.ts'

const POLL_SECONDS = 0.5
const LEASE_SECONDS = 5
const INITIAL_SECONDS = 20
/** How often the agents write `layers.backup` (SURPRISES 60). */
const LAYER_SECONDS = 38
const WORKERS = 10
const LOCK_AWARE = { systemKeys: true, lockAware: true }

interface Lease {
  readonly holder: string
  readonly until: number
}

/** Runs until a signal ends the process. */
export async function backupAgent(argv: readonly string[], host: Host): Promise<number> {
  if (argv.some((word) => /^(?:--version|-v)$/.test(word))) {
    host.stdout(toolVersion(host))
    return 0
  }
  if (argv.some((word) => /^(?:--help|-h)$/.test(word))) {
    host.stdout(`FoundationDB 7.1 (v${host.version})\nUsage: backup_agent [OPTIONS]\n`)
    return 0
  }
  return await runTool('backup_agent', host, argv, async (session) => {
    const agent = new BackupAgent(session)
    for (;;) {
      await agent.work()
      await sleep(host.clock, POLL_SECONDS)
    }
  })
}

class BackupAgent {
  private readonly id: string
  private readonly session: ToolSession
  private readonly records: Records
  private layerAt = -Infinity
  private hasLease = false
  /** The keys of the last snapshot of each backup, by UID. */
  private readonly written = new Map<string, string>()

  constructor(session: ToolSession) {
    this.session = session
    this.records = session.records()
    this.id = newUid(session.host)
  }

  async work(): Promise<void> {
    await this.writeLayer()
    const hadLease = this.hasLease
    this.hasLease = await this.takeLease()
    if (!this.hasLease) return
    for (const restore of await this.records.restores()) {
      if (restore.state === 'queued' || restore.state === 'running') await this.restore(restore)
      // A5.
      else if (!hadLease) await this.session.client().request('unlock', { uid: restore.uid })
    }
    if (await this.records.isPaused()) return
    for (const backup of await this.records.backups()) if (isRunning(backup)) await this.backUp(backup)
  }

  /** A1. Times come from the machine's clock, because all agents of the simulator run on one machine. */
  private async takeLease(): Promise<boolean> {
    const { wallSeconds } = this.session.host
    const lease = await this.records.change<Lease>('agent', 'lease', (before) =>
      before !== undefined && before.holder !== this.id && before.until > wallSeconds()
        ? undefined
        : { holder: this.id, until: wallSeconds() + LEASE_SECONDS * this.timeScale },
    )
    return lease !== undefined
  }

  private get timeScale(): number {
    return Number(this.session.host.environment['FDB_SIM_TIME_SCALE'] ?? 1)
  }

  private async backUp(record: BackupRecord): Promise<void> {
    const { host } = this.session
    const container = new BackupContainer(record.url, host.environment)
    const { version, pairs } = await this.records.userKeys()
    const text = JSON.stringify(pairs)
    const isNew = this.written.get(record.uid) !== text || container.snapshots().length === 0
    if (isNew) container.write(version, pairs)
    this.written.set(record.uid, text)
    const now = { version, at: host.wallSeconds() }
    const bytes = isNew ? sizeOf(pairs) : 0
    await this.records.changeBackup(record.tag, (before) => {
      if (before.uid !== record.uid || !isRunning(before)) return undefined
      const begin = before.begin ?? now
      const isDone = now.at - begin.at >= INITIAL_SECONDS * this.timeScale
      const progress = { ...before, begin, end: now, bytes: before.bytes + bytes }
      if (!isDone) return { ...progress, state: 'Running' }
      return { ...progress, state: before.stopsWhenDone ? 'Completed' : 'RunningDifferentially' }
    })
  }

  /** The database is locked from the first to the last write (recording 21/100). */
  private async restore(record: RestoreRecord): Promise<void> {
    const client = this.session.client()
    const { uid, tag, ranges, version } = record
    const locked = await client.request('lock', { uid })
    if (locked === 'other') return
    const running = await this.records.change<RestoreRecord>('restore', tag, (before) =>
      before?.uid === uid && before.state !== 'aborted' ? { ...before, state: 'running' } : undefined,
    )
    if (running !== undefined) {
      const container = new BackupContainer(record.url, this.session.host.environment)
      const source = container.newestUntil(version)
      const pairs = (source === undefined ? [] : container.read(source)).filter(([key]) => isInRanges(key, ranges))
      const mutations: Mutation[] = [
        ...ranges.map(([begin, end]): Mutation => ({ type: 'clear', begin, end })),
        ...pairs.map(([key, value]): Mutation => ({ type: 'set', key, value })),
      ]
      await client.request('commit', { reads: [], mutations, ...LOCK_AWARE })
      await this.records.change<RestoreRecord>('restore', tag, (before) =>
        before?.uid === uid ? { ...before, state: 'completed', bytes: sizeOf(pairs) } : undefined,
      )
    }
    await client.request('unlock', { uid })
  }

  private async writeLayer(): Promise<void> {
    const { host, client } = this.session
    if (host.clock.now() - this.layerAt < LAYER_SECONDS) return
    this.layerAt = host.clock.now()
    const now = host.wallSeconds()
    const instance = { configured_workers: WORKERS, id: this.id, last_updated: now, version: host.version }
    const instances = await this.records.change<Record<string, typeof instance>>('agent', 'instances', (before) => ({
      ...before,
      [this.id]: instance,
    }))
    const count = Object.keys(instances ?? {}).length
    const [paused, backups] = [await this.records.isPaused(), await this.records.backups()]
    const layer = {
      blob_recent_io: { bytes_sent: 0, requests_failed: 0, requests_successful: 0 },
      instances,
      instances_running: count,
      last_updated: now,
      paused,
      tags: Object.fromEntries(backups.map((backup) => [backup.tag, layerTag(backup, now)])),
      total_workers: paused ? 0 : WORKERS * count,
    }
    const key = `${LAYER_STATUS_PREFIX}backup`
    const mutations: Mutation[] = [{ type: 'set', key, value: toBytes(JSON.stringify(layer)) }]
    await client().request('commit', { reads: [], mutations, ...LOCK_AWARE })
  }
}

function layerTag(backup: BackupRecord, now: number): Readonly<Record<string, unknown>> {
  const { url, uid, bytes, end } = backup
  return {
    current_container: url,
    current_status: describeState(backup),
    ...(end !== undefined && {
      last_restorable_seconds_behind: Math.max(0, now - end.at),
      last_restorable_version: end.version,
    }),
    mutation_log_bytes_written: 0,
    mutation_stream_id: uid,
    range_bytes_written: bytes,
    running_backup: isRunning(backup) && backup.state !== 'Submitted',
    running_backup_is_restorable: isRunning(backup) && isRestorable(backup),
  }
}
