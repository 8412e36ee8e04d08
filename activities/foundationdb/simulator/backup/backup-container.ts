// The files of a backup: a folder with one snapshot of all keys for each version at which the keys had changed.
//
// K1. A snapshot appears by a rename, so a reader sees all of it.
// K2. `blobstore://` URLs name a folder below FDB_SIM_BLOBSTORE: the simulator has no network.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { outsidePath } from '../container-root.ts'

type Pairs = readonly (readonly [key: string, value: string])[]
type Env = Readonly<Record<string, string | undefined>>

export interface BackupSnapshot {
  readonly version: number
  readonly bytes: number
}

/** A URL that names no folder. The message is the one of the tools. */
export class InvalidUrl extends Error {}

/** Returns the folder of a backup URL on this machine. @throws InvalidUrl */
export function containerFolder(url: string, env: Env): string {
  const invalid = (problem: string): InvalidUrl =>
    new InvalidUrl(`'Backup Container URL invalid' on URL '${url}': ${problem}`)
  if (url.startsWith('file://')) {
    const path = url.slice('file://'.length)
    if (path.startsWith('/')) return outsidePath(path, env)
    throw invalid(`Backup path '${path}' must be the absolute path '${resolve(path)}'`)
  }
  const [, name = '', query = ''] = /^blobstore:\/\/[^/]+\/([^?]+)(?:\?(.*))?$/.exec(url) ?? []
  if (name === '') throw invalid('invalid URL prefix')
  const base = env['FDB_SIM_BLOBSTORE']
  if (base === undefined) {
    throw invalid('Failed to get region from host or parameter in url, region is required for aws v4 signature')
  }
  const bucket = new URLSearchParams(query).get('bucket')
  if (bucket === null || bucket === '') throw invalid("'bucket' parameter cannot be empty")
  return join(base, encodeURIComponent(bucket), encodeURIComponent(name))
}

export class BackupContainer {
  private readonly folder: string
  private readonly base: string

  constructor(url: string, env: Env) {
    this.base = containerFolder(url, env)
    this.folder = join(this.base, 'snapshots')
  }

  get exists(): boolean {
    return existsSync(this.base)
  }

  create(): void {
    mkdirSync(this.folder, { recursive: true })
  }

  write(version: number, pairs: Pairs): void {
    this.create()
    const file = join(this.folder, `snapshot,${String(version)}`)
    writeFileSync(`${file}.tmp`, JSON.stringify(pairs))
    renameSync(`${file}.tmp`, file)
  }

  /** Oldest first. */
  snapshots(): BackupSnapshot[] {
    if (!existsSync(this.folder)) return []
    const versions = readdirSync(this.folder).flatMap((name) => /^snapshot,(\d+)$/.exec(name)?.[1] ?? [])
    return versions
      .map(Number)
      .sort((a, b) => a - b)
      .map((version) => ({ version, bytes: sizeOf(this.read(version)) }))
  }

  read(version: number): Pairs {
    return JSON.parse(readFileSync(join(this.folder, `snapshot,${String(version)}`), 'utf8')) as Pairs
  }

  /** The newest snapshot that is not newer than the version. */
  newestUntil(version: number): number | undefined {
    return this.snapshots().findLast((snapshot) => snapshot.version <= version)?.version
  }

  delete(): void {
    rmSync(this.base, { recursive: true })
  }

  /** Names of the folders in it. */
  list(): string[] {
    return this.exists ? readdirSync(this.base).sort() : []
  }
}

export function sizeOf(pairs: Pairs): number {
  return pairs.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
}

/** The text of `fdbbackup describe`, also printed by `fdbrestore start`. */
export function describeContainer(url: string, container: BackupContainer): string {
  const snapshots = container.snapshots()
  const lines = snapshots.map(({ version, bytes }) => {
    const at = (name: string): string => `${name}Version=${String(version)} (maxLogEnd -0.00 days)`
    return `Snapshot:  ${at('start')}  ${at('end')}  totalBytes=${String(bytes)}  restorable=true  expiredPct=0.00`
  })
  const [first, last] = [snapshots[0]?.version, snapshots.at(-1)?.version]
  const total = snapshots.reduce((sum, { bytes }) => sum + bytes, 0)
  const versions =
    first === undefined || last === undefined
      ? []
      : Object.entries({
          'MinLogBeginVersion:      ': first,
          'ContiguousLogEndVersion: ': last,
          'MaxLogEndVersion:        ': last,
          'MinRestorableVersion:    ': first,
          'MaxRestorableVersion:    ': last,
        }).map(([name, version]) => `${name}${String(version)} (maxLogEnd -0.00 days)`)
  return [
    `URL: ${url}`,
    `Restorable: ${String(snapshots.length > 0)}`,
    'Partitioned logs: false',
    ...lines,
    `SnapshotBytes: ${String(total)}`,
    ...versions,
    '',
  ].join('\n')
}
