// Reads processes and namespaces from /proc. With hostPID the injector sees all processes of its node.

import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'

import type { NetworkRef, ProcessRef } from '../../../workflows/chaos/injector/command.ts'

/** The PIDs of all processes. */
export async function pids(proc: string): Promise<readonly number[]> {
  return (await readdir(proc)).filter((name) => /^\d+$/.test(name)).map(Number)
}

/** A living process; undefined for a missing process or a zombie. */
export async function processRef(proc: string, pid: number): Promise<ProcessRef | undefined> {
  const stat = await readText(join(proc, String(pid), 'stat'))
  // Source: proc_pid_stat(5). Field 2, the name, is in parentheses and may contain any character. `state` is field 3 and `fields` begins with field 4, so
  // fields[18] is field 22, the start time.
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  const startTime = fields[18]
  return startTime === undefined || state === 'Z' || state === 'X' ? undefined : { pid, startTime }
}

export async function isAlive(proc: string, { pid, startTime }: ProcessRef): Promise<boolean> {
  return (await processRef(proc, pid))?.startTime === startTime
}

export async function parentOf(proc: string, pid: number): Promise<number | undefined> {
  const status = await readText(join(proc, String(pid), 'status'))
  const [, parent] = /^PPid:\s+(\d+)/m.exec(status ?? '') ?? []
  return parent === undefined ? undefined : Number(parent)
}

/** The network namespace of a process. */
export async function networkOf(proc: string, pid: number): Promise<NetworkRef | undefined> {
  const inode = await namespaceInode(join(proc, String(pid), 'ns/net'))
  return inode === undefined ? undefined : { pid, inode }
}

/** A path with which nsenter enters the namespace; undefined if no process is in it any more. */
export async function networkPath(proc: string, { pid, inode }: NetworkRef): Promise<string | undefined> {
  const recordedPath = join(proc, String(pid), 'ns/net')
  if ((await namespaceInode(recordedPath)) === inode) return recordedPath
  for (const [path, found] of await networks(proc)) if (found === inode) return path
  return undefined
}

/** Every network namespace once: a path to enter it, and its inode. */
export async function networks(proc: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<number, string>()
  for (const pid of await pids(proc)) {
    const path = join(proc, String(pid), 'ns/net')
    const inode = await namespaceInode(path)
    if (inode !== undefined && !found.has(inode)) found.set(inode, path)
  }
  return new Map([...found].map(([inode, path]) => [path, inode]))
}

/**
 * The additional arguments of nsenter that enter the node's cgroup namespace, because cgroup paths are relative to it.
 * Empty if this process is already in that namespace, or must not read its link.
 */
export async function cgroupNamespaceArguments(proc: string): Promise<readonly string[]> {
  const node = join(proc, '1/ns/cgroup')
  try {
    return (await readlink(node)) === (await readlink('/proc/self/ns/cgroup')) ? [] : [`--cgroup=${node}`]
  } catch (error) {
    if (isGone(error) || isForbidden(error)) return []
    throw error
  }
}

/** The value that an environment variable had when the process started. */
export async function variableOf(proc: string, pid: number, name: string): Promise<string | undefined> {
  const text = await readText(join(proc, String(pid), 'environ'))
  return text
    ?.split('\0')
    .find((line) => line.startsWith(`${name}=`))
    ?.slice(name.length + 1)
}

/** The ID of the current boot, which changes with every boot; `unknown` if the kernel has no such file. */
export async function bootId(proc: string): Promise<string> {
  return (await readText(join(proc, 'sys/kernel/random/boot_id')))?.trim() ?? 'unknown'
}

/**
 * The boot time in milliseconds since the epoch, by the machine's clock, in whole seconds; undefined if the kernel does
 * not report it.
 */
export async function bootTime(proc: string): Promise<number | undefined> {
  const [, seconds] = /^btime (\d+)$/m.exec((await readText(join(proc, 'stat'))) ?? '') ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

/** The text of a file; undefined if it does not exist or its process has ended. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

export function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ESRCH' || code === 'ENODEV' || code === 'ENOTDIR'
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EACCES'
}

async function namespaceInode(path: string): Promise<number | undefined> {
  try {
    const [, inode] = /^net:\[(\d+)\]$/.exec(await readlink(path)) ?? []
    return inode === undefined ? undefined : Number(inode)
  } catch (error) {
    // The namespace links of a zombie cannot be read either.
    if (isGone(error) || isForbidden(error)) return undefined
    throw error
  }
}
