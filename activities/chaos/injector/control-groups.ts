// Finds the control groups of a process, for cgroup version 1, version 2 and hybrid set-ups.

import { existsSync } from 'node:fs'
import { join, dirname } from 'node:path'
import type { ContainerMatch } from '../../../workflows/chaos/injector/network/network-spec.ts'
import { readText } from './processes.ts'
import type { Run } from './shell.ts'
import { realpath, stat } from 'node:fs/promises'
import type { CommonFlags } from '../../../workflows/chaos/injector/invocation.ts'
import type { DiskFacts } from '../../../workflows/chaos/injector/plan.ts'

/** Mount points of the machine. */
export interface GroupRoots {
  readonly proc: string
  /** The mount point of the control groups. */
  readonly cgroup: string
  readonly run: Run
}

export interface Group {
  readonly version: 1 | 2
  readonly folder: string
}

/** The group of a process for a controller such as `memory`; undefined if no group accounts for it. */
export async function groupOf(roots: GroupRoots, pid: number, controller: string): Promise<Group | undefined> {
  const lines = await groupLines(roots, pid)
  const first = lines.find(({ controllers }) => controllers.includes(controller))
  const mounts = first === undefined ? [] : [first.controllers.join(','), controller]
  const folders = mounts.map((mount) => join(roots.cgroup, mount, first?.path ?? ''))
  const mounted = folders.find((folder) => existsSync(folder))
  if (mounted !== undefined) return { version: 1, folder: mounted }
  const unified = lines.find(({ controllers }) => controllers.length === 0)
  const root = unifiedRoot(roots)
  if (unified === undefined || root === undefined) return undefined
  const folder = join(root, unified.path)
  const offered = (await readText(join(folder, 'cgroup.controllers')))?.trim().split(' ') ?? []
  return offered.includes(controller) ? { version: 2, folder } : undefined
}

/** The packet match for a process; undefined if its packets cannot be distinguished. */
export async function containerMatch(roots: GroupRoots, pid: number): Promise<ContainerMatch | undefined> {
  const unified = (await groupLines(roots, pid)).find(({ controllers }) => controllers.length === 0)
  // The root group contains all processes.
  if (unified !== undefined && unified.path !== '/' && unifiedRoot(roots) !== undefined)
    return { version: 2, path: unified.path.replace(/^\//, '') }
  const first = await groupOf(roots, pid, 'net_cls')
  return first?.version === 1 ? { version: 1, classidFile: join(first.folder, 'net_cls.classid') } : undefined
}

interface GroupLine {
  /** Empty for the unified hierarchy. */
  readonly controllers: readonly string[]
  readonly path: string
}

async function groupLines(roots: GroupRoots, pid: number): Promise<readonly GroupLine[]> {
  const file = join(roots.proc, String(pid), 'cgroup')
  const own = (await readText(file)) ?? ''
  const text = own.includes(':/..') ? await readFromNode(roots, file) : own
  return text.split('\n').flatMap((line) => {
    const [, names = '', path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    return path === undefined ? [] : [{ controllers: names === '' ? [] : names.split(','), path }]
  })
}

/** In a cgroup namespace, paths of other groups lead out of the namespace. */
async function readFromNode({ proc, run }: GroupRoots, file: string): Promise<string> {
  const { code, stdout, stderr } = await run(['nsenter', `--cgroup=${join(proc, '1/ns/cgroup')}`, '--', 'cat', file])
  if (code === 0) return stdout
  throw new Error(`${file} could not be read from the node's namespace: ${stderr.trim()}`)
}

function unifiedRoot({ cgroup }: GroupRoots): string | undefined {
  return [cgroup, join(cgroup, 'unified')].find((root) => existsSync(join(root, 'cgroup.controllers')))
}

export interface DiskPlace {
  readonly level: CommonFlags['level']
  /** The mount point of the node's file system. */
  readonly host: string
  readonly pid: number
  readonly path: string
}

/** @throws if the path does not exist or is not on a disk; the error names it. */
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
  if (second?.version !== 2) throw new Error(`process ${pid} has no control group that limits its reads and writes`)
  const max = join(second.folder, 'io.max')
  const line = await lineOf(max, device)
  const before = { read: keyOf(line, 'rbps'), write: keyOf(line, 'wbps') }
  return { device, files: { version: 2, max }, before }
}

/** As `major:minor`. Limits apply to disks, not to partitions. */
async function wholeDisk(file: string, path: string): Promise<string> {
  const { dev } = await stat(file)
  // Source: makedev(3) of glibc, for the numbers of stat(2).
  const [major, minor] = [((dev >> 8) & 0xfff) >>> 0, ((dev & 0xff) | ((dev >> 12) & 0xfff00)) >>> 0]
  const device = `/sys/dev/block/${major}:${minor}`
  if (!existsSync(device)) throw new Error(`path ${path} is on device ${major}:${minor}, which is not a disk`)
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
