// The files of a pod on disk: its record, the traces of its process, and the folder that replaces the file system of
// its container.
//
// W1. The record of a pod is written before its process is started, and the record of the process before it becomes the
//   injector (shim.ts).
// W2. A record is complete or missing: it is written to a temporary file and renamed.
// W3. The folder is removed last, when nothing that it describes is left.

import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { KubeObject } from '../../kube/client.ts'
import type { Ending } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { isGone, readText } from '../injector/processes.ts'
import { parseStat } from './processes.ts'

export interface PodRecord {
  readonly version: 1
  /** The pod when its process was started. */
  readonly pod: KubeObject
  readonly acceptedMs: number
  readonly bootId: string
  /** The command line and environment of the injector; the clean-up gets the same variables. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly ending?: Ending
}

/** The files of the shim; timestamps are milliseconds since the epoch. */
export interface ShimTraces {
  readonly claimedMs: number | undefined
  readonly shim: ProcessRef | undefined
  readonly injector: (ProcessRef & { readonly startedMs: number }) | undefined
  readonly exit: { readonly text: string; readonly atMs: number } | undefined
}

export class PodFolder {
  readonly path: string
  /** Replaces the container's file system. */
  readonly files: string
  readonly log: string
  /** JSON: maps the target's container names to processes. */
  readonly containers: string
  /** The termination message of the injector. */
  readonly message: string

  constructor(path: string) {
    this.path = path
    this.files = join(path, 'files')
    this.log = join(path, 'log')
    this.containers = join(path, 'containers.json')
    this.message = join(path, 'termination-log')
  }

  /** W1 */
  async create(record: PodRecord): Promise<void> {
    await mkdir(join(this.files, 'tmp'), { recursive: true, mode: 0o700 })
    await this.write(record)
  }

  async write(record: PodRecord): Promise<void> {
    await replaceFile(join(this.path, 'pod.json'), JSON.stringify(record))
  }

  /** Undefined: no process was started. @throws if the file is not a valid record. */
  async read(): Promise<PodRecord | undefined> {
    const text = await readText(join(this.path, 'pod.json'))
    if (text === undefined) return undefined
    const record = JSON.parse(text) as PodRecord
    if ((record.version as number) !== 1)
      throw new Error(`${this.path}/pod.json: found version ${String(record.version)}; expected 1`)
    return record
  }

  async traces(): Promise<ShimTraces> {
    const [claimedMs, shim, injector, exit] = await Promise.all([
      timeOf(join(this.path, 'claim')),
      this.processOf('shim'),
      this.processOf('injector'),
      this.fileOf('exit'),
    ])
    return {
      claimedMs,
      shim,
      injector: injector && { pid: injector.pid, startTime: injector.startTime, startedMs: injector.atMs },
      exit: exit && { text: exit.text.trim(), atMs: exit.atMs },
    }
  }

  /** The path of a file in the container's file system. */
  inside(path: string): string {
    return join(this.files, path)
  }

  /** W3 */
  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }

  private async processOf(name: string) {
    const file = await this.fileOf(name)
    const found = file && parseStat(file.text)
    return file && found && { pid: found.pid, startTime: found.startTime, atMs: file.atMs }
  }

  private async fileOf(name: string) {
    const path = join(this.path, name)
    const [text, atMs] = await Promise.all([readText(path), timeOf(path)])
    return text === undefined || atMs === undefined ? undefined : { text, atMs }
  }
}

/** W2 */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** The modification time; undefined if the file does not exist. */
export async function timeOf(path: string): Promise<number | undefined> {
  try {
    return Math.floor((await stat(path)).mtimeMs)
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}
