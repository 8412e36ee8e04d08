// CPU and memory of processes with all their descendants, by /proc. For PostgreSQL the descendants are nearly everything.
//
//   U1. A descendant that has ended counts by what its parent waited for (cutime), so no CPU is lost with it.
//   U2. Memory of a tree: private pages of all, and of shared and file pages those of the process with the most, since they are the same.
//   U3. The peak of a single process is the kernel's own mark; that of a tree is the largest of samples.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

import { TICKS_PER_SECOND } from './machine.ts'

/** A part of the set, by its first process. */
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

/** Measures from its making until `end`. */
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

  /** @throws when a process is gone: what it used is lost, and the set is not what it was. */
  end(): Usages {
    clearInterval(this.#timer)
    const after = this.#sample()
    return Object.fromEntries(
      this.#trees.map(({ name, pid }) => {
        const [used, usedBefore] = [after.get(name), this.#cpuBefore.get(name)]
        if (used === undefined || usedBefore === undefined) throw new Error(`process ${pid} (${name}) is gone`)
        return [name, { cpuSeconds: used - usedBefore, peakMemoryMiB: this.#peaks.get(name) ?? NaN }]
      }),
    )
  }

  /** Notes the memory; returns the CPU seconds of each tree that lives. */
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

/** Reads /proc/PID/stat; undefined for a process that has ended meanwhile. */
export function parseStat(pid: number, text: string | undefined): ProcessStat | undefined {
  if (text === undefined) return undefined
  // The command's name, in parentheses, may hold spaces and parentheses: fields are counted after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // U1: user, system, and both of the children that were waited for.
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

/** Lets the kernel's mark of the most memory begin anew. */
function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Gone, or another user's: then the mark is that of its whole life, an upper bound.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
