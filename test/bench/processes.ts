// CPU and memory of processes with all their descendants, from /proc. The descendants of PostgreSQL use nearly all of its CPU and memory.
//
//   U1. The CPU of a descendant that has ended counts: its parent's cutime contains it.
//   U2. The memory of a tree is the private memory of all processes, plus the largest shared and file memory of one process, because processes share these pages.
//   U3. The peak of a single process is the kernel's VmHWM. The peak of a tree is the highest sample.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** USER_HZ: the unit of times in /proc, the same on every Linux. */
const TICKS_PER_SECOND = 100

/** A part of the set, and the pid of its first process. */
export interface ProcessTree {
  readonly name: string
  readonly pid: number
}

export interface Usage {
  readonly cpuSeconds: number
  readonly peakMemoryMiB: number
}

export type Usages = Readonly<Record<string, Usage>>

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  readonly cpuSeconds: number
}

const SAMPLE_MS = 250

/** Measures from its construction until `end`. */
export class ProcessMeter {
  readonly #trees: readonly ProcessTree[]
  readonly #timer: NodeJS.Timeout
  readonly #cpuBefore: ReadonlyMap<string, number>
  readonly #peaks = new Map<string, number>()

  constructor(trees: readonly ProcessTree[]) {
    this.#trees = trees
    for (const members of treesOf(trees).values()) for (const { pid } of members) resetPeak(pid)
    this.#cpuBefore = this.#sample()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
  }

  /** @throws when a process has ended, because its CPU is lost. */
  end(): Usages {
    clearInterval(this.#timer)
    const after = this.#sample()
    return Object.fromEntries(
      this.#trees.map(({ name, pid }) => {
        const [used, usedBefore] = [after.get(name), this.#cpuBefore.get(name)]
        if (used === undefined || usedBefore === undefined) throw new Error(`process ${pid} (${name}) has ended`)
        return [name, { cpuSeconds: used - usedBefore, peakMemoryMiB: this.#peaks.get(name) ?? NaN }]
      }),
    )
  }

  /** Records the memory. @returns the CPU seconds of each tree with a process. */
  #sample(): ReadonlyMap<string, number> {
    const cpu = new Map<string, number>()
    for (const [name, members] of treesOf(this.#trees)) {
      if (members.length === 0) continue
      cpu.set(
        name,
        members.reduce((total, { cpuSeconds }) => total + cpuSeconds, 0),
      )
      this.#peaks.set(name, Math.max(this.#peaks.get(name) ?? 0, memoryMiB(members)))
    }
    return cpu
  }
}

function treesOf(trees: readonly ProcessTree[]): ReadonlyMap<string, readonly ProcessStat[]> {
  const stats = readStats()
  const byPid = new Map(stats.map((stat) => [stat.pid, stat]))
  const children = new Map<number, ProcessStat[]>()
  for (const stat of stats) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat])
  const withDescendants = (stat: ProcessStat): ProcessStat[] => [
    stat,
    ...(children.get(stat.pid) ?? []).flatMap(withDescendants),
  ]
  return new Map(
    trees.map(({ name, pid }) => {
      const first = byPid.get(pid)
      return [name, first === undefined ? [] : withDescendants(first)]
    }),
  )
}

function readStats(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => parseStat(Number(name), read(`/proc/${name}/stat`)) ?? [])
}

/** Parses /proc/PID/stat. Undefined for a process that has ended. */
export function parseStat(pid: number, text: string | undefined): ProcessStat | undefined {
  if (text === undefined) return undefined
  // The name of the command, in parentheses, may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // U1: utime, stime, cutime, cstime.
  const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0)
  return { pid, parent: Number(fields[1]), cpuSeconds: ticks / TICKS_PER_SECOND }
}

/** Undefined for a process that has ended. */
export function parentOf(pid: number): number | undefined {
  return parseStat(pid, read(`/proc/${pid}/stat`))?.parent
}

function memoryMiB(members: readonly ProcessStat[]): number {
  let [own, file, shared, mark] = [0, 0, 0, 0]
  for (const { pid } of members) {
    const status = read(`/proc/${pid}/status`) ?? ''
    const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
    own += kib('RssAnon')
    file = Math.max(file, kib('RssFile'))
    shared = Math.max(shared, kib('RssShmem'))
    mark = kib('VmHWM')
  }
  // U3
  return (members.length === 1 ? mark : own + file + shared) / 1024
}

/** Resets VmHWM. */
function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // The process has ended or belongs to another user. Then VmHWM is the peak since its start.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

export function residentMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** CPU seconds that all processes and the kernel have used since the boot of the machine. */
export function busySeconds(): number {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = first.split(/\s+/).map(Number)
  return (user + nice + system + irq + softIrq + steal) / TICKS_PER_SECOND
}
