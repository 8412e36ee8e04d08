// On which disk a path lies, and which limits it has for the target.

import { realpath, stat } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

import type { CommonFlags } from '../../../workflows/chaos/injector/invocation.ts'
import type { DiskFacts } from '../../../workflows/chaos/injector/plan.ts'
import { groupOf, type GroupRoots } from './control-groups.ts'
import { readText } from './processes.ts'

export interface DiskPlace {
  readonly level: CommonFlags['level']
  /** Where the node's files are. */
  readonly host: string
  readonly pid: number
  readonly path: string
}

/** @throws with the path when it is not there, or not on a disk. */
export async function diskFacts(roots: GroupRoots, place: DiskPlace): Promise<DiskFacts> {
  const { level, host, pid, path } = place
  const root = level === 'pod' ? join(roots.proc, String(pid), 'root') : host
  const device = await wholeDisk(join(root, path), path)
  const [first, second] = [await groupOf(roots, pid, 'blkio'), await groupOf(roots, pid, 'io')]
  if (first?.version === 1) {
    const [read, write] = ['read', 'write'].map((way) => join(first.folder, `blkio.throttle.${way}_bps_device`))
    if (read !== undefined && write !== undefined)
      return {
        device,
        files: { version: 1, read, write },
        before: { read: await limitOf(read, device), write: await limitOf(write, device) },
      }
  }
  if (second?.version !== 2) throw new Error(`no control group limits what process ${pid} reads and writes`)
  const max = join(second.folder, 'io.max')
  const line = await lineOf(max, device)
  const before = { read: keyOf(line, 'rbps'), write: keyOf(line, 'wbps') }
  return { device, files: { version: 2, max }, before }
}

/** As `major:minor`. Limits hold for disks, not for their partitions. */
async function wholeDisk(file: string, path: string): Promise<string> {
  const { dev } = await stat(file)
  // Source: makedev(3) of glibc, for numbers as they come from stat(2).
  const [major, minor] = [((dev >> 8) & 0xfff) >>> 0, ((dev & 0xff) | ((dev >> 12) & 0xfff00)) >>> 0]
  const device = `/sys/dev/block/${major}:${minor}`
  if (!existsSync(device)) throw new Error(`path ${path} lies on ${major}:${minor}, which is no disk`)
  const folder = await realpath(device)
  const disk = existsSync(join(folder, 'partition')) ? dirname(folder) : folder
  return (await readText(join(disk, 'dev')))?.trim() ?? `${major}:${minor}`
}

async function limitOf(file: string, device: string): Promise<number | undefined> {
  const number = Number((await lineOf(file, device))?.split(' ')[1] ?? 0)
  return number === 0 ? undefined : number
}

async function lineOf(file: string, device: string): Promise<string | undefined> {
  return (await readText(file))?.split('\n').find((line) => line.startsWith(`${device} `))
}

function keyOf(line: string | undefined, key: string): number | undefined {
  const [, digits] = new RegExp(`\\b${key}=(\\d+)`).exec(line ?? '') ?? []
  return digits === undefined ? undefined : Number(digits)
}
