// Backups and restores in the database: one JSON document for each tag, which tools and agents read and change.
//
// R1. A change reads and writes in one transaction, and is repeated after a conflict.
// R2. The keys have the prefix of the real backup agents' keys, but a format that only the simulator reads.

import { toBytes, toText, USER_END } from '../core/byte-string.ts'
import type { Client } from '../cli/gateway.ts'

export interface Point {
  readonly version: number
  /** Unix time in seconds. */
  readonly at: number
}

export interface BackupRecord {
  readonly tag: string
  readonly uid: string
  readonly url: string
  readonly state: 'Submitted' | 'Running' | 'RunningDifferentially' | 'Completed' | 'Aborted'
  readonly intervalSeconds: number
  /** Ends when it is restorable. */
  readonly stopsWhenDone: boolean
  readonly begin?: Point
  readonly end?: Point
  readonly bytes: number
}

export interface RestoreRecord {
  readonly tag: string
  readonly uid: string
  readonly url: string
  readonly state: 'queued' | 'running' | 'completed' | 'aborted'
  readonly version: number
  readonly ranges: readonly (readonly [begin: string, end: string])[]
  readonly bytes: number
}

const PREFIX = '\xff\x02/backup-agent/simulator/'
const OPTIONS = { systemKeys: true, lockAware: true }
const CONFLICTS = new Set([1007, 1020])

type Kind = 'backup' | 'restore' | 'agent' | 'setting'

export class Records {
  private readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  async backup(tag: string): Promise<BackupRecord | undefined> {
    return (await this.all<BackupRecord>('backup')).find((record) => record.tag === tag)
  }

  async backups(): Promise<BackupRecord[]> {
    return await this.all('backup')
  }

  async restores(): Promise<RestoreRecord[]> {
    return await this.all('restore')
  }

  async isPaused(): Promise<boolean> {
    return (await this.all<{ paused: boolean }>('setting')).some(({ paused }) => paused)
  }

  async pause(paused: boolean): Promise<void> {
    await this.change<{ paused: boolean }>('setting', 'paused', () => ({ paused }))
  }

  /** R1. @returns the new record; undefined: no change. */
  async change<T>(kind: Kind, name: string, decide: (before: T | undefined) => T | undefined): Promise<T | undefined> {
    const key = `${PREFIX}${kind}/${toBytes(name)}`
    for (;;) {
      const readVersion = await this.client.request('readVersion', OPTIONS)
      const [row] = await this.client.request('range', { begin: key, end: `${key}\0`, limit: 1, ...OPTIONS })
      const after = decide(row && (JSON.parse(toText(row[1])) as T))
      if (after === undefined) return undefined
      const mutations = [{ type: 'set' as const, key, value: toBytes(JSON.stringify(after)) }]
      try {
        await this.client.request('commit', { readVersion, reads: [[key, `${key}\0`]], mutations, ...OPTIONS })
        return after
      } catch (error) {
        if (!CONFLICTS.has((error as { code?: number }).code ?? 0)) throw error
      }
    }
  }

  async changeBackup(tag: string, decide: (before: BackupRecord) => BackupRecord | undefined): Promise<void> {
    await this.change<BackupRecord>('backup', tag, (before) => before && decide(before))
  }

  /** All keys of users, with the version. */
  async userKeys(): Promise<{ version: number; pairs: readonly (readonly [string, string])[] }> {
    const version = await this.client.request('readVersion', OPTIONS)
    const pairs = await this.client.request('range', { begin: '', end: USER_END, limit: 0, ...OPTIONS })
    return { version, pairs }
  }

  private async all<T>(kind: Kind): Promise<T[]> {
    const begin = `${PREFIX}${kind}/`
    const rows = await this.client.request('range', { begin, end: `${begin}\xff`, limit: 0, ...OPTIONS })
    return rows.map(([, value]) => JSON.parse(toText(value)) as T)
  }
}
