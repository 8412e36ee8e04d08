// The files of a pod on disk: its record, its volumes, and for each container the folder that replaces its file system
// and a folder for each run of its process.
//
// W1. The record of a pod is written before its processes are started, and the record of a process before it becomes
//   the program (shim.ts).
// W2. A record is complete or missing: it is written to a temporary file and renamed.
// W3. The folder is removed last, when nothing that it describes is left.

import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { KubeObject } from '../../activities/kube/client.ts'
import { parseStat, type ProcessIdentity } from '../server/process-identity.ts'
import type { Ending } from './decide.ts'
import { isGone, readText, timeOf } from './processes.ts'

export interface PodRecord {
  readonly version: 2
  /** The wing that declares the pod. */
  readonly wing: string
  /** The pod when it was accepted, or when a container started with another image later. */
  readonly pod: KubeObject
  readonly acceptedMs: number
  readonly bootId: string
  readonly podIP: string
  readonly ending?: Ending
}

export interface RunRecord {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly image?: string
  /** The number of consecutive short runs before this run. */
  readonly crashes: number
  /** The reason why the process can never start. */
  readonly unstartable?: string
  readonly ending?: Ending
}

/** The files of the shim; timestamps are milliseconds since the epoch. */
export interface ShimTraces {
  readonly claimedMs: number | undefined
  readonly shim: ProcessIdentity | undefined
  readonly process: (ProcessIdentity & { readonly startedMs: number }) | undefined
  readonly exit: { readonly text: string; readonly atMs: number } | undefined
}

export class PodFolder {
  readonly path: string
  readonly volumes: string

  constructor(path: string) {
    this.path = path
    this.volumes = join(path, 'volumes')
  }

  /** W1 */
  async write(record: PodRecord): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    await replaceFile(join(this.path, 'pod.json'), JSON.stringify(record))
  }

  /** Undefined: the pod was not accepted. @throws if the file is not a valid record. */
  async read(): Promise<PodRecord | undefined> {
    const text = await readText(join(this.path, 'pod.json'))
    if (text === undefined) return undefined
    const record = JSON.parse(text) as PodRecord
    if ((record.version as number) !== 2)
      throw new Error(`${this.path}/pod.json: found version ${String(record.version)}; expected 2`)
    return record
  }

  container(name: string): ContainerFolder {
    return new ContainerFolder(join(this.path, 'containers', name))
  }

  /** W3 */
  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }
}

export class ContainerFolder {
  readonly path: string
  /** Replaces the container's file system. */
  readonly root: string
  readonly terminationLog: string
  /** Starts a program in the container's file system (container-root.ts). */
  readonly enterScript: string

  constructor(path: string) {
    this.path = path
    this.root = join(path, 'root')
    this.terminationLog = join(path, 'termination-log')
    this.enterScript = join(path, 'enter')
  }

  run(number: number): RunFolder {
    return new RunFolder(join(this.path, String(number)))
  }

  /** The number of the last run, from 0; undefined: the container was never started. */
  async lastRun(): Promise<number | undefined> {
    const names = await readdir(this.path).catch((error: unknown) => {
      if (isGone(error)) return []
      throw error
    })
    const numbers = names.filter((name) => /^\d+$/.test(name)).map(Number)
    return numbers.length === 0 ? undefined : Math.max(...numbers)
  }
}

/** One run of a container's process. */
export class RunFolder {
  readonly path: string
  readonly log: string

  constructor(path: string) {
    this.path = path
    this.log = join(path, 'log')
  }

  async write(record: RunRecord): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    await replaceFile(join(this.path, 'run.json'), JSON.stringify(record))
  }

  async read(): Promise<RunRecord | undefined> {
    const text = await readText(join(this.path, 'run.json'))
    return text === undefined ? undefined : (JSON.parse(text) as RunRecord)
  }

  /** When the record was written first or changed last. */
  async writtenMs(): Promise<number | undefined> {
    return await timeOf(join(this.path, 'run.json'))
  }

  async traces(): Promise<ShimTraces> {
    const [claimedMs, shim, process, exit] = await Promise.all([
      timeOf(join(this.path, 'claim')),
      this.processOf('shim'),
      this.processOf('process'),
      this.fileOf('exit'),
    ])
    return {
      claimedMs,
      shim,
      process: process && { pid: process.pid, started: process.started, startedMs: process.atMs },
      exit: exit && { text: exit.text.trim(), atMs: exit.atMs },
    }
  }

  private async processOf(name: string) {
    const file = await this.fileOf(name)
    const { pid, started = null } = parseStat(file?.text ?? '')
    return file === undefined || Number.isNaN(pid) ? undefined : { pid, started, atMs: file.atMs }
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
